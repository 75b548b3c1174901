"""scikit-learn at half its import time: what it imports for others waits until it is used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

SELDOM = ("scipy.stats", "pandas")
"""What scikit-learn imports first of all, and what no command needs but for some scores."""


class Postponed(ModuleType):
    """Stands for a module that is not imported yet; to ask it for anything imports it."""

    def __getattr__(self, name: str) -> Any:
        _forget(self)
        return getattr(import_module(self.__name__), name)


def import_sklearn() -> None:
    """Import what all commands need of scikit-learn, unless someone has imported it already."""
    if "sklearn" not in sys.modules:
        with postponed(*SELDOM):
            import_module("sklearn.feature_extraction.text")


@contextmanager
def postponed(*names: str) -> Iterator[None]:
    """Let ``import`` of these modules pass; whoever uses one of them gets it, then or later."""
    absent = [Postponed(n) for n in names if n not in sys.modules and _is_installed(n)]
    sys.modules.update({module.__name__: module for module in absent})
    try:
        yield
    finally:
        for module in absent:
            _forget(module)


def _is_installed(name: str) -> bool:
    """Whether it could be imported; of what is not there, the import must fail as ever."""
    return find_spec(name.partition(".")[0]) is not None


def _forget(module: ModuleType) -> None:
    """Clear the place for the real module, unless it is there."""
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
