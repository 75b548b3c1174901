"""Lets words that differ in their endings count as one.

Most languages have many forms of a word: "Regierung", "Regierungen", "Regierungsbildung". In a few
hundred texts each form is rare, and a model learns from none of them. Words that agree in their
first letters count as one word then, named by its most frequent form. Cutting words after a fixed
number of letters needs no dictionary and does about as well as stemmers do in most languages
(McNamee, Nicholas and Mayfield, "Addressing morphological variation in alphabetic languages", SIGIR
2009). Arabic writes "and", "the" and some prepositions at the beginning of a word; these do not
count (Larkey, Ballesteros and Connell, "Improving stemming for Arabic information retrieval", SIGIR
2002).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

LETTERS = 6
"""Number of letters in which the forms of a word agree."""

_ARTICLE = re.compile("^(?:و?(?:ال|بال|كال|فال|لل)(?=..)|و(?=...))")  # leaves two letters or more


class Stems(dict[str, str]):
    """From a word, or an n-gram of words, to its first letters; None letters keep the word."""

    def __init__(self, letters: int | None) -> None:
        self.letters = letters
        self.forms: Counter[str] = Counter()

    def __missing__(self, word: str) -> str:
        stem = word
        if self.letters is not None:
            parts = (_ARTICLE.sub("", part)[: self.letters] for part in word.split(" "))
            stem = " ".join(parts)
        self[word] = stem
        return stem

    def read(self, words: Iterable[str]) -> Iterator[str]:
        """Return the stems of words, and count the words."""
        if self.letters is None:
            return iter(words)
        words = list(words)
        self.forms.update(words)
        return map(self.__getitem__, words)

    def names(self, stems: Iterable[str]) -> list[str]:
        """Return the most frequent word of each stem; of equally frequent ones, the shortest.

        Examples
        --------
        >>> stems = Stems(3)
        >>> list(stems.read(["moons", "moon", "moons", "sun"]))
        ['moo', 'moo', 'moo', 'sun']
        >>> stems.names(["moo", "sun"])
        ['moons', 'sun']
        """
        best: dict[str, str] = {}
        for word in sorted(self.forms, key=lambda word: (-self.forms[word], len(word), word)):
            best.setdefault(self[word], word)
        return [best.get(stem, stem) for stem in stems]
