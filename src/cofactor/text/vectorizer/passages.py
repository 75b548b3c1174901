"""Passages that many texts share word for word: signatures, disclaimers, headers.

They are no content, but make coherent topics. A passage is a line or a sentence. It is repeated if
a few per cent of the texts contain it. Passages of the same texts belong together.

*Content repeats, too*, if a class is narrow: "My card has not arrived." Texts that share content
are alike in their other words; texts that share a footer are as different as any. So a passage
counts only if the rest of its texts is about as varied as all texts are.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import fsum, hypot, log
from typing import NamedTuple

from cofactor.text.vectorizer.analyzer import find_tokens, tidy

MIN_SHARE, MIN_TEXTS = 0.02, 5  # of the texts, that make a passage a repeated one
MIN_COMMON = 0.3  # of the texts: no class is that narrow
MIN_PASSAGE = 20  # length of the shortest passage, in characters
END_LENGTH = 2000  # characters at the beginning and at the end of a text that are searched
MAX_PASSAGES = 300_000  # that are counted at a time; then those that occurred once are forgotten
MAX_ALIKE = 4.0  # similarity of the rests of a passage's texts, relative to that of all texts
MIN_REST = 3  # words that are left of a text
MAX_LISTED_ROWS = 5

_PASSAGES = re.compile(r"([\r\n]+|(?<=[.!?。！？])\s+)")
_DIGITS = re.compile(r"\d+")


def find_repeated(texts: Sequence[str], is_sample: bool = False) -> list[RepeatedPassage]:
    """Return the repeated passages of texts, or those of which a sample contains fewer by chance.

    Examples
    --------
    >>> texts = [
    ...     f"{word} {word} {word}. Sent from my phone, excuse typing errors."
    ...     for word in ("moon", "puck", "faith", "disk", "rain", "gold")
    ... ]
    >>> [(found.text, found.texts) for found in find_repeated(texts)]
    [('Sent from my phone, excuse typing errors.', 6)]
    """
    found = Passages()
    for row, text in enumerate(texts):
        found.add(row, text)
    return found.repeated(texts, MIN_SHARE / 2 if is_sample else MIN_SHARE)


class RepeatedPassage(NamedTuple):
    """Lines and sentences that the same texts contain."""

    text: str
    keys: tuple[str, ...]
    texts: int  # number of texts that contain it
    share: float  # of all texts
    rows: list[int]  # the first few


@dataclass
class _Found:
    """The texts that contain a passage."""

    wording: str
    count: int = 0
    together: int = 0  # identifies the set of the texts, whatever their order
    rows: list[int] = field(default_factory=list)

    def add(self, row: int) -> None:
        self.count += 1
        self.together ^= hash((row, row))
        if len(self.rows) < MAX_LISTED_ROWS:
            self.rows.append(row)


@dataclass
class Passages:
    """Counts the passages of texts; call `add` for each text."""

    texts: int = 0
    found: dict[str, _Found] = field(default_factory=dict)

    def add(self, row: int, text: str) -> None:
        """Count the passages of a text."""
        self.texts += 1
        long = len(text) > 2 * END_LENGTH
        ends = f"{text[:END_LENGTH]}\n{text[-END_LENGTH:]}" if long else text
        pieces = {key_of(piece): piece.strip() for piece in _PASSAGES.split(ends)[::2]}
        for key, piece in pieces.items():
            if len(piece) >= MIN_PASSAGE:
                self.found.setdefault(key, _Found(piece)).add(row)
        if len(self.found) > MAX_PASSAGES:
            self.found = {key: one for key, one in self.found.items() if one.count > 1}

    def repeated(
        self, sample: Sequence[str], min_share: float = MIN_SHARE
    ) -> list[RepeatedPassage]:
        """Return the repeated passages, the most frequent first.

        Parameters
        ----------
        sample : sequence of str
            Some of the texts, which show whether a passage is content.
        min_share : float
            Minimum share of the texts that contain it.
        """
        least = max(min_share * self.texts, MIN_TEXTS)
        groups: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
        for key, one in self.found.items():
            if one.count >= least:
                groups[one.count, one.together].append(key)
        ranked = sorted(groups.values(), key=lambda keys: -self.found[keys[0]].count)
        candidates = {key for keys in ranked for key in keys}
        common = are_common(sample, ranked, candidates)
        found = [(self._passage(keys), good) for keys, good in zip(ranked, common, strict=True)]
        return [one for one, good in found if good or one.share >= MIN_COMMON]

    def _passage(self, keys: list[str]) -> RepeatedPassage:
        first = self.found[keys[0]]
        text = " ".join(self.found[key].wording for key in keys)
        return RepeatedPassage(text, tuple(keys), first.count, first.count / self.texts, first.rows)


def key_of(passage: str) -> str:
    """Return a passage without what varies between texts: spaces, case and numbers.

    Examples
    --------
    >>> key_of(" Call 555-1234   NOW ")
    'call 0-0 now'
    """
    return _DIGITS.sub("0", " ".join(passage.casefold().split()))


def without_passages(keys: Collection[str], text: str) -> str:
    """Return a text without the passages that have these keys.

    Examples
    --------
    >>> without_passages({"sent from my phone."}, "Call me. Sent from my  phone.")
    'Call me. '
    """
    pieces = _PASSAGES.split(text)
    pieces[::2] = ["" if key_of(piece) in keys else piece for piece in pieces[::2]]
    return "".join(pieces)


def are_common(
    texts: Sequence[str], groups: Sequence[Collection[str]], candidates: Collection[str]
) -> list[bool]:
    """Return which groups of passages are not content: the rests of their texts are varied."""
    if not groups:
        return []
    owners: list[list[int]] = [[] for _ in groups]
    group_of = {key: g for g, keys in enumerate(groups) for key in keys}
    rests = []
    for d, text in enumerate(texts):
        keys = map(key_of, _PASSAGES.split(text)[::2])
        found = {group_of[key] for key in keys if key in group_of}
        for g in found:
            owners[g].append(d)
        rests.append(find_tokens(tidy(without_passages(candidates, text) if found else text)))
    rows = _weighted(rests)
    enough = [len(rest) >= MIN_REST for rest in rests]
    all_texts = _similarity([row for row, good in zip(rows, enough, strict=True) if good])
    return [
        _is_varied([rows[d] for d in some if enough[d]], len(some), all_texts) for some in owners
    ]


def _is_varied(rests: list[dict[str, float]], texts: int, all_texts: float) -> bool:
    if texts < 2:  # not in the sample
        return True
    if 2 * len(rests) < texts:  # the passage is the text
        return False
    return _similarity(rests) <= MAX_ALIKE * max(all_texts, 1e-3)


def _weighted(texts: Iterable[list[str]]) -> list[dict[str, float]]:
    """Return rows of length one, with a weight for each word that falls with its frequency."""
    sets = [frozenset(words) for words in texts]
    often = Counter(word for words in sets for word in words)
    weight = {word: log((1 + len(sets)) / (1 + n)) for word, n in often.items()}
    return [_scaled({word: weight[word] for word in words}) for words in sets]


def _scaled(row: dict[str, float]) -> dict[str, float]:
    length = hypot(*row.values()) or 1.0
    return {word: weight / length for word, weight in row.items()}


def _similarity(rows: list[dict[str, float]]) -> float:
    """Return the mean cosine of two different rows."""
    n, total = len(rows), defaultdict[str, float](float)
    if n < 2:
        return 0.0
    for row in rows:
        for word, weight in row.items():
            total[word] += weight
    own = fsum(weight**2 for row in rows for weight in row.values())
    return (fsum(weight**2 for weight in total.values()) - own) / (n * (n - 1))
