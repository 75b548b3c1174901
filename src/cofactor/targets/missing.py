"""The one rule for "unlabelled", wherever labels come from.

=========================  ==========================  ==========================
a cell of y, or of a file  among classes               among numbers
=========================  ==========================  ==========================
None, NaN, NaT, null       unlabelled                  unlabelled
"" and white space         unlabelled                  unlabelled
−1                         unlabelled if all labels    a number
                           are whole numbers, else a
                           class
−1.0                       a class                     a number
"nan" in a file            unlabelled beside numbers,  unlabelled
                           else a class
"NA", "None", "?", …       a class                     refused
=========================  ==========================  ==========================

- −1 and 1 alone are two classes. −1 stays a class if it was one in an earlier fit.
- Whole numbers are Python's and numpy's integers, also beside None, nullable integers of frames,
  digits in a file, and numbers without a fraction in a spreadsheet. Text in memory is not a number.
- In an indicator matrix NaN is an unknown cell; so is −1 in integer cells that are otherwise 0 and
  1, and in label columns of a table that hold nothing else.
- Tables come with notes: how many cells are −1, and which names, such as "NA", probably mean
  "unlabelled". Tables may name further ones.

`cofactor.targets.reading` applies the rule to arrays, `cofactor.io.tables.labels` to tables. It
imports no numerical library, because ``cofactor check`` loads none.
"""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral
from typing import Any


def is_missing(value: Any) -> bool:
    """Return whether a cell is missing, regardless of the other cells.

    Examples
    --------
    >>> [is_missing(value) for value in (None, float("nan"), "", "  ", "nan", 0, -1)]
    [True, True, True, True, False, False, False]
    """
    if value is None or isinstance(value, str):
        return value is None or not value.strip()
    try:
        return bool(value != value)  # NaN and NaT
    except TypeError:  # pandas.NA does not know
        return True
    except ValueError:  # an array is not a label; encode_classes reports it
        return False


def minus_one_is_missing(labels: Collection[Any], columns: int = 1) -> bool:
    """Return whether −1 means "unlabelled" among the distinct labels of classes.

    Parameters
    ----------
    labels : collection
        The labels that are not missing.
    columns : int
        Number of label columns; several ones do not hold the two classes −1 and 1.

    Examples
    --------
    >>> [minus_one_is_missing(y) for y in ([-1, 0, 1], [-1, 1], [-1.0, 0.0], ["-1", "0"])]
    [True, False, False, False]
    """
    whole = all(isinstance(label, Integral) and not isinstance(label, bool) for label in labels)
    return whole and -1 in labels and (columns > 1 or set(labels) != {-1, 1})
