"""Several labels a document: sets of names become columns of 0 and 1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np

from cofactor.errors import Parameter, ParameterError
from cofactor.targets.frames import as_frame
from cofactor.targets.missing import is_missing
from cofactor.targets.reading import NamedMatrix


def read_targets(y: Any, classes: Iterable[Any] | None = None) -> Any:
    """Return y as the estimators take it; sets of labels become an indicator.

    Parameters
    ----------
    y : array-like
        Anything. Where its entries are sets of labels, or lists or tuples of strings, each has the
        labels of one document: an empty one says that there are none, None that they are unknown.
    classes : iterable, optional
        Labels of an earlier fit, in their order.

    Returns
    -------
    object
        y itself, or a matrix with a named column for each label.

    Examples
    --------
    >>> found = read_targets([{"moon", "mars"}, {"moon"}, None])
    >>> found.columns, found.values.tolist()
    (['mars', 'moon'], [[1.0, 1.0], [0.0, 1.0], [nan, nan]])
    """
    y = listed(y)
    if not holds_sets(y):
        return y
    rows = [None if is_unknown(labels) else _checked(labels) for labels in y]
    found = {label for labels in rows if labels is not None for label in labels}
    names = _sorted(found) if classes is None else list(classes)
    if len(names) < 2:
        raise ParameterError(
            (Parameter("y"), f" holds sets of the one label {names[:1]}"),
            "give some documents another one, or pass a column of labels",
        )
    if unseen := [label for label in found if label not in names]:
        raise ValueError(f"y has labels {unseen}, but only {names} are known: refit.")
    place = {name: k for k, name in enumerate(names)}
    values = np.zeros((len(rows), len(names)))
    for row, labels in zip(values, rows, strict=True):
        row[... if labels is None else [place[one] for one in labels]] = _mark(labels)
    return NamedMatrix(values, names)


def _mark(labels: Any) -> float:
    return np.nan if labels is None else 1.0


def listed(y: Any) -> Any:
    """Return a column whose cells are lists as a list, and anything else unchanged."""
    column = as_frame(y)
    if isinstance(column, nw.Series) and isinstance(column.dtype, nw.List):
        return column.to_list()
    return y


def holds_sets(y: Any) -> bool:
    """Tell whether entries of y are sets of labels."""
    if isinstance(y, list | tuple):
        return any(map(_is_set, y))
    return str(getattr(y, "dtype", "")) == "object" and y.ndim == 1 and any(map(_is_set, y))


def _is_set(entry: Any) -> bool:
    if isinstance(entry, list | tuple):
        return bool(entry) and all(isinstance(label, str) for label in entry)
    return isinstance(entry, set | frozenset)


def is_unknown(labels: Any) -> bool:
    """Tell whether an entry says that nothing is known."""
    return not isinstance(labels, set | frozenset | list | tuple) and is_missing(labels)


def _checked(labels: Any) -> Any:
    if isinstance(labels, set | frozenset | list | tuple):
        return labels
    raise TypeError(
        f"y has the entry {labels!r} among sets of labels; pass a set for each document, or None."
    )


def _sorted(labels: set[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:
        types = " and ".join(sorted({type(label).__name__ for label in labels}))
        raise TypeError(f"y has labels of types without order, {types}: use one type.") from None
