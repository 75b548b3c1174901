"""One matrix however it is stored: the same numbers, the same fit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse as sp

import oracles
from cofactor import NMF, SSNMFClassifier
from cofactor.divergences import DIVERGENCES
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import both_ways, dense, masked, observe, sparse
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates
from strategies import (
    DESCENT_PAIRS,
    PAIRS,
    SERIAL,
    STORAGES,
    assert_close,
    draw,
    observed,
    positive,
    short,
)

SOLVERS = [MultiplicativeUpdates(), CoordinateDescent()]
CASES = [
    pytest.param(solver, losses, id=f"{type(solver).__name__}-{short(losses)}")
    for solver, pairs in zip(SOLVERS, (PAIRS, DESCENT_PAIRS), strict=True)
    for losses in pairs
]


# ---------------------------------------------------------------- against dense numpy


def unfolded(observations):
    """Values and weights of all cells; weight 0 where nothing is observed."""
    layout, shape = observations.layout, observations.shape
    values, listed = np.zeros(shape), np.zeros(shape, bool)
    where = layout.row_numbers(), layout.column_numbers()
    values[where], listed[where] = layout.values, True
    weights = np.ones(shape) if observations.zeros else listed.astype(float)
    if observations.weights is not None:
        weights[where] *= observations.weights
    for vector, axis in ((observations.row_weights, 1), (observations.column_weights, 0)):
        weights = weights if vector is None else weights * np.expand_dims(vector, axis)
    return values, weights


def assert_holds(observations, values, weights):
    found, found_weights = unfolded(observations)
    np.testing.assert_allclose(found_weights, weights, rtol=1e-14)
    np.testing.assert_array_equal(found * (weights > 0), values * (weights > 0))
    total = observations.cell_weights()
    layout = observations.layout
    expected = weights[layout.row_numbers(), layout.column_numbers()]
    np.testing.assert_allclose(np.ones(len(expected)) if total is None else total, expected)


def assert_summarised(observations, X, W, counts):
    """Column means, largest value and weighted values; ``counts`` weigh the rows."""
    for factor, rows in ((None, np.ones(len(X))), (counts, counts)):
        total = W * rows[:, None]
        mass = total.sum(axis=0)
        means = np.divide((total * X).sum(axis=0), mass, out=np.zeros(len(mass)), where=mass > 0)
        np.testing.assert_allclose(observations.column_means(factor), means, rtol=1e-12)
        assert observations.largest(factor) == np.max(X[total > 0], initial=0.0)
    folded = np.zeros(X.shape)
    layout = observations.folded().layout
    folded[layout.row_numbers(), layout.column_numbers()] = layout.values
    np.testing.assert_allclose(folded, X * W, rtol=1e-14)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(STORAGES),
    st.booleans(),
    st.integers(1, 7),
    st.integers(1, 6),
    st.data(),
)
def test_operations_are_those_of_arrays(seed, storage, weighted, n, m, data):
    rng = np.random.default_rng(seed)
    given = observed(rng, storage, (n, m), weighted=weighted)
    X, W = given.values, given.weights
    assert_holds(given.engine, X, W)
    assert_holds(given.engine.transposed, X.T, W.T)
    assert_holds(given.engine.transposed.transposed, X, W)
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=9)), dtype=np.int64)
    assert_holds(given.engine.select(rows), X[rows], W[rows])
    assert_holds(given.engine.select(rows).transposed, X[rows].T, W[rows].T)
    assert_holds(given.engine.shifted(5), X / 32.0, W)
    exponents = rng.integers(-9, 9, n)
    assert_holds(given.engine.scaled_rows(exponents), X / 2.0 ** exponents[:, None], W)
    more, columns = rng.exponential(size=n), rng.exponential(size=m)
    assert_summarised(given.engine, X, W, more)
    both = given.engine.weighted(more, columns)
    assert_holds(both, X, W * more[:, None] * columns)
    extra = given.engine.cell_weights(more)
    layout = given.engine.layout
    np.testing.assert_allclose(
        extra, (W * more[:, None])[layout.row_numbers(), layout.column_numbers()]
    )


def untidy(rng, X):
    """The same matrix in CSR with explicit zeros, indices out of order and duplicates."""
    indices, data, ends = [], [], [0]
    for row in X:
        columns = np.concatenate([np.flatnonzero(row), rng.choice(len(row), 2)])
        values = np.concatenate([row[row > 0], [0.0, 0.0]])
        columns, values = np.tile(columns, 2), np.concatenate([values * 0.25, values * 0.75])
        order = rng.permutation(len(columns))
        indices.append(columns[order])
        data.append(values[order])
        ends.append(ends[-1] + len(order))
    return sp.csr_array((np.concatenate(data), np.concatenate(indices), ends), shape=X.shape)


def stored(rng, X):
    """The same matrix in CSR with every cell stored, also the zeros; otherwise tidy."""
    n, m = X.shape
    return sp.csr_array((X.ravel(), np.tile(np.arange(m), n), np.arange(n + 1) * m), shape=X.shape)


@pytest.mark.parametrize("form", [untidy, stored])
def test_untidy_csr_is_the_same_matrix_and_stays_untouched(form):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (20, 9)).astype(float)
    U = form(rng, X.copy())
    copies = [array.copy() for array in (U.data, U.indices, U.indptr)]
    assert_holds(sparse(U), X, np.ones(X.shape))
    assert sparse(U).n_listed == np.count_nonzero(X)
    for array, copy in zip((U.data, U.indices, U.indptr), copies, strict=True):
        assert np.array_equal(array, copy)


def test_masked_keeps_observed_zeros_and_drops_nan_and_weight_zero():
    X = np.array([[0.0, np.nan, 2.0], [np.nan, np.nan, np.nan], [0.0, 3.0, 0.0]])
    W = np.array([[1.0, 5.0, 0.0], [1.0, 1.0, 1.0], [2.0, 0.5, np.pi]])
    stored = sp.csr_array((X.ravel(), np.tile(np.arange(3), 3), [0, 3, 6, 9]), shape=(3, 3))
    expected = np.where(np.isnan(X), 0.0, W)
    assert_holds(masked(stored, W.ravel()), np.nan_to_num(X), expected)
    assert_holds(observe(X, W), np.nan_to_num(X), expected)
    assert_holds(observe(X), np.nan_to_num(X), (~np.isnan(X)).astype(float))
    assert masked(stored, W.ravel()).n_listed == 4


@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense X", "sparse X"])
def test_observe_with_sparse_weights_sees_their_stored_cells(as_sparse):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (8, 6)).astype(float)
    W = rng.exponential(size=X.shape) * (rng.random(X.shape) < 0.5)
    given = untidy(rng, X) if as_sparse else X
    assert_holds(observe(given, sp.csr_array(W)), X, W)
    assert_holds(observe(given, W), X, W)


@pytest.mark.parametrize("shape", [(4, 3), (1, 3), (4, 1), (3, 3), (1, 1)])
def test_rows_and_columns_of_weights_stay_structured(shape):
    rng = np.random.default_rng(2)
    X = rng.random(shape)
    rows, columns = rng.random((shape[0], 1)), rng.random((1, shape[1]))
    for weights in (rows, columns):
        observations = observe(X, weights)
        assert_holds(observations, X, np.broadcast_to(weights, shape))
        if weights.shape != shape:
            assert observations.zeros
            assert observations.weights is None


def test_sparse_with_nan_is_refused():
    X = sp.csr_array(np.array([[np.nan, 0.0], [1.0, 2.0]]))
    with pytest.raises(ValueError, match=r"1 stored NaN .* 2×2 cells; pass data_weights"):
        observe(X)


def test_shifting_is_exact():
    X = np.array([[1e-300, 0.1, 3.0]])
    assert np.array_equal(dense(X).shifted(-40).shifted(40).layout.values, X[0])


# ---------------------------------------------------------------- the same fit


def fitted(losses, solver, X, Y, start, *, counts=None, n_iter=6, **options):
    data = Term("data", "features", X, DIVERGENCES[losses[0]])
    target = Term("target", "targets", Y, DIVERGENCES[losses[1]], 0.7)
    objective = Objective((data, target), {}, counts, **options)
    state = solver.start(objective, start, SERIAL)
    for _ in range(n_iter):
        state = solver.step(objective, state, SERIAL)
    return state.factors


def count_problem(seed=3, n=14, m=10, k=3, r=3):
    """X and Y with zeros, largest value 1, and a start."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.0, (n, m)).astype(float)
    X[4] = 0.0
    Y = np.eye(k)[rng.integers(0, k, n)]
    return X / X.max(), Y, Factors(*(positive(rng, (rows, r), 0.5) for rows in (n, m, k)))


