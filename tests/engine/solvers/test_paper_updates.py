"""``solver="mu-paper"`` follows the paper's algorithms, and only it may raise the objective."""

import numpy as np
import pytest
from scipy import sparse as sp

import oracles
from cofactor import NMF, SSNMFClassifier
from cofactor.divergences import DIVERGENCES
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import dense
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates, PaperUpdates
from strategies import DESCENT_PAIRS, SERIAL, STORAGES, assert_close, draw, named, short

MODELS = [(oracles.FROBENIUS, None), (oracles.KL, None), *DESCENT_PAIRS]
N_ITER = 50


def literal(losses, storage, seed=3, **options):
    """A problem as the paper knows it: weights 0 and 1, unlabelled rows, λ ≠ 1, no priors."""
    k = 0 if losses[1] is None else 3
    losses = (losses[0], losses[1] or oracles.KL)
    return draw(seed, losses, storage, shape=(14, 11, k, 4), lam=2.5, unlabelled=True, **options)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("losses", MODELS, ids=short)
def test_iterates_are_those_of_the_paper(losses, storage):
    problem = literal(losses, storage)
    fit = problem.run(PaperUpdates(), N_ITER)
    expected = problem.paper_updates(N_ITER)
    assert fit.n_iter == N_ITER
    assert_close(fit.factors, expected, rtol=1e-9, atol=1e-12)
    assert fit.history.objective[-1] == pytest.approx(problem.value(expected).total, rel=1e-9)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("losses", MODELS, ids=short)
def test_epsilon_stands_where_the_paper_puts_it(losses, storage):
    """So large an epsilon would show if a 2 or a λ were missing beside it."""
    problem = literal(losses, storage)
    fit = problem.run(PaperUpdates(epsilon=0.01), N_ITER)
    assert_close(fit.factors, problem.paper_updates(N_ITER, eps=0.01), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
def test_unlabelled_rows_and_lambda_matter(losses):
    """The comparison above would notice a λ or a mask that is dropped."""
    problem = literal(losses, "dense")
    factors = problem.run(PaperUpdates(), N_ITER).factors
    assert 0 < np.sum(problem.target.weights.any(axis=1)) < len(factors.samples)
    for change in ({"lam": 1.0}, {"L": None}):
        _, _, S, _ = oracles.paper_updates(
            **{**problem.matrices, **change}, **named(problem.start), n_iter=N_ITER
        )
        assert np.abs(S / factors.samples - 1).max() > 1e-3


@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
def test_lambda_zero_leaves_the_data_alone(losses):
    """λ = 0: A and S are those of plain NMF (Algorithms 1 to 3 with the target term gone)."""
    problem = draw(3, losses, shape=(9, 7, 3, 2), lam=0.0)
    A, _, S, _ = oracles.paper_updates(**problem.matrices, **named(problem.start), n_iter=N_ITER)
    factors = problem.run(PaperUpdates(), N_ITER).factors
    np.testing.assert_allclose(factors.features, A, 1e-9, 1e-12)
    np.testing.assert_allclose(factors.samples, S, 1e-9, 1e-12)


def classified(rng, n=40, m=12, classes=3, rank=4):
    """X, labels (two fifths unlabelled) and a start of the user's own."""
    y = rng.integers(0, classes, n)
    X = rng.poisson(rng.gamma(1.0, size=(classes, m))[y] * 3).astype(float)
    X[X.sum(axis=1) == 0, 0] = 1.0
    y[rng.random(n) < 0.4] = -1
    y[:classes] = range(classes)
    start = Factors(*(rng.random((size, rank)) + 0.1 for size in (n, m, classes)))
    return X, y, start


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
def test_classifier_runs_the_paper(losses, storage):
    rng = np.random.default_rng(7)
    X, y, start = classified(rng)
    W = (rng.random(X.shape) < 0.8).astype(float) if storage == "masked" else None
    model = SSNMFClassifier(
        start.rank,
        data_loss=losses[0],
        target_loss=losses[1],
        supervision=2.5,
        solver="mu-paper",
        init=start,
        head="joint",
        max_iter=N_ITER,
        tol=0,
    ).fit(sp.csr_array(X) if storage == "sparse" else X, y, data_weights=W)
    Y = (y[:, None] == np.arange(3)).astype(float)
    L = np.repeat((y >= 0).astype(float)[:, None], 3, axis=1)
    A, B, S, history = oracles.paper_updates(
        X,
        **named(start),
        Y=Y,
        W=W,
        L=L,
        data_loss=losses[0],
        target_loss=losses[1],
        lam=2.5,
        n_iter=N_ITER,
    )
    fitted = Factors(model.representation_, model.components_.T, model.target_components_.T)
    assert_close(fitted, Factors(S, A, B), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.history_["objective"], history, rtol=1e-9)


@pytest.mark.parametrize("loss", [oracles.FROBENIUS, oracles.KL])
def test_nmf_runs_the_paper(loss):
    X, _, start = classified(np.random.default_rng(8))
    start = Factors(start.samples, start.features)
    options = {"solver": "mu-paper", "init": start, "max_iter": N_ITER, "tol": 0}
    model = NMF(start.rank, data_loss=loss, **options).fit(X)
    A, _, S, _ = oracles.paper_updates(X, start.features, start.samples, data_loss=loss, n_iter=50)
    fitted = Factors(model.representation_, model.components_.T)
    assert_close(fitted, Factors(S, A), rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------- the counterexample


def counterexample():
    """x = 0, a = 1, y = 4, b = 1e-3, s = λ = 1; only the samples are free."""
    terms = (
        Term("data", "features", dense(np.array([[0.0]])), DIVERGENCES[oracles.FROBENIUS]),
        Term("target", "targets", dense(np.array([[4.0]])), DIVERGENCES[oracles.KL]),
    )
    start = Factors(np.array([[1.0]]), np.array([[1.0]]), np.array([[1e-3]]))
    return Objective(terms, free=("samples",)), start


def values_around_a_step(solver):
    objective, start = counterexample()
    state = solver.start(objective, start, SERIAL)
    new = solver.step(objective, state, SERIAL)
    exact = [
        oracles.objective(
            np.array([[0.0]]), np.array([[4.0]]), **named(s.factors), target_loss=oracles.KL
        ).total
        for s in (state, new)
    ]
    assert [state.value.total, new.value.total] == pytest.approx(exact, rel=1e-7)
    return exact


def test_the_papers_mixed_step_rises():
    before, after = values_around_a_step(PaperUpdates())
    assert before == pytest.approx(30.18, abs=0.005)
    assert after == pytest.approx(30.40, abs=0.005)


@pytest.mark.parametrize("solver", [MultiplicativeUpdates(), CoordinateDescent()], ids=repr)
def test_our_mixed_steps_do_not(solver):
    before, after = values_around_a_step(solver)
    assert after < before
