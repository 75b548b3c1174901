"""Versions of the libraries that results depend on."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from cofactor._version import __version__

PACKAGE = Path(__file__).parent
LIBRARIES = ("numpy", "scipy", "scikit-learn", "stopwordsiso", "snowballstemmer")


def version_of(name: str) -> str | None:
    """Return the version of an installed package; None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@cache
def versions() -> dict[str, str]:
    """Return the versions of cofactor, Python and the libraries that results depend on."""
    found = {name: version_of(name) for name in LIBRARIES}
    own = {"cofactor": __version__, "python": platform.python_version()}
    return own | {name: one for name, one in found.items() if one is not None}


@cache
def commit(package: Path = PACKAGE) -> str | None:
    """Return the commit that the package was built from, or None if that is not known.

    The build notes it in a file. A checkout asks git; ``-dirty`` marks changes since.
    """
    noted, checkout = package / "_commit.txt", package.parents[1]
    if noted.exists():
        return noted.read_text(encoding="utf-8").strip() or None
    if not (checkout / ".git").exists():
        return None
    try:
        head, changes = _git(checkout, "rev-parse", "HEAD"), _git(checkout, "status", "-s", "-uno")
    except (OSError, subprocess.SubprocessError):
        return None
    return head[:12] + "-dirty" * bool(changes)


def _git(folder: Path, *words: str) -> str:
    """Return what git prints about a checkout."""
    done = subprocess.run(
        ["git", *words], cwd=folder, capture_output=True, text=True, timeout=10, check=True
    )
    return done.stdout.strip()
