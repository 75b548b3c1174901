"""Reports: a fitted topic model, shown on one page that needs nothing else.

`prepare` turns a model and documents into plain tables, `figures` draws them, `html` puts them on
a page. Names are loaded when first used; the extra ``cofactor[report]`` is needed to write.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cofactor.report.preparation.prepare import prepare
    from cofactor.report.write import render_report, write_report

_HOMES = {"write_report": "write", "render_report": "write", "prepare": "preparation.prepare"}

__all__ = ["prepare", "render_report", "write_report"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cofactor.report' has no attribute {name!r}")
    return getattr(import_module(f"cofactor.report.{_HOMES[name]}"), name)
