"""Solvers agree with each other and, without labels, with plain NMF."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse as sp

from cofactor import NMF, SSNMFClassifier
from cofactor.engine.factors import Factors
from cofactor.engine.observations import dense, observe, sparse
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates
from strategies import (
    DESCENT_PAIRS,
    PAIRS,
    SERIAL,
    STORAGES,
    Observed,
    Problem,
    assert_close,
    draw,
    positive,
    short,
)

# ---------------------------------------------------------------- mu and cd


def planted(losses, storage, *, seed, rank, share):
    """Noisy positive data from factors of which a ``share`` is not zero, started not far off."""
    rng = np.random.default_rng(seed)
    S, A, B = (
        rng.gamma(2.0, size=(rows, rank)) * (rng.random((rows, rank)) < share) for rows in (9, 8, 3)
    )

    def noisy(P, storage):
        X = P * rng.gamma(400.0, size=P.shape) / 400.0 + 0.1 * rng.random(P.shape)
        X /= X.max()
        W = np.ones(X.shape)
        if storage == "masked":
            W = (rng.random(X.shape) < 0.85) * rng.gamma(4.0, 0.25, size=X.shape)
            return Observed(observe(X, W), X, W)
        return Observed(dense(X) if storage == "dense" else sparse(sp.csr_array(X)), X, W)

    start = Factors(*(V * positive(rng, V.shape, 0.3) + 0.1 for V in (S, A, B)))
    data, target = noisy(S @ A.T, storage), noisy(S @ B.T, "dense")
    return Problem(data, target, losses, 0.7, {}, None, start)


def solved(problem, solver, tolerance, limit):
    """Iterate until the oracle finds the point optimal."""
    objective = problem.objective
    state = solver.start(objective, problem.start, SERIAL)
    for iteration in range(1, limit + 1):
        state = solver.step(objective, state, SERIAL)
        if iteration % 25 == 0 and problem.kkt(state.factors) < tolerance:
            return state.factors
    raise AssertionError(f"not optimal after {limit}: {problem.kkt(state.factors)}")


INTERIOR, BOUNDARY = {"seed": 0, "rank": 2, "share": 1.0}, {"seed": 4, "rank": 3, "share": 0.75}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("storage", "options"),
    [(storage, INTERIOR) for storage in STORAGES]
    + [(storage, BOUNDARY) for storage in ("dense", "masked")],
    ids=["dense", "sparse", "masked", "dense-zeros", "masked-zeros"],
)
@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
def test_solvers_reach_the_same_optimum(losses, storage, options):
    problem = planted(losses, storage, **options)
    by_cd = solved(problem, CoordinateDescent(), 1e-7, 1000)
    by_mu = solved(problem, MultiplicativeUpdates(rounds=20), 1e-6, 5000)
    cd, mu = (problem.value(factors).total for factors in (by_cd, by_mu))
    assert cd <= mu * (1 + 1e-9)
    assert cd == pytest.approx(mu, rel=1e-4)
    if options is BOUNDARY:
        assert all((V == 0).any() for V in by_cd.each())


# ---------------------------------------------------------------- what must not matter


@pytest.mark.parametrize("losses", PAIRS, ids=short)
def test_without_labels_it_is_plain_nmf(losses):
    """L = 0 everywhere: A and S as if there were no targets."""
    problem = draw(6, losses, shape=(12, 9, 3, 3))
    silent = replace(problem.target, engine=problem.target.engine.weighted(rows=np.zeros(12)))
    plain = replace(problem, target=None, start=Factors(*problem.start.each()[:2]))
    fitted = replace(problem, target=silent).run(MultiplicativeUpdates(), 20).factors
    expected = plain.run(MultiplicativeUpdates(), 20).factors
    assert_close(Factors(fitted.samples, fitted.features), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("solver", ["cd", "mu", "mu-paper"])
@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
def test_classifier_without_labels_is_nmf(losses, solver):
    X = np.random.default_rng(7).poisson(2.0, (30, 8)).astype(float)
    options = {"solver": solver, "max_iter": 20, "tol": 0, "random_state": 0}
    plain = NMF(3, data_loss=losses[0], **options).fit(X)
    model = SSNMFClassifier(3, data_loss=losses[0], target_loss=losses[1], **options)
    model.fit(X, np.full(30, -1))
    assert np.array_equal(model.components_, plain.components_)
    assert np.array_equal(model.representation_, plain.representation_)
    assert model.history_["objective"] == plain.history_["objective"]
