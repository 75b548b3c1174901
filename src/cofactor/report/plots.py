"""Pictures of a topic model for notebooks and scripts, drawn with matplotlib.

For each picture, one function prepares plain data and another draws them, into the axes that are
passed or into a new figure of pyplot, so that notebooks and ``pyplot.show()`` show it. Words are
never interpreted as mathematics or TeX.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from cofactor.io.errors import shortened
from cofactor.model_selection import figure as choice_figure
from cofactor.report.material import Material, read_material
from cofactor.report.period_tables import CHANCE, over_time
from cofactor.report.topic_tables import chart_topics, heatmap
from cofactor.text.describe.summaries import Topic, shown_link
from cofactor.text.editing.edits import topic_numbers
from cofactor.text.over_time import SHARE_KINDS
from cofactor.text.selection import stability_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cofactor.text import TopicModel

BAR, PALE, TEXT, GREY = choice_figure.LINE_COLOUR, "#a9c8e8", "#222222", "#666666"
COLOURS = ("#1f5a96", "#c2571a", "#2a8a57", "#9b3f86", "#8a6d00", "#4aa3c7", "#c0392b", "#555555")
CJK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Arial Unicode MS",
)
"""Fonts with Chinese, Japanese and Korean characters, which matplotlib's default font lacks."""
MAX_NAME, MAX_PERIOD_CHARACTERS = 32, 60  # characters of a name, and along the axis of time
MAX_PLOT_NUMBERS = 10  # for numbers in the cells
MAX_PANELS = 12  # topics that a picture of words shows by default


def written(text: str, longest: int = MAX_NAME) -> str:
    """Return a word or a name as one line of visible characters."""
    return shortened("".join(sign if sign.isprintable() else " " for sign in text).strip(), longest)


def letters() -> dict[str, Any]:
    """Return the properties of texts that are not ours: dollars and backslashes stay as they are,
    and characters that the default font lacks come from another one, if one is installed."""
    return {"parse_math": False, "usetex": False, "fontfamily": _families()}


@cache
def _wide_fonts() -> tuple[str, ...]:
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return tuple(name for name in CJK_FONTS if name in installed)


def _families() -> list[str]:
    from matplotlib import rcParams

    return [*rcParams["font.family"], *_wide_fonts()]


def new_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes to draw into: the given ones, or those of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.figure(figsize=(width, height), layout="constrained").add_subplot()


# ---- the words of topics


def plot_topics(
    model: TopicModel,
    *,
    topics: int | str | Iterable[int | str] | None = None,
    n_words: int = 8,
    by: str = "coherence",
) -> np.ndarray:
    """Draw the words of each topic with their probabilities; see `TopicModel.plot_topics`."""
    choice_figure.check_matplotlib("plot_topics")
    from matplotlib import pyplot

    panels, note = topic_panels(model, n_words, topics, by)
    columns = min(3, len(panels))
    rows = math.ceil(len(panels) / columns)
    height = rows * (0.21 * max(len(panel.words) for panel in panels) + 0.85) + 0.4
    figure = pyplot.figure(figsize=(2.9 * columns, height))
    figure.set_layout_engine("constrained", h_pad=0.08, w_pad=0.06)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False).ravel()
    for ax, panel in zip(grid, panels, strict=False):
        label = "" if panel.label is None else panel.label
        _words(ax, panel, f"{label} {shown_link(model, panel)}".strip())
    for ax in grid[len(panels) :]:
        ax.remove()
    figure.supxlabel(f"probability in the topic{f' · {note}' if note else ''}", fontsize=9)
    return grid[: len(panels)]


def topic_panels(
    model: TopicModel, n_words: int, topics: int | str | Iterable[int | str] | None, by: str
) -> tuple[list[Topic], str]:
    """Return the topics to draw, the largest first, and a note on those left out."""
    rows = model.topics(n_words, by=by)
    if topics is not None:
        return [rows[k] for k in _not_empty("topics", topic_numbers(model, topics))], ""
    shown = sorted(rows, key=lambda row: -row.share)[:MAX_PANELS]
    return shown, _left_out(len(shown), len(rows), "topics")


