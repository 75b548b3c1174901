"""Numbers as people write them in tables: 4,5 or $1,234.50 or 1.234,50 € or 80 % or 7/10 or 12 kB.

A column has one style: which mark stands before decimals, and in which unit its numbers are. Only
all labels of a column together show it, because 1,234 alone may be either number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

_CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|KRW|TRY"
_UNIT = rf"[$€£¥₹₽₩₺₪฿₫₴]|(?:US|C|A|R|NZ|HK)\$|(?:{_CODES})\b|kr\.?|zł|Kč|Fr\."
_MEASURE = (
    "[kKMGT]i?B|bytes?|[nµmck]m[²³]?|m[²³]|ha|[µmk]g|[mc]l|ms|sec|min|minutes?|hours?|days?|weeks?|"
    "months?|years?|°[CF]|kWh?|MWh?|Wh|[kMG]?Hz|px|km/h|mph|Stunden?|Tage?n?|Jahre?n?"
)
_LETTER = "[mgtlsh]"  # a measure, too, but only after a space: "90s" is a decade
_NUMBER = re.compile(
    rf"(?P<sign>[+\-−]?)\s?(?P<before>{_UNIT})?\s?(?P<inner>[+\-−]?)"
    rf"(?P<digits>\d(?:[\d.,'’\s]*\d)?)\s?(?P<after>{_UNIT}|%|/\s?\d+|{_MEASURE}|(?<=\s){_LETTER})?"
)
_MARKS = (".", ",")
"""Marks that may stand before decimals, the likelier one first."""


class NumberStyle(NamedTuple):
    """How the numbers of a column are written."""

    mark: str
    """What stands before decimals: a point or a comma."""
    unit: str
    """Currency, measure, per cent, or what the number is counted out of, like /10; "" without."""

    def plain(self, label: str) -> str | None:
        """Return a number as programs write it; None if the label is not written in this style.

        Examples
        --------
        >>> NumberStyle(",", "€").plain("1.234,50 €"), NumberStyle(".", "").plain("1,2")
        ('1234.50', None)
        """
        found = _NUMBER.fullmatch(label.strip())
        if found is None or unit_of(label) not in ("", self.unit):
            return None
        groups, decimals = _forms(self.mark)
        if not (groups.fullmatch(found["digits"]) or decimals.fullmatch(found["digits"])):
            return None
        whole, _, rest = found["digits"].partition(self.mark)
        negative = "-" if {found["sign"], found["inner"]} & {"-", "−"} else ""
        return f"{negative}{re.sub(r'[^0-9]', '', whole)}{'.' if rest else ''}{rest}"


@cache
def _forms(mark: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what numbers look like with separators of thousands, and without."""
    comma = re.escape("," if mark == "." else ".")
    part = rf"(?:{re.escape(mark)}\d+)?"
    apart = rf"(?P<apart>{comma}|['’]|\s)"
    return re.compile(rf"[1-9]\d{{0,2}}(?:{apart}\d{{2,3}})*(?:{comma}|['’]|\s)\d{{3}}{part}"), (
        re.compile(rf"\d+{part}")
    )


def unit_of(label: str) -> str:
    """Return the unit of a number, see `NumberStyle`; "" if it has none, or is not a number."""
    found = _NUMBER.fullmatch(label.strip())
    unit = "" if found is None else "".join((found["before"] or found["after"] or "").split())
    if unit.startswith(("Stunde", "Tag", "Jahr")):
        return re.sub(r"(?<=[dgr])e?n?$", "", unit)  # 1 Tag, 2 Tage, nach 2 Tagen
    return re.sub(r"(?<=[a-z]{3})s$", "", unit)  # 1 hour, 2 hours


def number_style(labels: Iterable[str]) -> NumberStyle | None:
    """Return the style in which all labels are numbers; None if there is none.

    Examples
    --------
    >>> number_style(["50,00", "1.200,50"])
    NumberStyle(mark=',', unit='')
    >>> number_style(["$20.00", "$1,200"]), number_style(["$20", "20 €"]), number_style(["1", "a"])
    (NumberStyle(mark='.', unit='$'), None, None)
    >>> number_style(["1,204 kB", "30 kB"]), number_style(["30 kB", "2 MB"])
    (NumberStyle(mark='.', unit='kB'), None)
    >>> [number_style(one).unit for one in (["1 Tag", "3 Tage"], ["1 Stunde", "2 Stunden"])]
    ['Tag', 'Stund']
    """
    labels = list(labels)
    units = {unit_of(label) for label in labels} - {""}
    # 80 % beside 0.8 is not one scale, and who knows what 3 is beside 4 kg
    share = any(unit[0] in "%/" or re.fullmatch(f"{_MEASURE}|{_LETTER}", unit) for unit in units)
    if not labels or len(units) > 1 or (share and not all(map(unit_of, labels))):
        return None
    styles = (NumberStyle(mark, next(iter(units), "")) for mark in _MARKS)
    return next((one for one in styles if all(map(one.plain, labels))), None)


def is_number(label: str) -> bool:
    """Return whether a label is a number in some style; codes like 007 are not.

    Examples
    --------
    >>> [is_number(label) for label in ("4,5", "$ 20", "-3", "1e5", "7/10", "007", "a")]
    [True, True, True, True, True, False, False]
    """
    if len(label) > 1 and label[0] == "0" and label.isdigit():
        return False
    return _is_plain(label) or number_style([label]) is not None


def _is_plain(label: str) -> bool:
    try:
        return float(label) == float(label)
    except ValueError:
        return False
