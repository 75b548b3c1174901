"""The target matrix Y and its weights L, as the objective takes them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, issparse, vstack

from cofactor.engine.observations import Observations, observe
from cofactor.targets.reading import Array, Mask, cast, read_numbers, readable, tall

NEGLIGIBLE = 1e-4
"""Guessed shares below this become zero, which keeps the targets sparse."""


@dataclass(frozen=True, eq=False)
class Targets:
    """Target matrix Y and its weights L, as the objective takes them."""

    values: Any  # csr_array or ndarray, n × k, nonnegative in an objective; unknown cells are 0
    row_weights: Array | None  # (n,), where each row of L is constant; None: all ones
    cell_weights: Array | None  # (n, k), where one is not, and then in place of row_weights
    labelled: Mask  # (n,), samples with a cell of positive weight
    importance: Array | None = None  # (n,), a factor of each row's weights by class; None: all ones

    def observed(self) -> Observations:
        """Return Y with all its weights, as a term of the objective takes it."""
        rows, cells, factor = self.row_weights, self.cell_weights, self.importance
        if factor is not None:
            rows = factor * (1 if rows is None else rows) if cells is None else None
            cells = None if cells is None else cells * factor[:, None]
        return observe(self.values, cells, row_weights=rows)

    @property
    def n_targets(self) -> int:
        """Number of columns of the target matrix."""
        return int(self.values.shape[1])

    @property
    def confidence(self) -> Array | None:
        """The largest weight of each sample's cells, before class weights; None stands for 1."""
        if self.cell_weights is not None:
            return np.asarray(self.cell_weights.max(axis=1))
        return self.row_weights

    def select(self, rows: NDArray[np.integer[Any]]) -> Targets:
        """Return the targets of some samples, in the given order."""
        given = (self.row_weights, self.cell_weights, self.importance)
        weights, cells, factor = (None if some is None else some[rows] for some in given)
        return Targets(self.values[rows], weights, cells, self.labelled[rows], factor)

    def nonnegative(self) -> Targets:
        """Return the targets as an objective takes them: negative numbers become 0."""
        if issparse(self.values) or not (self.values < 0).any():
            return self
        return replace(self, values=np.maximum(self.values, 0))


def weighted_targets(values: Any, weights: Array, dtype: DTypeLike) -> Targets:
    """Return targets whose unknown cells have weight 0, with the simplest form of the weights."""
    values, weights = cast(values, dtype, "y"), cast(weights, dtype, "target_weights")
    values = _known_only(values, weights > 0)
    rows = weights.max(axis=1, initial=0.0)
    if (weights != rows[:, None]).any():
        return Targets(values, None, weights, rows > 0)
    return Targets(values, None if (rows == 1).all() else rows, None, rows > 0)


def _known_only(values: Any, known: Mask) -> Any:
    """Set cells without weight to zero."""
    if known.all():
        return values
    if issparse(values):
        kept = csr_array(values.multiply(known.astype(values.dtype)))
        kept.eliminate_zeros()
        return kept
    return np.where(known, values, 0).astype(values.dtype)


def read_weights(name: str, given: Any, shapes: list[tuple[int, ...]]) -> NDArray[np.float64]:
    """Return weights as a table of one column or k columns; ones if none are given."""
    if given is None:
        return np.ones((shapes[0][0], 1))
    if issparse(given):
        raise ValueError(f"{name} is sparse, but must be dense: pass {name}.toarray().")
    weights = read_numbers(readable(given, name), name)
    if weights.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise ValueError(f"{name} has shape {weights.shape}, but {expected} is expected.")
    if not (weights >= 0).all():
        bad = weights[~(weights >= 0)][0]
        raise ValueError(f"{name} contains {bad:g}, but must be nonnegative: 0 for no confidence.")
    return tall(weights)


def stack(parts: list[Targets]) -> Targets:
    """Put the targets of several batches below each other."""
    if len(parts) == 1:
        return parts[0]
    by_cell = any(part.cell_weights is not None for part in parts)
    values = [part.values for part in parts]
    sparse = all(map(issparse, values))
    return Targets(
        vstack(values, format="csr") if sparse else np.concatenate([*map(_dense, values)]),
        None if by_cell else np.concatenate([*map(_row_weights, parts)]),
        np.concatenate([*map(_cell_weights, parts)]) if by_cell else None,
        np.concatenate([part.labelled for part in parts]),
        joined([part.importance for part in parts], [len(part.labelled) for part in parts]),
    )


def joined(factors: list[Any], lengths: list[int]) -> Array | None:
    """Join factors of the samples of several batches; None stands for ones."""
    if all(factor is None for factor in factors):
        return None
    pairs = zip(factors, lengths, strict=True)
    return np.concatenate([np.ones(n) if factor is None else factor for factor, n in pairs])


def _dense(values: Any) -> Array:
    return np.asarray(values.toarray() if issparse(values) else values)


def _row_weights(targets: Targets) -> Array:
    weights = targets.row_weights
    return np.ones(len(targets.labelled)) if weights is None else weights


def _cell_weights(targets: Targets) -> Array:
    weights = targets.cell_weights
    if weights is not None:
        return weights
    return np.broadcast_to(_row_weights(targets)[:, None], targets.values.shape)


def complete(
    targets: Targets, guesses: Array, confidence: float, known_weight: float | None = None
) -> Targets:
    """Give the unlabelled samples guessed target rows, weighted by a share of the mean known
    weight.

    These are the uncertain labels that the weights L are for; known rows stay as they are.
    """
    known = targets.labelled
    if known.all():
        return targets
    L = targets.cell_weights if targets.cell_weights is not None else targets.row_weights
    L = np.ones(len(known)) if L is None else L
    mask = known if L.ndim == 1 else known[:, None]
    usual = _mean(L[known]) if known_weight is None else known_weight
    weights = np.where(mask, L, confidence * usual)
    rows = np.where(known[:, None], 0.0, np.where(guesses < NEGLIGIBLE, 0.0, guesses))
    if issparse(targets.values):
        kept = targets.values.multiply(known[:, None].astype(targets.values.dtype))
        values: Any = csr_array(kept + csr_array(rows.astype(targets.values.dtype)))
    else:
        values = np.where(known[:, None], targets.values, rows).astype(targets.values.dtype)
    return Targets(
        values,
        weights if L.ndim == 1 else None,
        weights if L.ndim == 2 else None,
        np.ones(len(known), dtype=bool),
        None if targets.importance is None else np.where(known, targets.importance, 1),
    )


def _mean(weights: Array) -> float:
    """Return the mean; the sum of large weights must not overflow."""
    e = int(np.frexp(weights.max(initial=0.0))[1])
    return float(np.ldexp(np.ldexp(weights, -e).mean(), e))
