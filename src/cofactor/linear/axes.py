"""Principal axes of what a view shows, for samples whose single columns say little each.

Columns are divided by their standard deviation plus the median of all standard deviations, so that
neither strong nor rare columns rule the axes. The axes are found by subspace iteration from a start
that is drawn per column, never per sample: samples in another order, given as distinct samples
ordered by content, have the same axes to the bit.
"""

from __future__ import annotations

import numpy as np

from cofactor._types import FloatArray, IntArray
from cofactor.linear.views import Axes, Matrix

N_AXES = 40
"""Number of principal axes. With 30, types of cells that are much alike are told apart worse."""
FURTHER_AXES = 10
"""Axes that are sought beside those that are kept, so that the last ones are found, too."""
ITERATIONS = 5
"""Number of steps of subspace iteration."""
MAX_AXES_ROWS = 10_000
"""Maximum number of samples that the axes are sought in."""
MIN_VARIANCE = 1e-10
"""Axes with less variance than this, relative to the first, are left out."""


def principal_axes(X: Matrix, counts: FloatArray) -> Axes:
    """Return the principal axes of samples; along them, the mean square of a sample is 1.

    Parameters
    ----------
    X : Matrix (n, m)
        What a view shows of distinct samples.
    counts : array (n,)
        How often each sample counts.
    """
    some = slice(MAX_AXES_ROWS)
    X, weights = Matrix(X.values[some], X.threads), counts[some] / counts[some].sum()
    mean = X.transposed_times(weights[:, None])[:, 0]
    square = np.asarray(X.squares().T @ weights).ravel()
    sd = np.sqrt(np.maximum(square - mean**2, 0.0))
    varies = sd > 1e-6 * sd.max(initial=0.0)
    scale = np.zeros(len(sd))
    if varies.any():
        scale[varies] = 1.0 / (sd[varies] + np.median(sd[varies]))
    Q = _first_directions(X.shape[1])
    for _ in range(ITERATIONS if Q.shape[1] < X.shape[1] else 0):
        along = _along(X, mean, Q * scale[:, None]) * weights[:, None]
        moved = X.transposed_times(along) - np.outer(mean, along.sum(axis=0))
        Q = np.linalg.qr(moved * scale[:, None])[0]
    along = _along(X, mean, Q * scale[:, None])
    variances, vectors = np.linalg.eigh((along * weights[:, None]).T @ along)
    kept = _kept(variances)
    basis = Q @ vectors[:, kept]
    basis *= np.where(np.take_along_axis(basis, _largest(basis), axis=0) < 0, -1.0, 1.0)
    unit = np.sqrt(max(float(variances[kept].sum()), 1e-300))
    basis = np.ascontiguousarray(basis * (scale / unit)[:, None])
    return Axes(basis, mean @ basis)


def _first_directions(m: int) -> FloatArray:
    """Return all columns if they are few; else random sums of columns."""
    n = N_AXES + FURTHER_AXES
    if m <= n:
        return np.eye(m)
    return np.linalg.qr(np.random.default_rng(0).standard_normal((m, n)))[0]


def _along(X: Matrix, mean: FloatArray, directions: FloatArray) -> FloatArray:
    """Return centred samples along directions."""
    return np.asarray(X.times(np.ascontiguousarray(directions)) - mean @ directions)


def _kept(variances: FloatArray) -> IntArray:
    """Return the places of the axes with most variance, the first one first; at least one."""
    places = np.arange(len(variances))[::-1][:N_AXES]
    return places[: max(1, int((variances > MIN_VARIANCE * variances.max()).sum()))]


def _largest(basis: FloatArray) -> IntArray:
    """Return the place of the largest entry of each axis, which decides its sign."""
    return np.asarray(np.abs(basis).argmax(axis=0)[None])
