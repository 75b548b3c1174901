"""Every model, and short fits of it, for the tests of the estimators."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cofactor import NMF, SSNMFClassifier, SSNMFRegressor

LOSSES = ("kullback-leibler", "frobenius", "itakura-saito")
PAIRS = list(product(LOSSES, LOSSES))
MODELS = [
    (losses, solver)
    for losses, solver in product(PAIRS, ("cd", "mu", "mu-paper"))
    if solver != "cd" or "itakura-saito" not in losses
]
IDS = ["-".join((*losses, solver)) for losses, solver in MODELS]
every_model = pytest.mark.parametrize(("losses", "solver"), MODELS, ids=IDS)
KINDS = [NMF, SSNMFClassifier, SSNMFRegressor]
every_kind = pytest.mark.parametrize("kind", KINDS)


def make(kind, losses=LOSSES[:1] * 2, solver="auto", **parameters):
    """Few iterations and no early end: what is compared is the path, not where it leads.

    The head is that of topics alone; `test_heads` has the same comparisons for the pooled one.
    """
    given = {"n_components": 3, "max_iter": 5, "tol": 0, "random_state": 0, **parameters}
    if kind is not NMF:
        given.setdefault("head", "refit")
        given.setdefault("target_loss", losses[1])
    return kind(data_loss=given.pop("data_loss", losses[0]), solver=solver, **given)


def arrays(model):
    names = ("components_", "representation_", "target_components_")
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def assert_same_bits(model, other):
    assert arrays(model).keys() == arrays(other).keys()
    for name, array in arrays(model).items():
        assert_array_equal(array, arrays(other)[name], name)
        assert array.dtype == arrays(other)[name].dtype
    assert model.history_ == other.history_


def differ(model, other):
    one, two = arrays(model), arrays(other)
    return any(
        one[name].shape != two[name].shape or not np.array_equal(one[name], two[name])
        for name in one
    )
