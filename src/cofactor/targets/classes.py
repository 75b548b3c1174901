"""y ↔ target matrix and weights; the one place that knows what "unlabelled" looks like.

A sample is unlabelled where y holds None, NaN, NaT, "" or a null of pandas or polars. In an integer
dtype −1 marks it too; in floats, strings and objects −1 is a class like any other. The dtype
decides, not what else y holds, so that a fold of an array is read as the whole. The one exception
warns: integers −1 and 1 alone are two classes, unless the classes are known from an earlier fit.
"""

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils.multiclass import type_of_target

from cofactor.targets.reading import (
    Array,
    Mask,
    cast,
    floats,
    is_matrix,
    read_column,
    read_missing,
    read_weights,
    readable,
    tall,
)

NEGLIGIBLE = 1e-4  # shares this small are guessed to be zero, which keeps the targets sparse


@dataclass(frozen=True, eq=False)
class Targets:
    """Target matrix Y and its weights L, as the objective takes them."""

    values: Any  # csr_array or ndarray, n × k, nonnegative; unknown cells are 0
    row_weights: Array | None  # (n,), where each row of L is constant; None: all ones
    cell_weights: Array | None  # (n, k), where one is not, and then in place of row_weights
    labelled: Mask  # (n,), samples with a cell of positive weight

    @property
    def n_targets(self) -> int:
        """Number of columns of the target matrix."""
        return int(self.values.shape[1])


@dataclass(frozen=True, eq=False)
class ClassCoding:
    """How classes became columns, one for each entry of `classes`."""

    kind: Literal["multiclass", "multilabel", "soft"]
    classes: Array

    def decode(self, scores: Array) -> Array:
        """Return the best class of each row of `scores`; for multi-label targets, the indicator."""
        if self.kind == "multilabel":
            return (scores >= 0.5).astype(int)
        if not self.classes.size:
            raise ValueError("y has no labelled sample, so no class can be predicted: add labels.")
        return np.asarray(self.classes[np.argmax(scores, axis=1)])


@dataclass(frozen=True, eq=False)
class ValueCoding:
    """How regression targets became nonnegative: `offset` (k,) is subtracted from the columns."""

    offset: NDArray[np.float64]
    one_dimensional: bool

    def decode(self, values: Array) -> Array:
        """Return fitted `values` (n × k) in the units and the shape of y."""
        shifted = np.asarray(values + self.offset)
        return shifted.ravel() if self.one_dimensional else shifted


def labelled_mask(y: Any, *, classes: Array | None = None) -> Mask:
    """Tell which samples are labelled, by the rule of `encode_classes`.

    Parameters
    ----------
    y : as in `encode_classes` (not integer regression targets: there −1 is a number)
    classes : ndarray, optional
        Classes of an earlier fit; −1 among them is a class, not a mark.

    Returns
    -------
    ndarray of bool, shape (n_samples,)
    """
    y = readable(y, "y")
    if is_matrix(y):
        return np.asarray(_read_matrix(y)[1].any(axis=1))
    return _known_labels(read_column(y), classes)[1]


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
    return _targets(values, known * weights, dtype), coding


def encode_values(
    y: Any,
    *,
    n_samples: int,
    sample_weight: Any = None,
    target_weights: Any = None,
    dtype: DTypeLike = np.float64,
    coding: ValueCoding | None = None,
) -> tuple[Targets, ValueCoding]:
    """Turn regression targets, NaN where unknown, into nonnegative ones.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
    n_samples : int
    sample_weight : array-like of shape (n_samples,), optional
        Samples of weight 0 do not count for the offset. It does not become a target weight.
    target_weights : array-like of shape (n_samples,) or (n_samples, n_targets), optional
    dtype : dtype of values and weights
    coding : ValueCoding, optional
        Of an earlier call, to be kept; values below its offset are raised to it.

    Returns
    -------
    tuple of Targets and ValueCoding
    """
    y = readable(y, "y")
    if issparse(y):
        raise ValueError("y is sparse, but regression targets must be dense: pass y.toarray().")
    is_matrix(y, n_samples)
    raw = floats(y, "y")
    table = tall(raw)
    known = ~np.isnan(table)
    weights = known * read_weights("target_weights", target_weights, [(n_samples,), table.shape])
    counts = (weights > 0) & (read_weights("sample_weight", sample_weight, [(n_samples,)]) > 0)
    coding = _value_coding(np.where(counts, table, 0.0), raw.ndim == 1, coding)
    with np.errstate(over="ignore"):  # cast reports it
        values = np.where(known, np.maximum(table - coding.offset, 0.0), 0.0)
    return _targets(values, weights, dtype), coding