def _not_empty(parameter: str, asked: list[Any]) -> list[Any]:
    if not asked:
        raise ValueError(f"{parameter} is empty; name at least one, or omit it for the default.")
    return asked


def _left_out(shown: int, of_all: int, what: str) -> str:
    return "" if shown >= of_all else f"the {shown} largest of {of_all} {what}"


def _words(ax: Axes, panel: Topic, label: str) -> None:
    """Draw bars with the words written over them, so that long words leave space for the bars."""
    places, over = range(len(panel.words)), {"in_layout": False, "clip_on": True}
    ax.barh(places, panel.weights, color=PALE, height=0.8)
    for place, word in zip(places, panel.words, strict=True):
        _annotate(ax, written(word), (0, place), (4, 0), 9, TEXT, va="center_baseline", **over)
    ax.set_yticks([])
    ax.set_ylim(len(places) - 0.4, -0.6)
    about = (f"topic {panel.topic}", f"{panel.share:.0%} of texts", written(label, 24))
    _title(ax, written(panel.name), " · ".join(filter(None, about)))
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="x", labelsize=8, labelbottom=True)
    ax.locator_params(axis="x", nbins=4)


# ---- topics × classes


def plot_classes(model: TopicModel, *, ax: Axes | None = None) -> Axes:
    """Draw the probability of each class in each topic; see `TopicModel.plot_classes`."""
    choice_figure.check_matplotlib("plot_classes")
    names, classes, shares, note = class_grid(model)
    rows, columns = shares.shape
    cell = 0.95 if columns <= MAX_PLOT_NUMBERS else 0.36
    ax = new_axes(ax, max(5.0, 2.9 + cell * columns), 1.2 + 0.3 * rows)
    mesh = ax.pcolormesh(shares, cmap="Blues", vmin=0, vmax=1, edgecolors="white", linewidth=1.5)
    ax.set_yticks(np.arange(rows) + 0.5, [*map(written, names)], fontsize=9, **letters())
    _class_names(ax, classes)
    ax.invert_yaxis()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if columns <= MAX_PLOT_NUMBERS:
        _numbers(ax, shares)
    else:
        ax.figure.colorbar(mesh, ax=ax, format=_percent(), label="probability", shrink=0.8)
    _title(ax, "Probability of each class in a topic", note)
    return ax


def class_grid(model: TopicModel) -> tuple[list[str], list[str], np.ndarray, str]:
    """Return the names of the largest topics and classes, the shares of topics × classes, and a
    note on what is left out. Topics of the same class are together."""
    material = read_material(model, None, None, None)
    if material.kind not in ("classes", "sets"):
        had = "numbers" if material.kind == "numbers" else "no labels"
        raise ValueError(
            f"plot_classes needs classes, but the model was fitted with {had}; use plot_topics."
        )
    names, classes, columns = model.topic_names_, material.classes, material.chart_classes
    shares = np.array([row["share"] for row in heatmap(material)]).reshape(len(names), -1)
    kept, rows = shares[:, columns], chart_topics(material)
    notes = (
        _left_out(len(rows), len(names), "topics"),
        _left_out(len(columns), len(classes), "classes"),
    )
    note = ", ".join(filter(None, notes))
    return [names[k] for k in rows], [classes[c] for c in columns], kept[rows], note


def _class_names(ax: Axes, classes: Sequence[str]) -> None:
    names = [written(name, 24) for name in classes]
    rotated = max(map(len, names)) > (11 if len(names) <= MAX_PLOT_NUMBERS else 2)
    place: dict[str, Any] = (
        {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if rotated else {}
    )
    ax.set_xticks(np.arange(len(names)) + 0.5, names, fontsize=9, **place, **letters())


def _numbers(ax: Axes, shares: np.ndarray) -> None:
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8}
    for (row, column), share in np.ndenumerate(shares):
        if share >= 0.005:
            colour = "white" if share > 0.6 else "#333333"
            ax.text(column + 0.5, row + 0.5, f"{share:.0%}", color=colour, **middle)


# ---- shares over time


class ShareLine(NamedTuple):
    """The share of a topic or class in each period; None where there are no documents."""

    name: str
    shares: list[float | None]
    low: list[float | None]
    high: list[float | None]


