"""Predictions of missing cells: offsets, and topics of what the offsets leave.

A cell (i, j) is predicted by  mean + row_i + column_j + s_i·a_j,  clipped to the range of the
observed cells.  ``fit_missing_cells`` finds these numbers in four steps.

1. Take damped offsets off the cells, less a *lift* that leaves room for negative deviations.
2. Factorize the rest with an L2 prior on samples and features, by the same loop as every fit.
3. Add damped offsets of what is left then: they repair what the prior shrinks.
4. Mix the result with damped offsets alone.

Lift, strength of the prior and share of the topics in the mixture are those that predict held-out
cells best.  Data that are products rather than sums are better factorized as they are, so one
candidate takes nothing off.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse as sp

from cofactor._fields import FieldSizes, array, number
from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.divergences import Divergence
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import minimise
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import Observations, masked
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates
from cofactor.engine.stopping import RelativeDecrease
from cofactor.engine.threads import Threads
from cofactor.estimators.units import shift
from cofactor.priors import Penalty
from cofactor.starts import plain_start

HELD_OUT_SHARE, MIN_HELD_OUT, MAX_HELD_OUT_SHARE = 0.1, 30, 0.3
"""Share of the cells that is held out: more where cells are few, to hold out a minimum number of
them, but never more than a maximum share."""
DAMPING = 5.0
"""Pseudo-cells with offset 0 that are added to every row and column."""
OFFSET_ROUNDS = 5
"""Number of times that row and column offsets are estimated in turn."""
LIFTS = (None, 3.0)
"""Lifts to try, in standard deviations of what the offsets leave; None takes nothing off."""
STRENGTHS = (1.0, 0.4, 0.15, 0.05, 0.01, 0.001)
"""Strengths to try, in units of ``Remainder.critical_weight``; not 0, because without a prior the
topics of a row with few cells may grow without bound."""
TRIAL_CELLS = 100_000
"""Maximum number of cells that choose the lift, the strength and the share."""
TRIAL_STEPS, FURTHER_STEPS = 15, 30
"""Maximum number of iterations on the cells that are not held out, and then on all cells."""
CELL_TOLERANCE = 1e-4
LEAST_SPREAD = 1e-3
"""Smallest unit in which cells are measured, relative to their root mean square."""
MIN_REVIVED_SHARE = 0.1
"""Share of the start below which no entry falls from one strength to the next: a weaker prior may
need topics that a stronger one has removed."""
CHUNK_CELLS = 1 << 16
"""Number of cells that are predicted at a time."""


class Offsets(NamedTuple):
    """A mean, and what rows and columns add to it."""

    mean: float
    rows: FloatArray
    columns: FloatArray

    def at(self, cells: Cells) -> FloatArray:
        """Return the sums for some cells."""
        return np.asarray(self.mean + self.rows[cells.rows] + self.columns[cells.columns])

    def plus(self, other: Offsets, share: float = 1.0) -> Offsets:
        """Return these offsets plus a share of others."""
        return Offsets(
            self.mean + share * other.mean,
            self.rows + share * other.rows,
            self.columns + share * other.columns,
        )


class Cells(NamedTuple):
    """Observed cells, row by row; both kinds of weights have the mean 1."""

    shape: tuple[int, int]
    rows: IntArray
    columns: IntArray
    values: FloatArray
    weights: FloatArray
    counts: FloatArray
    """Sample weights."""

    @classmethod
    def of(cls, data: Observations, counts: FloatArray | None) -> Cells:
        """List the cells of a matrix without observed zeros; not those of weight 0."""
        layout, weights = data.layout, data.cell_weights()
        counts = np.ones(data.shape[0]) if counts is None else counts / counts.mean()
        weights = np.ones(data.n_listed) if weights is None else weights
        listed = (layout.row_numbers(), layout.column_numbers(), layout.values, weights)
        cells = cls(data.shape, *listed, counts).subset(weights > 0)
        return cells._replace(weights=cells.weights / cells.weights.mean())

    def subset(self, which: BoolArray) -> Cells:
        """Return some of the cells."""
        return self._replace(
            rows=self.rows[which],
            columns=self.columns[which],
            values=self.values[which],
            weights=self.weights[which],
        )

    @property
    def total_weights(self) -> FloatArray:
        """Weights of the cells times those of their samples."""
        return self.weights * self.counts[self.rows]

    def mean(self, numbers: FloatArray) -> float:
        """Return the weighted mean of a number for each cell."""
        return float(np.average(numbers, weights=self.total_weights))


@dataclass(frozen=True, eq=False)
class MissingCells:
    """A model of the cells of a matrix, observed and missing ones.

    Parameters
    ----------
    mean : float
    row_offsets, column_offsets : arrays (n,) and (m,)
    samples, features : arrays (n, r) and (m, r)
        A cell is predicted by mean + row offset + column offset + samples · features.
    low, high : float
        Range of the observed cells, to which predictions are clipped.
    strength : float
        Strength of the prior that was chosen: 1 is where topics of pure noise vanish. Infinite
        where offsets alone predict best.
    expected_rmse : float
        Root mean squared error on the held-out cells; NaN if there were too few cells to hold any
        out.
    """

    mean: float = number()
    row_offsets: FloatArray = array("n")
    column_offsets: FloatArray = array("m")
    samples: FloatArray = array("n", "cell rank", low=0)
    features: FloatArray = array("m", "cell rank", low=0)
    low: float = number(low=0)
    high: float = number(low=0)
    strength: float = number(low=0, finite=False)
    expected_rmse: float = number(low=0, finite=False)

    def fault(self, sizes: FieldSizes) -> str | None:
        """Return what is wrong with the fields together, see `cofactor._fields`."""
        return None if self.low <= self.high else "low is greater than high"

    def predict(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return the predictions of some cells."""
        values = self.mean + self.row_offsets[rows] + self.column_offsets[columns]
        values = values + products(self.samples, self.features, rows, columns)
        return np.clip(values, self.low, self.high)

    def scaled(self, exponent: int) -> MissingCells:
        """Return the model of the cells times 2**exponent."""
        names = ("mean", "row_offsets", "column_offsets", "features", "low", "high")
        parts = {name: shift(getattr(self, name), exponent) for name in names}
        numbers = {name: float(parts[name]) for name in ("mean", "low", "high")}
        rmse = float(shift(self.expected_rmse, exponent))
        return replace(self, **{**parts, **numbers}, expected_rmse=rmse)


