"""The one rule for "numbers or classes", for targets in memory and labels in tables.

It imports no numerical library, because ``cofactor check`` loads none.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from numbers import Real
from typing import Any

from cofactor.targets.missing import is_missing
from cofactor.targets.written import number_style

MAX_CODES = 10
"""Up to this many different whole numbers are codes of classes, like 1 to 5 stars."""


def are_numbers(labels: Iterable[Any]) -> bool:
    """Return whether labels are numbers to predict, not classes.

    Fractions are numbers. Whole numbers are numbers if there are more than `MAX_CODES` different
    ones, unless they number the classes starting at 0, as programs do; a tenth of the numbers may
    be absent. −1 does not count, because among classes it means "unlabelled".

    Examples
    --------
    >>> are_numbers([0.5, 2]), are_numbers([1, 5]), are_numbers(range(80, 101))
    (True, False, True)
    >>> are_numbers(range(20)), are_numbers(["0.5"])
    (False, False)
    """
    known = [label for label in labels if not is_missing(label)]
    if any(not isinstance(label, Real) or isinstance(label, bool) for label in known):
        return False
    if have_fractions(known):
        return True
    whole = {int(label) for label in known if isfinite(label)} - {-1}
    counted = bool(whole) and min(whole) == 0 and len(whole) >= 0.9 * (max(whole) + 1)
    return len(whole) > MAX_CODES and not counted


def have_fractions(labels: Iterable[Any]) -> bool:
    """Return whether some labels are fractions, which no class is."""
    return any(isinstance(one, float) and isfinite(one) and not one.is_integer() for one in labels)


def parse_labels(texts: Iterable[str]) -> list[Any]:
    """Return the labels of a text file as values: numbers if all are numbers, else the texts.

    Digits are whole numbers, unless one label has zeros in front, as codes have. Numbers may be
    written as people do, all in one style (`cofactor.targets.written`).

    Examples
    --------
    >>> parse_labels(["1", "-1"]), parse_labels(["1.0", "nan"]), parse_labels(["007", "8"])
    ([1, -1], [1.0, nan], ['007', '8'])
    >>> parse_labels(["1", "a"]), parse_labels(["nan"]), parse_labels(["1,5 €", "20 €"])
    (['1', 'a'], ['nan'], [1.5, 20])
    """
    texts = list(texts)
    plain = plain_numbers(texts)
    if plain is None:
        return texts
    numbers = [_parse(text) for text in plain]
    codes = not have_fractions(numbers) and any(map(_is_code, texts))
    return texts if codes or not any(map(isfinite, numbers)) else numbers


def plain_numbers(texts: list[str]) -> list[str] | None:
    """Return numbers as programs write them; None if some text is not a number."""
    try:
        for text in texts:
            _parse(text)
    except ValueError:
        style = number_style(texts)
        return None if style is None else [style.plain(text) or "" for text in texts]
    return texts


def _parse(text: str) -> int | float:
    return int(text) if text.lstrip("+-").isdecimal() and len(text) < 20 else float(text)


def _is_code(text: str) -> bool:
    return len(text) > 1 and text[0] == "0" and text.isdigit()
