"""What a fit leaves on an estimator: the attributes, in the user's units.

`base` publishes them after a fit, after a batch, and for callbacks after an iteration.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.engine.factors import Factors
from cofactor.engine.fitting import History
from cofactor.estimators.setup import Conversion
from cofactor.estimators.tasks import Coding
from cofactor.targets.classes import ClassCoding

OF_SOME_FITS = (
    "_stream",
    "_reservoir",
    "n_samples_seen_",
    "target_components_",
    "supervision_",
    "_head",
    "expected_score_",
    "cells_",
    "_models",
)
"""Attributes that a fit may lack; those of an earlier fit must not stay."""
FACTORS = ("components", "representation", "target_components")
NOT_FINITE = (
    "The fit gave numbers that are not finite, so there is no model; check X, y, priors, "
    "supervision, data_weights, target_weights and sample_weight for extreme values, and scale "
    "them."
)


def attributes_of(
    conversion: Conversion, coding: Coding | None, factors: Factors, history: History
) -> dict[str, Any]:
    """Return the fitted attributes for factors in our units."""
    units, supervision, constant = conversion
    outside = units.factors(factors)
    attributes: dict[str, Any] = {
        "components_": np.ascontiguousarray(outside.features.T),
        "representation_": np.asarray(outside.samples),
        "history_": units.history(history.objective, history.terms, constant),
        "n_iter_": len(history.objective),
        "_units": units,
        "_constant": constant,
        "_has_head": supervision is not None,
    }
    if outside.targets is not None:
        attributes["target_components_"] = np.ascontiguousarray(outside.targets.T)
        attributes["supervision_"] = supervision
    if coding is not None:
        attributes["_coding"] = coding
    if isinstance(coding, ClassCoding):
        attributes["classes_"] = coding.classes
    factors_out = (attributes.get(f"{name}_") for name in FACTORS)
    if not all(np.isfinite(V).all() for V in factors_out if V is not None):
        raise ValueError(NOT_FINITE)
    return attributes


def last_objective(conversion: Conversion, history: History) -> float:
    """Return the last objective in the user's units."""
    units, _, constant = conversion
    return units.history(history.objective[-1:], {}, constant)["objective"][0]
