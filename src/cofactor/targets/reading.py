"""Bring y and weights into a shape that can be encoded, whatever library they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import issparse
from sklearn.exceptions import DataConversionWarning

from cofactor._warnings import warn
from cofactor.targets.frames import as_frame, native

Array = NDArray[Any]
Mask = NDArray[np.bool_]


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
