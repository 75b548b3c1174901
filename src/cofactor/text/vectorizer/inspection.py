"""Tells what texts look like: markup, languages, passages that many texts share, garbled letters.

`Inspection` is filled text by text and keeps a few of them only, so texts may exceed memory.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from cofactor.text.vectorizer.analyzer import has_overlong_word
from cofactor.text.vectorizer.cleaning import UNCLOSED, clean_and_count
from cofactor.text.vectorizer.languages import LOOKED_AT, SAMPLE, Noticed, notice_languages

ROWS = 5
"""Number of rows that are named."""
LEARNED, COMMON, ENDS = 500, 0.3, 2000
"""Number of texts in which shared passages are looked for; least share of texts that have one;
number of characters at the beginning and at the end of a text that are looked at."""
SHORT = 20
"""Shortest passage, in characters."""
WORD = 30
"""Number of characters on each side of garbled letters that are looked at."""

_PASSAGES = re.compile(r"[\r\n]+|(?<=[.!?。！？])\s+")
_GARBLED = re.compile(r"[ÂÃÄÅÐÑ×Ø][\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€.")
_SPACE = re.compile(r"[ \t\r\n]")  # no-break spaces are garbled letters, too
_DIGITS = re.compile(r"\d+")


class Change(NamedTuple):
    """The row of a text with markup, and how it begins before and after cleaning."""

    row: int
    before: str
    after: str


@dataclass
class RowCount:
    """Counts rows and keeps the numbers of the first ones."""

    count: int = 0
    rows: list[int] = field(default_factory=list)

    def add(self, row: int) -> None:
        """Count a row."""
        self.count += 1
        if len(self.rows) < ROWS:
            self.rows.append(row)


@dataclass
class EvenSample:
    """Keeps evenly spaced texts of a stream of unknown length: at least `SAMPLE` if there are."""

    texts: list[str] = field(default_factory=list)
    step: int = 1
    seen: int = 0

    def add(self, text: str) -> None:
        """Keep the text if its place is a multiple of the step; double the step if it is full."""
        if self.seen % self.step == 0:
            self.texts.append(text[:LOOKED_AT])
            if len(self.texts) > 2 * SAMPLE:
                self.texts, self.step = self.texts[::2], 2 * self.step
        self.seen += 1


@dataclass
class Passages:
    """Counts lines and sentences that several texts share."""

    texts: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    wording: dict[str, str] = field(default_factory=dict)

    def add(self, text: str) -> None:
        """Count the passages of a text; after `LEARNED` texts, only those common so far."""
        ends = text if len(text) <= 2 * ENDS else f"{text[:ENDS]}\n{text[-ENDS:]}"
        found = {_key(passage): passage.strip() for passage in _PASSAGES.split(ends)}
        learning = self.texts < LEARNED
        for key, passage in found.items():
            if key in self.counts or (learning and len(passage) >= SHORT):
                self.counts[key] += 1
                self.wording.setdefault(key, passage)
        self.texts += 1
        if self.texts == LEARNED:
            likely = {key: n for key, n in self.counts.items() if n > COMMON / 2 * LEARNED}
            self.counts, self.wording = Counter(likely), {key: self.wording[key] for key in likely}

    def common(self) -> list[tuple[str, float]]:
        """Return the passages that many texts have, with the share of these texts."""
        least = max(COMMON * self.texts, ROWS)
        found = [(key, n) for key, n in self.counts.most_common() if n >= least]
        return [(self.wording[key], n / self.texts) for key, n in found]


def _key(passage: str) -> str:
    """Return a passage without what differs from text to text: spaces, case and numbers."""
    return _DIGITS.sub("0", " ".join(passage.casefold().split()))


@dataclass
class Inspection:
    """Counts over texts; call `add` for each."""

    markup: Counter[str] = field(default_factory=Counter)
    texts_with_markup: int = 0
    change: Change | None = None
    emptied: RowCount = field(default_factory=RowCount)  # texts that are nothing but markup
    unclosed: RowCount = field(default_factory=RowCount)  # texts that end inside a tag
    overlong: RowCount = field(default_factory=RowCount)  # texts with words that are too long
    sample: EvenSample = field(default_factory=EvenSample)
    passages: Passages = field(default_factory=Passages)
    garbled: int = 0  # number of texts with letters like Ã¶
    garbled_example: Change | None = None

    def add(self, row: int, text: str) -> None:
        """Count the markup of a text, and keep what tells its language."""
        if (word := garbled_word(text)) is not None:
            self.garbled += 1
            self.garbled_example = self.garbled_example or Change(row, *word)
        cleaned, found = clean_and_count(text)
        self.markup.update(found)
        self.texts_with_markup += bool(found)
        self.passages.add(cleaned)
        self.sample.add(cleaned)
        if UNCLOSED in found:
            self.unclosed.add(row)
        if has_overlong_word(cleaned):
            self.overlong.add(row)
        if text.strip() and not cleaned.strip():
            self.emptied.add(row)
        elif found and self.change is None:
            self.change = show_change(row, text, cleaned)

    def languages(self) -> list[Noticed]:
        """Return the languages of the texts, the most frequent first."""
        return notice_languages(self.sample.texts)


def garbled_word(text: str) -> tuple[str, str] | None:
    """Return the first word that is UTF-8 read as Windows-1252, and what it should be.

    Examples
    --------
    >>> garbled_word("sehr schÃ¶n"), garbled_word("sehr schön, SÃO PAULO")
    (('schÃ¶n', 'schön'), None)
    """
    for found in _GARBLED.finditer(text):
        before = _SPACE.split(text[max(0, found.start() - WORD) : found.start()])[-1]
        word = before + _SPACE.split(text[found.start() : found.end() + WORD])[0]
        try:
            return word, word.encode("cp1252").decode("utf-8")
        except UnicodeError:
            continue
    return None


def show_change(row: int, text: str, cleaned: str, length: int = 70) -> Change:
    """Return how a text looks before and after cleaning, around the first difference."""
    before, after = (" ".join(one.split()) for one in (text, cleaned))
    pairs = zip(before, after, strict=False)
    same = next((place for place, (a, b) in enumerate(pairs) if a != b), len(after))
    start = max(0, same - length // 3)
    return Change(row, *(_cut(one, start, length) for one in (before, after)))


def _cut(text: str, start: int, length: int) -> str:
    rest = text[start : start + length]
    return f"{'…' if start else ''}{rest}{'…' if start + length < len(text) else ''}"
