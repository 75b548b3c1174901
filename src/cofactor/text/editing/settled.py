"""What a user settled of the topics of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cofactor._fields import Check, Sizes, checked
from cofactor._types import BoolArray, FloatArray
from cofactor.engine.factors import Factors


def _items(kind: Any) -> Check:
    """Return the check of a list with an item of some type for each topic."""

    def check(value: Any, sizes: Sizes) -> str | None:
        if not isinstance(value, list) or len(value) != sizes.setdefault("r", len(value)):
            return "is not a list with an item for each topic"
        good = all(isinstance(item, kind) for item in value)
        return None if good else "has an item of the wrong type"

    return check


@dataclass(frozen=True)
class Settled:
    """Names, frozen topics, pinned and banned words: one item for each topic.

    Later fits keep all of it. The fields are lists so that a model folder can hold them.
    """

    names: list[str | None] = checked(_items(str | None))
    """Names that the user gave, those of seeds included; None: the name follows the words."""
    frozen: list[bool] = checked(_items(bool))
    pinned: list[list[str]] = checked(_items(list))
    banned: list[list[str]] = checked(_items(list))

    def fault(self, sizes: Sizes) -> str | None:
        """Return what is wrong with the fields together, see `cofactor._fields`."""
        words = [word for some in (*self.pinned, *self.banned) for word in some]
        return None if all(isinstance(word, str) for word in words) else "a word is not a string"

    @classmethod
    def nothing(cls, n_topics: int) -> Settled:
        """Return the state of a model that nobody edited."""
        topics = range(n_topics)
        return cls(
            [None] * n_topics, [False] * n_topics, [[] for _ in topics], [[] for _ in topics]
        )

    @classmethod
    def of(cls, model: Any) -> Settled:
        """Return what is settled of a fitted model."""
        found: Settled | None = vars(model).get("settled_")
        if found is not None:
            return found
        seeds = {str(name) for name in model.seeds or ()}
        names = [name if name in seeds else None for name in model.topic_names_]
        return replace(cls.nothing(len(names)), names=names)

    def __len__(self) -> int:
        return len(self.names)

    def said(self, topic: int) -> str:
        """Return what holds for the words of a topic, such as "frozen; pinned: a, b"; or ""."""
        pinned, banned = self.pinned[topic], self.banned[topic]
        parts = [
            "frozen" if self.frozen[topic] else "",
            f"pinned: {', '.join(pinned)}" if pinned else "",
            f"banned: {', '.join(banned)}" if banned else "",
        ]
        return "; ".join(filter(None, parts))

    def facts(self, topic: int) -> dict[str, Any]:
        """Return what holds for a topic, for tables and JSON."""
        return {
            "given_name": self.names[topic],
            "frozen": self.frozen[topic],
            "pinned": [*self.pinned[topic]],
            "banned": [*self.banned[topic]],
        }

    def named(self, topic: int, name: str) -> Settled:
        return replace(self, names=_with(self.names, topic, name))

    def freezing(self, topics: Sequence[int], frozen: bool) -> Settled:
        return replace(
            self, frozen=[frozen if k in topics else f for k, f in enumerate(self.frozen)]
        )

    def pinning(self, topic: int, words: Sequence[str]) -> Settled:
        """Pin words; what was banned of them is banned no more."""
        return replace(
            self,
            pinned=_with(self.pinned, topic, _joined(self.pinned[topic], words)),
            banned=_with(self.banned, topic, _without(self.banned[topic], words)),
        )

    def banning(self, topic: int, words: Sequence[str]) -> Settled:
        """Ban words; what was pinned of them is pinned no more."""
        return replace(
            self,
            banned=_with(self.banned, topic, _joined(self.banned[topic], words)),
            pinned=_with(self.pinned, topic, _without(self.pinned[topic], words)),
        )

    def grouped(self, groups: Sequence[Sequence[int]]) -> Settled:
        """Return what holds for groups of topics: a group keeps the first name that a user gave,
        is frozen if all its topics are, and bans a word if all its topics do."""
        return Settled(
            [next((self.names[k] for k in g if self.names[k] is not None), None) for g in groups],
            [all(self.frozen[k] for k in g) for g in groups],
            [_joined([], [word for k in g for word in self.pinned[k]]) for g in groups],
            [_shared([self.banned[k] for k in g]) for g in groups],
        )

    def extended(self, n_topics: int) -> Settled:
        """Return the same with further topics, of which nothing is settled."""
        more = Settled.nothing(n_topics)
        return Settled(
            [*self.names, *more.names],
            [*self.frozen, *more.frozen],
            [*self.pinned, *more.pinned],
            [*self.banned, *more.banned],
        )

    def columns(self, words: Any) -> list[tuple[list[int], list[int]]]:
        """Return the columns of each topic's pinned and of its banned words."""
        places = {str(word): j for j, word in enumerate(words)}
        pairs = zip(self.pinned, self.banned, strict=True)
        return [
            tuple([places[word] for word in some if word in places] for some in pair)  # type: ignore[misc]
            for pair in pairs
        ]

    def mask(self, words: Any) -> BoolArray:
        """Return the entries of the topics that later fits leave alone (n_topics, n_words)."""
        mask = np.repeat(np.array(self.frozen, dtype=bool)[:, None], len(words), axis=1)
        for row, (pins, bans) in zip(mask, self.columns(words), strict=True):
            row[[*pins, *bans]] = True
        return mask

    def hold(self, estimator: Any, components: FloatArray, words: Any) -> Any:
        """Let the next fit of an estimator go on from topics, with everything settled in force."""
        topics = Factors.of_topics(np.ascontiguousarray(components.T))
        return estimator.set_params(init=topics, fixed={"features": self.mask(words)})


def _with(items: list[Any], place: int, item: Any) -> list[Any]:
    return [*items[:place], item, *items[place + 1 :]]


def _joined(first: Sequence[str], second: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*first, *second]))


def _without(words: Sequence[str], left_out: Sequence[str]) -> list[str]:
    return [word for word in words if word not in left_out]


def _shared(lists: list[list[str]]) -> list[str]:
    return [word for word in lists[0] if all(word in other for other in lists[1:])]