def products(S: FloatArray, A: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
    """Return S[i]·A[j] for some cells, in float64; the bits do not depend on threads."""
    found = np.empty(len(rows))
    for low in range(0, len(rows), CHUNK_CELLS):
        part = slice(low, low + CHUNK_CELLS)
        pairs = S[rows[part]].astype(np.float64), A[columns[part]]
        found[part] = np.einsum("ij,ij->i", *pairs)
    return found


def has_missing_cells(data: Observations, counts: FloatArray | None = None) -> bool:
    """Return whether some cells are missing, and others count; ``counts`` are sample weights."""
    if data.complete:
        return False
    weights = data.cell_weights(counts)
    return weights is None or bool(weights.any())


def damped_offsets(cells: Cells, values: FloatArray) -> Offsets:
    """Return damped offsets of values at the cells.

    The offset of a row does not depend on the weight of its sample.
    """
    n, m = cells.shape
    own, total, mean = cells.weights, cells.total_weights, cells.mean(values)
    row_mass = DAMPING + np.bincount(cells.rows, own, minlength=n)
    column_mass = DAMPING + np.bincount(cells.columns, total, minlength=m)
    rows, columns = np.zeros(n), np.zeros(m)
    for _ in range(OFFSET_ROUNDS):
        left = total * (values - mean - rows[cells.rows])
        columns = np.bincount(cells.columns, left, minlength=m) / column_mass
        left = own * (values - mean - columns[cells.columns])
        rows = np.bincount(cells.rows, left, minlength=n) / row_mass
    return Offsets(mean, rows, columns)


class Prediction(NamedTuple):
    """Offsets and topics that add up to predictions of cells."""

    offsets: Offsets
    factors: Factors

    def at(self, cells: Cells) -> FloatArray:
        """Return the predictions of some cells."""
        S, A = self.factors.samples, self.factors.features
        return np.asarray(self.offsets.at(cells) + products(S, A, cells.rows, cells.columns))


@dataclass(frozen=True, eq=False)
class Remainder:
    """Cells less a baseline, as an objective.

    Parameters
    ----------
    cells : Cells
    baseline : Offsets
        What is taken off the cells.
    spread : float
        The unit of what is left.
    objective : Objective
        That of the remainder without a prior.
    threads : Threads
    """

    cells: Cells
    baseline: Offsets
    spread: float
    objective: Objective
    threads: Threads

    @classmethod
    def of(cls, cells: Cells, lift: float | None, loss: Divergence, threads: Threads) -> Remainder:
        """Take off the offsets less ``lift`` standard deviations; nothing if ``lift`` is None."""
        offsets = damped_offsets(cells, cells.values)
        spread = np.sqrt(cells.mean((cells.values - offsets.at(cells)) ** 2))
        size = np.sqrt(cells.mean(cells.values.astype(np.float64) ** 2))
        spread = float(max(spread, LEAST_SPREAD * size)) or 1.0
        if lift is None:
            baseline = Offsets(0.0, np.zeros(cells.shape[0]), np.zeros(cells.shape[1]))
        else:
            baseline = offsets._replace(mean=offsets.mean - lift * spread)
        left = np.maximum((cells.values - baseline.at(cells)) / spread, 0.0)
        start = np.searchsorted(cells.rows, np.arange(cells.shape[0] + 1))
        matrix = sp.csr_array(
            (left.astype(cells.values.dtype), cells.columns, start), shape=cells.shape
        )
        term = Term("data", "features", masked(matrix, cells.weights), loss)
        return cls(cells, baseline, spread, Objective((term,), {}, cells.counts), threads)

    def critical_weight(self) -> float:
        """Return the weight of L2 at which topics of pure noise vanish.

        It is the largest singular value of noise of standard deviation 1 at the observed cells,
        about √(cells per row) + √(cells per column), times the curvature of the loss at the mean.
        """
        term, values = self.objective.terms[0], self.objective.terms[0].observations.layout.values
        n, m = len(np.unique(self.cells.rows)), len(np.unique(self.cells.columns))
        center = self.cells.mean(values) or 1.0
        return float(
            term.divergence.curvature(center)
            * (np.sqrt(len(values) / n) + np.sqrt(len(values) / m))
        )

    def fit(self, start: Factors, strength: float, max_iter: int) -> tuple[Prediction, Factors]:
        """Factorize the remainder, and add offsets of what is left then.

        Return the prediction of cells, and the factors of the remainder.
        """
        prior = Penalty(square=strength * self.critical_weight())
        objective = replace(self.objective, priors={"samples": prior, "features": prior})
        solver = CoordinateDescent() if objective.coordinate_descent else MultiplicativeUpdates()
        rules = [RelativeDecrease(CELL_TOLERANCE)]
        fit = minimise(
            objective, start, solver, max_iter=max_iter, rules=rules, threads=self.threads
        )
        if fit.interrupted:
            raise KeyboardInterrupt
        S, A = fit.factors.samples, fit.factors.features
        first = Prediction(self.baseline, Factors(S, A * A.dtype.type(self.spread)))
        again = damped_offsets(self.cells, self.cells.values - first.at(self.cells))
        return first._replace(offsets=self.baseline.plus(again)), fit.factors


class CellCandidate(NamedTuple):
    """A candidate, and how it predicts the held-out cells."""

    error: float
    share: float = 0.0
    """Share of the topics in the mixture with offsets alone."""
    lift: float | None = None
    strength: float = np.inf
    factors: Factors | None = None
    """Factors of the remainder; None stands for offsets alone."""


class CellProblem(NamedTuple):
    """Data with missing cells and the settings of a fit: what `fit_missing_cells` needs.

    Parameters
    ----------
    data : Observations
        The cells divided by 2**exponent.
    counts : array (n,) or None
        Sample weights.
    loss : Divergence
    rank, max_iter : int
    random : RandomState
    exponent : int
    """

    data: Observations
    counts: FloatArray | None
    loss: Divergence
    rank: int
    max_iter: int
    random: np.random.RandomState
    exponent: int


def fit_missing_cells(problem: CellProblem, threads: Threads) -> MissingCells:
    """Fit a model of the cells."""
    data, counts, loss, rank, max_iter, random, exponent = problem
    random = copy.deepcopy(random)  # a second call gives the same model
    cells = Cells.of(data, counts)
    used = cells.values[cells.total_weights > 0]
    low, high = float(used.min()), float(used.max())
    choice = CellCandidate(np.nan)
    some = _some_rows(cells, random)
    hidden = _hidden(some, random)
    if hidden.any():
        trials = Trials(some.subset(~hidden), some.subset(hidden), (low, high), max_iter)
        choice = trials.best(loss, rank, random, threads)
    offsets = damped_offsets(cells, cells.values)
    S, A = (np.zeros((size, rank), dtype=data.dtype) for size in data.shape)
    if choice.factors is not None:
        remainder = Remainder.of(cells, choice.lift, loss, threads)
        steps, start = min(FURTHER_STEPS, max_iter), choice.factors
        start = Factors(_typical_where_unseen(start.samples, some.rows), start.features)
        full, _ = remainder.fit(start, choice.strength, steps)
        offsets = _mixed(offsets, full.offsets, choice.share)
        S, A = full.factors.samples, full.factors.features * A.dtype.type(choice.share)
        S, A = _typical_where_unseen(S, cells.rows), _typical_where_unseen(A, cells.columns)
    model = MissingCells(*offsets, S, A, low, high, choice.strength, choice.error)
    return model.scaled(exponent)


def _typical_where_unseen(V: FloatArray, seen: IntArray) -> FloatArray:
    """Give rows or columns without an observed cell the mean factors of the others."""
    unseen = np.bincount(seen, minlength=len(V)) == 0
    return np.where(unseen[:, None], V[~unseen].mean(axis=0), V) if unseen.any() else V


def _mixed(alone: Offsets, full: Offsets, share: float) -> Offsets:
    none = Offsets(0.0, np.zeros_like(alone.rows), np.zeros_like(alone.columns))
    return none.plus(alone, 1.0 - share).plus(full, share)


def _some_rows(cells: Cells, random: np.random.RandomState) -> Cells:
    """Return the cells of a sample of rows, at most ``TRIAL_CELLS`` if there are more."""
    if len(cells.values) <= TRIAL_CELLS:
        return cells
    order = random.permutation(cells.shape[0])
    sizes = np.bincount(cells.rows, minlength=cells.shape[0])[order]
    kept = np.zeros(cells.shape[0], dtype=bool)
    kept[order[np.cumsum(sizes) <= TRIAL_CELLS]] = True
    return cells.subset(kept[cells.rows])


def _hidden(cells: Cells, random: np.random.RandomState) -> BoolArray:
    """Draw the cells to hold out; every row keeps a cell."""
    share = min(MAX_HELD_OUT_SHARE, max(HELD_OUT_SHARE, MIN_HELD_OUT / len(cells.values)))
    hidden = (random.uniform(size=len(cells.values)) < share) & (cells.total_weights > 0)
    kept = np.bincount(cells.rows[~hidden], minlength=cells.shape[0])
    return np.asarray(hidden & (kept[cells.rows] > 0))


def _revived(factors: Factors, start: Factors) -> Factors:
    """Return factors whose entries are at least a share of those of the start."""
    pairs = zip(factors.each()[:2], start.each()[:2], strict=True)
    return Factors(*(np.maximum(V, V.dtype.type(MIN_REVIVED_SHARE) * least) for V, least in pairs))


class Trials:
    """Candidates that are fitted on some cells and scored on others."""

    def __init__(
        self, known: Cells, hidden: Cells, bounds: tuple[float, float], max_iter: int
    ) -> None:
        self.known, self.hidden, self.bounds = known, hidden, bounds
        self.steps = min(TRIAL_STEPS, max_iter)
        self.alone = damped_offsets(known, known.values).at(hidden)

    def best(
        self, loss: Divergence, rank: int, random: np.random.RandomState, threads: Threads
    ) -> CellCandidate:
        """Return the candidate with the smallest error; at first, offsets alone."""
        best = CellCandidate(self._error(self.alone))
        for lift in LIFTS[:1] if loss.positive else LIFTS:
            remainder = Remainder.of(self.known, lift, loss, threads)
            # the lift itself takes a topic
            size = rank if lift is None else rank + 1
            start = plain_start(remainder.objective, size, random, "random", threads)
            for choice in self._path(remainder, lift, start):
                best = min(best, choice, key=lambda c: c.error)
        return best

    def _path(
        self, remainder: Remainder, lift: float | None, start: Factors
    ) -> Iterator[CellCandidate]:
        """Yield candidates from strong to weak priors, until the error rises.

        Each goes on from the factors of the one before.
        """
        last, factors = np.inf, start
        for strength in STRENGTHS:
            prediction, factors = remainder.fit(_revived(factors, start), strength, self.steps)
            error, share = self.score(prediction.at(self.hidden))
            if np.isfinite(error):
                yield CellCandidate(error, share, lift, strength, factors)
            if error > last:
                return
            last = error

    def score(self, predicted: FloatArray) -> tuple[float, float]:
        """Return the error of the best mixture with offsets alone, and its share of ``predicted``.

        The share is less by a standard error: topics have to prove themselves.
        """
        gain, left = predicted - self.alone, self.hidden.values - self.alone
        weights = self.hidden.total_weights
        size = float(np.sum(weights * gain**2))
        if not 0 < size < np.inf:
            return self._error(self.alone), 0.0
        share = float(np.sum(weights * gain * left)) / size
        doubt = np.sqrt(self.hidden.mean((left - share * gain) ** 2) / size)
        share = float(np.clip(share - doubt, 0.0, 1.0))
        return self._error(self.alone + share * gain), share

    def _error(self, predicted: FloatArray) -> float:
        """Return the root mean squared error on the held-out cells."""
        clipped = np.clip(predicted, *self.bounds)
        return float(np.sqrt(self.hidden.mean((clipped - self.hidden.values) ** 2)))