def stack(parts: list[Targets]) -> Targets:
    """Put the targets of several batches below each other."""
    if len(parts) == 1:
        return parts[0]
    by_cell = any(part.cell_weights is not None for part in parts)
    values = [part.values for part in parts]
    sparse = all(map(issparse, values))
    return Targets(
        vstack(values, format="csr") if sparse else np.concatenate([*map(_dense, values)]),
        None if by_cell else np.concatenate([*map(_row_weights, parts)]),
        np.concatenate([*map(_cell_weights, parts)]) if by_cell else None,
        np.concatenate([part.labelled for part in parts]),
    )


def _dense(values: Any) -> Array:
    return np.asarray(values.toarray() if issparse(values) else values)


def _row_weights(targets: Targets) -> Array:
    weights = targets.row_weights
    return np.ones(len(targets.labelled)) if weights is None else weights


def _cell_weights(targets: Targets) -> Array:
    weights = targets.cell_weights
    if weights is not None:
        return weights
    return np.broadcast_to(_row_weights(targets)[:, None], targets.values.shape)


def complete(
    targets: Targets, guesses: Array, confidence: float, known_weight: float | None = None
) -> Targets:
    """Give the unlabelled samples guessed target rows, weighted by a share of the mean known
    weight.

    These are the uncertain labels that the weights L are for; known rows stay as they are.
    """
    known = targets.labelled
    if known.all():
        return targets
    L = targets.cell_weights if targets.cell_weights is not None else targets.row_weights
    L = np.ones(len(known)) if L is None else L
    mask = known if L.ndim == 1 else known[:, None]
    usual = float(L[known].mean()) if known_weight is None else known_weight
    weights = np.where(mask, L, confidence * usual)
    rows = np.where(known[:, None], 0.0, np.where(guesses < NEGLIGIBLE, 0.0, guesses))
    if issparse(targets.values):
        kept = targets.values.multiply(known[:, None].astype(targets.values.dtype))
        values: Any = csr_array(kept + csr_array(rows.astype(targets.values.dtype)))
    else:
        values = np.where(known[:, None], targets.values, rows).astype(targets.values.dtype)
    return Targets(
        values,
        weights if L.ndim == 1 else None,
        weights if L.ndim == 2 else None,
        np.ones(len(known), dtype=bool),
    )


def _value_coding(table: Array, one_dimensional: bool, coding: ValueCoding | None) -> ValueCoding:
    lowest = table.min(axis=0, initial=0.0)
    if coding is None:
        return ValueCoding(lowest, one_dimensional)
    if lowest.shape != coding.offset.shape:
        raise ValueError(f"y has {lowest.size} columns, but {coding.offset.size} are expected.")
    if (lowest < coding.offset).any():
        hint = "start with data that spans the range of y"
        warnings.warn(f"y is clipped at the minimum of its first fit: {hint}.", stacklevel=3)
    return coding


