"""Pictures of a topic model for notebooks and scripts, drawn with matplotlib.

For each picture, one function prepares plain data and another draws them, into the axes that are
passed or into a new figure of pyplot, so that notebooks and ``pyplot.show()`` show it. Words are
never interpreted as mathematics or TeX.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cofactor.io.errors import shortened
from cofactor.model_selection import figure as choice_figure
from cofactor.report.material import Material, largest, read_material
from cofactor.report.period_tables import CHANCE, over_time
from cofactor.report.topic_tables import MAX_HEATMAP_TOPICS, heatmap
from cofactor.text.describe.summaries import Topic, shown_link
from cofactor.text.editing.edits import topic_numbers
from cofactor.text.over_time import KINDS
from cofactor.text.stability import TopicStability, stability_table

if TYPE_CHECKING:
    pass

BAR, PALE, TEXT, GREY = choice_figure.LINE, "#a9c8e8", "#222222", "#666666"
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
MAX_NAME, MAX_PERIOD_CHARACTERS = 32, 60  # characters of a name, and along the axis of time
MAX_NUMBERED_CLASSES = 10  # for numbers in the cells
MAX_PANELS = 12  # topics that a picture of words shows by default


def written(text: str, longest: int = MAX_NAME) -> str:
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
    choice_figure.check_matplotlib(what)
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.figure(figsize=(width, height), layout="constrained").add_subplot()


# ---- the words of topics


def plot_topics(
    model: Any,
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
        _words(ax, panel)
    for ax in grid[len(panels) :]:
        ax.remove()
    figure.supxlabel(f"probability in the topic{f' · {note}' if note else ''}", fontsize=9)
    return grid[: len(panels)]


def _words(ax: Any, panel: TopicPanel) -> None:
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


def _about(panel: TopicPanel) -> list[str]:
    found = [f"topic {panel.topic}", f"{panel.share:.0%} of texts", written(panel.label, 24)]
    return [part for part in found if part]


@dataclass(frozen=True)
class TopicPanel:
    """The words of one topic."""

    topic: int
    name: str
    words: list[str]  # in the order of `topics`: those of the name first
    probabilities: list[float]
    share: float  # of the documents
    label: str  # the class it speaks for most, with its weight; "" without a class


def topic_panels(
    model: Any, n_words: int, topics: int | str | Iterable[int | str] | None, by: str
) -> tuple[list[TopicPanel], str]:
    """Return the words of topics, the largest topic first, and a note on those left out."""
    rows = model.topics(n_words, by=by)
    if topics is None:
        order = sorted(range(len(rows)), key=lambda k: -rows[k].share)[:MAX_PANELS]
    else:
        order = _some("topics", topic_numbers(model, topics))
    note = _left_out(len(order), len(rows), "topics") if topics is None else ""
    return [_panel(model, rows[k]) for k in order], note


def _some(parameter: str, asked: list[Any]) -> list[Any]:
    """Refuse a choice of nothing, which is not the same as no choice."""
    if not asked:
        raise ValueError(f"{parameter} is empty; name at least one, or leave it out for the usual.")
    return asked


def _panel(model: Any, row: Topic) -> TopicPanel:
    label = "" if row.label is None else f"{row.label} {shown_link(model, row)}"
    words, weights = list(row.words), list(row.weights)
    return TopicPanel(row.topic, row.name, words, weights, row.share, label)


def _left_out(shown: int, of_all: int, what: str) -> str:
    return "" if shown >= of_all else f"the {shown} largest of {of_all} {what}"


# ---- topics × classes


def plot_classes(model: Any, *, ax: Any = None) -> Any:
    """Draw the probability of each class in each topic; see `TopicModel.plot_classes`."""
    choice_figure.check_matplotlib("plot_classes")
    grid = class_grid(model)
    rows, columns = len(grid.topics), len(grid.classes)
    cell = 0.95 if columns <= MAX_NUMBERED_CLASSES else 0.36
    ax = new_axes("plot_classes", ax, max(5.0, 2.9 + cell * columns), 1.2 + 0.3 * rows)
    shares = np.array(grid.shares)
    mesh = ax.pcolormesh(shares, cmap="Blues", vmin=0, vmax=1, edgecolors="white", linewidth=1.5)
    names = [written(name) for name in grid.names]
    ax.set_yticks(np.arange(rows) + 0.5, names, fontsize=9, **letters())
    _class_names(ax, grid.classes)
    ax.invert_yaxis()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if columns <= MAX_NUMBERED_CLASSES:
        _numbers(ax, shares)
    else:
        ax.figure.colorbar(mesh, ax=ax, format=_percent(), label="probability", shrink=0.8)
    if grid.shrunk:
        ax.set_xlabel("shrunk by the labels behind each topic, as in topics()", fontsize=9)
    _title(ax, "Probability of each class in a topic", grid.note)
    return ax


def _class_names(ax: Any, classes: Sequence[str]) -> None:
    names = [written(name, 24) for name in classes]
    room = 11 if len(names) <= MAX_NUMBERED_CLASSES else 2
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


@dataclass(frozen=True)
class ClassGrid:
    """Topics × classes."""

    topics: list[int]  # the rows: topics of the same class together
    names: list[str]
    classes: list[str]
    shares: list[list[float]]  # of each class (columns) in each topic (rows), as `topics` shows it
    note: str  # what is not shown
    shrunk: bool  # by the labels behind the topics; streams do not count them


def class_grid(model: Any) -> ClassGrid:
    """Return the largest topics × the largest classes; topics of one class stand together."""
    material = read_material(model, None, None, None)
    _need_classes(material)
    shares = np.array([row["share"] for row in heatmap(material)])
    shares = shares.reshape(len(model.topic_names_), len(material.classes))
    sizes = model.topics(1).column("share")
    columns = material.chart_classes
    rows = sorted(largest(sizes, MAX_HEATMAP_TOPICS), key=lambda k: _place(shares[k, columns]))
    notes = (
        _left_out(len(rows), len(shares), "topics"),
        _left_out(len(columns), len(material.classes), "classes"),
    )
    return ClassGrid(
        rows,
        [model.topic_names_[k] for k in rows],
        [material.classes[c] for c in columns],
        shares[np.ix_(rows, columns)].tolist(),
        ", ".join(filter(None, notes)),
        model.topics(1)[0].labels is not None,
    )


def _place(shares: np.ndarray) -> tuple[int, float]:
    """Return what a topic is sorted by: its first class, then the share of that class."""
    return int(shares.argmax()), -float(shares.max())


def _need_classes(material: Material) -> None:
    if material.kind not in ("classes", "sets"):
        had = "numbers" if material.kind == "numbers" else "no labels"
        raise ValueError(
            f"plot_classes needs classes, but the model was fitted with {had}; use plot_topics."
        )


# ---- shares over time


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
    choice_figure.check_matplotlib("plot_over_time")
    found = share_lines(model, documents, dates, every, kind, names)
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


def _line(ax: Any, line: ShareLine, colour: str) -> None:
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
    step = math.ceil(sum(map(len, names)) / MAX_PERIOD_CHARACTERS)
    ax.set_xticks(np.arange(0, len(names), step), list(names)[::step], fontsize=8)
    edge = 0.5 if len(names) == 1 else 0.015 * len(names)
    ax.set_xlim(-edge, len(names) - 1 + edge)


def _line_names(ax: Any, lines: Sequence[ShareLine]) -> None:
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


@dataclass(frozen=True)
class ShareLine:
    """The share of a topic or class in each period; None where there are no documents."""

    name: str
    shares: list[float | None]
    low: list[float | None]
    high: list[float | None]


@dataclass(frozen=True)
class ShareLines:
    """Shares over time."""

    kind: str  # "topic", "class" or "number"
    periods: list[str]
    lines: list[ShareLine]
    notes: list[str]


def share_lines(
    model: Any, documents: Any, dates: Any, every: str | None, kind: str, names: Any
) -> ShareLines:
    """Return the shares of topics, classes or numbers over time.

    Without ``names`` those that changed most; with them those, in their order.
    """
    material = read_material(model, documents, None, None)
    _check_kind(material, kind)
    asked = [] if names is None else _some("names", _asked(material, kind, names))
    found = over_time(material, dates, every, also=asked)
    if found is None:
        raise ValueError("dates is None; pass the date of each document.")
    lines = asked or found["lines"][kind]
    return ShareLines(
        kind,
        [row["period"] for row in found["periods"]],
        [_share_line(found["rows"], kind, line, model.topic_names_) for line in lines],
        [note for note in found["notes"] if note != CHANCE or kind == "topic"],
    )


def _check_kind(material: Material, kind: str) -> None:
    offered = ["topic", *([KINDS[material.kind]] if material.kind in KINDS else [])]
    if kind not in offered:
        raise ValueError(f"kind={kind!r} must be {' or '.join(map(repr, offered))} here.")


def _asked(material: Material, kind: str, names: Any) -> list[Any]:
    if kind == "topic":
        return topic_numbers(material.model, names)
    names = [str(name) for name in ([names] if isinstance(names, str) else names)]
    for name in names:
        if name not in material.classes:
            raise ValueError(
                f"names holds {name!r}, which the model does not predict; pass some "
                f"of {', '.join(map(repr, material.classes))}."
            )
    return names


def _share_line(
    rows: list[dict[str, Any]], kind: str, which: int | str, names: list[str]
) -> ShareLine:
    key = "topic" if kind == "topic" else "class"
    own = [row for row in rows if row["kind"] == kind and row[key] == which]
    cells = ([row[part] for row in own] for part in ("share", "low", "high"))
    return ShareLine(names[which] if isinstance(which, int) else which, *cells)


# ---- stability, and the number of topics


def plot_stability(model: Any, *, ax: Any = None) -> Any:
    """Draw how much of each topic is found again; see `TopicModel.plot_stability`."""
    choice_figure.check_matplotlib("plot_stability")
    rows = stability_rows(model)
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


def stability_rows(model: Any) -> list[TopicStability]:
    """Return the stability of the topics, those that are found again most first."""
    if getattr(model, "stability_", None) is None:
        raise ValueError(
            "plot_stability needs the stability of the topics; call stability(documents, y) first."
        )
    table = stability_table(model.topic_names_, model.stability_)
    return sorted(table, key=lambda row: -row.stability)


def plot_choice(model: Any, choice: Any) -> np.ndarray:
    """Draw a choice and the number of topics of a model; see `TopicModel.plot_choice`."""
    choice_figure.check_matplotlib("plot_choice")
    from matplotlib import pyplot

    own = int(model.n_components)
    drawing = choice_figure.prepare(choice.table, None if own == choice.n_components else own)
    return choice_figure.draw(drawing, choice.advice, pyplot.figure(layout="constrained"))


# ---- parts of pictures


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
