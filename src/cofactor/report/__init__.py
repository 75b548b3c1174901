"""Reports on a topic model: one HTML file that works offline.

`preparation` turns a model and documents into plain tables, `figures` draws charts of them, `html`
renders the page and `write` writes the file, which needs the extra ``cofactor[report]``. Names are
imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {"write_report": "write", "render_report": "write", "prepare": "preparation.prepare"}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cofactor.report' has no attribute {name!r}")
    return getattr(import_module(f"cofactor.report.{_HOMES[name]}"), name)
