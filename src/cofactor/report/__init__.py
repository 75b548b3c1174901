"""Pages and pictures of a topic model.

A report is one HTML file that works offline: `preparation` turns a model and documents into plain
tables, `figures` draws charts of them, `html` renders the page and `write` writes the file, which
needs the extra ``cofactor[report]``; `notebook` shows the page in a notebook. `plots` draws single
pictures with matplotlib, which needs the extra ``cofactor[plot]``. Names are imported when first
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor._lazy import lazy_names

if TYPE_CHECKING:  # type checkers and editors need plain imports
    from cofactor.report.notebook import ShownReport as ShownReport
    from cofactor.report.notebook import show_report as show_report
    from cofactor.report.plots import plot_choice as plot_choice
    from cofactor.report.plots import plot_classes as plot_classes
    from cofactor.report.plots import plot_over_time as plot_over_time
    from cofactor.report.plots import plot_stability as plot_stability
    from cofactor.report.plots import plot_topics as plot_topics
    from cofactor.report.preparation.prepare import prepare as prepare
    from cofactor.report.write import render_report as render_report
    from cofactor.report.write import write_report as write_report
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "notebook": ["ShownReport", "show_report"],
            "plots": [
                "plot_choice",
                "plot_classes",
                "plot_over_time",
                "plot_stability",
                "plot_topics",
            ],
            "preparation.prepare": ["prepare"],
            "write": ["render_report", "write_report"],
        },
    )