def plot_over_time(
    model: TopicModel,
    documents: Any,
    dates: Any,
    *,
    every: str | None = None,
    kind: str = "topic",
    names: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw shares of topics or classes over time; see `TopicModel.plot_over_time`."""
    choice_figure.check_matplotlib("plot_over_time")
    periods, lines, notes = share_lines(model, documents, dates, every, kind, names)
    ax = new_axes(ax, 8.0, 4.0)
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(lines))]
    for line, colour in zip(lines, colours, strict=True):
        _line(ax, line, colour)
    _periods(ax, periods)
    if kind != "number":
        ax.yaxis.set_major_formatter(_percent())
        ax.set_ylim(bottom=0)
    _bare(ax, "y")
    _line_names(ax, lines, colours)
    heads = {"topic": "Share of the topics", "class": "Share of the classes"}
    _title(ax, heads.get(kind, "Mean prediction"), " ".join(notes))
    return ax


def share_lines(
    model: TopicModel, documents: Any, dates: Any, every: str | None, kind: str, names: Any
) -> tuple[list[str], list[ShareLine], list[str]]:
    """Return the periods, the shares of topics, classes or numbers over time, and notes.

    The lines are those of ``names``; by default, those that changed most.
    """
    material = read_material(model, documents, None, None)
    offered = ["topic", *([SHARE_KINDS[material.kind]] if material.kind in SHARE_KINDS else [])]
    if kind not in offered:
        raise ValueError(f"kind={kind!r} must be {' or '.join(map(repr, offered))} here.")
    asked = [] if names is None else _not_empty("names", _asked(material, kind, names))
    found = over_time(material, dates, every, also=asked)
    if found is None:
        raise ValueError("dates is None; pass the date of each document.")
    lines = asked or found["lines"][kind]
    return (
        [row["period"] for row in found["periods"]],
        [_share_line(found["rows"], kind, line, model.topic_names_) for line in lines],
        [note for note in found["notes"] if note != CHANCE or kind == "topic"],
    )


def _asked(material: Material, kind: str, names: Any) -> list[Any]:
    if kind == "topic":
        return topic_numbers(material.model, names)
    names = [str(name) for name in ([names] if isinstance(names, str) else names)]
    for name in names:
        if name not in material.classes:
            raise ValueError(
                f"names contains {name!r}, which the model does not predict; pass some of "
                f"{', '.join(map(repr, material.classes))}."
            )
    return names


def _share_line(
    rows: list[dict[str, Any]], kind: str, which: int | str, names: list[str]
) -> ShareLine:
    key = "topic" if kind == "topic" else "class"
    own = [row for row in rows if row["kind"] == kind and row[key] == which]
    cells = ([row[part] for row in own] for part in ("share", "low", "high"))
    return ShareLine(names[which] if isinstance(which, int) else which, *cells)


def _line(ax: Axes, line: ShareLine, colour: str) -> None:
    x = np.arange(len(line.shares))
    shares, low, high = (np.array(part, dtype=float) for part in line[1:])
    ax.plot(x, shares, color=colour, linewidth=1.8, marker="o", markersize=3.5)
    ax.fill_between(x, low, high, color=colour, alpha=0.1, linewidth=0)
    known = np.pad(np.isfinite(low), 1)
    alone = known[1:-1] & ~known[:-2] & ~known[2:]  # a band needs two neighbours
    ax.vlines(x[alone], low[alone], high[alone], color=colour, alpha=0.3, linewidth=2)


def _periods(ax: Axes, names: Sequence[str]) -> None:
    step = math.ceil(sum(map(len, names)) / MAX_PERIOD_CHARACTERS)
    ax.set_xticks(np.arange(0, len(names), step), list(names)[::step], fontsize=8)
    edge = 0.5 if len(names) == 1 else 0.015 * len(names)
    ax.set_xlim(-edge, len(names) - 1 + edge)


def _line_names(ax: Axes, lines: Sequence[ShareLine], colours: Sequence[str]) -> None:
    """Write the name of each line at its right end, far enough apart that none overlap."""
    low, high = ax.get_ylim()
    last = [[share for share in line.shares if share is not None] for line in lines]
    ends = [(shares[-1] - low) / (high - low) if shares else 0.0 for shares in last]
    for line, y, colour in zip(lines, spread(ends, 0.065), colours, strict=True):
        _annotate(ax, written(line.name), (1.0, y), (6, 0), 9, colour, va="center", **OUTSIDE)


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Move places apart until neighbours have this distance; their order and mean stay.

    Examples
    --------
    >>> [round(place, 2) for place in spread([0.5, 0.1, 0.5], 0.1)]
    [0.45, 0.1, 0.55]
    """
    order = np.argsort(places, kind="stable")
    groups: list[tuple[float, int]] = []  # mean and number of neighbours that touch
    for place in order:
        mean, n = float(places[place]), 1
        while groups and mean - groups[-1][0] < gap * (n + groups[-1][1]) / 2:
            other, m = groups.pop()
            mean, n = (n * mean + m * other) / (n + m), n + m
        groups.append((mean, n))
    found = np.empty(len(order))
    found[order] = [mean + gap * (i - (n - 1) / 2) for mean, n in groups for i in range(n)]
    return found.tolist()


# ---- stability, and the number of topics


def plot_stability(model: TopicModel, *, ax: Axes | None = None) -> Axes:
    """Draw how stable each topic is; see `TopicModel.plot_stability`."""
    choice_figure.check_matplotlib("plot_stability")
    if getattr(model, "stability_", None) is None:
        raise ValueError(
            "plot_stability needs the stability of the topics; call stability(documents, y) first."
        )
    table = stability_table(model.topic_names_, model.stability_)
    rows = sorted(table, key=lambda row: -row.stability)
    low, high, places = [r.low for r in rows], [r.high for r in rows], np.arange(len(rows))
    ax = new_axes(ax, 7.0, 1.1 + 0.27 * len(rows))
    ax.hlines(places, low, high, color=BAR, alpha=0.35, linewidth=5)
    ax.plot([r.stability for r in rows], places, "o", color=BAR, markersize=5.5)
    ax.set_yticks(places, [written(r.name) for r in rows], fontsize=9, **letters())
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0, 1.02)
    _bare(ax, "x")
    ax.set_xlabel("cosine with the same topic of another draw, and the 95 % interval", fontsize=9)
    _title(ax, "How stable each topic is", "")
    return ax


