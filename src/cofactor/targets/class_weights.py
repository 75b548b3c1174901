"""Weights of classes: how much a label counts because of its class.

``class_weights`` reads the parameter, ``weigh_classes`` applies it to targets. Unlabelled samples
and their guesses are not weighted.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse

from cofactor._types import FloatArray
from cofactor.errors import Parameter, ParameterError
from cofactor.targets.classes import ClassCoding
from cofactor.targets.matrix import Targets
from cofactor.targets.reading import Array, cast

BALANCED = "balanced"


def class_weights(
    asked: Any, targets: Targets, coding: Any, counts: Array | None = None
) -> FloatArray | None:
    """Return the weight of each class, or None where all are 1.

    Parameters
    ----------
    asked : None, "balanced" or dict
        The parameter ``class_weight``. "balanced" gives all classes the same total: the number of
        labels / (number of classes × number of labels of the class). A class that a dict lacks has
        weight 1.
    targets : Targets
        The labels.
    coding : ClassCoding
    counts : array (n,), optional
        Sample weights; "balanced" counts labels with them.
    """
    if asked is None:
        return None
    assert isinstance(coding, ClassCoding)
    if coding.kind == "multilabel":
        raise ParameterError(
            (
                Parameter("class_weight", asked),
                " needs one class a sample, but ",
                Parameter("y"),
                " holds several labels a sample, and each label has a threshold of its own",
            ),
            "leave the weights out",
        )
    if isinstance(asked, str):
        return _balanced(targets, counts)
    return _read(asked, coding.classes.tolist())


def _balanced(targets: Targets, counts: Array | None) -> FloatArray:
    weights = targets.labelled * (1.0 if counts is None else scaled_down(counts))
    sizes = weights @ label_shares(targets)
    present = sizes > 0
    even = sizes.sum() / max(np.count_nonzero(present), 1)
    return np.asarray(np.divide(even, sizes, out=np.ones(len(sizes)), where=present))


def _read(asked: Any, classes: list[Any]) -> FloatArray:
    for name, weight in asked.items():
        if not isinstance(weight, Real) or not 0 <= float(weight) < np.inf:
            raise ParameterError(
                (Parameter("class_weight"), f" gives the class {name!r} the weight {weight!r}"),
                "use a finite number of at least 0",
            )
    unknown = [name for name in asked if name not in classes]
    lacking = [name for name in classes if name not in asked]
    if unknown and lacking:  # as scikit-learn: a fold may lack a class, but here a name is wrong
        raise ParameterError(
            (
                Parameter("class_weight"),
                f" has weights for {unknown}, which are no classes of ",
                Parameter("y"),
                f", and none for {lacking}",
            ),
            "correct the names, or give every class a weight",
        )
    return np.array([float(asked.get(name, 1.0)) for name in classes])


def label_shares(targets: Targets) -> FloatArray:
    """Return the share of each labelled sample in each class; rows without any are zero."""
    Y = targets.values
    cells = np.asarray(Y.toarray() if issparse(Y) else Y, dtype=np.float64)
    cells = scaled_down(cells, axis=1)
    mass = cells.sum(axis=1, keepdims=True)
    return np.asarray(cells / np.where(mass > 0, mass, 1.0))


def scaled_down(values: Array, axis: int | None = None) -> Array:
    """Divide by a power of two, which is exact, so that sums do not overflow."""
    e = np.frexp(values.max(axis=axis, initial=0.0, keepdims=True))[1]
    return np.asarray(np.ldexp(values, -e))


def weigh_classes(targets: Targets, weights: FloatArray | None) -> Targets:
    """Return targets whose labels count with the weights of their classes.

    A sample with shares in several classes counts with their mean weight. A label of weight 0 is
    unknown.
    """
    if weights is None:
        return targets
    shares = label_shares(targets)
    mean = np.where(shares.any(axis=1), shares @ weights, 1.0)
    importance = cast(mean, targets.values.dtype, "class_weight")
    labelled = targets.labelled & (importance > 0)
    return replace(targets, labelled=labelled, importance=importance)


def refuse_weightless(targets: Targets, weighed: Targets) -> Targets:
    """Return targets with class weights; refuse if these leave no label of a whole fit."""
    if targets.labelled.any() and not weighed.labelled.any():
        raise ParameterError(
            (Parameter("class_weight"), " gives every labelled sample the weight 0"),
            "give a class a positive weight",
        )
    return weighed
