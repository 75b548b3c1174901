"""Pictures of a topic model for notebooks and scripts, drawn with matplotlib.

`preparation.pictures` prepares what is drawn; no function here computes anything but positions. A
picture is drawn into the axes that are passed, or into a new figure of pyplot, so that notebooks
and ``pyplot.show()`` show it. Words are never read as mathematics or TeX.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from cofactor.io.errors import shortened
from cofactor.model_selection import figure as of_choice
from cofactor.report.preparation import pictures

BAR, PALE, TEXT, GREY = of_choice.LINE_COLOUR, "#a9c8e8", "#222222", "#666666"
COLOURS = ("#1f5a96", "#c2571a", "#2a8a57", "#9b3f86", "#8a6d00", "#4aa3c7", "#c0392b", "#555555")
WIDE = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Arial Unicode MS",
)
"""Fonts with Chinese, Japanese and Korean letters, which the usual font of matplotlib lacks."""
LONGEST, ROOM = 32, 60  # letters of a name, letters along the axis of time
NUMBERED = 10  # most classes for numbers in the cells


def written(text: str, longest: int = LONGEST) -> str:
    """Return a word or a name as it is written: one line of visible letters."""
    return shortened("".join(sign if sign.isprintable() else " " for sign in text).strip(), longest)


def letters() -> dict[str, Any]:
    """Return the properties of texts that are not ours: dollars and backslashes stay what they are,
    and letters that the usual font lacks come from another one, if one is installed."""
    return {"parse_math": False, "usetex": False, "fontfamily": _families()}


@cache
def _wide_fonts() -> tuple[str, ...]:
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return tuple(name for name in WIDE if name in installed)


def _families() -> list[str]:
    from matplotlib import rcParams

    return [*rcParams["font.family"], *_wide_fonts()]


def new_axes(what: str, ax: Any, width: float, height: float) -> Any:
    """Return the axes to draw into: those given, or those of a new figure."""
    of_choice.check_matplotlib(what)
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.figure(figsize=(width, height), layout="constrained").add_subplot()


def plot_topics(
    model: Any,
    *,
    topics: int | str | Iterable[int | str] | None = None,
    n_words: int = 8,
    by: str = "coherence",
) -> np.ndarray:
    """Draw the words of each topic with their probabilities; see `TopicModel.plot_topics`."""
    of_choice.check_matplotlib("plot_topics")
    from matplotlib import pyplot

    panels, note = pictures.topic_panels(model, n_words, topics, by)
    columns = min(3, len(panels))
    rows = math.ceil(len(panels) / columns)
    height = rows * (0.21 * max(len(panel.words) for panel in panels) + 0.85) + 0.4
    figure = pyplot.figure(figsize=(2.9 * columns, height))
    figure.set_layout_engine("constrained", h_pad=0.08, w_pad=0.06)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False).ravel()
    for ax, panel in zip(grid, panels, strict=False):
        _words(ax, panel)
    for ax in grid[len(panels) :]:
        ax.remove()
    figure.supxlabel(f"probability in the topic{f' · {note}' if note else ''}", fontsize=9)
    return grid[: len(panels)]


def _words(ax: Any, panel: pictures.TopicPanel) -> None:
    """Draw bars with the words written over them, so that a long word takes no room of a bar."""
    places = np.arange(len(panel.words))
    ax.barh(places, panel.probabilities, color=PALE, height=0.8)
    for place, word in zip(places, panel.words, strict=True):
        ax.annotate(
            written(word),
            (0, place),
            (4, 0),
            textcoords="offset points",
            va="center_baseline",
            fontsize=9,
            color=TEXT,
            in_layout=False,
            clip_on=True,
            **letters(),
        )
    ax.set_yticks([])
    ax.set_ylim(len(places) - 0.4, -0.6)
    _title(ax, written(panel.name), " · ".join(_about(panel)))
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="x", labelsize=8, labelbottom=True)
    ax.locator_params(axis="x", nbins=4)


def _about(panel: pictures.TopicPanel) -> list[str]:
    found = [f"topic {panel.topic}", f"{panel.share:.0%} of texts", written(panel.label, 24)]
    return [part for part in found if part]


def plot_classes(model: Any, *, ax: Any = None) -> Any:
    """Draw the probability of each class in each topic; see `TopicModel.plot_classes`."""
    of_choice.check_matplotlib("plot_classes")
    grid = pictures.class_grid(model)
    rows, columns = len(grid.topics), len(grid.classes)
    cell = 0.95 if columns <= NUMBERED else 0.36
    ax = new_axes("plot_classes", ax, max(5.0, 2.9 + cell * columns), 1.2 + 0.3 * rows)
    shares = np.array(grid.shares)
    mesh = ax.pcolormesh(shares, cmap="Blues", vmin=0, vmax=1, edgecolors="white", linewidth=1.5)
    names = [written(name) for name in grid.names]
    ax.set_yticks(np.arange(rows) + 0.5, names, fontsize=9, **letters())
    _class_names(ax, grid.classes)
    ax.invert_yaxis()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if columns <= NUMBERED:
        _numbers(ax, shares)
    else:
        ax.figure.colorbar(mesh, ax=ax, format=_percent(), label="probability", shrink=0.8)
    if grid.shrunk:
        ax.set_xlabel("shrunk by the labels behind each topic, as in topics()", fontsize=9)
    _title(ax, "Probability of each class in a topic", grid.note)
    return ax


def _class_names(ax: Any, classes: Sequence[str]) -> None:
    names = [written(name, 24) for name in classes]
    room = 11 if len(names) <= NUMBERED else 2
    turned = max(map(len, names)) > room
    place = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    ax.set_xticks(np.arange(len(names)) + 0.5, names, fontsize=9, **place, **letters())


def _numbers(ax: Any, shares: np.ndarray) -> None:
    for (row, column), share in np.ndenumerate(shares):
        if share >= 0.005:
            ax.text(
                column + 0.5,
                row + 0.5,
                f"{share:.0%}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if share > 0.6 else "#333333",
            )


def plot_over_time(
    model: Any,
    documents: Any,
    dates: Any,
    *,
    every: str | None = None,
    kind: str = "topic",
    names: Any = None,
    ax: Any = None,
) -> Any:
    """Draw shares of topics or classes over time; see `TopicModel.plot_over_time`."""
    of_choice.check_matplotlib("plot_over_time")
    found = pictures.share_lines(model, documents, dates, every, kind, names)
    ax = new_axes("plot_over_time", ax, 8.0, 4.0)
    for line, colour in zip(found.lines, _cycle(len(found.lines)), strict=True):
        _line(ax, line, colour)
    _periods(ax, found.periods)
    if kind != "number":
        ax.yaxis.set_major_formatter(_percent())
        ax.set_ylim(bottom=0)
    _bare(ax)
    ax.grid(axis="y", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    _line_names(ax, found.lines)
    heads = {"topic": "Share of the topics", "class": "Share of the classes"}
    _title(ax, heads.get(kind, "Mean prediction"), " ".join(found.notes))
    return ax


def _line(ax: Any, line: pictures.ShareLine, colour: str) -> None:
    x = np.arange(len(line.shares))
    shares, low, high = (np.array(part, dtype=float) for part in (line.shares, line.low, line.high))
    ax.plot(x, shares, color=colour, linewidth=1.8, marker="o", markersize=3.5)
    ax.fill_between(x, low, high, color=colour, alpha=0.1, linewidth=0)
    alone = np.isfinite(low) & ~np.isfinite(_beside(low, -1)) & ~np.isfinite(_beside(low, 1))
    ax.vlines(x[alone], low[alone], high[alone], color=colour, alpha=0.3, linewidth=2)


def _beside(values: np.ndarray, step: int) -> np.ndarray:
    """Return the value before (−1) or after (1) each; NaN where there is none."""
    padded = np.pad(values, 1, constant_values=np.nan)
    return padded[1 + step : len(values) + 1 + step]


def _periods(ax: Any, names: Sequence[str]) -> None:
    step = math.ceil(sum(map(len, names)) / ROOM)
    ax.set_xticks(np.arange(0, len(names), step), list(names)[::step], fontsize=8)
    edge = 0.5 if len(names) == 1 else 0.015 * len(names)
    ax.set_xlim(-edge, len(names) - 1 + edge)


def _line_names(ax: Any, lines: Sequence[pictures.ShareLine]) -> None:
    """Write the name of each line at its right end, so far apart that none hides another."""
    low, high = ax.get_ylim()
    last = [[share for share in line.shares if share is not None] for line in lines]
    ends = [(shares[-1] - low) / (high - low) if shares else 0.0 for shares in last]
    for line, y, colour in zip(lines, spread(ends, 0.065), _cycle(len(lines)), strict=True):
        ax.annotate(
            written(line.name),
            (1.0, y),
            (6, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            color=colour,
            fontsize=9,
            va="center",
            annotation_clip=False,
            **letters(),
        )


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Move places apart until neighbours have this distance; their order and mean stay.

    Examples
    --------
    >>> [round(place, 2) for place in spread([0.5, 0.1, 0.5], 0.1)]
    [0.45, 0.1, 0.55]
    """
    order = np.argsort(places, kind="stable")
    groups: list[tuple[float, int]] = []  # means of neighbours that touch, and how many they are
    for place in order:
        mean, n = float(places[place]), 1
        while groups and mean - groups[-1][0] < gap * (n + groups[-1][1]) / 2:
            other, m = groups.pop()
            mean, n = (n * mean + m * other) / (n + m), n + m
        groups.append((mean, n))
    moved = [mean + gap * (i - (n - 1) / 2) for mean, n in groups for i in range(n)]
    found = np.empty(len(moved))
    found[order] = moved
    return found.tolist()


