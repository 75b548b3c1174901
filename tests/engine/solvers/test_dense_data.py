"""Multiplicative updates of dense data and dense targets follow the oracle."""

import numpy as np
import pytest

import oracles
from cofactor.divergences import DIVERGENCES
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import minimise
from cofactor.engine.kernels import EPSILON
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import dense
from cofactor.engine.solvers import MultiplicativeUpdates, PaperUpdates
from strategies import DESCENT_PAIRS, SERIAL, assert_close, named, short

SOLVERS = [MultiplicativeUpdates(), PaperUpdates(), PaperUpdates(epsilon=0.01)]
NAMES = ("samples", "features", "targets")
SHAPE = (94, 81, 67)
LAMBDA = 2.5


def problem(losses, rank, free=("features", "targets", "samples")):
    """Dense data and targets, λ ≠ 1, one cell in four zero."""
    random = np.random.default_rng(rank)
    n, m, k = SHAPE
    X, Y = (random.random((n, w)) * (random.random((n, w)) > 0.25) for w in (m, k))
    terms = (
        Term("data", "features", dense(X), DIVERGENCES[losses[0]]),
        Term("target", "targets", dense(Y), DIVERGENCES[losses[1]], LAMBDA),
    )
    start = Factors(*(random.random((size, rank)) for size in SHAPE))
    matrices = {"X": X, "Y": Y, "data_loss": losses[0], "target_loss": losses[1], "lam": LAMBDA}
    return Objective(terms, free=free), start, matrices


def run(objective, start, solver, n_iter=30):
    return minimise(objective, start, solver, max_iter=n_iter, threads=SERIAL)


def expect(matrices, start, solver, free=("features", "targets", "samples"), n_iter=30):
    """Return the oracle's factors after updates of the free ones in turn, and their objective."""
    update, epsilon = oracles.surrogate_updates, EPSILON
    if isinstance(solver, PaperUpdates):
        update, epsilon = oracles.paper_updates, solver.epsilon
    factors = named(start)
    for name in free * n_iter:
        A, B, S, _ = update(**matrices, **factors, eps=epsilon, factors=(name,))
        factors = {"A": A, "B": B, "S": S}
    return Factors(S, A, B), oracles.objective(**matrices, **factors, epsilon=EPSILON)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS, ids=["mu", "mu-paper", "epsilon"])
@pytest.mark.parametrize("rank", [1, 2, 5, 8])
@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
def test_iterates_are_those_of_the_oracle(losses, rank, solver):
    objective, start, matrices = problem(losses, rank)
    fit = run(objective, start, solver)
    expected, value = expect(matrices, start, solver)
    assert_close(fit.factors, expected, rtol=1e-9, atol=1e-12)
    assert fit.history.objective[-1] == pytest.approx(value.total, rel=1e-10)
    assert fit.history.terms["data"][-1] == pytest.approx(value.data, rel=1e-10)
    assert fit.history.terms["target"][-1] == pytest.approx(value.target, rel=1e-10)


@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
@pytest.mark.parametrize("free", [("samples",), ("targets",), ("samples", "features")], ids=str)
def test_only_free_factors_move(losses, free):
    objective, start, matrices = problem(losses, 3, free)
    fit = run(objective, start, PaperUpdates())
    for name in NAMES:
        same = np.array_equal(fit.factors.get(name), start.get(name))
        assert same == (name not in free)
    expected, value = expect(matrices, start, PaperUpdates(), free)
    assert_close(fit.factors, expected, rtol=1e-9, atol=1e-12)
    assert fit.history.objective[-1] == pytest.approx(value.total, rel=1e-10)


def test_zero_rows_and_dead_topics_stay_finite():
    X = np.ones((66, 65))
    X[0] = X[:, 0] = 0
    for loss in (oracles.FROBENIUS, oracles.KL):
        objective = Objective((Term("data", "features", dense(X), DIVERGENCES[loss]),))
        start = Factors(np.ones((66, 3)), np.ones((65, 3)) * [1.0, 2.0, 0.0])
        for solver in SOLVERS[:2]:
            fit = run(objective, start, solver)
            assert all(np.isfinite(V).all() for V in fit.factors.each() if V is not None)
            assert np.isfinite(fit.history.objective).all()
