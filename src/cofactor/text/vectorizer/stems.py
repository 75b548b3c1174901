"""Stems: the forms of a word count as one word.

Most languages have many forms of a word: "Regierung", "Regierungen", "Regierungsbildung". In a few
hundred texts each form is rare, and a model learns from none of them. So forms are reduced to a
stem, by the rule of the language that a text is written in: a stemmer of the Snowball project where
there is one, else the first six letters. Cutting words after a fixed number of letters needs no
dictionary and works about as well in most languages (McNamee, Nicholas and Mayfield, "Addressing
morphological variation in alphabetic languages", SIGIR 2009), but it merges unrelated words:
"Gemeinde" and "gemeinsam".

Stems of Snowball are cut after seven letters, because compounds that begin with the same word are
related ("Verkehrsfluss", "Verkehrsstrom") and each is rare. A long prefix that begins unrelated
words does not count: "Unterschied" and "Unterschrift" are cut after five more letters.

Arabic attaches "and", "the" and some prepositions to the beginning of a word; these are cut off
first (Larkey, Ballesteros and Connell, "Improving stemming for Arabic information retrieval", SIGIR
2002). In the same way, German puts "Bundes-", "Landes-" and "Staats-" before what a word is about:
a "Bundeskanzler" is a "Kanzler", and no "Bundesliga".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module

Rule = Callable[[str], str]
Form = tuple[str, str]  # a stem, and a form that has it

BY_LANGUAGE = "language"  # each text has the rule of its language
FIRST_LETTERS = 6  # the forms of a word agree in this many letters, in languages without a stemmer
MAX_STEM_LETTERS = 7
# Languages with a stemmer. Turkish has one, too, but its first letters tell more.
_STEMMERS = """
arabic armenian basque catalan czech danish dutch esperanto finnish french german greek hindi
hungarian indonesian irish italian lithuanian norwegian persian polish portuguese romanian russian
spanish swedish
"""
STEMMERS = frozenset(_STEMMERS.split())

_LONG_PREFIX = re.compile("unter|uber|über")  # Snowball's German stems have no umlauts
LETTERS_AFTER_PREFIX = 5
_GERMAN_STATE = re.compile("^(?:bundes|landes|staats)(?=.{4})")
_ARTICLE = re.compile("^(?:و?(?:ال|بال|كال|فال|لل)(?=..)|و(?=...))")  # leaves at least two letters


def first_letters(letters: int, word: str) -> str:
    """Return the first letters of a word, without an Arabic article."""
    return _ARTICLE.sub("", word)[:letters]


@cache
def _stemmer(language: str) -> Rule:
    # Not snowballstemmer.stemmer: that may be another release, from the package PyStemmer.
    module = import_module(f"snowballstemmer.{language}_stemmer")
    return getattr(module, f"{language.title()}Stemmer")().stemWord


def whole_stem(language: str, word: str) -> str:
    """Return the stem of a word in a language, before it is cut.

    Examples
    --------
    >>> [whole_stem("german", word) for word in ("gemeinde", "gemeinden", "gemeinsam")]
    ['gemeind', 'gemeind', 'gemeinsam']
    >>> whole_stem("german", "bundeskanzlers")
    'kanzl'
    """
    if language not in STEMMERS:
        return first_letters(FIRST_LETTERS, word)
    first = _GERMAN_STATE if language == "german" else _ARTICLE
    return _stemmer(language)(first.sub("", word))


def cut_stem(stem: str, letters: int) -> str:
    """Return the first letters of a stem; more of them after a long prefix.

    Examples
    --------
    >>> [cut_stem(stem, 7) for stem in ("verkehrsfluss", "unterschied", "unterschrift")]
    ['verkehr', 'unterschie', 'unterschri']
    """
    prefix = _LONG_PREFIX.match(stem)
    return stem[: max(letters, prefix.end() + LETTERS_AFTER_PREFIX if prefix else 0)]


class Stems:
    """Reduces words to stems by the rule of their language, and counts their forms.

    Parameters
    ----------
    rules : sequence of (callable or None)
        A rule for each language; None keeps words as they are.
    most : int or None
        Stems are cut after this many letters.
    """

    def __init__(self, rules: Sequence[Rule | None], most: int | None = None) -> None:
        self.active = any(rule is not None for rule in rules)
        self.forms: Counter[Form] = Counter()
        self._rules = [None if rule is None else _Cache(rule) for rule in rules]
        self._most = most

    @property
    def places(self) -> range:
        """The places of the languages."""
        return range(len(self._rules))

    @classmethod
    def of(cls, stem: int | str | None, languages: Iterable[str], few: Iterable[str]) -> Stems:
        """Return the stems for what a vectorizer has settled; ``few`` languages have no rule."""
        if stem is None or isinstance(stem, int):
            return cls([None if stem is None else partial(first_letters, stem)])
        rules = [None if name in few else partial(whole_stem, name) for name in languages]
        return cls(rules, MAX_STEM_LETTERS)

    def stem(self, word: str, language: int = 0) -> str:
        """Return the stem of a word, or of each word of an n-gram, in one of the languages."""
        return self._cut(self._whole(word, language))

    def _whole(self, word: str, language: int) -> str:
        rule = self._rules[min(language, len(self._rules) - 1)] if self._rules else None
        if rule is None:
            return word
        return " ".join(map(rule.__getitem__, word.split(" "))) if " " in word else rule[word]

    def _cut(self, stem: str) -> str:
        if self._most is None or not stem:
            return stem
        return " ".join(cut_stem(part, self._most) for part in stem.split(" "))

    def read(self, word: str, language: int = 0, times: int = 1) -> str:
        """Return the stem of a word that occurs this many times, and count its form."""
        whole = self._whole(word, language)
        self.forms[whole, word] += times
        return self._cut(whole)

    def names(self, stems: Iterable[str], known: Mapping[str, str] | None = None) -> list[str]:
        """Return a name for each stem: the most frequent form of its most frequent whole stem.

        The shortest form is taken if several are equally frequent. A form that names another stem,
        of another language, is not taken again. ``known`` are the names of some stems.

        Examples
        --------
        >>> stems = Stems([partial(first_letters, 3)])
        >>> [stems.read(word) for word in ("moons", "moon", "moons", "sun")]
        ['moo', 'moo', 'moo', 'sun']
        >>> stems.names(["moo", "sun"])
        ['moons', 'sun']
        """
        stems, found = list(stems), dict(known or {})
        totals: Counter[str] = Counter()
        for (whole, _), number in self.forms.items():
            totals[whole] += number
        taken = set(found.values())
        for whole, form in sorted(
            self.forms,
            key=lambda one: (-totals[one[0]], one[0], -self.forms[one], len(one[1]), one[1]),
        ):
            stem = self._cut(whole)
            if stem not in found and form not in taken:
                found[stem] = form
                taken.add(form)
        for stem in stems:  # all forms of a stem may name other stems
            if stem not in found:
                found[stem] = stem if stem not in taken else f"{stem}-"
        return [found[stem] for stem in stems]


class _Cache(dict[str, str]):
    """Caches the stems of words, since words repeat."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule

    def __missing__(self, word: str) -> str:
        self[word] = self._rule(word)
        return self[word]
