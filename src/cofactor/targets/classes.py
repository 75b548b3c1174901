"""Classes as targets: labels, sets of labels or soft labels become columns.

`read_targets` turns sets of names into an indicator, `encode_classes` turns labels and matrices
into targets. `class_weights` reads the parameter of that name, and `weigh_classes` applies it;
unlabelled samples and their guesses are not weighted. `cofactor.targets.missing` decides which
samples are unlabelled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.multiclass import type_of_target

from cofactor._fields import FieldSizes, checked, instance
from cofactor._types import FloatArray
from cofactor._warnings import warn
from cofactor.errors import Parameter, ParameterError
from cofactor.io.errors import suggestion
from cofactor.targets.matrix import Targets, read_weights, weighted_targets
from cofactor.targets.missing import is_missing
from cofactor.targets.reading import (
    Array,
    Mask,
    NamedMatrix,
    as_frame,
    cast,
    is_matrix,
    known_labels,
    read_cells,
    read_column,
    readable,
    tall,
)

BALANCED = "balanced"


def _classes_fault(value: Any, sizes: FieldSizes) -> str | None:
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
        """Return the best class of each row of `scores`; for multi-label targets, the indicator.

        These scores are fitted targets of 0 and 1, so 0.5 decides. The pooled head has thresholds
        from held-out labels instead (`cofactor.linear.multilabel`).
        """
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
        raise TypeError(f"y has labels of types that cannot be sorted, {types}: {hint}.") from None
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


def read_targets(y: Any, classes: Iterable[Any] | None = None) -> Any:
    """Return y as the estimators take it; sets of labels become an indicator.

    Parameters
    ----------
    y : array-like
        Anything. Where its entries are sets of labels, or lists or tuples of strings, each has the
        labels of one document: an empty one if it has none, None if they are unknown.
    classes : iterable, optional
        Labels of an earlier fit, in their order.

    Returns
    -------
    object
        y itself, or a matrix with a named column for each label.

    Examples
    --------
    >>> found = read_targets([{"moon", "mars"}, {"moon"}, None])
    >>> found.columns, found.values.tolist()
    (['mars', 'moon'], [[1.0, 1.0], [0.0, 1.0], [nan, nan]])
    """
    y = listed(y)
    if not holds_sets(y):
        return y
    rows = [None if is_unknown(labels) else _checked(labels) for labels in y]
    found = {label for labels in rows if labels is not None for label in labels}
    names = _sorted(found) if classes is None else list(classes)
    if len(names) < 2:
        raise ParameterError(
            (Parameter("y"), f" holds sets of the one label {names[:1]}"),
            "give some documents another one, or pass a column of labels",
        )
    if unseen := [label for label in found if label not in names]:
        raise ValueError(f"y has labels {unseen}, but only {names} are known: refit.")
    place = {name: k for k, name in enumerate(names)}
    values = np.zeros((len(rows), len(names)))
    for row, labels in zip(values, rows, strict=True):
        row[... if labels is None else [place[one] for one in labels]] = _mark(labels)
    return NamedMatrix(values, names)


def _mark(labels: Any) -> float:
    return np.nan if labels is None else 1.0


def listed(y: Any) -> Any:
    """Return a column whose cells are lists as a list, and anything else unchanged."""
    column = as_frame(y)
    if isinstance(column, nw.Series) and isinstance(column.dtype, nw.List):
        return column.to_list()
    return y


def holds_sets(y: Any) -> bool:
    """Return whether entries of y are sets of labels."""
    if isinstance(y, list | tuple):
        return any(map(_is_set, y))
    return str(getattr(y, "dtype", "")) == "object" and y.ndim == 1 and any(map(_is_set, y))


def _is_set(entry: Any) -> bool:
    if isinstance(entry, list | tuple):
        return bool(entry) and all(isinstance(label, str) for label in entry)
    return isinstance(entry, set | frozenset)


def is_unknown(labels: Any) -> bool:
    """Return whether an entry says that nothing is known."""
    return not isinstance(labels, set | frozenset | list | tuple) and is_missing(labels)


def _checked(labels: Any) -> Any:
    if isinstance(labels, set | frozenset | list | tuple):
        return labels
    raise TypeError(
        f"y has the entry {labels!r} among sets of labels; pass a set for each document, or None."
    )


def _sorted(labels: set[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:
        types = " and ".join(sorted({type(label).__name__ for label in labels}))
        raise TypeError(
            f"y has labels of types that cannot be sorted, {types}: use one type."
        ) from None


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
                " needs one class per sample, but ",
                Parameter("y"),
                " holds several labels per sample, and each label has its own threshold",
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
                f" has a weight for {unknown[0]!r}, which is not a class of ",
                Parameter("y"),
            ),
            _meant(unknown[0], classes),
        )
    return np.array([float(asked.get(name, 1.0)) for name in classes])


def _meant(name: Any, classes: list[Any]) -> str:
    """Return a sentence that suggests the class that a name may stand for."""
    same = next((one for one in classes if str(one) == str(name)), None)  # of another type
    known = [str(one) for one in classes]
    return suggestion(str(name), known) if same is None else f"Did you mean {same!r}?"


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
