"""A sample of the rows in memory: starts and heads need all their rows at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.outofcore.folder_reader import RowBlocksError
from cofactor.targets.reading import missing_entries
from cofactor.targets.task import have_fractions

Sample = tuple[Any, Any, FloatArray]
"""Rows, targets and weights."""
Known = Callable[[Any], BoolArray]
"""The estimator's rule: from y to which samples have a known target."""
MAX_SHOWN_NUMBERS = 1000
"""Maximum number of distinct numbers that a sample is sure to contain; it contains every class."""


class ShownValues(NamedTuple):
    """The distinct values of a block's targets, each with the first row that has it.

    Of several targets per row, only the first row that cannot be an indicator is shown.
    """

    rows: list[int]
    values: list[Any]
    dtype: np.dtype[Any]


class SamplingPlan(NamedTuple):
    """How to choose rows of a block, given what is known about all blocks."""

    share: float
    known: Known | None
    """None: the estimator has no targets."""
    firsts: IntArray
    """Rows with a value that no earlier block has."""
    values: Any
    """Values of all blocks: whether −1 means unknown may depend on the others."""


def shown_values(y: Any) -> ShownValues:
    """Return the values of one column of targets in the order of their first rows."""
    if y is None:
        return ShownValues([], [], np.dtype(object))
    if y.ndim > 1 and y.shape[1] > 1:
        soft = np.flatnonzero(~(np.isin(y, (-1, 0, 1)) | np.isnan(y)).all(axis=1))[:1].tolist()
        return ShownValues(soft, ["soft"] * len(soft), np.dtype(object))
    y = y.reshape(-1)
    rows = np.flatnonzero(~missing_entries(y))
    if y.dtype.kind == "O":
        first: dict[Any, int] = {}
        for row, value in zip(rows.tolist(), y[rows].tolist(), strict=True):
            first.setdefault(value, row)
        return ShownValues(list(first.values()), list(first), y.dtype)
    where = np.sort(rows[np.unique(y[rows], return_index=True)[1]])
    return ShownValues(where.tolist(), y[where].tolist(), y.dtype)


def choices(
    shown: Sequence[ShownValues], share: float, known: Known | None, numbers: bool
) -> list[SamplingPlan]:
    """Return how to choose rows of each block; ``numbers`` says that targets are not classes."""
    seen: dict[Any, None] = {}
    firsts = []
    for rows, values, dtype in shown:
        new = [row for row, value in zip(rows, values, strict=True) if value not in seen]
        if dtype.kind in "iuf" and (numbers or have_fractions(values)):
            new = new[: max(MAX_SHOWN_NUMBERS - len(seen), 0)]
        taken = {*new}
        seen.update((v, None) for row, v in zip(rows, values, strict=True) if row in taken)
        firsts.append(np.array(new, dtype=np.int64))
    common = np.result_type(*(dtype for _, _, dtype in shown))
    every = np.empty(len(seen), dtype=common)
    every[:] = list(seen)
    return [SamplingPlan(share, known, rows, every) for rows in firsts]


def sample_block(X: Any, y: Any, choice: SamplingPlan) -> Sample:
    """Return the sample of one block.

    It has the share of rows asked for, evenly spaced; labelled ones make up to half of it, because
    labels are rare. Weights make up for the choice, so that sums over the sample estimate sums over
    the block. Rows that show a class for the first time are always there, and so are the lowest and
    the highest known number, and the first row whose cells are not those of an indicator.
    """
    if choice.share == 1.0:
        return X, y, np.ones(X.shape[0])
    chosen, weight = _choose(y, X.shape[0], choice)
    return X[chosen], None if y is None else np.asarray(y)[chosen], weight


def joined_sample(parts: Sequence[Sample], share: float) -> tuple[Any, Any, FloatArray | None]:
    """Join the samples of blocks; the weights are None if no row was left out."""
    rows, targets, weights = zip(*parts, strict=True)
    X = sp.csr_array(sp.vstack(rows, format="csr"))
    if len(columns := {np.shape(y)[1:] for y in targets}) > 1:
        shown = " and ".join(str(shape) for shape in sorted(columns))
        raise RowBlocksError(
            f"the targets of the blocks differ in their columns: {shown}; write the blocks again"
        )
    y = None if targets[0] is None else np.concatenate(targets)
    return X, y, None if share == 1.0 else np.concatenate(weights)


def _choose(y: Any, n: int, choice: SamplingPlan) -> tuple[IntArray, FloatArray]:
    known = np.zeros(n, dtype=bool)
    if y is not None and choice.known is not None:
        known = _known_rows(y, choice.known, choice.values)
    quota = max(1, round(choice.share * n))
    labelled = _spaced(np.flatnonzero(known), quota // 2 if not known.all() else quota)
    firsts = choice.firsts[known[choice.firsts]]
    labelled = np.union1d(labelled, np.concatenate([firsts, _extreme_rows(y, known)]))
    others = _spaced(np.flatnonzero(~known), max(quota - len(labelled), 1))
    chosen = np.union1d(labelled, others).astype(np.int64)
    weight = np.ones(n)
    for group in (known, ~known):
        taken = np.intersect1d(chosen, np.flatnonzero(group))
        if len(taken):
            weight[taken] = group.sum() / len(taken)
    return chosen, weight[chosen]


def _known_rows(y: Any, known: Known, values: Any) -> BoolArray:
    """Apply the rule to a block as if it held the values of all blocks."""
    if y.ndim > 1 and y.shape[1] > 1:
        return known(y)
    return known(np.concatenate([y.reshape(-1).astype(values.dtype), values]))[: len(y)]


def _extreme_rows(y: Any, known: BoolArray) -> IntArray:
    """Return the rows of the lowest and highest known numbers of each column."""
    if y is None or y.dtype.kind not in "biuf" or not known.any():
        return np.empty(0, dtype=np.int64)
    values = np.where(known[:, None], y.reshape(len(y), -1).astype(float), np.nan)
    low = np.where(np.isnan(values), np.inf, values).argmin(axis=0)
    high = np.where(np.isnan(values), -np.inf, values).argmax(axis=0)
    return np.concatenate([low, high])


def _spaced(rows: IntArray, count: int) -> IntArray:
    if len(rows) <= count:
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).astype(np.int64)]
