"""Logistic regressions of many yes-or-no labels, one for each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.linear.linear import LinearModel
from cofactor.linear.matrix import Matrix

TOGETHER = 64
"""Number of labels that are solved together, so that their scores fit into the cache."""
ITERATIONS = 200
"""Maximum number of iterations."""
TOLERANCE = 1e-5
"""A label is solved when a step lowers its cost by less than this, relative to the cost."""
MEMORY = 8
"""Number of steps that L-BFGS remembers."""
HALVINGS = 30
"""A step is halved this many times before it is given up."""
UNSOLVED = 0.75
"""Solved labels are dropped when the share of unsolved ones falls below this."""


def logistic_regressions(
    X: Matrix,
    Y: Any,
    counts: FloatArray,
    penalty: float,
    known: BoolArray | None = None,
    start: LinearModel | None = None,
) -> LinearModel:
    """Minimise Σ count · log loss + penalty/2 · |W|² for each label.

    The bases are not penalised. An empty row that is half yes and half no is added to each label,
    so that bases stay finite.

    Parameters
    ----------
    X : Matrix (n, m)
    Y : csr_array (n, k)
        One where a row has a label; unknown cells are zero.
    counts : array (n,)
        How often each row counts.
    penalty : float
    known : array (n, k) or None
        Which cells of Y are known; None means all.
    start : LinearModel or None
        A model to start from.
    """
    used = X.used_columns
    part = X.columns(used)
    squares = Matrix(csr_array(part.squares()) if X.is_sparse else part.squares(), X.threads)
    weighted = csr_array(Y.multiply(counts[:, None]))
    order = np.argsort(-np.asarray(weighted.sum(axis=0)).ravel(), kind="stable")
    table = np.zeros((X.shape[1] + 1, Y.shape[1]))
    rows = np.append(used, X.shape[1])
    for low in range(0, len(order), TOGETHER):
        some = order[low : low + TOGETHER]
        cells = None if known is None else known[:, some].astype(np.float64)
        problem = _Problem(part, squares, weighted[:, some], counts, penalty, cells)
        first = problem.rates
        if start is not None:
            first = np.vstack([start.weights[np.ix_(used, some)], start.base[some]])
        table[np.ix_(rows, some)] = minimise_columns(problem, first)
    return LinearModel(table[:-1], table[-1].copy())


class Point(NamedTuple):
    """Variables with their costs; one column per label.

    Parameters
    ----------
    x : array (m + 1, k)
        Weights of the features, and the base.
    cost : array (k,)
    slope, curvature : array (m + 1, k)
        First and second derivative of the cost by each variable.
    """

    x: FloatArray
    cost: FloatArray
    slope: FloatArray
    curvature: FloatArray

    def columns(self, which: Any) -> Point:
        return Point(*(part[..., which] for part in self))


@dataclass(frozen=True, eq=False)
class _Problem:
    """The costs of some labels; ``Y`` holds counts, ``known`` is 0 where a cell is unknown."""

    X: Matrix
    squares: Matrix
    Y: Any
    counts: FloatArray
    penalty: float
    known: FloatArray | None

    @cached_property
    def moment(self) -> FloatArray:
        """The sum of the features over the rows with a label."""
        sums = self.X.transposed_times(self.Y.toarray())
        return np.vstack([sums, np.asarray(self.Y.sum(axis=0)).ravel() + 0.5])

    @property
    def rates(self) -> FloatArray:
        """The model that knows only how frequent the labels are."""
        total = self.counts.sum() if self.known is None else self.counts @ self.known
        out = np.zeros_like(self.moment)
        out[-1] = np.log(self.moment[-1] / (total + 1.0 - self.moment[-1]))
        return out

    def at(self, x: FloatArray, labels: IntArray) -> Point:
        """Return the costs of some labels."""
        z = self.X.times(x[:-1])
        z += x[-1]
        np.maximum(z, -500.0, out=z)  # so that exp does not overflow
        odds = np.exp(-z)
        odds += 1.0
        z += np.log(odds)  # log loss of "no"
        p = np.divide(1.0, odds, out=odds)
        if self.known is not None:
            z *= self.known[:, labels]
        empty = 0.5 + 0.5 * np.tanh(x[-1] / 2)
        moment = self.moment[:, labels]
        cost = self.counts @ z + np.logaddexp(0.0, x[-1])
        cost += self.penalty / 2 * (x[:-1] ** 2).sum(axis=0) - (x * moment).sum(axis=0)
        weighted = p * self.counts[:, None]
        if self.known is not None:
            weighted *= self.known[:, labels]
        slope = np.vstack([self.X.transposed_times(weighted), weighted.sum(axis=0) + empty])
        slope -= moment
        slope[:-1] += self.penalty * x[:-1]
        weighted *= 1.0 - p
        base = weighted.sum(axis=0) + empty * (1 - empty)
        curvature = np.vstack([self.squares.transposed_times(weighted) + self.penalty, base])
        return Point(x, cost, slope, curvature)


def minimise_columns(problem: _Problem, first: FloatArray) -> FloatArray:
    """Minimise the cost of each label by itself, with L-BFGS.

    The diagonal of the Hessian is exact in every step: features that rarely meet in a row then need
    few steps.
    """
    out, labels = first.copy(), np.arange(first.shape[1])
    point = problem.at(first, labels)
    past: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    for _ in range(ITERATIONS):
        new = _step(problem, labels, point, -_newton(point, past))
        s, y = new.x - point.x, new.slope - point.slope
        curved = (s * y).sum(axis=0)
        rho = np.divide(1.0, curved, out=np.zeros_like(curved), where=curved > 1e-200)
        past = [*past, (s, y, rho)][-MEMORY:]
        unsolved = point.cost - new.cost > TOLERANCE * np.abs(point.cost)
        point = new
        out[:, labels] = point.x
        if not unsolved.any():
            break
        if unsolved.mean() < UNSOLVED:
            labels, point = labels[unsolved], point.columns(unsolved)
            past = [(s[:, unsolved], y[:, unsolved], rho[unsolved]) for s, y, rho in past]
    return out


def _newton(point: Point, past: list[tuple[FloatArray, FloatArray, FloatArray]]) -> FloatArray:
    """Return the slope times the inverse Hessian as its diagonal and past steps show it."""
    q, shares = point.slope.copy(), []
    for s, y, rho in reversed(past):
        shares.append(rho * (s * q).sum(axis=0))
        q -= shares[-1] * y
    q /= point.curvature
    for (s, y, rho), share in zip(past, reversed(shares), strict=True):
        q += s * (share - rho * (y * q).sum(axis=0))
    return q


def _step(problem: _Problem, labels: IntArray, point: Point, d: FloatArray) -> Point:
    """Go along d; halve the step of a label until its cost falls enough."""
    wanted = 1e-4 * (point.slope * d).sum(axis=0)
    new = problem.at(point.x + d, labels)
    for halving in range(1, HALVINGS + 1):
        allowed = point.cost + wanted * 0.5 ** (halving - 1) + 1e-12 * np.abs(point.cost)
        bad = np.flatnonzero(~(new.cost <= allowed))
        if not len(bad):
            return new
        shorter = (
            point.columns(bad)
            if halving == HALVINGS
            else problem.at(point.x[:, bad] + 0.5**halving * d[:, bad], labels[bad])
        )
        for part, mended in zip(new, shorter, strict=True):
            part[..., bad] = mended
    return new
