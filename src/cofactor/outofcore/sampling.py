"""Some rows of the data in memory, for what needs them at once: starts and heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor._types import FloatArray, IntArray
from cofactor.outofcore.folders import known_rows
from cofactor.outofcore.rowblocks import RowBlocks, as_csr

Sample = tuple[Any, Any, FloatArray]
"""Rows, targets and weights."""


def sample_rows(blocks: RowBlocks, cells: int) -> tuple[Any, Any, FloatArray | None]:
    """Return rows, targets and weights.

    Every block gives the same share of its rows, evenly spaced; labelled ones make up to half of
    it, because labels are dear. Weights make up for the choice, so that sums over the sample
    estimate sums over the data. Rows that show a class for the first time are always there.
    """
    share = share_of(blocks, cells)
    parts = []
    for i, fact in enumerate(blocks.facts):
        X, y = blocks.block(i)
        parts.append(sample_block(as_csr(X), y, fact.firsts, share))
    return joined_sample(parts, share)


def share_of(blocks: RowBlocks, cells: int) -> float:
    """Return the share of the rows that has about so many stored cells."""
    return min(1.0, cells / max(blocks.nnz, 1))


def sample_block(X: Any, y: Any, firsts: Sequence[int], share: float) -> Sample:
    """Return the sample of one block, which knows nothing of the others."""
    chosen, weight = _choose(y, X.shape[0], share, np.asarray(firsts, dtype=np.int64))
    targets = None if y is None else np.asarray(y)[chosen]
    return X if share == 1.0 else X[chosen], targets, weight


def joined_sample(parts: Sequence[Sample], share: float) -> tuple[Any, Any, FloatArray | None]:
    """Put the samples of blocks together."""
    rows, targets, weights = zip(*parts, strict=True)
    X = sp.csr_array(sp.vstack(rows, format="csr"))
    y = None if targets[0] is None else np.concatenate(targets)
    return X, y, None if share == 1.0 else np.concatenate(weights)


def _choose(y: Any, n: int, share: float, firsts: IntArray) -> tuple[IntArray, FloatArray]:
    everything = np.arange(n)
    if share == 1.0:
        return everything, np.ones(n)
    known = np.zeros(n, dtype=bool) if y is None else known_rows(y)
    room = max(1, round(share * n))
    labelled = _spaced(np.flatnonzero(known), room // 2 if not known.all() else room)
    labelled = np.union1d(labelled, firsts)
    others = _spaced(np.flatnonzero(~known), max(room - len(labelled), 1))
    chosen = np.union1d(labelled, others).astype(np.int64)
    weight = np.ones(n)
    for group in (known, ~known):
        taken = np.intersect1d(chosen, np.flatnonzero(group))
        if len(taken):
            weight[taken] = group.sum() / len(taken)
    return chosen, weight[chosen]


def _spaced(rows: IntArray, count: int) -> IntArray:
    if len(rows) <= count:
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).astype(np.int64)]
