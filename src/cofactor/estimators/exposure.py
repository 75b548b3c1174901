"""Exposure: the total of a sample as a scale, not as information.

A sample that was read ten times as deeply has ten times the counts, and so ten times the
representation, but the same label. With exposures c, the total of each sample relative to their
mean, data are compared with S Aᵀ as before, and targets with (S / c) Bᵀ. A divergence of degree d
has d(y, p / c) = c**−d · d(c·y, p), so the target term stays one of the usual form: rows of Y are
multiplied by c, and their weights by c**−d. For counts and Kullback-Leibler this is the Poisson
model with means c_i · (S Aᵀ)_ij, in which S does not depend on the depth.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cofactor._types import FloatArray
from cofactor.engine.objective import Term
from cofactor.engine.observations import Observations
from cofactor.linear.views import relative

MAX_EXPOSURE = 2.0**100
"""Exposures stay within this factor of 1, so that no product is out of range."""


def totals(data: Observations) -> FloatArray:
    """Return the sum of each sample; weights of whole rows change nothing."""
    layout = relative(data).layout
    sums = np.bincount(layout.row_numbers(), layout.values, minlength=data.shape[0])
    return sums.astype(np.float64)


def mean_total(data: Observations, counts: FloatArray | None) -> float:
    """Return the mean total of the samples; 1 if all are empty."""
    return float(np.average(totals(data), weights=counts)) or 1.0


def exposures(data: Observations, mean: float) -> FloatArray:
    """Return the total of each sample relative to ``mean``; 0 for an empty one."""
    c = totals(data) / mean
    return np.where(c > 0, np.clip(c, 1 / MAX_EXPOSURE, MAX_EXPOSURE), 0.0)


def exposed(terms: tuple[Term, ...], mean: float) -> tuple[Term, ...]:
    """Return the terms of an objective with targets per unit of exposure.

    Parameters
    ----------
    terms : tuple of Term
        The data term, and the target term if there is one.
    mean : float
        The total of a sample of exposure 1.
    """
    if len(terms) < 2:
        return terms
    data, target = terms
    observations = _exposed(target, exposures(data.observations, mean))
    return data, replace(target, observations=observations)


def _exposed(term: Term, c: FloatArray) -> Observations:
    """Return the targets times c, and their weights times c**−d; empty samples have weight 0."""
    Y, weights = term.observations, np.zeros(len(c))
    weights[c > 0] = c[c > 0] ** -float(term.divergence.degree)
    rows = Y.layout.row_numbers()
    values = (Y.layout.values * c[rows]).astype(Y.dtype)
    scaled = replace(Y, layout=Y.layout._replace(values=values))
    if Y.weights is not None:
        return replace(scaled, weights=Y.weights * weights[rows])
    return scaled.weighted(rows=weights)
