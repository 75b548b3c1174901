"""Build the wheels of all platforms and the source archive here, and check what can be checked.

    .venv/bin/python .ci/wheels.py [platform ...]

zig compiles the kernels for every platform. Each wheel is checked for what it asks of the system:
the versions of glibc's symbols, the oldest macOS, the libraries of Windows. A driver then runs the
kernels of each wheel, by qemu and wine where they belong to other systems, and all must give the
same bits. Those of macOS cannot run here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
NATIVE = "cofactor/engine/kernels/native/"
DRIVER = ROOT / "tests" / "engine" / "kernels" / "driver.c"
# Wine keeps its files in the checkout, says nothing, and does not offer to install browsers.
WINE = {
    "WINEPREFIX": str(ROOT / "build" / "wine"),
    "WINEDEBUG": "-all",
    "WINEDLLOVERRIDES": "mscoree,mshtml=",
}
QEMU = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")


@dataclass(frozen=True)
class Platform:
    """One wheel: its tag, zig's name of the target, CMake's of the system, and who runs it here.

    The oldest macOS are those of scikit-learn's wheels.
    """

    tag: str
    target: str
    system: str
    run: tuple[str, ...] | None = ()


PLATFORMS = (
    Platform("manylinux_2_17_x86_64", "x86_64-linux-gnu.2.17", "Linux"),
    Platform("manylinux_2_17_aarch64", "aarch64-linux-gnu.2.17", "Linux", QEMU),
    Platform("macosx_12_0_arm64", "aarch64-macos.12.0", "Darwin", None),
    Platform("macosx_10_13_x86_64", "x86_64-macos.10.13", "Darwin", None),
    Platform("win_amd64", "x86_64-windows-gnu", "Windows", ("wine",)),
)


def main(names: list[str]) -> int:
    zig = subprocess.check_output([".ci/zig", sys.executable], cwd=ROOT, text=True).strip()
    chosen = [one for one in PLATFORMS if not names or one.tag in names]
    digests = {}
    DIST.mkdir(exist_ok=True)
    for platform in chosen:
        wheel = build(platform, zig)
        with tempfile.TemporaryDirectory() as name:
            libraries = unpack(wheel, Path(name))
            for said in CHECKS[platform.system](wheel, libraries, platform):
                print(f"  {said}", flush=True)
            digests |= run_driver(platform, zig, libraries, Path(name))
    if not names:
        print(build_archive().name)
    for where, digest in digests.items():
        print(f"  {digest}  {where}")
    known = {digest for digest in digests.values() if digest is not None}
    print(f"The kernels that ran gave {len(known)} digest{'s' * (len(known) != 1)}.")
    return int(len(known) > 1)


# ---- building


def build(platform: Platform, zig: str) -> Path:
    """Cross-compile a wheel into dist."""
    settings = {
        "build-dir": f"build/wheels/{platform.tag}",
        "cmake.define.CMAKE_SYSTEM_NAME": platform.system,
        "cmake.define.CMAKE_SYSTEM_PROCESSOR": platform.target.split("-")[0],
        # CMake asks for these tools of the systems, but nothing here uses them.
        "cmake.define.CMAKE_INSTALL_NAME_TOOL": "true",
        "cmake.define.CMAKE_RC_COMPILER": "true",
        "cmake.define.CMAKE_OSX_DEPLOYMENT_TARGET": "",
    }
    environment = {"CC": f"{zig} -target {platform.target}", "_PYTHON_HOST_PLATFORM": platform.tag}
    wheel = backend("build_wheel", settings, environment)
    print(wheel.name, flush=True)
    expected = f"-py3-none-{platform.tag}.whl"
    if not wheel.name.endswith(expected):
        raise SystemExit(f"The wheel is {wheel.name}, not …{expected}.")
    return wheel


def build_archive() -> Path:
    """Make the source archive, with the commit in it."""
    sys.path.insert(0, str(ROOT / "src"))
    from cofactor._versions import PACKAGE, commit

    noted = PACKAGE / "_commit.txt"
    noted.write_text(f"{commit() or ''}\n", encoding="utf-8")
    try:
        return backend("build_sdist", {}, {})
    finally:
        noted.unlink()


def backend(what: str, settings: dict[str, str], environment: dict[str, str]) -> Path:
    """Have the build backend make a file in dist; return its path."""
    code = f"from scikit_build_core import build; print(build.{what}({str(DIST)!r}, {settings!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout)
    return DIST / done.stdout.splitlines()[-1]


def unpack(wheel: Path, folder: Path) -> list[Path]:
    """Extract the kernels of a wheel; return their paths."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(f"{NATIVE}kernels")]
        return sorted(Path(archive.extract(name, folder)) for name in names)


