"""Numbers as targets: brought to a scale on which they are learned, and back in predictions.

Skewed numbers that are not negative may be learned as logarithms. Numbers are then shifted so that
they are nonnegative, as the factorization needs them. Predictions stay within what y can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import issparse

from cofactor._fields import array, instance
from cofactor._warnings import warn
from cofactor.errors import Parameter, ParameterError, ParameterWarning
from cofactor.targets.matrix import Targets, read_weights, weighted_targets
from cofactor.targets.reading import Array, is_matrix, read_numbers, readable, tall

MIN_SKEWNESS = 1.5
"""Numbers with at least this skewness count as skewed; that of an exponential distribution is 2."""
MIN_SKEWED_VALUES = 20
"""With fewer known numbers, skewness is not estimated."""
MIN_LIMIT_VALUES, MIN_LIMIT_SHARE = 5, 0.01
"""The least or the largest number is a limit if at least this many numbers, and at least this share
of them, are equal to it."""
LOG_CHOICES = ("auto", "yes", "no")
MAX_EXPONENT = 709.0
"""Exponents are clipped to this, so that predictions stay finite."""


@dataclass(frozen=True, eq=False)
class ValueCoding:
    """How regression targets are learned, and how predictions turn back into y.

    Parameters
    ----------
    offset : array (k,)
        Subtracted from the columns, so that they are nonnegative.
    one_dimensional : bool
        Whether y is a single column without a second axis.
    started : array (k,) or None
        Added to a column before its logarithm is taken: 0, or the least positive number if the
        column has zeros. NaN where the column is learned as it is; None if all columns are.
    low, high : array (k,) or None
        Predictions are clipped to these limits, which may be infinite.
    """

    offset: NDArray[np.float64] = array("k")
    one_dimensional: bool = instance(bool)
    started: NDArray[np.float64] | None = array("k", finite=False, default=None)
    low: NDArray[np.float64] | None = array("k", finite=False, default=None)
    high: NDArray[np.float64] | None = array("k", finite=False, default=None)

    @property
    def n_targets(self) -> int:
        """Number of columns."""
        return len(self.offset)

    @property
    def logs(self) -> NDArray[np.bool_]:
        """Which columns are learned as logarithms."""
        return _are_logs(self.started, self.n_targets)

    def decode(self, values: Array) -> Array:
        """Return fitted `values` (n × k) in the units and the shape of y, within its limits."""
        numbers = np.asarray(values + self.offset, dtype=np.float64)
        if self.started is not None:
            raised = np.exp(np.minimum(numbers, MAX_EXPONENT)) - self.started
            numbers = np.where(self.logs, raised, numbers)
        if self.low is not None and self.high is not None:
            numbers = np.clip(numbers, self.low, self.high)
        return numbers.ravel() if self.one_dimensional else numbers

    def scaled(self, table: Array) -> Array:
        """Return numbers (n × k) on the scale on which they are learned, before the offset.

        Numbers that have no logarithm become NaN.
        """
        return _scaled(table, self.started)

    def limited(self, values: Array) -> Array:
        """Return fitted ``values`` (n × k) within the limits of y."""
        if self.low is None or self.high is None:
            return values
        low, high = self.scaled(np.stack([self.low, self.high])) - self.offset
        return np.clip(values, np.where(np.isnan(low), -np.inf, low), high)

    def without_limits(self) -> ValueCoding:
        """Return the coding for a stream, whose next batch may have other numbers."""
        return ValueCoding(self.offset, self.one_dimensional, self.started)


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
    log: str = "no",
    limited: bool = False,
) -> tuple[Targets, ValueCoding]:
    """Turn regression targets, NaN where unknown, into nonnegative ones.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
    n_samples : int
    sample_weight : array-like of shape (n_samples,), optional
        How often each sample counts for offset, skewness and limits; where some are fractions,
        their scale does not matter. It does not become a target weight.
    target_weights : array-like of shape (n_samples,) or (n_samples, n_targets), optional
    dtype : dtype of values and weights
    coding : ValueCoding, optional
        Of an earlier call, to be kept; values below its offset are raised to it.
    from_zero : bool
        Shift the least value of each column to 0, also if it is positive.
    signed : bool
        Let values below the offset of ``coding`` be negative.
    log : {"auto", "yes", "no"}
        Whether logarithms are learned; "auto" decides by the skewness of each column.
    limited : bool
        Whether predictions stay within the limits of these numbers.

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
    times = read_weights("sample_weight", sample_weight, [(n_samples,)]).ravel()
    counts = (weights > 0) & (times > 0)[:, None]
    columns = [
        Column(column[used], _repetitions(times[used]))
        for column, used in zip(table.T, counts.T, strict=True)
    ]
    started = _choose_logs(columns, log) if coding is None else coding.started
    limits = _limits(columns) if limited else None
    table, unscaled = _scaled(table, started), table
    if (lost := counts & np.isnan(table)).any():
        worst = float(unscaled[lost].min())
        raise ValueError(
            f"y holds {worst:g}, which has no logarithm on the scale of the fit; fit again with "
            "log='no', or correct the number."
        )
    least = np.min(table, axis=0, initial=np.inf, where=counts) if from_zero else 0.0
    filled = np.where(counts, table, np.where(np.isfinite(least), least, 0.0))
    if coding is None:
        lowest = filled.min(axis=0) if from_zero and len(filled) else filled.min(0, initial=0.0)
        coding = ValueCoding(lowest, raw.ndim == 1, started, *(limits or (None, None)))
    else:
        _check_again(filled, coding, from_zero=from_zero, signed=signed)
    with np.errstate(over="ignore"):  # cast reports it
        values = np.where(np.isnan(table), 0.0, table - coding.offset)
    values = values if signed else np.maximum(values, 0.0)
    return weighted_targets(values, weights, dtype), coding


