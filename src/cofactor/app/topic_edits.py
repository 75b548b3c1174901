"""Edits of topics: each is one method of `TopicModel`, and what it moves can be seen before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from cofactor.text.describe.compare import measure_drift
from cofactor.text.documents import known_matrix

Sources = list[int | None]
LARGEST_SPLIT = 10


@dataclass(frozen=True)
class Edit:
    """One kind of edit.

    Parameters
    ----------
    arguments : dict of str to type
        What it needs.
    apply : callable (model, texts, **arguments)
        Returns the edited model.
    sources : callable (n_topics, **arguments), optional
        Returns the old number of each new topic; None for edits that move nothing.
    """

    arguments: dict[str, type]
    apply: Callable[..., Any]
    sources: Callable[..., Sources] | None = None


def _same(n: int, **arguments: Any) -> Sources:
    return list(range(n))


def _merged(n: int, topics: list[int]) -> Sources:
    return [k for k in range(n) if k not in topics[1:]]


def _dropped(n: int, topic: int) -> Sources:
    return [k for k in range(n) if k != topic]


def _split(n: int, topic: int, into: int) -> Sources:
    return [*range(topic + 1), *[None] * (into - 1), *range(topic + 1, n)]


EDITS = {
    "rename": Edit(
        {"topic": int, "name": str}, lambda m, texts, topic, name: m.rename(topic, name)
    ),
    "freeze": Edit({"topic": int}, lambda m, texts, topic: m.freeze(topic)),
    "thaw": Edit({"topic": int}, lambda m, texts, topic: m.thaw(topic)),
    "merge": Edit({"topics": list}, lambda m, texts, topics: m.merge(topics), _merged),
    "drop": Edit({"topic": int}, lambda m, texts, topic: m.drop(topic), _dropped),
    "split": Edit(
        {"topic": int, "into": int},
        lambda m, texts, topic, into: m.split(topic, texts, into),
        _split,
    ),
    "pin": Edit(
        {"topic": int, "word": str}, lambda m, texts, topic, word: m.pin(topic, word), _same
    ),
    "ban": Edit(
        {"topic": int, "word": str}, lambda m, texts, topic, word: m.ban(topic, word), _same
    ),
}
"""The edits by their names, which are those of the methods."""


@dataclass(frozen=True, eq=False)
class Trial:
    """An edit that was tried: nobody has accepted it yet."""

    number: int
    name: str
    arguments: dict[str, Any]
    shape: int  # how often the topics had been edited
    before: Any
    after: Any
    drift: list[dict[str, Any]]


def check_edit(name: Any, arguments: Any) -> Edit:
    """Return the edit of a name; refuse arguments that it does not take."""
    edit = EDITS.get(name) if isinstance(name, str) else None
    if edit is None:
        raise ValueError(f"edit={name!r} must be one of {', '.join(EDITS)}.")
    if not isinstance(arguments, dict) or arguments.keys() != edit.arguments.keys():
        raise ValueError(f"The edit {name!r} needs {' and '.join(edit.arguments)}, nothing else.")
    for key, kind in edit.arguments.items():
        value = arguments[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"{key}={value!r} must be of type {kind.__name__}.")
    topics = arguments.get("topics", [])
    if "topics" in arguments and len({k for k in topics if isinstance(k, int)}) < 2:
        raise ValueError("topics must be two or more numbers of topics.")
    if not 2 <= arguments.get("into", 2) <= LARGEST_SPLIT:
        raise ValueError(f"into must be a number from 2 to {LARGEST_SPLIT}.")
    return edit


def drift_of(before: Any, after: Any, sources: Sources, texts: list[str]) -> list[dict[str, Any]]:
    """Return what moved from one model to another, a row for each topic."""
    X = known_matrix(after, texts)
    return [asdict(row) for row in measure_drift(before, after, sources, X, X)]