def _encode_labels(y: Any, coding: ClassCoding | None) -> tuple[Any, Mask, ClassCoding]:
    if coding is not None and coding.kind != "multiclass":
        raise ValueError(f"y is 1-D, but one column per class is expected: {coding.classes}.")
    labels, known = _known_labels(read_column(y), None if coding is None else coding.classes)
    classes, codes = _distinct(labels)
    if coding is not None:
        codes = _places(classes, coding.classes)[codes]
    elif labels.dtype.kind == "i" and known.all() and -1 in classes:
        hint = "if -1 means unlabelled, use None or NaN for it, or strings for the classes"
        warnings.warn(f"y holds only -1 and 1, read as two classes: {hint}.", stacklevel=3)
    coding = coding or ClassCoding("multiclass", classes)
    return _one_hot(codes, known, coding.classes.size), tall(known), coding


def _one_hot(codes: Array, known: Mask, n_classes: int) -> csr_array:
    starts = np.concatenate([[0], np.cumsum(known)])
    return csr_array((np.ones(codes.size), codes, starts), shape=(known.size, n_classes))


def _known_labels(y: Any, classes: Array | None) -> tuple[Array, Mask]:
    """The labels of the labelled samples, and which samples these are."""
    labels, known = _without_nulls(y)
    present = ~read_missing(labels)
    if labels.dtype.kind == "i":  # -1 and 1 alone are two classes: scikit-learn's checks ask for it
        two = np.unique(labels).tolist() == [-1, 1] if classes is None else -1 in classes.tolist()
        present &= (labels != -1) | two
    known[np.flatnonzero(known)] = present
    return labels[present], known


def _without_nulls(y: Any) -> tuple[Array, Mask]:
    """Drop nulls before numpy sees y: for them, pandas and polars turn integers into floats."""
    if hasattr(y, "is_null"):  # polars
        known = ~y.is_null().to_numpy()
        return y.drop_nulls().to_numpy(), known
    known = ~np.asarray(y.isna()) if hasattr(y, "isna") else np.ones(y.shape[0], dtype=bool)
    return np.asarray(y[known]), known


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
    values, known, kind = _read_matrix(y)
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


def _read_matrix(y: Any) -> tuple[Any, Mask, Literal["multilabel", "soft"]]:
    """Nonnegative cells, which of them are known (one column if all are), and what they say."""
    values: Any = csr_array(y, copy=True) if issparse(y) else np.asarray(y)
    integer = values.dtype.kind in "iO"  # nullable integers come as objects
    if issparse(values):
        values.sum_duplicates()
        values.data = cells = floats(values.data, "y")
    else:
        values = cells = floats(values, "y")
    if integer and np.isin(cells[~np.isnan(cells)], (-1, 0, 1)).all():
        cells[cells == -1] = np.nan
    if (cells < 0).any():
        hint = "targets are nonnegative, unknown cells NaN"
        raise ValueError(f"y has a negative cell, {np.nanmin(cells):g}: {hint}.")
    known = _known_cells(values)
    cells[np.isnan(cells)] = 0
    if issparse(values):
        values.eliminate_zeros()
    return values, known, "multilabel" if np.isin(cells, (0, 1)).all() else "soft"


def _known_cells(values: Any) -> Mask:
    unknown = np.isnan(values.data if issparse(values) else values)
    if not unknown.any():
        return np.ones((values.shape[0], 1), dtype=bool)
    if issparse(values):
        unknown = csr_array((unknown, values.indices, values.indptr), values.shape).toarray()
    return np.asarray(~unknown)


def _targets(values: Any, weights: Array, dtype: DTypeLike) -> Targets:
    values, weights = cast(values, dtype, "y"), cast(weights, dtype, "target_weights")
    values = _known_only(values, weights > 0)
    rows = weights.max(axis=1, initial=0.0)
    if (weights != rows[:, None]).any():
        return Targets(values, None, weights, rows > 0)
    return Targets(values, None if (rows == 1).all() else rows, None, rows > 0)


def _known_only(values: Any, known: Mask) -> Any:
    """Set cells without weight to zero, whatever they hold."""
    if known.all():
        return values
    if issparse(values):
        kept = csr_array(values.multiply(known.astype(values.dtype)))
        kept.eliminate_zeros()
        return kept
    return np.where(known, values, 0).astype(values.dtype)
