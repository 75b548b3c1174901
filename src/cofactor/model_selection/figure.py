"""The figure of a choice: one panel for each criterion, over the number of topics."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib.util import find_spec
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
LINE_COLOUR, CHOSEN_COLOUR = "#1f5a96", "#c0392b"


class ChoiceCurve(NamedTuple):
    """One line of a panel; ``errors`` are standard errors or 0."""

    name: str
    sizes: list[int]
    values: list[float]
    errors: list[float]


class ChoicePanel(NamedTuple):
    """A title and a line for each value of supervision."""

    title: str
    curves: list[ChoiceCurve]


class ChoiceDrawing(NamedTuple):
    """The panels, the chosen number of topics, and that of a model, if any."""

    panels: list[ChoicePanel]
    chosen: int
    own: int | None = None


def prepare(table: Sequence[dict[str, Any]], own: int | None = None) -> ChoiceDrawing:
    """Arrange the table of a choice in panels; ``own`` is the number of topics of a model."""
    chosen = next(row["n_components"] for row in table if row["chosen"])
    weights = list(dict.fromkeys(row.get("supervision") for row in table))
    panels = [
        ChoicePanel(title, [_curve(table, name, weight) for weight in weights])
        for name, title in TITLES.items()
        if name in table[0]
    ]
    return ChoiceDrawing(panels, chosen, own)


def _curve(table: Sequence[dict[str, Any]], name: str, weight: Any) -> ChoiceCurve:
    rows = [row for row in table if row.get("supervision") == weight]
    errors = [row.get(f"{name}_error", 0.0) for row in rows]
    label = "" if weight is None else f"supervision {weight}"
    return ChoiceCurve(label, [r["n_components"] for r in rows], [r[name] for r in rows], errors)


def check_matplotlib(what: str) -> None:
    """Raise an ImportError with the remedy if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise ImportError(f"{what} needs matplotlib: pip install 'cofactor[plot]'.")


def new_figure() -> Any:
    """Return an empty matplotlib figure."""
    check_matplotlib("The figure of a choice")
    from matplotlib.figure import Figure

    return Figure(layout="constrained")


def draw(drawing: ChoiceDrawing, advice: str, figure: Any) -> Any:
    """Draw the panels on an empty figure; return their axes, from top to bottom."""
    figure.set_size_inches(7.0, 1.9 * len(drawing.panels) + 0.6)
    figure.suptitle(textwrap.fill(advice, 90), fontsize=10)
    axes = figure.subplots(len(drawing.panels), 1, sharex=True, squeeze=False)[:, 0]
    for ax, panel in zip(axes, drawing.panels, strict=True):
        _draw_panel(ax, panel, drawing)
    axes[-1].set_xlabel(f"Number of topics{_marks(drawing)}")
    return axes


def _marks(drawing: ChoiceDrawing) -> str:
    own = "" if drawing.own is None else f", dotted line: {drawing.own}, of this model"
    return f" (line: {drawing.chosen}, chosen{own})"


def _draw_panel(ax: Any, panel: ChoicePanel, drawing: ChoiceDrawing) -> None:
    ax.set_title(panel.title, loc="left", fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    ax.axvline(drawing.chosen, color=CHOSEN_COLOUR, linewidth=1)
    if drawing.own is not None:
        ax.axvline(drawing.own, color=CHOSEN_COLOUR, linewidth=1, linestyle="dotted")
    single = len(panel.curves) == 1
    for curve in panel.curves:
        ax.errorbar(
            curve.sizes,
            curve.values,
            yerr=curve.errors,
            marker="o",
            markersize=3,
            linewidth=1,
            color=LINE_COLOUR if single else None,
            label=curve.name,
        )
    if panel.title == TITLES["score"]:  # no score is above 1, though its error may reach there
        ax.set_ylim(top=min(ax.get_ylim()[1], 1.05))
    if not single:
        ax.legend(fontsize=7)
