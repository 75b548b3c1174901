"""Bring y and weights into a shape that can be encoded, whatever library they come from."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import issparse
from sklearn.exceptions import DataConversionWarning

Array = NDArray[Any]
Mask = NDArray[np.bool_]


def readable(data: Any, name: str) -> Any:
    """Something with a shape: an ndarray, a sparse matrix, or an object of pandas or polars."""
    if data is None:
        raise ValueError(f"The fit requires {name} to be passed, but the target {name} is None.")
    refuse_dask(name, data)
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array: pass {name}.astype(object).filled(None).")
    if issparse(data) or (hasattr(data, "to_numpy") and hasattr(data, "shape")):
        return data
    return read_array(data, name)


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


def tall(array: Array) -> Array:
    return array[:, None] if array.ndim == 1 else array


def read_column(y: Any) -> Any:
    y = y.toarray() if issparse(y) else y
    if len(y.shape) == 1:
        return y
    hint = "Please change the shape of y to (n_samples, ), for example using ravel()."
    message = f"A column-vector y was passed when a 1d array was expected. {hint}"
    warnings.warn(message, DataConversionWarning, stacklevel=4)
    return y[y.columns[0]] if hasattr(y, "columns") else y[:, 0]


def column_names(y: Any) -> tuple[Any, ...] | None:
    """Return the names of the columns of a matrix, as JSON can hold them; None without names."""
    if not hasattr(y, "columns") or not is_matrix(y):
        return None
    names = np.asarray(y.columns).tolist()
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
