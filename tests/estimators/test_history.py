"""The history of a fit is the objective of its factors; its end is told."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
from cofactor import SSNMFRegressor
from cofactor.priors import L1, L2, GammaPrior
from fits import every_kind, every_model, make

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


PRIORS = {"samples": ("l1", 0.2), "features": ("gamma", 1.5, 0.5), "targets": ("l2", 0.3)}
OURS = {"samples": L1(0.2), "features": GammaPrior(1.5, 0.5), "targets": [L2(0.3)]}


@every_model
@pytest.mark.parametrize("prior", [False, True], ids=["no priors", "priors"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_history_is_the_objective_of_the_factors(losses, solver, prior, weighted):
    random = np.random.default_rng(5)
    X, Y = random.gamma(2, size=(15, 6)), random.gamma(2, size=(15, 2))
    weights, oracle_weights = {}, {}
    if weighted:
        W, L, counts = random.random((15, 6)) + 0.1, random.random((15, 2)), random.random(15)
        weights = {"data_weights": W, "target_weights": L, "sample_weight": counts}
        oracle_weights = {"W": W, "L": L, "sample_weight": counts}
    model = make(
        SSNMFRegressor, losses, solver, head="joint", max_iter=7, priors=OURS if prior else None
    ).fit(X, Y, **weights)
    assert set(model.history_) == {"objective", "data", "target"}
    assert model.n_iter_ == 7
    assert {len(values) for values in model.history_.values()} == {7}
    assert all(type(value) is float for value in model.history_["objective"])
    expected = oracles.objective(
        X,
        Y,
        model.components_.T,
        model.target_components_.T,
        model.representation_,
        data_loss=losses[0],
        target_loss=losses[1],
        lam=model.supervision_,
        priors={name: [value] for name, value in PRIORS.items()} if prior else None,
        **oracle_weights,
    )
    assert model.history_["data"][-1] == pytest.approx(expected.data, rel=1e-6)
    assert model.history_["target"][-1] == pytest.approx(expected.target, rel=1e-6)
    assert model.history_["objective"][-1] == pytest.approx(expected.total, rel=1e-6)
    if not prior:
        parts = np.array(model.history_["data"]) + model.supervision_ * np.array(
            model.history_["target"]
        )
        assert_allclose(model.history_["objective"], parts, rtol=1e-12)
    if solver != "mu-paper":
        rises = np.diff(model.history_["objective"]) > 1e-12 * model.history_["objective"][0]
        assert not rises.any()


@every_kind
def test_a_converged_fit_says_so_and_one_that_is_not_warns(X, classes, kind):
    model = kind(3, random_state=0, max_iter=500).fit(X, classes)
    assert model.n_iter_ < 500
    assert model.stop_reason_.startswith("Converged after")
    assert str(model.n_iter_) in model.stop_reason_
    with pytest.warns(match="after 1 iteration, .*raise max_iter or tol"):
        model = kind(3, random_state=0, max_iter=1).fit(X, classes)
    assert "after 1 iteration," in model.stop_reason_
