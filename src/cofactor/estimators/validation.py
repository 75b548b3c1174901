"""Checks of what users pass in; every error names the parameter, the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from scipy import sparse as sp
from sklearn.base import _fit_context
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from cofactor._types import BoolArray, FactorName, FloatArray, IntArray
from cofactor.divergences import DIVERGENCES, Divergence
from cofactor.engine.factors import FACTOR_NAMES, Factors
from cofactor.engine.observations import Observations, observe
from cofactor.errors import Parameter, ParameterError
from cofactor.io import platform
from cofactor.linear.views import Side
from cofactor.noise import Noise
from cofactor.outofcore import RowBlocks
from cofactor.priors import Penalty, Prior
from cofactor.targets.reading import NamedMatrix, refuse_dask

Shapes = Mapping[FactorName, tuple[int, int]]
Method = TypeVar("Method", bound=Callable[..., Any])

SAMPLE_CELLS = 1 << 21
"""Number of stored cells in the sample of rows that starts and heads are estimated on."""
COPIES = 5
"""Number of copies of the factors that an iteration holds in memory; some solvers hold more."""
MAX_SIDE = 1e100
"""Largest entry of further vectors, so that their squares are finite."""


def checks_parameters(method: Method) -> Method:
    """Let a fit method check the estimator's parameters first; the types of the method stay."""
    checked: Method = _fit_context(prefer_skip_nested_validation=True)(method)
    return checked


def check_numbers(name: str, values: Any) -> Any:
    """Return an array; refuse what scikit-learn would refuse without naming the parameter."""
    try:
        array = values if sp.issparse(values) else np.asarray(values)
    except ValueError:
        if hasattr(values, "__array__"):  # not a list of lists: the object raises its own error
            raise
        raise ValueError(f"{name} has rows of different lengths; make them equal.") from None
    if array.dtype.kind == "c":
        raise ValueError(f"{name} is complex. Complex data not supported; pass real numbers.")
    if array.dtype.kind in "OSU" and (word := _first_word(array)) is not None:
        raise ValueError(f"{name} holds {word!r}, which is not a number; convert it first.")
    return array


def _check_shape(X: Any) -> None:
    if X.ndim != 2:
        raise ValueError(
            f"X is a {X.ndim}D array, but a 2D array is needed. Reshape your data: "
            "X.reshape(1, -1) is one sample, X.reshape(-1, 1) is one feature."
        )
    for what, size in zip(("sample", "feature"), X.shape, strict=True):
        if not size:
            raise ValueError(
                f"X has 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required; add some."
            )


def _first_word(array: Any) -> str | bytes | None:
    """Return the first text that is not a number; None if there is none."""
    for cell in array.ravel().tolist():
        if isinstance(cell, str | bytes):
            try:
                float(cell)
            except ValueError:
                return cell
    return None


def take_rows(X: Any, y: Any, sample_weight: Any, task: Any, **weights: Any) -> tuple[Any, ...]:
    """Return the row blocks (None if X is an array), and X, y and sample weights in memory.

    Of row blocks, a sample of the rows is taken into memory.
    """
    if not isinstance(X, RowBlocks):
        return None, X, y, sample_weight
    for name, value in {"sample_weight": sample_weight, **weights}.items():
        if value is not None:
            raise ValueError(
                f"{name} cannot be used with RowBlocks; leave it out, or pass an array X."
            )
    rows = X if y is None else X.with_targets(y)
    if task is None:
        sample, targets, counts = rows.sample(SAMPLE_CELLS)
    else:
        sample, targets, counts = rows.sample(SAMPLE_CELLS, task.known, numbers=task.numbers)
        if rows.target_names is not None:
            targets = NamedMatrix(targets, list(rows.target_names))
    return rows, sample, targets, counts


