"""Run the kernels' tests under AddressSanitizer and UndefinedBehaviorSanitizer.

    python .ci/sanitize.py [arguments of pytest]

Tests every variant that this machine can run.  Memory that a kernel does not free is an error, too.
Needs Linux and GCC, whose runtime libraries must be loaded before Python.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NATIVE = "src/cofactor/engine/kernels/native"
FOLDER = ROOT / "build" / "sanitize"
TESTS = ["tests/engine/kernels"]
# The check for leaks at the end of a process would turn every exit code into its own.
RUN = """
import ctypes, sys, pytest
code = pytest.main(["-q", "--capture=sys", "-n", "0", "-p", "no:cacheprovider", *sys.argv[1:]])
ctypes.CDLL(None).__lsan_do_recoverable_leak_check()
sys.exit(code)
"""


def main(arguments: list[str]) -> int:
    if sys.platform != "linux" or not shutil.which("gcc"):
        sys.exit("make sanitize needs Linux and GCC: on Debian or Ubuntu, sudo apt install gcc.")
    compile_libraries()
    failed = [path.name for path in usable() if not passes(path, arguments or TESTS)]
    print(f"The sanitizers complain about {', '.join(failed) or 'nothing'}.")
    return int(bool(failed))


def compile_libraries() -> None:
    """Compile the variants into the folder, not beside their sources."""
    cmake = shutil.which("cmake", path=os.fspath(Path(sys.executable).parent)) or "cmake"
    options = ["-DCMAKE_C_COMPILER=gcc", "-DCOFACTOR_SANITIZE=ON"]
    for step in ["-S", ROOT, "-B", FOLDER, *options], ["--build", FOLDER, "--parallel", "2"]:
        subprocess.run([cmake, *step], check=True, stdout=subprocess.DEVNULL)


def usable() -> list[Path]:
    """Return the libraries for the instruction sets that this machine has."""
    plain = ROOT / NATIVE / min(FOLDER.glob("kernels*.so")).name
    best = ctypes.CDLL(os.fspath(plain)).cofactor_level()
    level = {path: int(path.stem.partition("-v")[2] or 0) for path in FOLDER.glob("kernels*.so")}
    return sorted(path for path in level if level[path] <= best)


def passes(library: Path, arguments: list[str]) -> bool:
    """Run the tests on one library; print what the sanitizers say about the kernels."""
    for report in FOLDER.glob("report.*"):
        report.unlink()
    print(f"Testing {library.name}", flush=True)
    command = [sys.executable, "-c", RUN, *arguments]
    code = subprocess.run(command, cwd=ROOT, env=os.environ | environment(library)).returncode
    reports = [path.read_text(errors="replace") for path in FOLDER.glob("report.*")]
    # Python itself does not free everything either: only what names our sources counts.
    said = [part for text in reports for part in text.split("\n\n") if NATIVE in part]
    print(*said, sep="\n\n", flush=True)
    return code == 0 and not said


def environment(library: Path) -> dict[str, str]:
    """Return the variables that load the library and the sanitizers."""
    return {
        "COFACTOR_KERNELS": os.fspath(library),
        "LD_PRELOAD": f"{_runtime('libasan.so')}:{_runtime('libubsan.so')}",
        "ASAN_OPTIONS": f"leak_check_at_exit=0:log_path={FOLDER / 'report'}",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",  # so that AddressSanitizer sees the ends of Python's objects
    }


def _runtime(name: str) -> str:
    asked = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
