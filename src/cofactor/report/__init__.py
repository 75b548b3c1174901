"""Reports on a topic model: one HTML file that works offline.

`preparation` turns a model and documents into plain tables, `figures` draws charts of them, `html`
renders the page and `write` writes the file, which needs the extra ``cofactor[report]``. Names are
imported when first used.
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
