"""Numbers as targets: shifted so that they are nonnegative, and shifted back in predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import issparse

from cofactor._fields import array, instance
from cofactor._warnings import warn
from cofactor.targets.matrix import Targets, read_weights, weighted_targets
from cofactor.targets.missing import read_numbers
from cofactor.targets.reading import Array, is_matrix, readable, tall


@dataclass(frozen=True, eq=False)
class ValueCoding:
    """How regression targets became nonnegative: `offset` (k,) is subtracted from the columns."""

    offset: NDArray[np.float64] = array("k")
    one_dimensional: bool = instance(bool)

    @property
    def n_targets(self) -> int:
        """Number of columns."""
        return len(self.offset)

    def decode(self, values: Array) -> Array:
        """Return fitted `values` (n × k) in the units and the shape of y."""
        shifted = np.asarray(values + self.offset)
        return shifted.ravel() if self.one_dimensional else shifted


def encode_values(
    y: Any,
    *,
    n_samples: int,
    sample_weight: Any = None,
    target_weights: Any = None,
    dtype: DTypeLike = np.float64,
    coding: ValueCoding | None = None,
    from_zero: bool = False,
    signed: bool = False,
) -> tuple[Targets, ValueCoding]:
    """Turn regression targets, NaN where unknown, into nonnegative ones.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
    n_samples : int
    sample_weight : array-like of shape (n_samples,), optional
        Samples of weight 0 do not count for the offset. It does not become a target weight.
    target_weights : array-like of shape (n_samples,) or (n_samples, n_targets), optional
    dtype : dtype of values and weights
    coding : ValueCoding, optional
        Of an earlier call, to be kept; values below its offset are raised to it.
    from_zero : bool
        Shift the least value of each column to 0, also if it is positive.
    signed : bool
        Let values below the offset of ``coding`` be negative.

    Returns
    -------
    tuple of Targets and ValueCoding
    """
    y = readable(y, "y")
    if issparse(y):
        raise ValueError("y is sparse, but regression targets must be dense: pass y.toarray().")
    is_matrix(y, n_samples)
    raw = read_numbers(y, "y")
    table = tall(raw)
    known = ~np.isnan(table)
    weights = known * read_weights("target_weights", target_weights, [(n_samples,), table.shape])
    counts = (weights > 0) & (read_weights("sample_weight", sample_weight, [(n_samples,)]) > 0)
    least = np.min(table, axis=0, initial=np.inf, where=counts) if from_zero else 0.0
    filled = np.where(counts, table, np.where(np.isfinite(least), least, 0.0))
    coding = _value_coding(filled, raw.ndim == 1, coding, from_zero=from_zero, signed=signed)
    with np.errstate(over="ignore"):  # cast reports it
        values = np.where(known, table - coding.offset, 0.0)
    values = values if signed else np.maximum(values, 0.0)
    return weighted_targets(values, weights, dtype), coding


def _value_coding(
    table: Array,
    one_dimensional: bool,
    coding: ValueCoding | None,
    *,
    from_zero: bool = False,
    signed: bool = False,
) -> ValueCoding:
    lowest = table.min(axis=0) if from_zero and len(table) else table.min(axis=0, initial=0.0)
    if coding is None:
        return ValueCoding(lowest, one_dimensional)
    if lowest.shape != coding.offset.shape:
        raise ValueError(f"y has {lowest.size} columns, but {coding.offset.size} are expected.")
    if (lowest < coding.offset).any() and not signed:
        hint = "start with data that spans the range of y"
        warn(f"y is clipped at the minimum of its first fit: {hint}.")
    return coding
