"""What the targets are: classes or numbers.

A task reads y, groups the labelled samples for the class-wise start, and says how the head compares
samples. The estimators share everything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import issparse

from cofactor._types import BoolArray, FloatArray
from cofactor.estimators.units import exponent_of, shift
from cofactor.linear.guess import Classes, Guess
from cofactor.targets.classes import ClassCoding, encode_classes, label_shares, weigh_classes
from cofactor.targets.matrix import Targets
from cofactor.targets.reading import known_values, labelled_mask
from cofactor.targets.values import ValueCoding, encode_values

N_BINS = 10
"""Numbers are grouped into at most this many quantile bins."""


@dataclass(frozen=True)
class Classification:
    """y holds classes, several labels per sample, or soft labels."""

    numbers: ClassVar[bool] = False

    def known(self, y: Any) -> BoolArray:
        """Return which samples are labelled."""
        return labelled_mask(y)

    def encode(
        self,
        y: Any,
        n_samples: int,
        counts: FloatArray | None,
        weights: Any,
        dtype: DTypeLike,
        *,
        from_zero: bool = False,
        log: str = "no",
        limited: bool = False,
    ) -> tuple[Targets, ClassCoding]:
        """Turn the y of a fit into targets, and say how y was read.

        With ``from_zero`` numbers are shifted so that the least is 0, also if all are positive;
        ``log`` says whether their logarithms are learned, and ``limited`` whether predictions stay
        within the limits of these numbers.
        """
        return encode_classes(y, n_samples=n_samples, target_weights=weights, dtype=dtype)

    def encode_again(
        self,
        y: Any,
        n_samples: int,
        coding: Any,
        weights: FloatArray | None = None,
        *,
        signed: bool = False,
    ) -> Targets:
        """Turn further y into targets, read as before; ``weights`` are those of the classes.

        With ``signed`` numbers below the least one of before become negative; they are raised to it
        otherwise.
        """
        return weigh_classes(encode_classes(y, n_samples=n_samples, coding=coding)[0], weights)

    def encode_first_batch(
        self,
        y: Any,
        n_samples: int,
        counts: FloatArray | None,
        classes: Any,
        dtype: DTypeLike,
        *,
        from_zero: bool = False,
        log: str = "no",
    ) -> tuple[Targets, ClassCoding]:
        """Turn the y of a stream's first batch into targets; ``classes`` may name all classes."""
        coding = None
        if classes is not None and np.ndim(y) != 2:
            _, coding = encode_classes(np.asarray(classes), n_samples=len(classes))
        return encode_classes(y, n_samples=n_samples, dtype=dtype, coding=coding)

    def groups(
        self, targets: Targets, counts: FloatArray | None, n_components: int
    ) -> Classes | None:
        """Return the labelled samples in groups, or None where there are none."""
        shares = label_shares(targets)
        labelled = targets.labelled & shares.any(axis=1)
        if not labelled.any():
            return None
        eye = np.eye(targets.n_targets)
        importance = targets.importance
        if importance is not None:
            importance = np.where(labelled, importance, 1.0)
        return Classes(shares, labelled, eye, _confidence(targets), importance)

    def further_groups(
        self, targets: Targets, counts: FloatArray | None, guess: Guess | None
    ) -> Classes | None:
        """Return the groups of a stream's later batch."""
        return self.groups(targets, counts, 0)

    def kind(self, coding: Any) -> str:
        """Return "classes" if a sample has one class, or shares in the classes, else "sets"."""
        return "sets" if coding.kind == "multilabel" else "classes"

    def labels(self, targets: Targets, counts: FloatArray | None) -> FloatArray:
        """Return 1 for each class of each labelled sample that counts, else 0 (n, k)."""
        Y = targets.values
        return _counted((Y.toarray() if issparse(Y) else Y) > 0, targets, counts)