def plot_choice(model: TopicModel, choice: Any) -> np.ndarray:
    """Draw a choice and the number of topics of a model; see `TopicModel.plot_choice`."""
    choice_figure.check_matplotlib("plot_choice")
    from matplotlib import pyplot

    own = int(model.n_components)
    drawing = choice_figure.prepare(choice.table, None if own == choice.n_components else own)
    return choice_figure.draw(drawing, choice.advice, pyplot.figure(layout="constrained"))


# ---- parts of pictures

OUTSIDE: dict[str, Any] = {"xycoords": "axes fraction", "annotation_clip": False}


def _annotate(
    ax: Axes,
    text: str,
    at: tuple[float, float],
    offset: tuple[int, int],
    size: int,
    colour: str,
    **style: Any,
) -> None:
    place: dict[str, Any] = {"xytext": offset, "textcoords": "offset points"}
    ax.annotate(text, at, fontsize=size, color=colour, **place, **style, **letters())


def _title(ax: Axes, head: str, below: str) -> None:
    """Write a title, and smaller lines under it."""
    below = textwrap.fill(below, 95)
    pad = 11 * (below.count("\n") + 1) + 6 if below else 5
    ax.set_title(head, loc="left", fontsize=10, fontweight="bold", pad=pad, **letters())
    if below:
        _annotate(ax, below, (0, 1), (0, 4), 8, GREY, va="bottom", **OUTSIDE)


def _bare(ax: Axes, grid: Literal["x", "y"]) -> None:
    """Leave only the lower line of the frame, and draw grid lines along one axis."""
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis=grid, color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)


def _percent() -> Any:
    from matplotlib.ticker import PercentFormatter

    return PercentFormatter(1.0, decimals=None)
