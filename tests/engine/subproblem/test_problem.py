"""A factor's row problem: one update is the surrogate's minimum, however terms are merged."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse as sp

import oracles
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import minimise
from cofactor.engine.observations import dense, observe, sparse
from cofactor.engine.solvers import MultiplicativeUpdates
from strategies import (
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


@pytest.mark.slow
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("losses", PAIRS, ids=short)
@pytest.mark.parametrize("priors", [False, True], ids=["plain", "priors"])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
def test_multiplicative_step_is_the_surrogates_minimum(losses, storage, priors, weighted):
    for seed, target_storage in enumerate(STORAGES):
        problem = draw(
            seed,
            losses,
            storage,
            shape=(7, 6, 3, 3),
            target_storage=target_storage,
            priors=priors,
            weighted=weighted,
            counts=weighted,
            unlabelled=True,
        )
        for n_iter in (1, 4):
            fitted = problem.run(MultiplicativeUpdates(), n_iter).factors
            assert_close(fitted, problem.surrogate_updates(n_iter), rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_multiplicative_step_with_empty_rows_and_columns(loss, storage):
    """An empty document and a word that nobody uses: Frobenius and KL send them to zero at once."""
    rng = np.random.default_rng(0)
    X = positive(rng, (6, 5))
    X[2], X[:, 3] = 0.0, 0.0
    X /= X.max()
    weights = np.ones(X.shape)
    engine = {"dense": dense(X), "sparse": sparse(sp.csr_array(X)), "masked": observe(X, weights)}[
        storage
    ]
    start = Factors(positive(rng, (6, 2)), positive(rng, (5, 2)))
    problem = Problem(Observed(engine, X, weights), None, (loss, loss), 1.0, {}, None, start)
    fitted = problem.run(MultiplicativeUpdates(), 1).factors
    assert_close(fitted, problem.surrogate_updates(1), rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("priors", [False, True], ids=["plain", "priors"])
@pytest.mark.parametrize("lam", [1.0, 0.3, 0.0])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("losses", PAIRS, ids=short)
def test_terms_one_by_one_give_the_update_of_entries_side_by_side(losses, storage, lam, priors):
    problem = draw(3, losses, storage, target_storage=storage, weighted=True, priors=priors)
    side_by_side = replace(problem, lam=lam).objective
    one_by_one = replace(side_by_side, short_lived=True)
    both = [
        minimise(objective, problem.start, MultiplicativeUpdates(), max_iter=2, threads=SERIAL)
        for objective in (side_by_side, one_by_one)
    ]
    assert_close(both[1].factors, both[0].factors, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(*(fit.history.objective for fit in both), rtol=1e-11)