@dataclass(frozen=True)
class Regression:
    """y holds numbers."""

    numbers: ClassVar[bool] = True

    def known(self, y: Any) -> BoolArray:
        return known_values(y)

    def encode(
        self,
        y: Any,
        n_samples: int,
        counts: FloatArray | None,
        weights: Any,
        dtype: DTypeLike,
        *,
        from_zero: bool = False,
        log: str = "no",
        limited: bool = False,
    ) -> tuple[Targets, ValueCoding]:
        return encode_values(
            y,
            n_samples=n_samples,
            sample_weight=counts,
            target_weights=weights,
            dtype=dtype,
            from_zero=from_zero,
            log=log,
            limited=limited,
        )

    def encode_again(
        self,
        y: Any,
        n_samples: int,
        coding: Any,
        weights: FloatArray | None = None,
        *,
        signed: bool = False,
    ) -> Targets:
        return encode_values(y, n_samples=n_samples, coding=coding, signed=signed)[0]

    def encode_first_batch(
        self,
        y: Any,
        n_samples: int,
        counts: FloatArray | None,
        classes: Any,
        dtype: DTypeLike,
        *,
        from_zero: bool = False,
        log: str = "no",
    ) -> tuple[Targets, ValueCoding]:
        """Read numbers without limits: later batches may have other ones."""
        return self.encode(y, n_samples, counts, None, dtype, from_zero=from_zero, log=log)

    def groups(
        self, targets: Targets, counts: FloatArray | None, n_components: int
    ) -> Classes | None:
        """Group a single column of numbers into quantile bins."""
        used = _used(targets, counts)
        if targets.n_targets != 1 or not used.any():
            return None
        y = np.asarray(targets.values, dtype=np.float64)[:, 0]
        weights = np.ones(len(y)) if counts is None else counts
        levels = np.linspace(0, 1, min(N_BINS, n_components) + 1)[1:-1]
        edges = np.unique(
            np.quantile(y[used], levels, weights=weights[used], method="inverted_cdf")
        )
        bins = np.searchsorted(edges, y, side="left")
        present, bins = np.unique(bins, return_inverse=True)
        shares = np.eye(len(present))[bins]
        mass = (shares[used] * weights[used, None]).sum(axis=0)
        e = exponent_of(float(y[used].max()), literal=False)  # so that sums do not overflow
        total = (shares[used] * (weights * shift(y, -e))[used, None]).sum(axis=0)
        keep = mass > 0
        return Classes(shares[:, keep], used, shift(total[keep] / mass[keep], e)[:, None])

    def further_groups(
        self, targets: Targets, counts: FloatArray | None, guess: Guess | None
    ) -> Classes | None:
        """Group numbers into the nearest bins of the first batch."""
        used = _used(targets, counts)
        if guess is None or not used.any():
            return None
        y, P = np.asarray(targets.values, dtype=np.float64), guess.prototypes
        nearest = np.abs(y - P[:, 0]).argmin(axis=1)
        return Classes(np.eye(len(P))[nearest], used, P)

    def kind(self, coding: Any) -> str:
        return "numbers"

    def labels(self, targets: Targets, counts: FloatArray | None) -> FloatArray:
        """Return 1 for each known number of a sample that counts, else 0 (n, k)."""
        cells = targets.cell_weights
        known = np.ones(targets.values.shape, dtype=bool) if cells is None else cells > 0
        return _counted(known, targets, counts)


def _confidence(targets: Targets) -> FloatArray | None:
    """Return the weight of each sample's label relative to the largest; None if all are alike."""
    weights = targets.confidence
    if weights is None:
        return None
    known = weights[targets.labelled]
    if not known.size or (known == known[0]).all():
        return None
    return np.where(targets.labelled, weights / known.max(), 0.0).astype(np.float64)


def _counted(known: BoolArray, targets: Targets, counts: FloatArray | None) -> FloatArray:
    """Return 1 in known cells of labelled samples of positive weight, else 0."""
    return np.asarray(known * _used(targets, counts)[:, None], dtype=np.float64)


def _used(targets: Targets, counts: FloatArray | None) -> BoolArray:
    return targets.labelled if counts is None else targets.labelled & (counts > 0)


Task = Classification | Regression
Coding = ClassCoding | ValueCoding


def counted_groups(
    task: Task, targets: Targets, counts: FloatArray | None, n_components: int
) -> Classes | None:
    """Return the labelled samples in groups, without groups whose samples all have weight zero."""
    groups = task.groups(targets, counts, n_components)
    return None if groups is None else groups.counted(counts)
