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
`nouns`          what samples and features are called: documents and words, or cells and genes
`figures`        the page's charts, with altair
`html`           the page: written to a file or shown in a notebook; `vega_script` draws charts
`plots`          single pictures with matplotlib (extra ``cofactor[plot]``)
===============  ==============================================================================

Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor._lazy import lazy_names

if TYPE_CHECKING:  # type checkers and editors need plain imports
    from cofactor.report.html import ShownReport as ShownReport
    from cofactor.report.html import render_report as render_report
    from cofactor.report.html import show_report as show_report
    from cofactor.report.html import write_report as write_report
    from cofactor.report.page_content import prepare as prepare
    from cofactor.report.plots import plot_choice as plot_choice
    from cofactor.report.plots import plot_classes as plot_classes
    from cofactor.report.plots import plot_over_time as plot_over_time
    from cofactor.report.plots import plot_stability as plot_stability
    from cofactor.report.plots import plot_topics as plot_topics
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "html": ["ShownReport", "render_report", "show_report", "write_report"],
            "page_content": ["prepare"],
            "plots": [
                "plot_choice",
                "plot_classes",
                "plot_over_time",
                "plot_stability",
                "plot_topics",
            ],
        },
    )
