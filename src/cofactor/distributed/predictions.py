"""Predictions for dask collections: block by block, on the workers that hold the blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from distributed import Future


def transform(estimator: Any, data: Any) -> Any:
    """Represent samples in terms of the topics.

    Parameters
    ----------
    estimator : fitted estimator
    data : dask array, or list of delayed values or futures
        Chunks or blocks of rows, dense or sparse.

    Returns
    -------
    dask array, or list of delayed values or futures
        The result of ``estimator.transform`` for each block; nothing is computed yet.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from cofactor import NMF, distributed
    >>> X = np.outer(np.arange(1.0, 7.0), [1.0, 0.0, 2.0])
    >>> model = NMF(1, random_state=0).fit(X)
    >>> S = distributed.transform(model, da.from_array(X, chunks=(3, 3)))
    >>> S.shape, bool(np.array_equal(S.compute(), model.transform(X)))
    ((6, 1), True)
    """
    return _mapped(estimator, "transform", data)


def predict(estimator: Any, data: Any) -> Any:
    """Predict classes or numbers; parameters and result are like those of ``transform``.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from cofactor import SSNMFClassifier, distributed
    >>> X = np.eye(2).repeat(3, axis=0)
    >>> model = SSNMFClassifier(2, random_state=0).fit(X, ["a", "", "", "b", "", ""])
    >>> distributed.predict(model, da.from_array(X, chunks=(3, 2))).compute().tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    """
    return _mapped(estimator, "predict", data)


def _mapped(estimator: Any, method: str, data: Any) -> Any:
    model = delayed(_light(estimator), pure=True)
    if isinstance(data, da.Array):
        return _over_chunks(estimator, model, method, data)
    if not isinstance(data, list | tuple) or not all(
        isinstance(block, Delayed | Future) for block in data
    ):
        raise TypeError(
            f"data is a {type(data).__name__}; pass a dask array or a list of delayed values or "
            f"futures, or call estimator.{method}(data)."
        )
    return [_over_block(model, method, block) for block in data]


def _over_chunks(estimator: Any, model: Any, method: str, data: Any) -> Any:
    whole = data if data.numblocks[1] == 1 else data.rechunk({1: -1})
    known = whole.dtype if whole.dtype == np.float32 else np.float64
    one = np.asarray(getattr(estimator, method)(np.ones((1, whole.shape[1]), dtype=known)))
    chunks = (whole.chunks[0], *((size,) for size in one.shape[1:]))
    return da.map_blocks(
        _apply,
        whole,
        model=model,
        method=method,
        dtype=one.dtype,
        chunks=chunks,
        drop_axis=[] if one.ndim == 2 else [1],
        meta=one[:0],
    )


def _over_block(model: Any, method: str, block: Any) -> Any:
    if isinstance(block, Future):
        client = block.client
        return client.submit(_apply, block, client.compute(model), method, pure=False)
    return delayed(_apply)(block, model, method)


def _apply(block: Any, model: Any, method: str) -> Any:
    X = block[0] if isinstance(block, tuple) else block
    return np.asarray(getattr(model, method)(X))


def _light(estimator: Any) -> Any:
    """Return a copy without the training samples, which predictions do not need."""
    fitted = estimator.completed()
    return estimator.with_fitted(replace(fitted, representation=fitted.representation[:0]))
