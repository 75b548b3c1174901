"""Small dense problems have kernels of their own, which must agree with the row problems."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse as sp

import oracles
from cofactor.divergences import DIVERGENCES
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import minimise
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import dense, sparse
from cofactor.engine.solvers import MultiplicativeUpdates, PaperUpdates
from cofactor.engine.subproblem.dense import HIGHEST_RANK, is_whole
from strategies import DESCENT_PAIRS, SERIAL, assert_close, short

SOLVERS = [MultiplicativeUpdates(), PaperUpdates(), PaperUpdates(epsilon=0.01)]


def problem(losses, rank, free=("features", "targets", "samples"), shape=(94, 81, 67)):
    """Dense data and targets, λ ≠ 1, one cell in four zero."""
    random = np.random.default_rng(rank)
    n, m, k = shape
    X, Y = (random.random((n, w)) * (random.random((n, w)) > 0.25) for w in (m, k))
    terms = (
        Term("data", "features", dense(X), DIVERGENCES[losses[0]]),
        Term("target", "targets", dense(Y), DIVERGENCES[losses[1]], 2.5),
    )
    start = Factors(*(random.random((size, rank)) for size in shape))
    return Objective(terms, free=free), start


def whole(objective, start):
    """Tell of each term, seen from each of its factors, whether it is a whole matrix."""
    problems = [objective.problem(n, start, SERIAL) for n in ("samples", "features", "targets")]
    return [is_whole(part) for each in problems for part in each.parts]


def run(objective, start, solver, n_iter=30):
    return minimise(objective, start, solver, max_iter=n_iter, threads=SERIAL)


@pytest.mark.parametrize("solver", SOLVERS, ids=["mu", "mu-paper", "epsilon"])
@pytest.mark.parametrize("rank", [1, 2, 5, 8])
@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
def test_iterates_are_those_of_the_row_problems(losses, rank, solver, monkeypatch):
    objective, start = problem(losses, rank)
    assert whole(objective, start) == [True] * 4
    fast = run(objective, start, solver)
    monkeypatch.setattr("cofactor.engine.subproblem.problem.is_whole", lambda _: False)
    slow = run(objective, start, solver)
    assert_close(fast.factors, slow.factors, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(fast.history.objective, slow.history.objective, rtol=1e-11)
    for name, values in slow.history.terms.items():
        np.testing.assert_allclose(fast.history.terms[name], values, rtol=1e-10)


@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
@pytest.mark.parametrize("free", [("samples",), ("targets",), ("samples", "features")], ids=str)
def test_only_free_factors_move(losses, free, monkeypatch):
    objective, start = problem(losses, 3, free)
    fast = run(objective, start, PaperUpdates())
    for name in ("samples", "features", "targets"):
        same = np.array_equal(fast.factors.get(name), start.get(name))
        assert same == (name not in free)
    monkeypatch.setattr("cofactor.engine.subproblem.problem.is_whole", lambda _: False)
    slow = run(objective, start, PaperUpdates())
    assert_close(fast.factors, slow.factors, rtol=1e-9, atol=1e-13)
    assert fast.history.objective[-1] == pytest.approx(slow.history.objective[-1], rel=1e-10)


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


def test_other_problems_go_the_usual_way():
    objective, start = problem(DESCENT_PAIRS[0], 3)
    data, target = objective.terms
    rows = np.linspace(0.5, 1.0, 94)
    X = data.observations.layout.values.reshape(94, 81)
    others = [
        replace(objective, sample_weight=rows),
        *(
            replace(objective, terms=(replace(data, observations=observed), target))
            for observed in (
                data.observations.weighted(rows=rows),
                sparse(sp.csr_array(X)),
                dense(X.astype(np.float32)),
                dense(X * (np.random.default_rng(0).random(X.shape) < 0.1)),
            )
        ),
        replace(objective, terms=(replace(data, divergence=DIVERGENCES["itakura-saito"]), target)),
    ]
    assert all(not all(whole(each, start)) for each in others)
    assert not any(whole(*problem(DESCENT_PAIRS[0], HIGHEST_RANK + 1)))