def masked_everywhere(X):
    return observe(X, np.ones(X.shape))


STORES = {
    "dense": dense,
    "sparse": lambda X: sparse(sp.csr_array(X)),
    "masked": masked_everywhere,
    "fortran": lambda X: dense(np.asfortranarray(X)),
    "untidy": lambda X: sparse(untidy(np.random.default_rng(0), X)),
    "rows": lambda X: observe(X, np.ones((len(X), 1))),
    "cells": lambda X: observe(sp.csr_array(X), sp.csr_array(np.ones(X.shape))),
}


@pytest.mark.parametrize("store", list(STORES)[1:])
@pytest.mark.parametrize(("solver", "losses"), CASES)
def test_storages_agree(solver, losses, store):
    X, Y, start = count_problem()
    expected = fitted(losses, solver, dense(X), dense(Y), start)
    found = fitted(losses, solver, STORES[store](X), dense(Y), start)
    assert_close(found, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("store", ["sparse", "masked"])
@pytest.mark.parametrize(("solver", "losses"), CASES)
def test_storages_of_targets_agree(solver, losses, store):
    X, Y, start = count_problem()
    expected = fitted(losses, solver, dense(X), dense(Y), start)
    found = fitted(losses, solver, dense(X), STORES[store](Y), start)
    assert_close(found, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("solver", "losses"), CASES)
def test_weights_agree_however_they_are_given(solver, losses):
    """Weights of rows and columns, structured or spelt out cell by cell."""
    X, Y, start = count_problem()
    rng = np.random.default_rng(1)
    rows, columns = rng.exponential(size=len(X)), rng.exponential(size=X.shape[1])
    by_storage = {
        name: fitted(losses, solver, STORES[name](X).weighted(rows, columns), dense(Y), start)
        for name in STORAGES
    }
    assert_close(by_storage["sparse"], by_storage["dense"], rtol=1e-8, atol=1e-10)
    spelt = fitted(losses, solver, observe(X, rows[:, None] * columns), dense(Y), start)
    assert_close(by_storage["masked"], spelt, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(("solver", "losses"), CASES)
def test_integer_sample_weights_are_repeated_rows(solver, losses, storage):
    X, Y, start = count_problem()
    counts = np.arange(len(X)) % 3 + 1
    store = STORES[storage]
    weighted = fitted(losses, solver, store(X), dense(Y), start, counts=counts.astype(float))
    again = np.repeat(np.arange(len(X)), counts)
    long_start = replace(start, samples=start.samples[again])
    repeated = fitted(losses, solver, store(X[again]), dense(Y[again]), long_start)
    weighted = replace(weighted, samples=weighted.samples[again])
    assert_close(weighted, repeated, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("solver", "losses"), CASES)
def test_permuted_rows_permute(solver, losses):
    X, Y, start = count_problem()
    order = np.random.default_rng(2).permutation(len(X))
    plain = fitted(losses, solver, sparse(sp.csr_array(X)), dense(Y), start)
    found = fitted(
        losses,
        solver,
        sparse(sp.csr_array(X[order])),
        dense(Y[order]),
        replace(start, samples=start.samples[order]),
    )
    expected = replace(plain, samples=plain.samples[order])
    assert_close(found, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(("solver", "losses"), CASES)
def test_float32_is_close_to_float64(solver, losses, storage):
    X, Y, start = count_problem()
    store = STORES[storage]
    X, Y, start = X.astype(np.float32), Y.astype(np.float32), start.map(np.float32)
    single = fitted(losses, solver, store(X), dense(Y), start)
    assert all(V.dtype == np.float32 for V in single.each())
    wide = start.map(np.float64)
    double = fitted(losses, solver, store(X.astype(float)), dense(Y.astype(float)), wide)
    assert_close(single, double, rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_nothing_that_is_passed_in_is_changed(solver):
    X, Y, start = count_problem()
    before = [array.copy() for array in (X, Y, *start.each())]
    fitted((oracles.KL, oracles.FROBENIUS), solver, dense(X), dense(Y), start)
    for array, copy in zip((X, Y, *start.each()), before, strict=True):
        assert np.array_equal(array, copy)


@pytest.mark.parametrize("storage", STORAGES)
def test_cells_that_are_not_zero_are_those_of_the_matrix(storage):
    """In any storage, with missing cells where it has them; small values are not zero."""
    given = observed(np.random.default_rng(7), storage, (9, 6), weighted=False, spread=4.0)
    layout = given.engine.layout.nonzero()
    for i, row in enumerate(given.values * (given.weights > 0)):
        low, high = layout.start[i : i + 2]
        columns = layout.indices[layout.first[i] : layout.first[i] + high - low]
        assert np.array_equal(columns, np.flatnonzero(row))
        assert np.array_equal(layout.values[low:high], row[row > 0])


# ---------------------------------------------------------------- estimators


FORMS = {
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "untidy": lambda X: untidy(np.random.default_rng(0), X),
    "integer": lambda X: X.astype(np.int32),
    "weighted": np.asarray,
}


@pytest.mark.parametrize("form", [*FORMS])
@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_estimators_read_every_form_alike(loss, form):
    rng = np.random.default_rng(5)
    X = rng.poisson(1.0, (40, 12)).astype(float)
    X[:, 0] += 1.0
    y = rng.integers(0, 3, 40)
    options = {"data_loss": loss, "max_iter": 8, "tol": 0, "random_state": 0}
    weights = np.ones(X.shape) if form == "weighted" else None
    plain = SSNMFClassifier(4, **options).fit(X, y)
    model = SSNMFClassifier(4, **options).fit(FORMS[form](X), y, data_weights=weights)
    np.testing.assert_allclose(model.components_, plain.components_, rtol=1e-7, atol=1e-9)
    S = model.transform(FORMS[form](X), data_weights=weights)
    np.testing.assert_allclose(S, plain.transform(X), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
def test_counts_of_every_dtype(dtype, as_sparse):
    """Sums of squares do not overflow the counts' type."""
    X = np.random.default_rng(6).poisson(30.0, (30, 10)).clip(0, 127)
    given = X.astype(dtype)
    given = sp.csr_array(given) if as_sparse else given
    model, plain = (
        NMF(2, data_loss="frobenius", max_iter=10, tol=0, random_state=0).fit(Z)
        for Z in (given, X.astype(float))
    )
    close = 1e-4 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(model.components_, plain.components_, rtol=close)


@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_drawn_problems_have_missing_cells_that_do_not_matter(loss):
    """What stands in a cell of weight 0 has no effect: numbers or NaN."""
    problem = draw(9, (loss, loss), "masked", shape=(8, 7, 0, 2))
    hidden = problem.data.weights == 0
    assert hidden.any()
    results = []
    for filling in (np.nan, 0.0, 7.0):
        X = np.where(hidden, filling, problem.data.values)
        data = replace(problem.data, engine=observe(X, problem.data.weights))
        results.append(replace(problem, data=data).run(MultiplicativeUpdates(), 5).factors)
    assert_close(results[1], results[0], rtol=0)
    assert_close(results[2], results[0], rtol=0)


def test_a_known_transpose_is_kept_by_shifts_only():
    X = np.random.default_rng(5).random((4, 3))
    columns = dense(X.T)
    rows = both_ways(dense(X), columns)
    assert rows.transposed is columns
    shifted = rows.shifted(3)
    assert np.array_equal(shifted.transposed.layout.values, columns.layout.values / 8)
    weighted = rows.weighted(rows=np.arange(4.0))
    assert weighted.transposed is not columns
    assert np.array_equal(weighted.transposed.column_weights, np.arange(4.0))
