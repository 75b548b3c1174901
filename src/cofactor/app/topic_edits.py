"""Edits of topics: each is one method of `TopicModel` and can be tried before it is accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cofactor.text import TopicModel

Sources = list[int | None]
MAX_SPLIT = 10


def _same(n: int, **arguments: Any) -> Sources:
    return list(range(n))


@dataclass(frozen=True)
class Edit:
    """One kind of edit.

    Parameters
    ----------
    arguments : dict of str to type
        The arguments it takes.
    apply : callable (model, texts, **arguments)
        Returns the edited model.
    sources : callable (n_topics, **arguments)
        Returns the old number of each new topic.
    moves : bool
        Whether topics move, so that the model must be refitted.
    """

    arguments: dict[str, type]
    apply: Callable[..., TopicModel]
    sources: Callable[..., Sources] = _same
    moves: bool = True


def _merged(n: int, topics: list[int]) -> Sources:
    return [k for k in range(n) if k not in topics[1:]]


def _dropped(n: int, topic: int) -> Sources:
    return [k for k in range(n) if k != topic]


def _split(n: int, topic: int, into: int) -> Sources:
    return [*range(topic + 1), *[None] * (into - 1), *range(topic + 1, n)]


_TOPIC: dict[str, type] = {"topic": int}
EDITS = {
    "rename": Edit(
        {**_TOPIC, "name": str}, lambda m, _, topic, name: m.rename(topic, name), moves=False
    ),
    "freeze": Edit(_TOPIC, lambda m, _, topic: m.freeze(topic), moves=False),
    "thaw": Edit(_TOPIC, lambda m, _, topic: m.thaw(topic), moves=False),
    "merge": Edit({"topics": list}, lambda m, _, topics: m.merge(topics), _merged),
    "drop": Edit(_TOPIC, lambda m, _, topic: m.drop(topic), _dropped),
    "split": Edit(
        {**_TOPIC, "into": int}, lambda m, texts, topic, into: m.split(topic, texts, into), _split
    ),
    "pin": Edit({**_TOPIC, "word": str}, lambda m, _, topic, word: m.pin(topic, word)),
    "ban": Edit({**_TOPIC, "word": str}, lambda m, _, topic, word: m.ban(topic, word)),
}
"""The edits by name, which is that of the method."""


@dataclass(frozen=True, eq=False)
class Trial:
    """An edit that was tried and is not accepted yet."""

    number: int
    name: str
    arguments: dict[str, Any]
    shape: int  # number of edits of topics before
    before: Any  # the situation
    after: TopicModel
    drift: list[dict[str, Any]]


def check_edit(name: Any, arguments: Any) -> Edit:
    """Return the edit with this name; reject arguments that it does not take."""
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
    if not 2 <= arguments.get("into", 2) <= MAX_SPLIT:
        raise ValueError(f"into must be a number from 2 to {MAX_SPLIT}.")
    return edit
