"""Reports what texts look like: markup, languages, shared passages, garbled letters.

`Inspection` reads text by text and keeps only a few of them, so the texts may exceed memory.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from cofactor.io.tables.survey import FoundRows
from cofactor.text.vectorizer.analyzer import has_overlong_word
from cofactor.text.vectorizer.cleaning import UNCLOSED, clean_and_count
from cofactor.text.vectorizer.languages import (
    SAMPLE_LENGTH,
    SAMPLE_TEXTS,
    DetectedLanguage,
    detect_languages,
)
from cofactor.text.vectorizer.passages import Passages, RepeatedPassage

MAX_GARBLED = 30  # characters of a garbled word on each side of the garbled letters

_GARBLED = re.compile(r"[ÂÃÄÅÐÑ×Ø][\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€.")
_SPACE = re.compile(r"[ \t\r\n]")  # no-break spaces are garbled letters, too


class Change(NamedTuple):
    """The row of a text, and an excerpt before and after the change."""

    row: int
    before: str
    after: str


@dataclass
class EvenSample:
    """Keeps at least `SAMPLE_TEXTS` evenly spaced texts of a stream of unknown length."""

    texts: list[str] = field(default_factory=list)
    step: int = 1
    seen: int = 0

    def add(self, text: str) -> None:
        """Keep the text if its place is a multiple of the step; double the step when full."""
        if self.seen % self.step == 0:
            self.texts.append(text[:SAMPLE_LENGTH])
            if len(self.texts) > 2 * SAMPLE_TEXTS:
                self.texts, self.step = self.texts[::2], 2 * self.step
        self.seen += 1


@dataclass
class Inspection:
    """Counts over texts; call `add` for each."""

    markup: Counter[str] = field(default_factory=Counter)
    texts_with_markup: int = 0
    change: Change | None = None
    emptied: FoundRows = field(default_factory=FoundRows)  # texts that consist of markup only
    unclosed: FoundRows = field(default_factory=FoundRows)  # texts that end inside a tag
    overlong: FoundRows = field(default_factory=FoundRows)  # texts with words that are too long
    sample: EvenSample = field(default_factory=EvenSample)
    passages: Passages = field(default_factory=Passages)
    garbled: int = 0  # number of texts with letters like Ã¶
    garbled_example: Change | None = None

    def add(self, row: int, text: str) -> None:
        """Count the markup of a text, and keep a sample to detect the language."""
        if (word := garbled_word(text)) is not None:
            self.garbled += 1
            self.garbled_example = self.garbled_example or Change(row, *word)
        cleaned, found = clean_and_count(text)
        self.markup.update(found)
        self.texts_with_markup += bool(found)
        self.passages.add(row, cleaned)
        self.sample.add(cleaned)
        if UNCLOSED in found:
            self.unclosed.add(row)
        if has_overlong_word(cleaned):
            self.overlong.add(row)
        if text.strip() and not cleaned.strip():
            self.emptied.add(row)
        elif found and self.change is None:
            self.change = show_change(row, text, cleaned)

    def repeated(self) -> list[RepeatedPassage]:
        """Return the passages that many texts repeat word for word, the most frequent first."""
        return self.passages.repeated(self.sample.texts)

    def languages(self) -> list[DetectedLanguage]:
        """Return the languages of the texts, the most frequent first."""
        return detect_languages(self.sample.texts)


def garbled_word(text: str) -> tuple[str, str] | None:
    """Return the first word of UTF-8 that was read as Windows-1252, and its correct form.

    Examples
    --------
    >>> garbled_word("sehr schÃ¶n"), garbled_word("sehr schön, SÃO PAULO")
    (('schÃ¶n', 'schön'), None)
    """
    for found in _GARBLED.finditer(text):
        before = _SPACE.split(text[max(0, found.start() - MAX_GARBLED) : found.start()])[-1]
        word = before + _SPACE.split(text[found.start() : found.end() + MAX_GARBLED])[0]
        try:
            return word, word.encode("cp1252").decode("utf-8")
        except UnicodeError:
            continue
    return None


def show_change(row: int, text: str, cleaned: str, length: int = 70) -> Change:
    """Return excerpts of a text before and after cleaning, around the first difference."""
    before, after = (" ".join(one.split()) for one in (text, cleaned))
    pairs = zip(before, after, strict=False)
    same = next((place for place, (a, b) in enumerate(pairs) if a != b), len(after))
    start = max(0, same - length // 3)
    return Change(row, *(_cut(one, start, length) for one in (before, after)))


def _cut(text: str, start: int, length: int) -> str:
    rest = text[start : start + length]
    return f"{'…' if start else ''}{rest}{'…' if start + length < len(text) else ''}"
