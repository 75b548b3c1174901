"""The figure of a choice: one panel for each criterion, over the number of topics."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

TITLES = {
    "label_log_likelihood": "Held-out labels (log-likelihood)",
    "score": "Held-out labels (score)",
    "cell_divergence": "Held-out cells (relative divergence)",
    "stability": "Stability",
    "coherence": "Coherence",
    "diversity": "Diversity",
}
"""Titles of the panels by column."""
LINE, CHOSEN = "#1f5a96", "#c0392b"


class Curve(NamedTuple):
    """One line of a panel; ``errors`` are standard errors, or all 0."""

    name: str
    sizes: list[int]
    values: list[float]
    errors: list[float]


class Panel(NamedTuple):
    """A panel: a title, and a line for each value of supervision."""

    title: str
    curves: list[Curve]


class Drawing(NamedTuple):
    """What is drawn: the panels, and the chosen number of topics."""

    panels: list[Panel]
    chosen: int


def prepare(table: Sequence[dict[str, Any]]) -> Drawing:
    """Arrange the table of a choice in panels."""
    chosen = next(row["n_components"] for row in table if row["chosen"])
    weights = list(dict.fromkeys(row.get("supervision") for row in table))
    panels = [
        Panel(title, [_curve(table, name, weight) for weight in weights])
        for name, title in TITLES.items()
        if name in table[0]
    ]
    return Drawing(panels, chosen)


def _curve(table: Sequence[dict[str, Any]], name: str, weight: Any) -> Curve:
    rows = [row for row in table if row.get("supervision") == weight]
    errors = [row.get(f"{name}_error", 0.0) for row in rows]
    label = "" if weight is None else f"supervision {weight}"
    return Curve(label, [r["n_components"] for r in rows], [r[name] for r in rows], errors)


def draw(drawing: Drawing, advice: str) -> Any:
    """Draw the panels; return a matplotlib figure."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "The figure of a choice needs matplotlib: pip install 'cofactor[plot]'."
        ) from error

    figure = Figure(figsize=(7.0, 1.9 * len(drawing.panels) + 0.6), layout="constrained")
    figure.suptitle(textwrap.fill(advice, 90), fontsize=10)
    axes = figure.subplots(len(drawing.panels), 1, sharex=True, squeeze=False)[:, 0]
    for ax, panel in zip(axes, drawing.panels, strict=True):
        _draw_panel(ax, panel, drawing.chosen)
    axes[-1].set_xlabel("Number of topics")
    return figure


def _draw_panel(ax: Any, panel: Panel, chosen: int) -> None:
    ax.set_title(panel.title, loc="left", fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    ax.axvline(chosen, color=CHOSEN, linewidth=1)
    single = len(panel.curves) == 1
    for curve in panel.curves:
        ax.errorbar(curve.sizes, curve.values, yerr=curve.errors, marker="o", markersize=3,
                    linewidth=1, color=LINE if single else None, label=curve.name)  # fmt: skip
    if not single:
        ax.legend(fontsize=7)
