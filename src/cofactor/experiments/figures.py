"""Figures of results: PNG with matplotlib, and an interactive page with altair."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from cofactor.experiments.paper import MODELS, RELATIVE_ERROR
from cofactor.experiments.run import Run
from cofactor.experiments.trials import TrialResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS, OURS_LIGHT, PAPER, OTHER = "#1f5a96", "#8db4dc", "#c0392b", "#7f8c8d"


def draw(run: Run, name: str, title: str, make: Callable[..., Figure], *arguments: object) -> None:
    """Draw ``make(*arguments)`` for a run; add a note if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        run.note("No PNG figures: matplotlib is not installed (pip install 'cofactor[plot]').")
        return
    file = io.BytesIO()
    make(*arguments).savefig(file, format="png", dpi=130, facecolor="white")
    run.figure(name, title, file.getvalue())


def blank(
    width: float, height: float, columns: int = 1, rows: int = 1
) -> tuple[Figure, list[Axes]]:
    """Return an empty figure and its axes, row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(length=0)
        ax.grid(axis="x", color="#e5e5e5", lw=0.7)
        ax.set_axisbelow(True)
    return figure, axes


def _rows(ax: Axes, names: Sequence[str], shown: bool = True) -> None:
    """Name the rows from the top, and draw lines between them."""
    ax.set_yticks(range(len(names)), names if shown else [""] * len(names))
    ax.set_ylim(len(names) - 0.5, -0.5)
    for y in range(1, len(names)):
        ax.axhline(y - 0.5, color="#e5e5e5", lw=0.7)


def error_dots(
    fits: Mapping[tuple[int, str], Sequence[TrialResult]], titles: Mapping[int, str]
) -> Figure:
    """Draw the relative error of each model in each experiment, ours beside the paper's."""
    figure, axes = blank(10, 5.2, 3, 2)
    names = list(MODELS)
    for place, ((number, title), ax) in enumerate(zip(titles.items(), axes, strict=True)):
        for y, model in enumerate(names):
            errors = [result["relative"] for result in fits[number, model]]
            ax.plot(errors, [y + 0.14] * len(errors), "o", ms=4, color=OURS_LIGHT, mec="none")
            ours = ax.plot(np.mean(errors), y + 0.14, "o", ms=7, color=OURS)[0]
            printed = RELATIVE_ERROR[model][int(title[0]) - 1]
            theirs = ax.plot(printed, y - 0.18, "D", ms=6, mfc="none", color=PAPER)[0]
        ax.set_title(f"Experiment {title}", fontsize=10, loc="left")
        _rows(ax, names, place % 3 == 0)
        ax.locator_params(axis="x", nbins=4)
        ax.margins(x=0.15)
        if place > 2:
            ax.set_xlabel("relative error", fontsize=9)
    figure.legend(
        [ours, theirs],
        ["cofactor: mean, and each start", "the paper"],
        frameon=False,
        ncols=2,
        loc="outside lower center",
        fontsize=9,
    )
    return figure


def heatmap(shares: ArrayLike, rows: Sequence[str], columns: Sequence[str], title: str) -> Figure:
    """Draw how each topic (column) divides among the classes (rows)."""
    values = np.asarray(shares, dtype=float)
    figure, (ax,) = blank(1.6 + 0.62 * len(columns), 1.5 + 0.42 * len(rows))
    image = ax.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for i, j in zip(*np.nonzero(values >= 0.095), strict=True):
        colour = "white" if values[i, j] > 0.55 else "#333333"
        text = f"{values[i, j]:.1f}"
        ax.text(j, i, text, ha="center", va="center", fontsize=8, color=colour)
    ax.set_yticks(range(len(rows)), rows)
    ax.set_xticks(range(len(columns)), columns, rotation=40, ha="right", rotation_mode="anchor")
    ax.set_xticks(np.arange(len(columns) - 1) + 0.5, minor=True)
    ax.set_yticks(np.arange(len(rows) - 1) + 0.5, minor=True)
    ax.grid(visible=False)
    ax.grid(which="minor", color="white", lw=1.5)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(title, fontsize=10, loc="left")
    bar = figure.colorbar(image, ax=ax, pad=0.02, ticks=[0, 0.5, 1])
    bar.set_label("share of the topic", fontsize=9)
    bar.outline.set_visible(False)
    return figure


Series = Mapping[str, tuple[float, float | None]]
"""Mean and standard deviation (or None) by name."""


