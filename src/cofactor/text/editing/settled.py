"""What a user decided about the topics of a model, and how it shows in their words and names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cofactor._fields import Check, FieldSizes, checked
from cofactor._types import BoolArray, FloatArray
from cofactor.engine.factors import Factors
from cofactor.text.describe.summaries import COHERENCE_WORDS, topic_names
from cofactor.text.describe.topic_words import MAX_RANKED_WORDS, Words, shown_words


def _items(kind: Any) -> Check:
    """Return the check of a list with an item of some type for each topic."""

    def check(value: Any, sizes: FieldSizes) -> str | None:
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

    # given by the user or by seeds; None: the name follows the words
    names: list[str | None] = checked(_items(str | None))
    frozen: list[bool] = checked(_items(bool))
    pinned: list[list[str]] = checked(_items(list))
    banned: list[list[str]] = checked(_items(list))

    def fault(self, sizes: FieldSizes) -> str | None:
        """Return what is wrong with the fields together, see `cofactor._fields`."""
        words = [word for some in (*self.pinned, *self.banned) for word in some]
        return None if all(isinstance(word, str) for word in words) else "a word is not a string"

    @classmethod
    def nothing(cls, n_topics: int) -> Settled:
        """Return the decisions for a model without edits."""
        words: list[list[list[str]]] = [[[] for _ in range(n_topics)] for _ in range(2)]
        return cls([None] * n_topics, [False] * n_topics, *words)

    @classmethod
    def of(cls, model: Any) -> Settled:
        """Return the decisions about the topics of a fitted model."""
        found: Settled | None = model.fitted.settled
        if found is not None:
            return found
        seeds = {str(name) for name in model.seeds or ()}
        names = [name if name in seeds else None for name in model.topic_names_]
        return replace(cls.nothing(len(names)), names=names)

    def __len__(self) -> int:
        return len(self.names)

    def said(self, topic: int) -> str:
        """Return the decisions about a topic's words as text, such as "frozen; pinned: a, b"."""
        pinned, banned = self.pinned[topic], self.banned[topic]
        parts = [
            "frozen" if self.frozen[topic] else "",
            f"pinned: {', '.join(pinned)}" if pinned else "",
            f"banned: {', '.join(banned)}" if banned else "",
        ]
        return "; ".join(filter(None, parts))

    def facts(self, topic: int) -> dict[str, Any]:
        """Return the decisions about a topic, for tables and JSON."""
        return {
            "given_name": self.names[topic],
            "frozen": self.frozen[topic],
            "pinned": [*self.pinned[topic]],
            "banned": [*self.banned[topic]],
        }

    def named(self, topic: int, name: str) -> Settled:
        return replace(self, names=_with(self.names, topic, name))

    def freezing(self, topics: Sequence[int], frozen: bool) -> Settled:
        marks = [frozen if k in topics else mark for k, mark in enumerate(self.frozen)]
        return replace(self, frozen=marks)

    def pinning(self, topic: int, words: Sequence[str]) -> Settled:
        """Pin words, and lift their bans."""
        pinned = _with(self.pinned, topic, _joined(self.pinned[topic], words))
        banned = _with(self.banned, topic, _without(self.banned[topic], words))
        return replace(self, pinned=pinned, banned=banned)

    def banning(self, topic: int, words: Sequence[str]) -> Settled:
        """Ban words, and unpin them."""
        banned = _with(self.banned, topic, _joined(self.banned[topic], words))
        pinned = _with(self.pinned, topic, _without(self.pinned[topic], words))
        return replace(self, pinned=pinned, banned=banned)

    def grouped(self, groups: Sequence[Sequence[int]]) -> Settled:
        """Return the decisions about merged groups of topics.

        A group keeps the first given name and all pinned words, is frozen if all its topics are,
        and bans a word if all its topics do.
        """
        return Settled(
            [next((self.names[k] for k in g if self.names[k] is not None), None) for g in groups],
            [all(self.frozen[k] for k in g) for g in groups],
            [_joined([], [word for k in g for word in self.pinned[k]]) for g in groups],
            [_shared([self.banned[k] for k in g]) for g in groups],
        )

    def extended(self, n_topics: int) -> Settled:
        """Return the same with further topics, about which nothing is decided."""
        more = Settled.nothing(n_topics)
        return Settled(
            [*self.names, *more.names],
            [*self.frozen, *more.frozen],
            [*self.pinned, *more.pinned],
            [*self.banned, *more.banned],
        )

    def columns(self, words: Any) -> list[tuple[list[int], list[int]]]:
        """Return the columns of each topic's pinned words and of its banned words."""
        places = {str(word): j for j, word in enumerate(words)}
        pins, bans = (
            [[places[word] for word in topic if word in places] for topic in kind]
            for kind in (self.pinned, self.banned)
        )
        return list(zip(pins, bans, strict=True))

    def mask(self, words: Any) -> BoolArray:
        """Return the entries of the topics that later fits must not change (n_topics, n_words)."""
        mask = np.repeat(np.array(self.frozen, dtype=bool)[:, None], len(words), axis=1)
        for row, (pins, bans) in zip(mask, self.columns(words), strict=True):
            row[[*pins, *bans]] = True
        return mask

    def hold(self, estimator: Any, components: FloatArray, words: Any) -> Any:
        """Make the next fit of an estimator start from these topics and respect the decisions."""
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


# ---- words and names as they are shown


def with_settled(
    found: dict[str, Any], settled: Settled, components: FloatArray, words: Words
) -> dict[str, Any]:
    """Return the description of a fit with pinned words first, banned words gone, names given."""
    ranking = found["topic_words"]
    for k, (pins, bans) in enumerate(settled.columns(words.names)):
        ranking = reranked(ranking, k, pins, bans) if pins or bans else ranking
    shown = shown_words(words.shown(components), ranking, COHERENCE_WORDS)
    fresh = topic_names(shown, words.names, {})
    names = [mine or name for mine, name in zip(settled.names, fresh, strict=True)]
    return {**found, "topic_words": ranking, "topic_names": names}


def reranked(ranking: Any, topic: int, first: Sequence[int], gone: Sequence[int]) -> Any:
    """Return a ranking with some words of one topic first, and without others."""
    if ranking is None:
        return None
    rows = [[j for j in row.tolist() if j >= 0] for row in ranking]
    left = [j for j in rows[topic] if j not in {*first, *gone}]
    rows[topic] = [*first, *left][:MAX_RANKED_WORDS]
    return _padded(rows)


def joined_rankings(ranking: Any, groups: Sequence[Sequence[int]], shares: FloatArray) -> Any:
    """Return the rankings of groups: words of their topics in turn, the largest topic first."""
    rows = []
    for group in groups:
        ordered = sorted(group, key=lambda k: -shares[k])
        lists = [[j for j in ranking[k].tolist() if j >= 0] for k in ordered]
        longest = max(map(len, lists))
        turns = [words[i] for i in range(longest) for words in lists if i < len(words)]
        rows.append(list(dict.fromkeys(turns))[:MAX_RANKED_WORDS])
    return _padded(rows)


def _padded(rows: list[list[int]]) -> Any:
    width = max(map(len, rows))
    return np.array([row + [-1] * (width - len(row)) for row in rows], dtype=np.int64)
