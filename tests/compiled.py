"""What compiles the kernels, and whether they were compiled from the sources that are there."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def compiler() -> str:
    """Return the C compiler that the Makefile would use; empty if there is none."""
    command = [str(ROOT / ".ci" / "compiler"), sys.executable]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def cmake() -> str | None:
    """Return the CMake of this environment, or else that of the machine."""
    return shutil.which("cmake", path=Path(sys.executable).parent) or shutil.which("cmake")


def are_stale(folder: Path) -> bool:
    """Return whether a source in a folder was changed after a library there was compiled."""
    sources = [path.stat().st_mtime for path in folder.glob("*.[ch]")]
    libraries = [path.stat().st_mtime for path in folder.glob("kernels*.[sd]*")]
    return bool(sources and libraries) and max(sources) > min(libraries)
