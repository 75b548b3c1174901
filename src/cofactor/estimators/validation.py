"""Checks of what users pass in; every error names the parameter, the value and the remedy."""

from __future__ import annotations

import numpy as np
from scipy import sparse as sp
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from cofactor.divergences import DIVERGENCES, Divergence
from cofactor.noise import Noise
from cofactor.objective import Factors
from cofactor.observations import Observations, observe
from cofactor.priors import Penalty, Prior
from cofactor.typing import FactorName


def check_data(estimator, X, *, reset):
    """Return X as a nonnegative float array or CSR matrix; NaN is missing."""
    if hasattr(X, "__dask_graph__") or hasattr(X, "dask"):
        raise TypeError(
            "X is a dask collection, which fit would have to load whole; call X.compute() if it "
            "fits in memory."
        )
    X = validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan", ensure_min_samples=1,
    )  # fmt: skip
    values = X.data if sp.issparse(X) else X
    lowest = np.nanmin(values, initial=0.0)
    if lowest < 0:
        raise ValueError(
            f"Negative values in data passed to X of {type(estimator).__name__}: its smallest "
            f"value is {lowest:g}; "
            "shift or clip it to be nonnegative."
        )
    return sp.csr_array(X) if sp.issparse(X) else np.ascontiguousarray(X)


def observed_data(X, data_weights) -> Observations:
    """Return X with its weights; every row must have an observed cell."""
    observations = observe(X, check_weights("data_weights", data_weights, X.shape))
    if not observations.zeros:
        empty = np.flatnonzero(np.diff(observations.layout.start) == 0)
        if len(empty):
            raise ValueError(
                f"X has {len(empty)} rows without an observed value (the first is row "
                f"{empty[0]}): all their cells "
                "are NaN or have data_weights 0; remove these rows."
            )
    return observations


def check_weights(name, weights, shape):
    """Return a weight matrix, column (n, 1) or row (1, m) as float64, dense or CSR."""
    if weights is None:
        return None
    try:
        weights = check_array(
            weights, accept_sparse="csr", dtype=np.float64, ensure_all_finite=True, input_name=name,
            ensure_min_samples=0, ensure_min_features=0,
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(
            f"{name} must be a matrix of finite, nonnegative numbers: {error}"
        ) from None
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


def check_counts(sample_weight, X):
    """Return sample weights as float64, or None where all samples count alike."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if weights.min(initial=0.0) < 0:
        raise ValueError(
            f"sample_weight has the negative value {weights.min():g}; weights must be at least 0."
        )
    if not weights.any():
        raise ValueError("sample_weight is 0 for every sample; at least one must count.")
    return weights


def as_divergence(name, loss) -> Divergence:
    """Return the divergence that a loss parameter asks for."""
    if isinstance(loss, Noise):
        return loss.divergence
    if isinstance(loss, Divergence):
        return loss
    if loss not in DIVERGENCES:
        raise ValueError(f"{name}={loss!r} is unknown; use one of {', '.join(DIVERGENCES)}.")
    return DIVERGENCES[loss]


def as_penalties(priors) -> dict[FactorName, Penalty]:
    """Return the sum of the priors on each factor."""
    penalties: dict[FactorName, Penalty] = {}
    for name, given in (priors or {}).items():
        if name not in ("samples", "features", "targets"):
            raise ValueError(
                f"priors has the key {name!r}; use 'samples', 'features' or 'targets'."
            )
        for prior in given if isinstance(given, (list, tuple)) else [given]:
            if not isinstance(prior, Prior):
                raise TypeError(
                    f"priors[{name!r}] holds {prior!r}; use L1, L2 or Gamma of cofactor.priors, "
                    "or a list of them."
                )
            one, sum_ = prior.penalty, penalties.get(name, Penalty())
            penalties[name] = Penalty(
                sum_.up + one.up, sum_.square + one.square, sum_.barrier + one.barrier
            )
    for name, penalty in penalties.items():
        if np.ndim(penalty.square):
            raise ValueError(f"priors[{name!r}]: the weight of L2 must be one number.")
    return penalties


def check_factors(init: Factors, shapes, dtype) -> Factors:
    """Return a copy of a user's start after checking shapes and signs."""
    arrays: list = []
    for name, given, shape in zip(
        ("samples", "features", "targets"), init.each(), shapes, strict=True
    ):
        if given is None or shape is None:
            arrays.append(None)
            continue
        array = np.array(given, dtype=dtype, order="C")
        if array.shape != shape:
            raise ValueError(f"init.{name} has shape {array.shape}, but the data ask for {shape}.")
        if not np.all(np.isfinite(array)) or array.min(initial=0.0) < 0:
            raise ValueError(f"init.{name} must be finite and nonnegative.")
        arrays.append(array)
    return Factors(*arrays)
