"""Versions of the libraries that results depend on."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from cofactor._version import __version__

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


@cache
def versions() -> dict[str, str]:
    """Return the versions of cofactor, Python and the numerical libraries."""
    found = {"cofactor": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
