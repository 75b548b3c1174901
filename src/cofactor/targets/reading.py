"""Read y and weights from arrays, lists, sparse matrices and frames of any library.

Frames and columns are read through narwhals, which scikit-learn needs, too. `readable` returns
something with a shape; `labelled_mask`, `known_labels`, `known_values` and `read_cells` find the
samples and cells that are labelled, by the rule of `cofactor.targets.missing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import DataConversionWarning

from cofactor._warnings import warn
from cofactor.targets.missing import is_missing, minus_one_is_missing

Array = NDArray[Any]
Mask = NDArray[np.bool_]
Frame = nw.DataFrame[Any]
Column = nw.Series[Any]


def as_frame(data: Any) -> Frame | Column | None:
    """Return a table or a column of any library as narwhals has it; None for anything else.

    Tables that are computed when needed, such as relations of DuckDB, are computed. Arrays of
    pandas and pyarrow and indices of pandas become columns.

    Examples
    --------
    >>> as_frame([1, 2]) is None
    True
    """
    found: Any = nw.from_native(_as_column(data), allow_series=True, pass_through=True)
    if isinstance(found, nw.LazyFrame):
        found = found.collect()
    return found if isinstance(found, nw.DataFrame | nw.Series) else None


def _as_column(data: Any) -> Any:
    """Return arrays and indices as columns of their library, and anything else unchanged."""
    pandas, pyarrow = nw.dependencies.get_pandas(), nw.dependencies.get_pyarrow()
    if pandas and isinstance(data, pandas.Index | pandas.api.extensions.ExtensionArray):
        return pandas.Series(data).reset_index(drop=True)
    if pyarrow and isinstance(data, pyarrow.Array):
        return pyarrow.chunked_array([data])
    return data


def native(data: Any) -> Any:
    """Return a table or a column as its own library has it, and anything else unchanged."""
    return nw.to_native(data, pass_through=True)


@dataclass(frozen=True, eq=False)
class NamedMatrix:
    """A matrix whose columns have names, as those of a DataFrame have."""

    values: np.ndarray
    columns: list[str]

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def to_numpy(self) -> np.ndarray:
        """Return the matrix."""
        return self.values

    def sets(self) -> list[tuple[str, ...] | None]:
        """Return the names of the ones in each row; None for a row with an unknown cell."""
        return [
            tuple(name for name, cell in zip(self.columns, row, strict=True) if cell == 1)
            if not np.isnan(row).any()
            else None
            for row in self.values
        ]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype, copy=copy)


def readable(data: Any, name: str) -> Any:
    """Something with a shape: an ndarray, a sparse matrix, or a column or table of narwhals."""
    if data is None:
        raise ValueError(f"The fit requires {name} to be passed, but the target {name} is None.")
    refuse_dask(name, data)
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array: pass {name}.astype(object).filled(None).")
    if issparse(data) or isinstance(data, np.ndarray | NamedMatrix):
        return read_array(data, name) if isinstance(data, np.ndarray) else data
    found = as_frame(data)
    return read_array(data, name) if found is None else found


def refuse_dask(name: str, value: Any) -> None:
    """Refuse dask collections, which a plain fit would have to load whole."""
    column = hasattr(value, "columns")  # a frame may have a column of this name
    if hasattr(value, "__dask_graph__") or (hasattr(value, "dask") and not column):
        raise TypeError(
            f"{name} is a dask collection, which would have to be loaded whole; fit it where it "
            "is with cofactor.distributed.fit(client, X, y, estimator) (predict and transform are "
            f"there, too), or call {name}.compute() if it fits in memory."
        )


def read_array(data: Any, name: str) -> Array:
    try:
        array: Array = np.asarray(data)
    except ValueError:
        hint = "sklearn.preprocessing.MultiLabelBinarizer makes it a matrix"
        raise ValueError(f"{name} has rows of different lengths: {hint}.") from None
    lossy = not isinstance(data, np.ndarray) and array.ndim == 1 and array.dtype.kind == "U"
    if array.dtype.kind == "T" or (lossy and not all(isinstance(value, str) for value in data)):
        return np.asarray(data, dtype=object)  # numpy reads NaN among strings as "nan"
    return array


def cast(values: Any, dtype: DTypeLike, name: str) -> Any:
    with np.errstate(over="ignore"):
        cast = values.astype(dtype)
    if np.isinf(cast.data if issparse(cast) else cast).any():
        limit = f"{np.dtype(dtype)!r}: rescale it, or mark the entry as unknown"
        raise ValueError(f"Input {name} contains infinity or a value too large for {limit}.")
    return cast


def cells_of(y: Any) -> Array:
    """Return the cells of a matrix or a table, as the library that holds them converts them."""
    return np.asarray(native(y))


def tall(array: Array) -> Array:
    return array[:, None] if array.ndim == 1 else array


def read_column(y: Any) -> Any:
    y = y.toarray() if issparse(y) else y
    if len(y.shape) == 1:
        return y
    hint = "Please change the shape of y to (n_samples, ), for example using ravel()."
    message = f"A column-vector y was passed when a 1d array was expected. {hint}"
    warn(message, DataConversionWarning)
    return y[y.columns[0]] if hasattr(y, "columns") else y[:, 0]


def table_of(y: Any) -> Any:
    """Return a table whose columns have names, as `NamedMatrix` or as narwhals has it; or None."""
    table = y if isinstance(y, NamedMatrix) else as_frame(y)
    return table if table is not None and len(table.shape) == 2 else None


def column_names(y: Any) -> tuple[Any, ...] | None:
    """Return the names of the columns of a matrix, as JSON can hold them; None without names."""
    table = table_of(y)
    if table is None or not is_matrix(table):
        return None
    names = np.asarray(table.columns).tolist()
    return tuple(name if _is_plain(name) else str(name) for name in names)


def _is_plain(name: Any) -> bool:
    return isinstance(name, str | int) or (isinstance(name, float) and np.isfinite(name))


def is_matrix(y: Any, n_samples: int | None = None) -> bool:
    """Whether y has two columns or more; an error if its shape does not fit."""
    if len(y.shape) not in (1, 2) or 0 in y.shape[1:]:
        raise ValueError(f"y should be a 1d array or a matrix, got an array of shape {y.shape}.")
    if n_samples is not None and y.shape[0] != n_samples:
        counts = f"[{n_samples}, {y.shape[0]}], y must have one entry per sample of X"
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {counts}.")
    return len(y.shape) == 2 and y.shape[1] > 1


def missing_entries(labels: Array) -> Mask:
    """Return which entries of a column are missing, before the rule for integers."""
    if labels.dtype.kind == "O":
        return np.fromiter(map(is_missing, labels), dtype=bool, count=labels.size)
    if labels.dtype.kind == "U":
        return np.asarray(np.strings.strip(labels) == "")
    return np.asarray(labels != labels)


def labelled_mask(y: Any, *, classes: Array | None = None, name: str = "y") -> Mask:
    """Return which samples are labelled when y holds classes.

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
    """Return which samples have a known number when y holds numbers; −1 is one of them.

    Returns
    -------
    ndarray of bool, shape (n_samples,)
    """
    values = read_numbers(readable(y, "y"), "y")
    return np.asarray(~np.isnan(values.reshape(len(values), -1)).all(axis=1))


