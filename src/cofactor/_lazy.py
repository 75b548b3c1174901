"""Public names of a package that are imported when first used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, Iterable[str]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Full name of the package.
    homes : mapping
        From a module of the package to the names that come from it; "" stands for the package
        itself, whose names are modules.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def import_name(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not home_of[name]:
            return import_module(f"{package}.{name}")
        return getattr(import_module(f"{package}.{home_of[name]}"), name)

    return sorted(home_of), import_name, lambda: sorted(home_of)