def _check_again(table: Array, coding: ValueCoding, *, from_zero: bool, signed: bool) -> None:
    """Check numbers that are read as those of an earlier fit were."""
    lowest = table.min(axis=0) if from_zero and len(table) else table.min(axis=0, initial=0.0)
    if lowest.shape != coding.offset.shape:
        raise ValueError(f"y has {lowest.size} columns, but {coding.offset.size} are expected.")
    if (lowest < coding.offset).any() and not signed:
        hint = "start with data that spans the range of y"
        warn(f"y is clipped at the minimum of its first fit: {hint}.")


def _repetitions(weights: Array) -> Array:
    """Return how often samples count: whole numbers as they are.

    The scale of fractions means nothing. They are scaled so that they add up to their effective
    number, (Σw)² / Σw².
    """
    if (weights == np.floor(weights)).all():
        return weights
    weights = weights / weights.max()
    return np.asarray(weights * (weights.sum() / (weights**2).sum()))


class Column(NamedTuple):
    """The known numbers of a column, and how often each counts."""

    values: Array
    counts: Array

    def total(self, where: Any = True) -> float:
        """Return how often numbers count together."""
        return float(self.counts.sum(where=where))

    def moment(self, numbers: Array) -> float:
        """Return the mean of numbers that belong to the values."""
        return float(self.counts @ numbers) / self.total()


def _limits(columns: list[Column]) -> tuple[Array, Array]:
    """Return the least and the largest number that each column can have, as far as it shows them.

    Numbers that pile up at an end, as those of a rating do, show a limit. Without one, numbers that
    are not negative stay so.
    """
    ends = [_ends(column) for column in columns]
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def _ends(column: Column) -> tuple[float, float]:
    values = column.values
    if not len(values):
        return -np.inf, np.inf
    enough = max(MIN_LIMIT_VALUES, MIN_LIMIT_SHARE * column.total())
    least, largest = float(values.min()), float(values.max())
    low = least if column.total(values == least) >= enough else 0.0 if least >= 0 else -np.inf
    high = largest if column.total(values == largest) >= enough else np.inf
    return low, high


# ---- logarithms


def skewness(column: Column) -> float:
    """Return the third standardised moment; 0 for constant numbers.

    Examples
    --------
    >>> round(skewness(Column(np.array([1.0, 11.0]), np.array([4.0, 1.0]))), 2)
    1.5
    """
    unit = float(np.abs(column.values).max(initial=0.0)) or 1.0  # so that cubes do not overflow
    apart = column.values / unit - column.moment(column.values / unit)
    variance = column.moment(apart**2)
    return column.moment(apart**3) / variance**1.5 if variance > 1e-30 else 0.0


def is_skewed(column: Column) -> bool:
    """Return whether numbers are better learned as logarithms.

    They are if none is negative, their skewness is large, and that of their logarithms is at most
    half as large.
    """
    values = column.values
    if column.total() < MIN_SKEWED_VALUES or values.min() < 0 or not values.any():
        return False
    before = skewness(column)
    logarithms = column._replace(values=np.log(values + _start(values)))
    return before > MIN_SKEWNESS and 2 * abs(skewness(logarithms)) <= before


def _start(column: Array) -> float:
    """Return what is added before a logarithm: nothing, or the least positive number beside 0."""
    return 0.0 if column.min() > 0 else float(column[column > 0].min())


def _choose_logs(columns: list[Column], log: str) -> Array | None:
    """Return `ValueCoding.started`."""
    if log == "no":
        return None
    if log == "yes":
        for column in columns:
            _refuse_logarithm(column.values)
    chosen = [len(one.values) > 0 and (log == "yes" or is_skewed(one)) for one in columns]
    starts = [
        _start(one.values) if yes else np.nan for one, yes in zip(columns, chosen, strict=True)
    ]
    return np.array(starts) if any(chosen) else None


def _refuse_logarithm(column: Array) -> None:
    if len(column) and (column.min() < 0 or not column.any()):
        worst = float(column.min())
        raise ParameterError(
            (
                Parameter("log", "yes"),
                f" needs numbers that are not negative, and some above 0, but there is {worst:g}",
            ),
            ("use ", Parameter("log", "no")),
        )


def _are_logs(started: Array | None, n_targets: int) -> NDArray[np.bool_]:
    return np.zeros(n_targets, dtype=bool) if started is None else ~np.isnan(started)


def _scaled(table: Array, started: Array | None) -> Array:
    if started is None:
        return table
    logs = _are_logs(started, len(started))
    if table.shape[1] != len(started):
        raise ValueError(f"y has {table.shape[1]} columns, but {len(started)} are expected.")
    moved = table + np.where(logs, started, 0.0)
    moved = np.where(moved > 0, moved, np.nan)
    return np.where(logs, np.log(np.where(logs, moved, 1.0)), table)


def tell_of_logarithms(coding: ValueCoding, names: Sequence[Any]) -> None:
    """Warn that logarithms are learned of the numbers with some names, though nobody asked."""
    if coding.logs.any():
        logs = [repr(name) for name, log in zip(names, coding.logs, strict=True) if log]
        which = "" if len(logs) == len(names) else f" in {', '.join(logs)}"
        warn(
            ParameterWarning(
                (
                    Parameter("y"),
                    f" holds positive numbers of which few are very large{which}, so their "
                    "logarithms are learned; predictions are in the units of the labels",
                ),
                (Parameter("log", "no"), " learns the numbers as they are"),
            )
        )
