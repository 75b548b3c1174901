"""Words and names of topics as the user settled them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cofactor._types import FloatArray
from cofactor.text.describe.summaries import COHERENCE_WORDS, topic_names
from cofactor.text.describe.words import RANKED, Words, shown_words
from cofactor.text.editing.settled import Settled


def with_settled(
    found: dict[str, Any], settled: Settled, components: FloatArray, words: Words
) -> dict[str, Any]:
    """Return the description of a fit with pinned words first, banned words gone, names given."""
    ranking = found["topic_words_"]
    for k, (pins, bans) in enumerate(settled.columns(words.names)):
        ranking = reranked(ranking, k, pins, bans) if pins or bans else ranking
    shown = shown_words(words.shown(components), ranking, COHERENCE_WORDS)
    fresh = topic_names(shown, words.names, {})
    names = [mine or name for mine, name in zip(settled.names, fresh, strict=True)]
    return {**found, "topic_words_": ranking, "topic_names_": names}


def reranked(ranking: Any, topic: int, first: Sequence[int], gone: Sequence[int]) -> Any:
    """Return a ranking in which some words of one topic come first, and others do not come."""
    if ranking is None:
        return None
    rows = [[j for j in row.tolist() if j >= 0] for row in ranking]
    left = [j for j in rows[topic] if j not in {*first, *gone}]
    rows[topic] = [*first, *left][:RANKED]
    return _padded(rows)


def joined_rankings(ranking: Any, groups: Sequence[Sequence[int]], shares: FloatArray) -> Any:
    """Return the rankings of groups: words of the topics in turn, the largest topic first."""
    rows = []
    for group in groups:
        ordered = sorted(group, key=lambda k: -shares[k])
        lists = [[j for j in ranking[k].tolist() if j >= 0] for k in ordered]
        longest = max(map(len, lists))
        turns = [words[i] for i in range(longest) for words in lists if i < len(words)]
        rows.append(list(dict.fromkeys(turns))[:RANKED])
    return _padded(rows)


def _padded(rows: list[list[int]]) -> Any:
    width = max(map(len, rows))
    return np.array([row + [-1] * (width - len(row)) for row in rows], dtype=np.int64)
