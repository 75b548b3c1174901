"""The plain data of the pictures that a topic model draws in notebooks and scripts.

Each function returns what `cofactor.report.plots` draws and nothing else: words, names, shares and
the order in which they are shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cofactor.report.preparation.material import Material, read_material
from cofactor.report.preparation.over_time import CHANCE, over_time
from cofactor.report.preparation.selection import CLASSES, COLUMNS, class_sizes, largest
from cofactor.report.preparation.topics import heatmap
from cofactor.text.describe.summaries import Topic, shown_link
from cofactor.text.editing.edits import topic_numbers
from cofactor.text.over_time import KINDS
from cofactor.text.selection import TopicStability, stability_table

PANELS = 12
"""Topics that a picture of words shows unless others are asked for."""


@dataclass(frozen=True)
class TopicPanel:
    """The words of one topic."""

    topic: int
    name: str
    words: list[str]  # in the order of `topics`: those of the name first
    probabilities: list[float]
    share: float  # of the documents
    label: str  # the class it speaks for most, with its weight; "" without a class


@dataclass(frozen=True)
class ClassGrid:
    """Topics × classes."""

    topics: list[int]  # the rows: topics of the same class together
    names: list[str]
    classes: list[str]
    shares: list[list[float]]  # of each class (columns) in each topic (rows), as `topics` shows it
    note: str  # what is not shown
    shrunk: bool  # by the labels behind the topics; streams do not count them


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


def topic_panels(
    model: Any, n_words: int, topics: int | str | Iterable[int | str] | None, by: str
) -> tuple[list[TopicPanel], str]:
    """Return the words of topics, the largest topic first, and a note on those left out."""
    rows = model.topics(n_words, by=by)
    if topics is None:
        order = sorted(range(len(rows)), key=lambda k: -rows[k].share)[:PANELS]
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


def class_grid(model: Any) -> ClassGrid:
    """Return the largest topics × the largest classes; topics of one class stand together."""
    material = read_material(model, None, None, None)
    _need_classes(material)
    shares = np.array([row["share"] for row in heatmap(material)])
    shares = shares.reshape(len(model.topic_names_), len(material.classes))
    sizes = model.topics(1).column("share")
    columns = largest(class_sizes(material), CLASSES)
    rows = sorted(largest(sizes, COLUMNS), key=lambda k: _place(shares[k, columns]))
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
        [_line(found["rows"], kind, line, model.topic_names_) for line in lines],
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


def _line(rows: list[dict[str, Any]], kind: str, which: int | str, names: list[str]) -> ShareLine:
    key = "topic" if kind == "topic" else "class"
    own = [row for row in rows if row["kind"] == kind and row[key] == which]
    cells = ([row[part] for row in own] for part in ("share", "low", "high"))
    return ShareLine(names[which] if isinstance(which, int) else which, *cells)


def stability_rows(model: Any) -> list[TopicStability]:
    """Return the stability of the topics, those that are found again most first."""
    if getattr(model, "stability_", None) is None:
        raise ValueError(
            "plot_stability needs the stability of the topics; call stability(documents, y) first."
        )
    table = stability_table(model.topic_names_, model.stability_)
    return sorted(table, key=lambda row: -row.stability)