def check_data(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X as a nonnegative float array or CSR matrix; NaN is missing."""
    refuse_dask("X", X)
    _check_shape(check_numbers("X", X))
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
    )
    values = X.data if sp.issparse(X) else X
    lowest = np.nanmin(values, initial=0.0)
    if lowest < 0:
        raise ValueError(
            f"Negative values in data passed to X of {type(estimator).__name__}: its smallest "
            f"value is {lowest:g}; shift or clip it to be nonnegative."
        )
    return sp.csr_array(X) if sp.issparse(X) else np.ascontiguousarray(X)


def check_room(n_components: int, X: Any) -> None:
    """Refuse a number of topics whose factors cannot be held in the memory of this machine."""
    need = COPIES * X.dtype.itemsize * n_components * sum(X.shape)
    memory = platform.HERE.memory()
    if need > memory:
        raise ParameterError(
            (
                Parameter("n_components", n_components),
                f" asks for too many topics: their factors need {need / 1e9:,.0f} GB of memory, "
                f"and this machine has {memory / 1e9:,.0f} GB",
            ),
            "use a smaller number. Two or three topics for each class are usual",
        )


def observed_data(X: Any, weights: Any = None) -> Observations:
    """Return X with weights from ``check_weights``; every row must have an observed cell."""
    observations = observe(X, weights)
    _refuse_empty_rows(_empty_rows(observations))
    return observations


def complete_rows(X: Any) -> BoolArray | None:
    """Return which rows of an array have no missing cell.

    None stands for a sparse matrix, and for an array whose rows are all complete or all incomplete.
    """
    if sp.issparse(X):
        return None
    missing = np.isnan(X)
    _refuse_empty_rows(missing.all(axis=1))
    incomplete = missing.any(axis=1)
    return None if incomplete.all() or not incomplete.any() else ~incomplete


def _empty_rows(observations: Observations) -> BoolArray:
    empty = np.zeros(observations.shape[0], dtype=bool)
    if not observations.zeros:
        empty |= np.diff(observations.layout.start) == 0
    if observations.row_weights is not None:
        empty |= observations.row_weights == 0
    return empty


def _refuse_empty_rows(empty: BoolArray) -> None:
    if empty.any():
        raise ValueError(
            f"X has {empty.sum()} rows without an observed value (the first is row "
            f"{empty.argmax()}): all their cells are NaN or have data_weights 0; remove these rows."
        )


def check_weights(name: str, weights: Any, shape: tuple[int, int]) -> Any:
    """Return a weight matrix, column (n, 1) or row (1, m) as float64, dense or CSR."""
    if weights is None:
        return None
    refuse_dask(name, weights)
    check_numbers(name, weights)
    weights = check_array(
        weights,
        accept_sparse="csr",
        dtype=np.float64,
        input_name=name,
        ensure_2d=False,
        allow_nd=True,
        ensure_min_samples=0,
        ensure_min_features=0,
    )
    allowed = [shape] if sp.issparse(weights) else [shape, (shape[0], 1), (1, shape[1])]
    if weights.shape not in allowed:
        expected = " or ".join(map(str, dict.fromkeys(allowed)))
        raise ValueError(
            f"{name} has shape {weights.shape}, but {expected} is needed for X of shape {shape}."
        )
    values = weights.data if sp.issparse(weights) else weights
    if values.size and values.min() < 0:
        raise ValueError(
            f"{name} has the negative value {values.min():g}; weights must be at least 0."
        )
    return sp.csr_array(weights) if sp.issparse(weights) else weights


def check_counts(sample_weight: Any, X: Any) -> FloatArray | None:
    """Return sample weights as float64; None means that every sample counts once."""
    if sample_weight is None:
        return None
    refuse_dask("sample_weight", sample_weight)
    if (given := check_numbers("sample_weight", sample_weight)).ndim > 1:
        raise ValueError(
            f"sample_weight has shape {given.shape}; pass one number for each of the {X.shape[0]} "
            "samples."
        )
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if weights.min(initial=0.0) < 0:
        raise ValueError(
            f"sample_weight has the negative value {weights.min():g}; weights must be at least 0."
        )
    if not weights.any():
        raise ValueError("sample_weight is 0 for every sample; at least one must count.")
    return weights


def check_side(side: Any, n: int, widths: tuple[int | None, int | None] | None = None) -> Side:
    """Return what is known of n samples beside X: vectors, or further features if it is sparse.

    ``widths`` are those of the fit, of vectors and of further features; None if anything fits.
    """
    if not isinstance(side, Side):
        side = Side(further=side) if sp.issparse(side) else Side(vectors=side)
    vectors, further = side.parts
    known = (None, None) if widths is None else widths
    return Side(
        None if vectors is None else _check_vectors(vectors, n, known[0]),
        None if further is None else _check_further(further, n, known[1]),
    )


def _check_vectors(side: Any, n: int, width: int | None) -> FloatArray:
    array = np.asarray(check_numbers("side", side))
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise ValueError(
            f"side has shape {array.shape} and dtype {array.dtype}; pass one row of numbers for "
            "each sample."
        )
    _check_side_shape(array.shape, n, width)
    array = array.astype(np.float32 if array.dtype == np.float16 else array.dtype, copy=False)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError("side has entries that are not finite; leave those samples out.")
    if float(np.abs(array).max(initial=0.0)) > MAX_SIDE:
        raise ValueError(f"side has entries beyond {MAX_SIDE:g}; scale it down.")
    return array


def _check_further(side: Any, n: int, width: int | None) -> sp.csr_array:
    """Return further features of n samples."""
    rows = sp.csr_array(side, dtype=np.float64)
    _check_side_shape(rows.shape, n, width)
    if not np.isfinite(rows.data).all() or float(rows.data.min(initial=0.0)) < 0:
        raise ValueError(
            "side is sparse and has entries that are negative or not finite; pass vectors of any "
            "sign as an array."
        )
    return rows


def _check_side_shape(shape: tuple[int, ...], n: int, width: int | None) -> None:
    if shape[0] != n:
        raise ValueError(f"side has {shape[0]} rows, but X has {n}; pass one for each sample.")
    if not shape[1] or (width is not None and shape[1] != width):
        wanted = "at least one" if width is None else f"the {width} of the fit"
        raise ValueError(f"side has {shape[1]} columns; it needs {wanted}.")


def check_side_use(head: str, kind: str) -> None:
    """Refuse a side of samples where nothing can use it."""
    if head != "pooled":
        raise ValueError(f"side needs head='pooled', but head={head!r}; leave side out.")
    if kind != "classes":
        what = "numbers" if kind == "numbers" else "several labels per sample"
        raise ValueError(
            f"side helps to predict one class a sample, but y holds {what}; leave it out."
        )


def check_known_side(head: Any, side: Any, X: Any, *, streams: bool = False) -> Side | None:
    """Return what is known of samples beside X, as a head needs it.

    A stream (``streams``) may have gone on from a model that needed it, and have another head now.
    """
    needed = head is not None and head.needs_side
    if not needed and (side is None or streams):
        return None
    if not needed:
        raise ValueError("side is given, but the model was fitted without it; leave it out.")
    if isinstance(X, RowBlocks):
        raise ValueError(
            "The model was fitted with side, so it cannot predict RowBlocks; pass an array X."
        )
    vectors = None if head.vectors is None else len(head.vectors.mean)
    further = None if head.further is None else len(head.further_weights)
    kinds = {f"vectors of {vectors} dimensions": vectors, f"{further} further features": further}
    wanted = " and ".join(kind for kind, width in kinds.items() if width is not None)
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if isinstance(side, Side):  # which may hold more than a head needs
        side = Side(
            None if vectors is None else side.vectors, None if further is None else side.further
        )
    found = None if side is None else check_side(side, rows, (vectors, further))
    if found is None or [part is None for part in found.parts] != [
        vectors is None,
        further is None,
    ]:
        raise ValueError(
            f"The model was fitted with side, {wanted}; pass those of these samples as side."
        )
    return found


def check_indices(name: str, indices: Any, size: int, what: str) -> IntArray:
    """Return numbers of rows or columns, each from 0 to size − 1, as an array."""
    array = np.asarray(indices)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; pass a list of integers.")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} holds {array[:1].tolist()[0]!r}; pass integers, 0 for the first.")
    wrong = (array < 0) | (array >= size)
    if wrong.any():
        raise ValueError(
            f"{name} holds {array[wrong][0]}, but the model has {size} {what}; use numbers from 0 "
            f"to {size - 1}."
        )
    return array.astype(np.int64)


def as_divergence(name: str, loss: Any) -> Divergence:
    """Return the divergence that a loss parameter stands for."""
    if isinstance(loss, type):
        raise TypeError(f"{name} is the class {loss.__name__}; use an instance, {loss.__name__}().")
    if isinstance(loss, Noise):
        return loss.divergence
    if isinstance(loss, Divergence):
        return loss
    if loss not in DIVERGENCES:
        raise ValueError(f"{name}={loss!r} is unknown; use one of {', '.join(DIVERGENCES)}.")
    return DIVERGENCES[loss]


def as_penalties(
    priors: Any, shapes: Shapes | None = None, targeted: bool = True
) -> dict[FactorName, Penalty]:
    """Return the sum of the priors on each factor; ``shapes`` are those of the factors present."""
    known = FACTOR_NAMES if targeted else FACTOR_NAMES[:2]
    penalties: dict[FactorName, Penalty] = {}
    for name, given in (priors or {}).items():
        if name not in known:
            raise ValueError(f"priors has the key {name!r}; use {' or '.join(map(repr, known))}.")
        total = Penalty()
        for prior in given if isinstance(given, (list, tuple)) else [given]:
            if not isinstance(prior, Prior):
                raise TypeError(
                    f"priors[{name!r}] holds {prior!r}; use L1, L2 or GammaPrior of "
                    "cofactor.priors, or a list of them."
                )
            one = prior.penalty
            _check_prior_shape(name, one, shapes)
            total = Penalty(
                total.up + one.up, total.square + one.square, total.barrier + one.barrier
            )
        if shapes is None or name in shapes:
            penalties[name] = total
    return penalties


def _check_prior_shape(name: FactorName, penalty: Penalty, shapes: Shapes | None) -> None:
    if np.ndim(penalty.square):
        raise ValueError(f"priors[{name!r}]: the weight of L2 must be one number.")
    for part in (penalty.up, penalty.barrier):
        if np.ndim(part) and shapes and name in shapes and np.shape(part) != tuple(shapes[name]):
            raise ValueError(
                f"priors[{name!r}] has coefficients of shape {np.shape(part)}, but the factor has "
                f"shape {tuple(shapes[name])}; pass one number or a matrix of that shape."
            )


def as_fixed(fixed: Any, shapes: Shapes, init: Any) -> dict[FactorName, BoolArray]:
    """Return the entries that are fixed, for each factor in its own shape."""
    if fixed and not isinstance(init, Factors):
        raise ValueError(
            f"fixed needs topics to keep, but init={init!r}; pass init=Factors.of_topics(features, "
            "targets)."
        )
    masks: dict[FactorName, BoolArray] = {}
    for name, given in (fixed or {}).items():
        if name not in FACTOR_NAMES[1:]:
            raise ValueError(f"fixed has the key {name!r}; use 'features' or 'targets'.")
        if name in shapes:
            masks[name] = _as_mask(f"fixed[{name!r}]", given, shapes[name])
    return masks


def _as_mask(name: str, given: Any, shape: tuple[int, int]) -> BoolArray:
    n, rank = shape
    mask = np.asarray(given)
    if mask.dtype != np.bool_:
        raise TypeError(f"{name} has dtype {mask.dtype}; pass an array of True and False.")
    if mask.shape == (rank,):
        mask = np.repeat(mask[:, None], n, axis=1)
    if mask.shape != (rank, n):
        raise ValueError(
            f"{name} has shape {mask.shape}; pass {(rank,)} for whole topics, or {(rank, n)}."
        )
    return np.ascontiguousarray(mask.T)


def check_factors(
    init: Factors, shapes: Sequence[tuple[int, int] | None], dtype: np.dtype[Any]
) -> Factors:
    """Return a copy of a user's start, which may lack samples, after checking it."""
    if not np.size(init.samples):
        shapes = [(0, init.rank), *shapes[1:]]
    arrays = [
        None if shape is None else _check_factor(f"init.{name}", given, shape, dtype)
        for name, given, shape in zip(FACTOR_NAMES, init.each(), shapes, strict=True)
    ]
    for name, array in zip(FACTOR_NAMES, arrays, strict=True):
        if array is not None and array.size and not array.any():
            raise ValueError(
                f"init.{name} is zero everywhere, and updates cannot leave that; pass positive "
                "entries."
            )
    return Factors(*arrays)  # type: ignore[arg-type]


def _check_factor(
    name: str, given: Any, shape: tuple[int, int], dtype: np.dtype[Any]
) -> FloatArray | None:
    if given is None:
        if name == "init.targets":  # the set-up draws them
            return None
        raise ValueError(f"{name} is None; pass an array of shape {shape}.")
    if sp.issparse(given):
        raise TypeError(f"{name} is sparse; pass {name}.toarray().")
    if np.asarray(given).dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {np.asarray(given).dtype}; pass an array of numbers.")
    array = np.array(given, dtype=dtype, order="C")
    if array.shape != shape:
        raise ValueError(
            f"{name} has shape {array.shape}, but the data and n_components={shape[1]} ask for "
            f"{shape}; pass such an array."
        )
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        raise ValueError(
            f"{name} has the entry {array[wrong][0]:g}; make all finite and nonnegative."
        )
    return array


def check_exposure(estimator: Any, kind: str, data: Observations) -> None:
    """Refuse ``exposure="total"`` where a total is not a scale, or predictions would depend on it.

    ``kind`` is what the estimator predicts.
    """
    if getattr(estimator, "exposure", None) is None:
        return
    if estimator.head != "pooled" and kind != "classes":
        raise ValueError(
            f"exposure='total' with head={estimator.head!r} predicts labels that grow with the "
            "total of a sample; use head='pooled'."
        )
    if not data.complete:
        raise ValueError(
            "exposure='total' needs all cells of X, because the total of a sample with missing "
            "cells is not known; leave exposure out, or fill in the cells."
        )
    if not as_divergence("target_loss", estimator.target_loss).homogeneous:
        raise ValueError(
            "exposure='total' needs a target_loss of one degree; use a multiple of 'frobenius', "
            "'kullback-leibler' or 'itakura-saito'."
        )