def known_labels(y: Any, classes: Array | None) -> tuple[Array, Mask]:
    """Return the labels of the labelled samples, and which samples these are."""
    labels, known = _without_missing(y)
    if labels.dtype.kind == "i" and (marked := labels == -1).any():
        distinct = np.unique(labels).tolist() if classes is None else classes.tolist()
        if minus_one_is_missing(distinct) if classes is None else -1 not in distinct:
            known[known] = ~marked
            labels = labels[~marked]
    return labels, known


def _without_missing(y: Any) -> tuple[Array, Mask]:
    """Return the entries that are not missing, and which these are; integers stay integers."""
    if isinstance(y, np.ndarray):
        known, labels = np.ones(y.shape[0], dtype=bool), y
    else:  # most libraries turn integers into floats if numpy sees their nulls
        known = ~y.is_null().to_numpy()
        labels = np.asarray(native(y.drop_nulls()).to_numpy())
    if (missing := missing_entries(labels)).any():
        known[known] = ~missing
        labels = labels[~missing]
    if labels.dtype.kind == "O" and all(map(_is_integer, labels)):
        labels = np.array(labels.tolist(), dtype=None if labels.size else object)
    return labels, known


def _is_integer(label: Any) -> bool:
    return isinstance(label, int | np.integer) and not isinstance(label, bool)


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
    labels, known = _without_missing(y)
    if known.all():
        return labels
    if labels.dtype.kind == "i":
        labels, kept = known_labels(y, None)
        _warn_of_marks(kept.sum() < known.sum())
        known = kept
    elif isinstance(y, np.ndarray):
        return y
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
            f"y has shape {y.shape} and entries that are not numbers; several targets per row must "
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