def plot_stability(model: Any, *, ax: Any = None) -> Any:
    """Draw how much of each topic is found again; see `TopicModel.plot_stability`."""
    of_choice.check_matplotlib("plot_stability")
    rows = pictures.stability_rows(model)
    ax = new_axes("plot_stability", ax, 7.0, 1.1 + 0.27 * len(rows))
    places = np.arange(len(rows))
    ax.hlines(
        places, [r.low for r in rows], [r.high for r in rows], color=BAR, alpha=0.35, linewidth=5
    )
    ax.plot([r.stability for r in rows], places, "o", color=BAR, markersize=5.5)
    ax.set_yticks(places, [written(r.name) for r in rows], fontsize=9, **letters())
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0, 1.02)
    _bare(ax)
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.set_xlabel("cosine with the topic of another draw, and 95 % of the draws", fontsize=9)
    _title(ax, "How much of each topic is found again", "")
    return ax


def plot_choice(model: Any, choice: Any) -> np.ndarray:
    """Draw a choice and the number of topics of a model; see `TopicModel.plot_choice`."""
    of_choice.check_matplotlib("plot_choice")
    from matplotlib import pyplot

    own = int(model.n_components)
    drawing = of_choice.prepare(choice.table, None if own == choice.n_components else own)
    return of_choice.draw(drawing, choice.advice, pyplot.figure(layout="constrained"))


def _title(ax: Any, head: str, below: str) -> None:
    """Write a title, and a smaller line under it."""
    below = textwrap.fill(below, 95)
    room = 11 * (below.count("\n") + 1) + 6 if below else 5
    ax.set_title(head, loc="left", fontsize=10, fontweight="bold", pad=room, **letters())
    if below:
        ax.annotate(
            below,
            (0, 1),
            (0, 4),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=8,
            color=GREY,
            va="bottom",
            annotation_clip=False,
            **letters(),
        )


def _bare(ax: Any) -> None:
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _percent() -> Any:
    from matplotlib.ticker import PercentFormatter

    return PercentFormatter(1.0, decimals=None)


def _cycle(n: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(n)]
