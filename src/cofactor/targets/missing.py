"""The one rule for "unlabelled", for labels, indicators and numbers.

- One label (``is_missing``): None, NaN, NaT, "" and the nulls of pandas and polars are missing.
- A column of labels (``known_labels``): in an integer dtype −1 is missing, too. In floats, strings
  and objects −1 is a class like any other. The dtype decides, not the other values, so that a fold
  of an array is read like the whole. One exception: integers −1 and 1 alone are two classes,
  unless the classes are known from an earlier fit.
- An indicator or soft labels (``read_cells``): NaN is an unknown cell; so is −1 in integer cells
  that are otherwise 0 and 1.
- Numbers (``read_numbers``, ``known_values``): NaN and None are unknown; −1 is a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from cofactor._warnings import warn
from cofactor.targets.frames import native
from cofactor.targets.reading import Array, Mask, cast, cells_of, is_matrix, read_column, readable


def is_missing(value: Any) -> bool:
    """Tell whether one entry of y says that its label is unknown."""
    if value is None or isinstance(value, str):
        return not value
    try:
        return bool(value != value)  # NaN and NaT
    except TypeError:  # pandas.NA does not know
        return True
    except ValueError:  # an array is not a label; encode_classes reports it
        return False


def missing_entries(labels: Array) -> Mask:
    """Tell which entries of a column are missing, before the rule for integers."""
    if labels.dtype.kind == "O":
        return np.fromiter(map(is_missing, labels), dtype=bool, count=labels.size)
    return np.asarray(labels == "" if labels.dtype.kind == "U" else labels != labels)


def labelled_mask(y: Any, *, classes: Array | None = None, name: str = "y") -> Mask:
    """Tell which samples are labelled when y holds classes.

    Parameters
    ----------
    y : as in `encode_classes`; for numbers use `known_values`
    classes : ndarray, optional
        Classes of an earlier fit; −1 among them is a class, not a mark.
    name : str
        Name of the parameter that y was passed as, for error messages.

    Returns
    -------
    ndarray of bool, shape (n_samples,)
    """
    y = readable(y, name)
    if is_matrix(y):
        return np.asarray(read_cells(y, name)[1].any(axis=1))
    return known_labels(read_column(y), classes)[1]


def known_values(y: Any) -> Mask:
    """Tell which samples have a known number when y holds numbers; −1 is one of them.

    Returns
    -------
    ndarray of bool, shape (n_samples,)
    """
    values = read_numbers(readable(y, "y"), "y")
    return np.asarray(~np.isnan(values.reshape(len(values), -1)).all(axis=1))


def known_labels(y: Any, classes: Array | None) -> tuple[Array, Mask]:
    """Return the labels of the labelled samples, and which samples these are."""
    labels, known = _without_nulls(y)
    present = ~missing_entries(labels)
    if labels.dtype.kind == "i":  # scikit-learn's checks ask for two classes −1 and 1
        two = np.unique(labels).tolist() == [-1, 1] if classes is None else -1 in classes.tolist()
        present &= (labels != -1) | two
    known[np.flatnonzero(known)] = present
    return labels[present], known


def _without_nulls(y: Any) -> tuple[Array, Mask]:
    """Drop nulls before numpy sees y, because most libraries turn integers into floats there."""
    if isinstance(y, np.ndarray):
        return y, np.ones(y.shape[0], dtype=bool)
    known = ~y.is_null().to_numpy()
    return np.asarray(native(y.drop_nulls()).to_numpy()), known


def storable(y: Any) -> Array:
    """Return y as a numpy array that is read as y itself is, once row blocks have stored it.

    Nulls become None, or NaN among floats and in matrices. An array with nulls does not tell that y
    held integers; so −1 beside a null becomes unlabelled here, with a warning.
    """
    y = readable(y, "y")
    y = y.toarray() if issparse(y) else y
    if is_matrix(y):
        return _storable_cells(cells_of(y))
    if len(y.shape) == 1:
        return _storable_labels(y)
    labels = _storable_labels(y[y.columns[0]] if hasattr(y, "columns") else y[:, 0])
    return labels[:, None] if labels.dtype.kind in "biuf" else labels


def _storable_labels(y: Any) -> Array:
    labels, known = _without_nulls(y)
    if known.all():
        return labels
    if labels.dtype.kind == "i":
        labels, kept = known_labels(y, None)
        _warn_of_marks(kept.sum() < known.sum())
        known = kept
    floats = labels.dtype.kind == "f"
    stored: Array = np.full(known.size, np.nan if floats else None, labels.dtype if floats else "O")
    stored[known] = labels
    return stored


def _storable_cells(y: Array) -> Array:
    if y.dtype.kind in "biuf":
        return y
    try:
        cells = _numbers(y, "y")
    except ValueError:
        raise TypeError(
            f"y has shape {y.shape} and entries that are not numbers; several targets a row must "
            "be numbers, NaN where unknown."
        ) from None
    known = ~np.isnan(cells)
    if not np.isin(cells[known], (-1, 0, 1)).all():
        return cells
    if known.all():
        return cells.astype(np.int64)
    _warn_of_marks((cells == -1).any())
    cells[cells == -1] = np.nan
    return cells


def _warn_of_marks(found: bool) -> None:
    if found:
        warn(
            "y has -1 and nulls among integers; both are stored as unlabelled: convert y to float "
            "if -1 is a number or a class."
        )


def read_cells(y: Any, name: str) -> tuple[Any, Mask]:
    """Return the nonnegative cells of an indicator or of soft labels, and which are known.

    Unknown cells are 0; the mask has one column if all cells are known. Errors call y ``name``.
    """
    values: Any = csr_array(y, copy=True) if issparse(y) else cells_of(y)
    integer = values.dtype.kind in "iO"  # nullable integers come as objects
    if issparse(values):
        values.sum_duplicates()
        values.data = cells = read_numbers(values.data, name)
    else:
        values = cells = read_numbers(values, name)
    if integer and np.isin(cells[~np.isnan(cells)], (-1, 0, 1)).all():
        cells[cells == -1] = np.nan
    if (cells < 0).any():
        hint = "targets are nonnegative, unknown cells NaN"
        raise ValueError(f"{name} has a negative cell, {np.nanmin(cells):g}: {hint}.")
    known = _known_cells(values)
    cells[np.isnan(cells)] = 0
    if issparse(values):
        values.eliminate_zeros()
    return values, known


def _known_cells(values: Any) -> Mask:
    unknown = np.isnan(values.data if issparse(values) else values)
    if not unknown.any():
        return np.ones((values.shape[0], 1), dtype=bool)
    if issparse(values):
        unknown = csr_array((unknown, values.indices, values.indptr), values.shape).toarray()
    return np.asarray(~unknown)


def read_numbers(data: Any, name: str) -> NDArray[np.float64]:
    """Return a new array of finite numbers, NaN where unknown."""
    array: Array = cells_of(data)
    if array.dtype.kind == "O":
        array = _numbers(array, name)
    if array.dtype.kind not in "biuf":
        problem = "Complex data not supported" if array.dtype.kind == "c" else "Numbers expected"
        raise ValueError(f"{problem}: {name} has dtype {array.dtype}, convert it to float.")
    numbers: NDArray[np.float64] = cast(array, np.float64, name)
    return numbers


def _numbers(array: Array, name: str) -> NDArray[np.float64]:
    cells = [_number(cell, name) for cell in array.ravel()]
    return np.array(cells, dtype=np.float64).reshape(array.shape)


def _number(cell: Any, name: str) -> float:
    if is_missing(cell):
        return np.nan
    try:
        if not isinstance(cell, str | bytes | complex):  # which float would parse or cut
            return float(cell)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name} contains {cell!r}, but numbers are expected: convert it to float.")
