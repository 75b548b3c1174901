"""Classes as targets: labels, several labels a sample, or soft labels become columns.

`cofactor.targets.missing` decides which samples and cells are unlabelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.multiclass import type_of_target

from cofactor._fields import Sizes, checked, instance
from cofactor._warnings import warn
from cofactor.errors import Parameter, ParameterError
from cofactor.targets.matrix import Targets, read_weights, weighted_targets
from cofactor.targets.missing import known_labels, read_cells
from cofactor.targets.reading import Array, Mask, is_matrix, read_column, readable, tall


def _classes_fault(value: Any, sizes: Sizes) -> str | None:
    good = isinstance(value, np.ndarray) and value.ndim == 1
    return None if good else "are not a list"


@dataclass(frozen=True, eq=False)
class ClassCoding:
    """How classes became columns, one for each entry of `classes`."""

    kind: Literal["multiclass", "multilabel", "soft"] = instance(
        str, among=("multiclass", "multilabel", "soft")
    )
    classes: Array = checked(_classes_fault)

    @property
    def n_targets(self) -> int:
        """Number of columns."""
        return len(self.classes)

    def decode(self, scores: Array) -> Array:
        """Return the best class of each row of `scores`; for multi-label targets, the indicator."""
        if self.kind == "multilabel":
            return (scores >= 0.5).astype(int)
        if not self.classes.size:
            raise ParameterError(
                (Parameter("y"), " has no labelled sample, so no class can be predicted"),
                "add labels",
            )
        return np.asarray(self.classes[np.argmax(scores, axis=1)])


def encode_classes(
    y: Any,
    *,
    n_samples: int,
    target_weights: Any = None,
    dtype: DTypeLike = np.float64,
    coding: ClassCoding | None = None,
) -> tuple[Targets, ClassCoding]:
    """Turn class labels, a multi-label indicator or soft labels into targets.

    Parameters
    ----------
    y : array-like of shape (n_samples,), or array-like or sparse of shape (n_samples, n_classes)
        Unknown cells of a matrix are NaN, or −1 in an integer indicator.
    n_samples : int
    target_weights : array-like of shape (n_samples,) or (n_samples, n_classes), optional
    dtype : dtype of values and weights
    coding : ClassCoding, optional
        Of an earlier call, to be kept; a class that it lacks is an error.

    Returns
    -------
    tuple of Targets and ClassCoding
    """
    y = readable(y, "y")
    encode = _encode_matrix if is_matrix(y, n_samples) else _encode_labels
    values, known, coding = encode(y, coding)
    weights = read_weights("target_weights", target_weights, [(n_samples,), values.shape])
    return weighted_targets(values, known * weights, dtype), coding


def _encode_labels(y: Any, coding: ClassCoding | None) -> tuple[Any, Mask, ClassCoding]:
    if coding is not None and coding.kind != "multiclass":
        raise ValueError(f"y is 1-D, but one column per class is expected: {coding.classes}.")
    labels, known = known_labels(read_column(y), None if coding is None else coding.classes)
    classes, codes = _distinct(labels)
    if coding is not None:
        codes = _places(classes, coding.classes)[codes]
    elif labels.dtype.kind == "i" and known.all() and -1 in classes:
        hint = "if -1 means unlabelled, use None or NaN for it, or strings for the classes"
        warn(f"y holds only -1 and 1, read as two classes: {hint}.")
    elif labels.dtype.kind == "f" and classes.size > 2 and classes[0] == -1:
        hint = "in floats use NaN for unlabelled samples, or convert y to integers"
        warn(f"y holds -1 among floats, read as a class like any other: {hint}.")
    coding = coding or ClassCoding("multiclass", classes)
    return _one_hot(codes, known, coding.classes.size), tall(known), coding


def _one_hot(codes: Array, known: Mask, n_classes: int) -> csr_array:
    starts = np.concatenate([[0], np.cumsum(known)])
    return csr_array((np.ones(codes.size), codes, starts), shape=(known.size, n_classes))


def _distinct(labels: Array) -> tuple[Array, Array]:
    """The sorted classes, and the number of the class of each label."""
    if labels.size and labels.dtype == object and all(map(_is_real, labels)):
        labels = np.array(labels.tolist())  # numbers that a None among them made objects
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except (TypeError, ValueError):
        types = " and ".join(sorted({type(label).__name__ for label in labels}))
        hint = "use one type, and None, NaN or '' for unlabelled samples"
        raise TypeError(f"y has labels of types without order, {types}: {hint}.") from None
    with np.errstate(invalid="ignore"):  # a float beyond the integers is not an integer
        kind = type_of_target(classes, input_name="y")
    if kind not in ("binary", "multiclass"):  # in scikit-learn's words, which its checks look for
        hint = "Maybe you are trying to fit a classifier, which expects discrete classes on a "
        hint += "regression target with continuous values"
        raise ValueError(f"Unknown label type: {kind}. {hint}.")
    return classes, codes


def _is_real(label: Any) -> bool:
    return isinstance(label, Real | np.bool_)


def _places(found: Array, classes: Array) -> NDArray[np.intp]:
    places = {label: place for place, label in enumerate(classes.tolist())}
    if unseen := [label for label in found.tolist() if label not in places]:
        raise ValueError(f"y has classes {unseen}, but only {list(places)} are known: refit.")
    return np.array([places[label] for label in found.tolist()], dtype=np.intp)


def _encode_matrix(y: Any, coding: ClassCoding | None) -> tuple[Any, Mask, ClassCoding]:
    values, known = read_cells(y, "y")
    cells = values.data if issparse(values) else values
    kind: Literal["multilabel", "soft"] = "multilabel" if np.isin(cells, (0, 1)).all() else "soft"
    unnamed = np.arange(values.shape[1])
    names = np.asarray(y.columns) if hasattr(y, "columns") else unnamed
    if coding is None:
        return values, known, ClassCoding(kind, names)
    expected = coding.classes.tolist() if coding.kind != "multiclass" else ["one column of labels"]
    named = expected != unnamed.tolist() != names.tolist()
    if len(expected) != names.size or (named and names.tolist() != expected):
        raise ValueError(f"y has columns {names.tolist()}, but {expected} are expected.")
    if (kind, coding.kind) == ("soft", "multilabel"):
        raise ValueError("y has cells other than 0 and 1, but was an indicator before: round it.")
    return values, known, coding
