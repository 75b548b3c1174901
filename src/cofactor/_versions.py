"""Versions of the libraries that results depend on."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from cofactor._version import __version__

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
