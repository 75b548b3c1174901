"""Pages and pictures of a topic model.

A report is one HTML file that works offline (extra ``cofactor[report]``):

    material ──► evaluation (refits, baselines) ──► page_content ──► figures, html ──► file
                                                    (topic_tables, document_tables,
                                                     period_tables, score_tables, notices)

===============  ==============================================================================
`material`       the model, the documents and their labels, read and checked once
`evaluation`     tests the model on hidden labels, next to simple baselines; `refits` fits again
`page_content`   `prepare`: all tables of the page, made by the modules named ``*_tables``
`notices`        warnings and remarks: "Before you rely on it"
`figures`        the page's charts, with altair
`html`           the page: written to a file or shown in a notebook; `vega_script` draws charts
`plots`          single pictures with matplotlib (extra ``cofactor[plot]``)
===============  ==============================================================================

Names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cofactor.report.html import ShownReport, render_report, show_report, write_report
    from cofactor.report.page_content import prepare
    from cofactor.report.plots import (
        plot_choice,
        plot_classes,
        plot_over_time,
        plot_stability,
        plot_topics,
    )

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
    if name not in __all__:
        raise AttributeError(f"module 'cofactor.report' has no attribute {name!r}")
    module = "plots" if name.startswith("plot_") else {"prepare": "page_content"}.get(name, "html")
    return getattr(import_module(f"cofactor.report.{module}"), name)
