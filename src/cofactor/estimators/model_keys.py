"""What the models of the features depend on, as a digest: equal digests mean equal models."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy.sparse import issparse

from cofactor._types import FloatArray
from cofactor.engine.observations import Observations
from cofactor.targets.matrix import Targets


def models_key(
    data: Observations, counts: FloatArray | None, targets: Targets | None, *settings: Any
) -> str:
    """Return the digest of samples, targets, their weights and the settings that matter."""
    digest = hashlib.blake2b(repr((data.shape, settings)).encode(), digest_size=16)
    layout = data.layout
    arrays: list[Any] = [
        layout.values,
        layout.indices,
        layout.start,
        data.weights,
        data.row_weights,
    ]
    arrays += [data.column_weights, counts]
    if targets is not None:
        Y = targets.values
        arrays += [Y.data, Y.indices, Y.indptr] if issparse(Y) else [Y]
        arrays += [targets.labelled, targets.row_weights, targets.cell_weights, targets.importance]
    for array in arrays:
        digest.update(_bytes(array))
    return digest.hexdigest()


def _bytes(array: Any) -> bytes:
    if array is None:
        return b"none"
    array = np.ascontiguousarray(array)
    return repr((array.dtype.str, array.shape)).encode() + array.tobytes()
