"""What `pip` builds from the checkout: wheels, source archives and editable installs."""

import ctypes
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import compiled
from cofactor import __version__
from compiled import ROOT

NATIVE = "engine/kernels/native"
UNOPTIMIZED = {"cmake.define.CMAKE_C_FLAGS_RELEASE": "-O0"}  # what is packed matters, not how fast
SOURCES = {f"{NATIVE}/{path.name}" for path in (ROOT / "src/cofactor" / NATIVE).glob("*.[ch]")}


@pytest.fixture(scope="session")
def checkout(tmp_path_factory):
    """A copy of what a wheel is made from, for an editable install puts libraries beside them."""
    pytest.importorskip("scikit_build_core", reason="`make native` installs scikit-build-core")
    folder = tmp_path_factory.mktemp("build") / "checkout"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", folder / "src", ignore=ignored)
    for name in "pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE", ".gitignore":
        shutil.copy(ROOT / name, folder)
    return folder


def build(checkout, what, settings=UNOPTIMIZED):
    """Have the backend make a wheel, an editable wheel or a source archive; return its path."""
    code = f"from scikit_build_core import build as b; print(b.{what}('..', {settings}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"CC": compiled.compiler()},
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return checkout.parent / done.stdout.splitlines()[-1]


@pytest.fixture(scope="session")
def wheel(checkout):
    return build(checkout, "build_wheel")


def libraries(names):
    return {name for name in names if name.endswith((".so", ".dylib", ".dll"))}


@pytest.mark.slow
def test_a_wheel_serves_every_python_of_a_platform(wheel):
    name, version, python, abi, platform = wheel.stem.split("-")
    assert (name, version, python, abi) == ("cofactor", __version__, "py3", "none")
    assert platform != "any"


@pytest.mark.slow
def test_a_wheel_has_the_sources_of_python_and_the_libraries_of_c(wheel):
    paths = [path for path in (ROOT / "src").rglob("*") if "__pycache__" not in path.parts]
    expected = {path.relative_to(ROOT / "src").as_posix() for path in paths if path.is_file()}
    expected -= libraries(expected) | {f"cofactor/{name}" for name in SOURCES}
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed - libraries(packed) == expected
    variants = {Path(name).stem for name in libraries(packed)}
    assert variants in ({"kernels"}, {"kernels-v2", "kernels-v3", "kernels-v4"})


@pytest.mark.slow
def test_the_libraries_of_a_wheel_can_be_loaded(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        for name in libraries(archive.namelist()):
            level = ctypes.CDLL(archive.extract(name, tmp_path)).cofactor_level()
            assert level in ((2, 3, 4) if "-v" in name else (0,))


@pytest.mark.slow
def test_an_editable_install_gives_way_to_pythonpath(checkout, tmp_path):
    site, other = tmp_path / "site", tmp_path / "other"
    with zipfile.ZipFile(build(checkout, "build_editable")) as archive:
        archive.extractall(site)
    (other / "cofactor").mkdir(parents=True)
    (other / "cofactor" / "__init__.py").touch()
    code = f"import site; site.addsitedir(r'{site}'); import cofactor; print(cofactor.__file__)"
    for path, expected in ("", checkout / "src"), (str(other), other):
        done = subprocess.run(
            [sys.executable, "-S", "-c", code],
            env=os.environ | {"PYTHONPATH": path},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == f"{expected / 'cofactor' / '__init__.py'}\n"
    assert libraries(os.listdir(checkout / "src" / "cofactor" / NATIVE))


def test_a_source_archive_has_all_that_compiling_needs(checkout):
    with tarfile.open(build(checkout, "build_sdist", None)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {
        "CMakeLists.txt",
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "src/cofactor/_version.py",
    }
    assert needed | {f"src/cofactor/{name}" for name in SOURCES} <= names
    assert not libraries(names)


def test_other_compilers_are_refused_in_a_sentence(tmp_path):
    if not (cmake := compiled.cmake()):
        pytest.skip("`make native` installs CMake")
    pretended = {"ID": "TinyCC", "ID_RUN": "1", "FORCED": "1"}
    options = [f"-DCMAKE_C_COMPILER_{key}={value}" for key, value in pretended.items()]
    done = subprocess.run(
        [cmake, "-S", ROOT, "-B", tmp_path, *options],
        env=os.environ | {"CC": compiled.compiler()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    remedy = "install GCC or Clang and name it in the environment variable CC"
    assert remedy in " ".join(done.stderr.split())


def test_libraries_older_than_their_sources_are_noticed(tmp_path):
    for name, changed in (
        ("rows.h", 10),
        ("sums.c", 20),
        ("kernels-v2.so", 30),
        ("kernels-v3.so", 30),
    ):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (changed, changed))
    assert not compiled.are_stale(tmp_path)
    os.utime(tmp_path / "rows.h", (40, 40))
    assert compiled.are_stale(tmp_path)
    for path in tmp_path.glob("kernels*"):
        path.unlink()
    assert not compiled.are_stale(tmp_path)
