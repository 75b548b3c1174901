"""Principal axes: those of numpy, the same for permuted samples, samples of mean square 1."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from cofactor.engine.threads import Threads
from cofactor.linear.axes import FURTHER_AXES, N_AXES, principal_axes
from cofactor.linear.views import Matrix


def samples(n=200, m=90, rank=30, noise=0.01, seed=0):
    random = np.random.default_rng(seed)
    strength = 0.8 ** np.arange(rank)
    return random.normal(size=(n, rank)) * strength @ random.normal(
        size=(rank, m)
    ) + noise * random.normal(size=(n, m))


def exact(X, counts):
    """Return softly standardised, centred samples and all their axes."""
    mean = np.average(X, axis=0, weights=counts)
    sd = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=counts))
    Z = (X - mean) / (sd + np.median(sd[sd > 0]))
    values, vectors = np.linalg.eigh((Z * counts[:, None]).T @ Z / counts.sum())
    return Z, vectors[:, ::-1][:, :N_AXES], values[::-1][:N_AXES]


@pytest.mark.parametrize("m", [8, N_AXES + FURTHER_AXES, 90])
@pytest.mark.parametrize("storage", [np.asarray, csr_array])
def test_samples_along_the_axes_are_those_of_numpy(m, storage):
    X = samples(m=m)
    X[np.abs(X) < 0.3] = 0.0
    counts = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    axes = principal_axes(Matrix(storage(X), Threads()), counts)
    found = axes.of(Matrix(storage(X), Threads())).values
    Z, vectors, values = exact(X, counts)
    first = min(m, 10)
    expected = (Z @ vectors)[:, :first] / np.sqrt(values.sum())
    signs = np.sign((found[:, :first] * expected).sum(axis=0))
    assert_allclose(found[:, :first], expected * signs, atol=2e-3)
    assert np.average((found**2).sum(axis=1), weights=counts) == pytest.approx(1.0)
    assert_allclose(counts @ found, 0.0, atol=1e-9)


def test_repeated_samples_are_weights():
    X = samples(n=60)
    counts = np.random.default_rng(1).integers(1, 4, len(X))
    weighted = principal_axes(Matrix(X, Threads()), counts.astype(float))
    repeated = np.repeat(X, counts, axis=0)
    plain = principal_axes(Matrix(repeated, Threads()), np.ones(len(repeated)))
    assert_allclose(weighted.basis, plain.basis, atol=1e-6)


def test_columns_that_do_not_vary_are_no_axes():
    X = samples(n=50, m=6)
    X[:, 2], X[:, 4] = 3.0, X[:, 1]
    axes = principal_axes(Matrix(X, Threads()), np.ones(50))
    assert axes.basis.shape == (6, 4)
    assert not axes.basis[2].any()
    still = principal_axes(Matrix(np.ones((3, 4)), Threads()), np.ones(3))
    assert not still.of(Matrix(np.ones((2, 4)), Threads())).values.any()


def test_threads_do_not_change_a_bit():
    X = csr_array(np.maximum(samples(n=400, m=300), 0.0))
    one, four = (
        principal_axes(Matrix(X, workers), np.ones(400)).basis
        for workers in (Threads(1), Threads(4))
    )
    assert np.array_equal(one, four)
