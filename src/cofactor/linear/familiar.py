"""Samples that are unlike the labelled ones of the class that is predicted for them.

A linear model is sure of samples that lie far out, also of those of a class that has no labels.
So the model keeps labelled samples of each class along principal axes. A sample is as near to a
class as its mean cosine to the nearest labelled samples of the class says. How near the samples of
a class usually are is known from its labelled samples, each compared with the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr

from cofactor._fields import FieldSizes, array, instance
from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.linear.axes import principal_axes
from cofactor.linear.parts import Labels
from cofactor.linear.views import Axes, Matrix

N_NEAREST = 5
"""Number of labelled samples of a class that a sample is compared with."""
MAX_PER_CLASS, MAX_KEPT = 50, 2000
"""Maximum numbers of labelled samples that are kept of each class, and of all classes."""
MAX_FEATURES = 200_000
"""With more features, no axes are kept: they would take more memory than the topics."""
COMMON_LABELS = 5.0
"""How near samples of a class are is shrunk to what holds for all, as if by this many labels."""
UNLIKE_LEVEL = 0.95
"""Samples from this level are marked as unlike their class; about one in twenty of its own are."""


class _Usual(NamedTuple):
    """How near samples of each class are to its labelled ones: mean, deviation, freedom (k,)."""

    mean: FloatArray
    deviation: FloatArray
    freedom: FloatArray


@dataclass(frozen=True, eq=False)
class FamiliarSamples:
    """Labelled samples that new ones are compared with.

    Parameters
    ----------
    axes : Axes
        Principal axes of what the view of the features shows.
    samples : array (s, d)
        Labelled samples along the axes, of length one.
    classes : array (s,)
        The number of the class of each.
    """

    axes: Axes = instance(Axes)
    samples: FloatArray = array("familiar", "axes")
    classes: IntArray = array("familiar", kind="i", low=0)

    def fault(self, sizes: FieldSizes) -> str | None:
        """Return what is wrong with the fields together, see `cofactor._fields`."""
        beyond = len(self.classes) > 0 and int(self.classes.max()) >= sizes.get("k", np.inf)
        return "classes has a number that no class has" if beyond else None

    def unlike(
        self, V: Any, predicted: IntArray, threads: Any, itself: IntArray | None = None
    ) -> FloatArray:
        """Return how unlike the labelled samples of its predicted class each sample is.

        Parameters
        ----------
        V : csr_array or array (n, m)
            What the view of the features shows of the samples.
        predicted : array (n,)
            The number of the predicted class of each.
        threads : Threads
        itself : array (n,), optional
            Which of the kept samples each sample is, or −1; it is not compared with itself.

        Returns
        -------
        array (n,)
            The share of samples of that class that are nearer to its labelled samples, from 0 to 1.
            NaN if no class has two labels, for a class without labels, and for empty samples.
        """
        X = Matrix(V, threads)
        coordinates = unit_rows(self.axes.of(X).values)
        found = np.full(len(predicted), np.nan)
        usual = self._usual
        for c in np.unique(predicted):
            rows, own = predicted == c, np.flatnonzero(self.classes == c)
            if usual is not None and len(own):
                cosines = coordinates[rows] @ self.samples[own].T
                if itself is not None:
                    cosines[itself[rows, None] == own] = -np.inf
                z = (_nearness(cosines) - usual.mean[c]) / usual.deviation[c]
                found[rows] = stdtr(usual.freedom[c], -z)
        return np.where(X.row_norms() > 0, found, np.nan) if X.is_sparse else found

    @cached_property
    def _usual(self) -> _Usual | None:
        """What labelled samples say that are compared with the others of their class."""
        k = int(self.classes.max(initial=-1)) + 1
        near = [self._left_out(c) for c in range(k)]
        everything = np.concatenate([np.zeros(0), *near])
        if not len(everything):
            return None
        mean, variance = everything.mean(), max(float(everything.var()), 1e-6)
        n = np.array([len(one) for one in near]) + COMMON_LABELS
        means = (np.array([one.sum() for one in near]) + COMMON_LABELS * mean) / n
        apart = [((one - m) ** 2).sum() for one, m in zip(near, means, strict=True)]
        deviation = np.sqrt((np.array(apart) + COMMON_LABELS * variance) / n)
        return _Usual(means, deviation, n - 1.0)

    def _left_out(self, c: int) -> FloatArray:
        """Return how near each labelled sample of a class is to the others of the class."""
        own = self.samples[self.classes == c]
        cosines = own @ own.T
        np.fill_diagonal(cosines, -np.inf)
        return _nearness(cosines) if len(own) > 1 else np.zeros(0)

    def with_samples(self, V: Any, classes: IntArray, threads: Any) -> FamiliarSamples:
        """Return these and further labelled samples."""
        X = Matrix(V, threads)
        filled = X.filled_rows
        further = unit_rows(self.axes.of(X).values)[filled]
        samples, numbers = np.vstack([further, self.samples]), np.r_[classes[filled], self.classes]
        kept = _some_of_each(numbers)
        return replace(self, samples=samples[kept], classes=numbers[kept])

    def renumbered(self, numbers: IntArray) -> FamiliarSamples:
        """Return the samples with other numbers of the classes, given for each number so far."""
        return replace(self, classes=numbers[self.classes])

    def wider(self, n_features: int) -> FamiliarSamples:
        """Return the samples for views with further features, which do not change the axes."""
        basis = np.pad(self.axes.basis, ((0, n_features), (0, 0)))
        return replace(self, axes=replace(self.axes, basis=basis))


def familiar_samples(X: Matrix, labels: Labels) -> FamiliarSamples | None:
    """Return the labelled samples to keep, of distinct samples and their labels.

    None if there are too many features for their axes to be kept.
    """
    if X.shape[1] > MAX_FEATURES:
        return None
    axes = principal_axes(X, labels.counts)
    rows = _kept_rows(X, labels)
    samples = unit_rows(axes.of(X.select(rows)).values)
    basis = axes.basis.astype(np.float32)  # half the room; cosines need no more digits
    classes = labels.shares[rows].argmax(axis=1)
    return FamiliarSamples(replace(axes, basis=basis), samples, classes)


def unlike_held_out(
    familiar: FamiliarSamples, X: Matrix, labels: Labels, out: IntArray, scores: FloatArray
) -> FloatArray:
    """Return how unlike the others of its predicted class each held-out sample is.

    ``familiar`` is what `familiar_samples` kept of the same samples and labels.
    """
    kept = _kept_rows(X, labels)
    place = np.minimum(np.searchsorted(kept, out), len(kept) - 1)
    itself = np.where(kept[place] == out, place, -1)
    return familiar.unlike(X.select(out).values, scores.argmax(axis=1), X.threads, itself)


def left_out(confidence: FloatArray, unlike: FloatArray | None, abstain: float) -> BoolArray:
    """Return which predictions are left out.

    They are those that are less probable than ``abstain`` and, unless it is 0, those of samples
    that are unlike the labelled ones of their class.
    """
    found = np.asarray(confidence < abstain)
    return found if unlike is None or not abstain else found | (unlike >= UNLIKE_LEVEL)


def _kept_rows(X: Matrix, labels: Labels) -> IntArray:
    """Return the rows of the labelled samples to keep; empty samples resemble none."""
    rows = np.flatnonzero(labels.known & X.filled_rows)
    return rows[_some_of_each(labels.shares[rows].argmax(axis=1))]


def _some_of_each(classes: IntArray) -> IntArray:
    """Return the places of the first samples of each class."""
    most = min(MAX_PER_CLASS, max(2, MAX_KEPT // max(len(np.unique(classes)), 1)))
    found = [np.flatnonzero(classes == c)[:most] for c in np.unique(classes)]
    return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *found]))


def _nearness(cosines: FloatArray) -> FloatArray:
    """Return the mean of the largest cosines of each row; those of −inf do not count."""
    k = min(N_NEAREST, cosines.shape[1])
    nearest = np.partition(cosines, cosines.shape[1] - k, axis=1)[:, -k:]
    counted = np.isfinite(nearest)
    total = np.where(counted, nearest, 0.0).sum(axis=1)
    return np.asarray(total / np.maximum(np.count_nonzero(counted, axis=1), 1))


def unit_rows(rows: Any) -> FloatArray:
    """Scale rows to length one; zero stays zero."""
    rows = np.asarray(rows)
    norms = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return np.asarray(np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0))
