"""What must not change a fit: order, storage, repeats, threads, the global random state."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from cofactor import NMF, SSNMFClassifier
from cofactor.priors import L1
from fits import PAIRS, arrays, assert_same_bits, differ, every_kind, every_model, make

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("n_components", [3, 5])
def test_a_class_that_does_not_count_gets_no_topic(X, classes, n_components):
    """Samples of weight 0 are as good as absent, even if a whole class goes."""
    counts = (classes != 1).astype(float)
    model = make(SSNMFClassifier, n_components=n_components).fit(X, classes, sample_weight=counts)
    kept = counts > 0
    without = make(SSNMFClassifier, n_components=n_components).fit(X[kept], classes[kept])
    assert_array_equal(model.classes_, [0, 1, 2])
    assert_allclose(model.components_, without.components_, rtol=1e-6, atol=1e-9)
    assert_array_equal(model.predict(X), without.predict(X))


@pytest.mark.slow
@every_kind
@every_model
def test_storages_agree(X, classes, kind, losses, solver):
    model = make(kind, losses, solver).fit(X, classes)
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array, pd.DataFrame):
        given = form(X)
        other = make(kind, losses, solver).fit(given, classes)
        for name, array in arrays(model).items():
            assert_allclose(arrays(other)[name], array, rtol=1e-6, atol=1e-8, err_msg=str(form))
        assert_allclose(other.history_["objective"], model.history_["objective"], rtol=1e-9)


@every_kind
def test_memory_order_changes_no_bit(X, classes, kind):
    model = make(kind).fit(X, classes)
    wide = np.zeros((60, 24))
    wide[:, ::2] = X
    for other in (np.asfortranarray(X), wide[:, ::2], X[::-1][::-1], X.tolist()):
        assert_same_bits(make(kind).fit(other, classes), model)


@every_kind
@pytest.mark.parametrize("init", ["auto", "random", "nndsvd"])
def test_permuted_samples_permute(X, classes, kind, init):
    order = np.random.default_rng(1).permutation(60)
    model = make(kind, init=init).fit(X, classes)
    permuted = make(kind, init=init).fit(X[order], classes[order])
    assert_allclose(permuted.components_, model.components_, rtol=1e-6, atol=1e-8)
    assert_allclose(permuted.representation_, model.representation_[order], rtol=1e-6, atol=1e-8)


@every_kind
@pytest.mark.parametrize("losses", PAIRS[::4], ids="-".join)
@pytest.mark.parametrize("priors", [None, {"samples": L1(0.1)}], ids=["no prior", "prior"])
def test_doubled_samples_give_the_same_topics(X, classes, kind, losses, priors):
    """From a random start; the class-wise one counts pseudo-labels, of which there are no more."""
    parameters = {"priors": priors, "init": "random"}
    once = make(kind, losses, **parameters).fit(X, classes)
    twice = make(kind, losses, **parameters).fit(np.vstack([X, X]), np.r_[classes, classes])
    assert_allclose(twice.components_, once.components_, rtol=1e-6, atol=1e-8)
    assert_allclose(twice.representation_[60:], once.representation_, rtol=1e-6, atol=1e-8)
    assert_allclose(
        twice.history_["objective"], 2 * np.array(once.history_["objective"]), rtol=1e-9
    )


@every_kind
@pytest.mark.parametrize("init", ["auto", "random", "nndsvd", "labels"])
def test_same_seed_same_bits_other_seed_other_bits(X, classes, kind, init):
    if (kind, init) == (NMF, "labels"):
        init = "auto"
    models = [
        make(kind, init=init, n_components=7, random_state=seed).fit(X, classes)
        for seed in (1, 1, 2, np.random.RandomState(1))
    ]
    assert_same_bits(models[0], models[1])
    assert_same_bits(models[0], models[3])
    assert differ(models[0], models[2])


def test_global_random_state_is_neither_used_nor_changed(X, classes):
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    make(SSNMFClassifier).fit(X, classes)
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.slow
@every_model
def test_threads_change_no_bit(losses, solver):
    X = np.random.default_rng(4).poisson(1.0, size=(150, 20)).astype(float)
    y = np.arange(150) % 3
    one, two, three = (
        make(SSNMFClassifier, losses, solver, max_iter=3, n_jobs=n).fit(X, y) for n in (1, 2, 3)
    )
    assert_same_bits(one, two)
    assert_same_bits(one, three)
    assert_array_equal(one.transform(X[:40]), two.transform(X[:40]))
