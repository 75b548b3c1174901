"""Finds class names that are probably one class in several spellings.

It lives beside `labels` and imports the standard library only, because `check` loads no numerical
library. Nothing is merged here: `label_advice` turns what is found into options that the user may
take.

Two names are probably one class if they

- are equal without case, without the spaces, hyphens and underscores between letters, and without
  a full stop or comma at the end,
- are singular and plural of one English word, or
- differ by one typing error, and one class has at least four times the labels of the other. Names
  of 5 to 7 characters are often different words; for them the smaller class must be rare beside the
  other one: two labels, or 2 % of the other's. Two typing errors need long names and a rare class.

Names of more than 200 characters are texts, and none of them is misspelt. The more classes there
are, the shorter are the names in which typing errors are looked for: the work is bounded.

Two letters in the wrong order are hardly ever another word, so they need neither length nor a rare
class. Typing errors leave the first letter as it is, unless it is swapped with the second. Names
with different digits are different classes, and so are names in scripts whose characters are words.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping

MOST_COMPARED = 2000
"""Number of classes above which typing errors are not looked for."""

MUCH_LARGER = 4
"""A class is much larger than another if it has at least so many times its labels."""

RARE, RARE_SHARE = 2, 0.02
"""A class is rare beside another if it has at most so many labels, or this share of the other's."""

SHORTEST, LONG = 5, 8
"""Characters of the longer name from which all typing errors count, and from which it is long."""

LONGEST, MOST_CHARACTERS = 200, 5 * 10**7
"""Characters of the longest name that can be misspelt, and of all names with one or two of their
characters left out, which are compared."""

STOPS = " .,;:"
"""Characters that say nothing at the end of a name."""

_JOINT = re.compile(r"(?<=[^\W\d_])[\s_-]+(?=[^\W_])|(?<=[^\W_])[\s_-]+(?=[^\W\d_])")
_ES = ("ses", "xes", "zes", "ches", "shes")
_WORDLIKE = 0x2E80  # from here on: Han, Kana, Hangul


def probable_merges(counts: Mapping[str, int]) -> dict[str, str]:
    """Return the names that are probably another class, each with the name of that class.

    Parameters
    ----------
    counts : mapping of str to int
        How many labels each class has.

    Returns
    -------
    dict of str to str
        In the order of ``counts``. The largest class of several spellings keeps its name.

    Examples
    --------
    >>> probable_merges({"Sport": 40, "sport ": 3, "Sports": 2, "Sprot": 1, "Space": 30})
    {'sport ': 'Sport', 'Sports': 'Sport', 'Sprot': 'Sport'}
    """
    names = {name: name for name in counts}
    for key in (_folded, _stem):
        _join(names, _largest(names.values(), counts, key))
    sizes: dict[str, int] = defaultdict(int)
    for name, kept in names.items():
        sizes[kept] += counts[name]
    _join(names, _typing_errors(sizes))
    return {name: kept for name, kept in names.items() if kept != name}


def _join(names: dict[str, str], kept: Mapping[str, str]) -> None:
    for name, now in names.items():
        names[name] = kept.get(now, now)


def _largest(names: Iterable[str], counts: Mapping[str, int], key) -> dict[str, str]:  # type: ignore[no-untyped-def]
    """Return for each name the largest of those that have its key."""
    groups: dict[Hashable, list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        groups[key(name)].append(name)
    return {name: max(some, key=counts.__getitem__) for some in groups.values() for name in some}


def _folded(name: str) -> str:
    """Return a name without case, without what joins its words and without a stop at its end."""
    tidy = unicodedata.normalize("NFKC", name).casefold().strip()
    return _JOINT.sub("", tidy.rstrip(STOPS) or tidy)


def _stem(name: str) -> str:
    return _singular(_folded(name))


def _singular(word: str) -> str:
    """Return the singular of an English word, or the word."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(_ES) and len(word) > 4:
        return word[:-2]
    return word[:-1] if word.endswith("s") and word[-2:] != "ss" and len(word) > 3 else word


def _typing_errors(sizes: Mapping[str, int]) -> dict[str, str]:
    """Return the names that are probably misspelt, each with the much larger class it means."""
    if len(sizes) > MOST_COMPARED:
        return {}
    found: dict[str, str] = {}
    variants: dict[str, list[str]] = defaultdict(list)  # of the names that are not misspelt
    longest = _longest_compared(len(sizes))
    compared = [name for name in sizes if len(name) <= longest]
    for name in sorted(compared, key=lambda one: -sizes[one]):
        near = {one for variant in _shortened(_stem(name)) for one in variants.get(variant, ())}
        ranked = sorted((errors(name, one), -sizes[one], one) for one in near)
        meant = [one for n, _, one in ranked if n <= _accepted(name, one, sizes)]
        if meant:
            found[name] = meant[0]
            continue
        for variant in _shortened(_stem(name)):
            variants[variant].append(name)
    return found


def _longest_compared(names: int) -> float:
    """Return the length up to which names are compared: L characters have L²/2 variants."""
    return min(LONGEST, math.cbrt(2 * MOST_CHARACTERS / max(names, 1)))


def _shortened(word: str) -> Iterator[str]:
    """Yield a word, and the word with one or two characters left out.

    Two words that differ by at most two typing errors have one of these in common.
    """
    once = {word[:i] + word[i + 1 :] for i in range(len(word))}
    yield from {word, *once, *(one[:i] + one[i + 1 :] for one in once for i in range(len(one)))}


def _accepted(name: str, other: str, sizes: Mapping[str, int]) -> int:
    """Return how many typing errors may stand between a name and that of a larger class."""
    size, larger = sizes[name], sizes[other]
    if larger < MUCH_LARGER * size:
        return 0
    rare = size <= max(RARE, RARE_SHARE * larger)
    short, long = sorted(map(len, map(_folded, (name, other))))
    likely = rare or long >= LONG or _swapped(_stem(name), _stem(other))
    return 2 if rare and short >= LONG else int(likely)


def _swapped(a: str, b: str) -> bool:
    """Tell whether two words have the same letters, at least three, in another order."""
    return len(a) > 2 and sorted(a) == sorted(b)


def errors(one: str, other: str) -> int:
    """Return the number of typing errors between two names; 9 if they are different names.

    An error is a character too many, too few or wrong, or two neighbours in the wrong order.

    Examples
    --------
    >>> errors("Billing", "biling"), errors("Grade 1", "Grade 2"), errors("beer", "beef")
    (1, 9, 9)
    """
    if max(len(one), len(other)) > LONGEST:
        return 9
    a, b = _stem(one), _stem(other)
    if max(map(ord, a + b)) >= _WORDLIKE or (max(len(a), len(b)) < SHORTEST and not _swapped(a, b)):
        return 9
    same_digits = re.findall(r"\d+", a) == re.findall(r"\d+", b)
    return _distance(a, b) if same_digits and (a[0] == b[0] or a[:2] == b[1::-1]) else 9


def _distance(a: str, b: str) -> int:
    """Return the edit distance with transpositions of neighbours (optimal string alignment)."""
    before: list[int] = []
    above = list(range(len(b) + 1))
    for i, c in enumerate(a, start=1):
        row = [i]
        for j, d in enumerate(b, start=1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (c != d)))
            if i > 1 and j > 1 and c == b[j - 2] and d == a[i - 2]:
                row[j] = min(row[j], before[j - 2] + 1)
        before, above = above, row
    return above[-1]
