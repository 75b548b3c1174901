"""The topics of a model as a table for the terminal and as rows for JSON."""

from __future__ import annotations

from typing import Any

from cofactor.cli._shared.terminal import make_table, percent, show, shown

UNKNOWN = "–"
"""Stands for a number that is not known."""


def topic_rows(model: Any, words: int, by: str = "coherence") -> list[dict[str, Any]]:
    """Return the topics with what the user settled about them, the largest first."""
    from cofactor.text.editing import Settled

    settled = Settled.of(model)
    rows = [row | settled.facts(row["topic"]) for row in model.topics(words, by=by).to_records()]
    return sorted(rows, key=lambda row: -row["share"])


def show_topics(model: Any, rows: list[dict[str, Any]]) -> None:
    """Print the rows of `topic_rows`; names that follow the words, and empty columns, are left
    out."""
    classes = hasattr(model.estimator_, "classes_")
    about, link = ("Class", "Link") if classes else ("Target", "Value")
    columns = {
        "Topic": [str(row["topic"]) for row in rows],
        "Name": [shown(row["given_name"] or "") for row in rows],
        "Share": [percent(row["share"]) for row in rows],
        about: [shown(row["label"], 20) for row in rows],
        link: [_link(row, classes) for row in rows],
        "Labels": ["" if row["labels"] is None else str(row["labels"]) for row in rows],
        "Coher.": [coherence(row["coherence"]) for row in rows],
        "Stability": [_stability(row) for row in rows],
        "Words": [shown(_words(model, row), 2000) for row in rows],
    }
    told = {name: cells for name, cells in columns.items() if any(cells)}
    texts = {"Name", about, "Words"}
    table = make_table(*told, numbers=tuple(name for name in told if name not in texts))
    for cells in zip(*told.values(), strict=True):
        table.add_row(*cells)
    show(table)


def _words(model: Any, row: dict[str, Any]) -> str:
    from cofactor.text.editing import Settled

    marks = Settled.of(model).said(row["topic"])
    return " ".join(row["words"]) + (f" ({marks})" if marks else "")


def _stability(row: dict[str, Any]) -> str:
    if row["stability"] is None:
        return ""
    low, high = row["stability_interval"]
    return f"{row['stability']:.2f} ({low:.2f}–{high:.2f})"


def coherence(value: float) -> str:
    """Return a coherence; that of an edited topic is not known before documents are seen."""
    return f"{value:.2f}" if value - value == 0 else UNKNOWN


def _link(row: dict[str, Any], classes: bool) -> str:
    if row["label_weight"] is None:
        return ""
    return f"{row['label_weight']:.0%}" if classes else f"{row['label_weight']:.3g}"
