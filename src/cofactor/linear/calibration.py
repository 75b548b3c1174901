"""Calibration: scores become probabilities that hold for samples that no fit has seen.

Several labels per sample get one curve (`fit_curve`). New classes of an updated model get a factor
and a base for their scores (`scale_classes`). The weights of a pool's parts, which calibrate the
probabilities of classes, are in `cofactor.linear.pool`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_softmax, softmax

from cofactor._types import BoolArray, FloatArray
from cofactor.linear.lbfgs import LBFGS

PRIOR_STRENGTH = 10.0
"""How strongly the factors of classes stay at 1: as strongly as a pool's weights at usual ones."""
LEAST_FACTOR = 0.05
"""Scores are not flattened below this factor, so that the largest of them stays the largest."""
CURVE_BOUNDS = np.array([0.05, 0.05, -5.0]), np.array([5.0, 5.0, 5.0])


class ProbabilityCurve(NamedTuple):
    """The probability that belongs to a score (beta calibration, Kull et al. 2017).

    ``below`` and ``above`` are its slopes, in log odds, far below and far above a score of 0;
    ``shift`` is added. Both slopes 1 and shift 0 give the logistic function.
    """

    below: float = 1.0
    above: float = 1.0
    shift: float = 0.0

    def of(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities of scores."""
        log_odds = self.above * np.logaddexp(0.0, scores) - self.below * np.logaddexp(0.0, -scores)
        return np.asarray(expit(log_odds + self.shift))


def flattening(scores: FloatArray, confidence: float) -> float:
    """Return the factor, at most 1, by which scores have no more than a mean confidence.

    It is never below `LEAST_FACTOR`, even if their confidence remains larger.

    Examples
    --------
    >>> round(flattening(np.array([[4.0, 0.0], [0.0, 4.0]]), 0.75), 2)
    0.27
    """
    low, high = LEAST_FACTOR, 1.0
    if not len(scores) or softmax(scores, axis=1).max(axis=1).mean() <= confidence:
        return high
    for _ in range(40):
        middle = (low + high) / 2
        over = softmax(middle * scores, axis=1).max(axis=1).mean() > confidence
        low, high = (low, middle) if over else (middle, high)
    return low


def fit_curve(scores: FloatArray, total: FloatArray, yes: FloatArray) -> ProbabilityCurve:
    """Fit the curve that makes held-out labels most likely.

    Half the squared distance to the logistic function is added, for the sake of few samples.

    Parameters
    ----------
    scores, total, yes : array (n,)
        Scores, the weight of the samples with each score, and of those that have the label.
    """
    usual = np.array(ProbabilityCurve())
    parts = np.stack([-np.logaddexp(0.0, -scores), np.logaddexp(0.0, scores), np.ones(len(scores))])
    search = LBFGS(usual, iterations=100, slope=1e-6, decrease=1e-12, bounds=CURVE_BOUNDS)
    while not search.done:
        z, apart = search.point @ parts, search.point - usual
        cost = total @ np.logaddexp(0.0, z) - yes @ z + apart @ apart / 2
        search.update(float(cost), parts @ (total * expit(z) - yes) + apart)
    return ProbabilityCurve(*search.point.tolist())


def scale_classes(
    scores: FloatArray, shares: FloatArray, weights: FloatArray, which: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return factors and bases of the scores of some classes that make the shares likely.

    Parameters
    ----------
    scores, shares : array (n, k)
        Scores of the classes, and the share of each sample in each class.
    weights : array (n,)
    which : array (k,) of bool
        The classes; others have factor 1 and base 0.
    """
    own = np.flatnonzero(which)
    Z, fitted = scores[:, own], scores.copy()
    start = np.r_[np.ones(len(own)), np.zeros(len(own))]
    search = LBFGS(start, iterations=200, slope=1e-5, decrease=1e-12)
    while not search.done:
        factor, base = np.split(search.point, 2)
        fitted[:, own] = Z * factor + base
        log_p = log_softmax(fitted, axis=1)
        apart = factor - 1.0
        cost = PRIOR_STRENGTH / 2 * apart @ apart - np.sum(weights[:, None] * shares * log_p)
        slope = ((np.exp(log_p) - shares) * weights[:, None])[:, own]
        on_factor = (slope * Z).sum(axis=0) + PRIOR_STRENGTH * apart
        search.update(float(cost), np.r_[on_factor, slope.sum(axis=0)])
    factor, base = np.ones(len(which)), np.zeros(len(which))
    factor[own], base[own] = np.split(search.point, 2)
    return factor, base