# ---- checking


def check_linux(wheel: Path, libraries: list[Path], platform: Platform) -> list[str]:
    """auditwheel must find that the wheel deserves its tag."""
    command = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (found,) = re.findall(r'consistent with the following platform tag: "(\w+)"', _line(said))
    require(_glibc(found) <= _glibc(platform.tag), f"{wheel.name} is only {found}.")
    return [f"auditwheel: {found}"]


def _line(text: str) -> str:
    return " ".join(text.split())


def _glibc(tag: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"_(\d+)", tag)[:2]))


def check_macos(wheel: Path, libraries: list[Path], platform: Platform) -> list[str]:
    """The libraries must run on the oldest macOS of the tag and need the system's library only."""
    from macholib.mach_o import CPU_TYPE_NAMES
    from macholib.MachO import MachO

    wanted = tuple(map(int, platform.tag.split("_")[1:3]))
    for path in libraries:
        (header,) = MachO(str(path)).headers
        needs = {dependency for _, _, dependency in header.walkRelocatables()}
        require(needs <= {"/usr/lib/libSystem.B.dylib"}, f"{path.name} needs {needs}.")
        machine = CPU_TYPE_NAMES[header.header.cputype]
        oldest = [_oldest(command) for load, command, _ in header.commands if _oldest(command)]
        require(oldest == [wanted], f"{path.name} needs macOS {oldest}, not {wanted}.")
    return [f"macOS {'.'.join(map(str, wanted))}, {machine}: libSystem only"]


def _oldest(command: object) -> tuple[int, int] | None:
    packed = getattr(command, "minos", None) or getattr(command, "version", None)
    kind = type(command).__name__
    if kind not in ("build_version_command", "version_min_command"):
        return None
    return int(packed) >> 16, int(packed) >> 8 & 0xFF  # type: ignore[arg-type]


def check_windows(wheel: Path, libraries: list[Path], platform: Platform) -> list[str]:
    """The libraries must need only what every Windows 10 has."""
    import pefile

    system = re.compile(r"(kernel32|ntdll|api-ms-win-crt-[\w-]+)\.dll", re.IGNORECASE)
    names = set()
    for path in libraries:
        with pefile.PE(str(path)) as found:
            needs = {entry.dll.decode() for entry in found.DIRECTORY_ENTRY_IMPORT}
            require(all(map(system.fullmatch, needs)), f"{path.name} needs {sorted(needs)}.")
            exported = {one.name.decode() for one in found.DIRECTORY_ENTRY_EXPORT.symbols}
            require("cofactor_layout" in exported, f"{path.name} exports {sorted(exported)}.")
            names |= needs
    return [f"Windows: {', '.join(sorted(names, key=str.lower))}"]


CHECKS = {"Linux": check_linux, "Darwin": check_macos, "Windows": check_windows}


def require(condition: bool, message: str) -> None:
    if not condition:
        raise SystemExit(message)


# ---- running


def run_driver(
    platform: Platform, zig: str, libraries: list[Path], folder: Path
) -> dict[str, str | None]:
    """Return the digest of what the kernels of each library compute; None if none can run here."""
    named = {f"{platform.tag} {path.stem}": path for path in libraries}
    if platform.run is None or (platform.run and not shutil.which(platform.run[0])):
        return dict.fromkeys(f"{name} (cannot run here)" for name in named)
    program = folder / ("driver.exe" if platform.system == "Windows" else "driver")
    headers = ROOT / "src" / NATIVE
    options = ["-target", platform.target, "-DLOADED", "-O1", f"-I{headers}", "-ldl"]
    options = options[:-1] if platform.system == "Windows" else options
    subprocess.run([zig, str(DRIVER), *options, "-o", str(program)], check=True)
    found: dict[str, str | None] = {}
    for name, path in named.items():
        command = [*platform.run, str(program), str(path)]
        done = subprocess.run(
            command, env=os.environ | WINE, capture_output=True, text=True, check=False
        )
        require(done.returncode == 0, f"{name} does not run: {done.stderr}")
        found[name] = done.stdout.strip()
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
