"""Pages and pictures of a topic model.

A report is one HTML file that works offline: `preparation` turns a model and documents into plain
tables, `figures` draws charts of them, `html` renders the page and `write` writes the file, which
needs the extra ``cofactor[report]``; `notebook` shows the page in a notebook. `plots` draws single
pictures with matplotlib, which needs the extra ``cofactor[plot]``. Names are imported when first
used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cofactor.report.notebook import ShownReport, show_report
    from cofactor.report.plots import (
        plot_choice,
        plot_classes,
        plot_over_time,
        plot_stability,
        plot_topics,
    )
    from cofactor.report.preparation.prepare import prepare
    from cofactor.report.write import render_report, write_report

_HOMES = {
    "ShownReport": "notebook",
    "plot_choice": "plots",
    "plot_classes": "plots",
    "plot_over_time": "plots",
    "plot_stability": "plots",
    "plot_topics": "plots",
    "prepare": "preparation.prepare",
    "render_report": "write",
    "show_report": "notebook",
    "write_report": "write",
}

__all__ = [
    "ShownReport",
    "plot_choice",
    "plot_classes",
    "plot_over_time",
    "plot_stability",
    "plot_topics",
    "prepare",
    "render_report",
    "show_report",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cofactor.report' has no attribute {name!r}")
    return getattr(import_module(f"cofactor.report.{_HOMES[name]}"), name)