def intervals(series: Mapping[str, Series], names: Sequence[str], label: str) -> Figure:
    """Draw means with one standard deviation: a row for each name, a mark for each series."""
    figure, (ax,) = blank(7.5, 0.9 + (0.26 + 0.08 * len(series)) * len(names))
    styles = [
        ("D", PAPER, "none"),
        ("o", OTHER, OTHER),
        ("o", OURS_LIGHT, OURS_LIGHT),
        ("o", OURS, OURS),
    ]
    places = [_places([who for who in series if name in series[who]]) for name in names]
    for (who, values), (mark, colour, fill) in zip(
        series.items(), styles[-len(series) :], strict=True
    ):
        shown = [
            (y + places[y][who], *values[name]) for y, name in enumerate(names) if name in values
        ]
        ax.errorbar(
            [mean for _, mean, _ in shown],
            [y for y, *_ in shown],
            xerr=[sd or 0 for *_, sd in shown],
            fmt=mark,
            color=colour,
            mfc=fill,
            ms=6,
            lw=1.2,
            label=who,
        )
    _rows(ax, names)
    ax.set_xlabel(label, fontsize=9)
    if len(series) > 1:
        figure.legend(frameon=False, ncols=len(series), loc="outside lower center", fontsize=9)
    return figure


def _places(shown: Sequence[str]) -> dict[str, float]:
    """Spread the marks of one row evenly about its middle."""
    heights = 0.19 * (np.arange(len(shown)) - (len(shown) - 1) / 2)
    return dict(zip(shown, heights.tolist(), strict=True))


def curves(lines: Mapping[str, tuple[ArrayLike, ArrayLike]], x: str, y: str) -> Figure:
    """Draw curves from (0, 0) to (1, 1); the dashed diagonal is random guessing."""
    figure, (ax,) = blank(4.8, 4.4)
    ax.grid(axis="y", color="#e5e5e5", lw=0.7)
    ax.plot([0, 1], [0, 1], color="#bbbbbb", lw=1, ls="--")
    colours = (OURS, OURS_LIGHT, PAPER, OTHER)
    for (name, (across, up)), colour in zip(lines.items(), colours, strict=False):
        ax.plot(across, up, color=colour, lw=1.6, label=name)
    ax.set_xlabel(x, fontsize=9)
    ax.set_ylabel(y, fontsize=9)
    ax.set_aspect("equal")
    ax.legend(frameon=False, loc="lower right", fontsize=9)
    return figure


def topic_page(run: Run, name: str, title: str, results: Mapping[str, TrialResult]) -> None:
    """Write an HTML page, which needs no network, with a heatmap for each model.

    Pointing at a cell shows the words of its topic.
    """
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError:
        run.note("No interactive figures: altair is missing (pip install 'cofactor[report]').")
        return
    chart = _chart(altair, _cells(results), list(results))
    run.page(name, title, chart.to_html(inline=True, fullhtml=True))


def _cells(results: Mapping[str, TrialResult]) -> list[dict[str, Any]]:
    return [
        {
            "model": model,
            "topic": topic + 1,
            "class": label,
            "share": round(share, 4),
            "name": f"{topic + 1} {result['words'][topic][0]}",
            "keywords": ", ".join(result["words"][topic]),
            "group": f"{result['hard']['groups'][topic]} ({result['hard']['scores'][topic]:.2f})",
        }
        for model, result in results.items()
        for topic, shares in enumerate(result["shares"])
        for label, share in zip(result["classes"], shares, strict=True)
    ]


def _chart(altair: Any, rows: list[dict[str, Any]], models: list[str]) -> Any:
    pick = altair.binding_select(options=models, name="Model: ")
    chosen = altair.selection_point(fields=["model"], bind=pick, value=models[0])
    colour = altair.Color(
        "share:Q", scale=altair.Scale(domain=[0, 0.5, 1], range=["#f7fbff", "#6baed6", "#08306b"])
    )
    return (
        altair.Chart(altair.Data(values=rows), title="Topics by class: point at a cell")
        .mark_rect(stroke="white", strokeWidth=2)
        .encode(
            x=altair.X(
                "name:N",
                title=None,
                sort=altair.SortField("topic"),
                axis=altair.Axis(labelAngle=-40),
            ),
            y=altair.Y("class:N", title=None),
            color=colour,
            tooltip=[
                "topic:O",
                "class:N",
                altair.Tooltip("share:Q", format=".2f"),
                "keywords:N",
                altair.Tooltip("group:N", title="subgroup (P)"),
            ],
        )
        .add_params(chosen)
        .transform_filter(chosen)
        .properties(width=altair.Step(64), height=altair.Step(48))
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=14)
        .configure_legend(labelFontSize=13, titleFontSize=13)
        .configure_title(fontSize=16, anchor="start")
    )
