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
    """Print the rows of `topic_rows`; names that follow the words are left out."""
    from cofactor.text.editing import Settled

    labelled = any(row["label"] is not None for row in rows)
    classes = hasattr(model.estimator_, "classes_")
    about = ("Class" if classes else "Target", "Link" if classes else "Value")
    given = [row["given_name"] or "" for row in rows]
    names = ["Topic", *(["Name"] if any(given) else []), "Share", *(about if labelled else ()),
             "Coher.", "Words"]  # fmt: skip
    table = make_table(*names, numbers=("Topic", "Share", about[1], "Coher."))
    for row, name in zip(rows, given, strict=True):
        link = (shown(row["label"], 20), _link(row, classes)) if labelled else ()
        marks = Settled.of(model).said(row["topic"])
        words = shown(" ".join(row["words"]) + (f" ({marks})" if marks else ""), 2000)
        table.add_row(
            str(row["topic"]), *([shown(name)] if any(given) else []), percent(row["share"]),
            *link, coherence(row["coherence"]), words,
        )  # fmt: skip
    show(table)


def coherence(value: float) -> str:
    """Return a coherence; that of an edited topic is not known before documents are seen."""
    return f"{value:.2f}" if value - value == 0 else UNKNOWN


def _link(row: dict[str, Any], classes: bool) -> str:
    return f"{row['label_weight']:.0%}" if classes else f"{row['label_weight']:.3g}"
