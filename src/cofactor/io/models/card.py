"""The model card: the README of a model's folder."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from cofactor.io.errors import printable

MAX_VALUE_CHARACTERS = 500
"""Largest number of characters of a note."""
WORDS_IN_CARD = 10
"""Number of words of each topic."""


def card(facts: dict[str, Any], confidences: str) -> str:
    """Return the model card in Markdown; ``confidences`` is a sentence about them."""
    sections = [
        f"# A {facts['model']} of cofactor",
        "Load it with `cofactor.load_model(path)`; nothing in this folder is executed.",
        _table(("", ""), [(key, value) for key, value in _summary(facts)]),
        *_warnings(facts),
        *_topics(facts["description"]),
        *_history(facts),
        *_notes(facts),
        "## Settings",
        _table(("parameter", "value"), list(facts["settings"].items())),
        "## Limits",
        "Predictions hold for data like those the model was fitted on. Words that it has not seen "
        f"do not count. {confidences}".rstrip(),
    ]
    return "\n\n".join(sections) + "\n"


def _summary(facts: dict[str, Any]) -> list[tuple[str, Any]]:
    data, fit = facts["data"], facts["fit"]
    return [
        ("samples", data["samples"]),
        ("features", data["features"]),
        ("targets", ", ".join(map(str, data["targets"])) or "none"),
        ("iterations", fit["iterations"]),
        ("end of the fit", fit["stop_reason"]),
        *([("expected on new data like these", fit["expected"])] if fit["expected"] else []),
        ("seed", facts["seed"]),
    ]


def _warnings(facts: dict[str, Any]) -> list[str]:
    """Return the warnings of the fit, if the notes have them."""
    said = facts["notes"].get("warnings")
    if not isinstance(said, list) or not said:
        return []
    return ["## Warnings of the fit", "\n".join(f"- {_plain(one)}" for one in said)]


def _history(facts: dict[str, Any]) -> list[str]:
    """Return what edits and later fits did, if the notes have it."""
    steps = _as_list(facts["notes"].get("history"))
    told = [_as_list(one.get("said")) for one in steps if isinstance(one, dict)]
    said = [sentence for each in told for sentence in each]
    return ["## Edits", "\n".join(f"1. {_plain(one)}" for one in said)] if said else []


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _notes(facts: dict[str, Any]) -> list[str]:
    """Return the other notes, such as the table and the command."""
    apart = ("warnings", "history")
    rows = list(_flat({k: v for k, v in facts["notes"].items() if k not in apart}))
    return ["## Notes", _table(("", ""), rows)] if rows else []


def _flat(notes: dict[str, Any], before: str = "") -> Iterator[tuple[Any, ...]]:
    for name, value in notes.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name} ")
        elif value not in (None, [], ""):
            shown = shlex.join(map(str, value)) if isinstance(value, list) else value
            yield f"{before}{name}", str(shown)[:MAX_VALUE_CHARACTERS]


def _topics(description: dict[str, Any] | None) -> list[str]:
    """Return a table of the topics, see `cofactor.io.models.description`."""
    if description is None:
        return []
    topics = description["topics"]
    columns = {
        "topic": [one["topic"] for one in topics],
        "name": [one["name"] for one in topics],
        "words": [" ".join(one["words"]["coherence"][:WORDS_IN_CARD]) for one in topics],
        "share": [f"{one['share']:.1%}" for one in topics],
        "class": [one["label"] for one in topics],
        "link": [one["link"] for one in topics],
        "labels": [one["labels"] for one in topics],
        "stability": [one["stability"] for one in topics],
        "settled by the user": [one["settled"] for one in topics],
    }
    told = {name: cells for name, cells in columns.items() if set(cells) - {None, ""}}
    table = _table(tuple(told), list(zip(*told.values(), strict=True)))
    return ["## Topics", table, *(MEANINGS[name] for name in MEANINGS if name in told)]


MEANINGS = {
    "labels": "Labels are labelled documents that are mostly of the topic. A link in per cent is "
    "the mean probability of the class in the documents of the topic.",
    "stability": "Stability, from 0 to 1, says how much of a topic is found again if documents and "
    "labels are drawn again; the interval holds 95 % of the draws.",
}


def _table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_plain, line)) + " |" for line in lines)


def _plain(value: Any) -> str:
    """Return text in which Markdown and HTML find no markup."""
    text = " ".join(("" if value is None else str(value)).split())
    text = printable(text.encode("utf-8", "replace").decode())
    return text if text == "---" else re.sub(r"([\\`*_{}\[\]<>()#+!|~&])", r"\\\1", text)
