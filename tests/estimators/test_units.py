"""The scale of the data: scaled data give the scaled fit, down to denormal numbers."""

from contextlib import nullcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from cofactor import NMF, Divergence, SSNMFClassifier, SSNMFRegressor
from cofactor.divergences import DIVERGENCES
from fits import PAIRS, arrays, every_kind, every_model, make

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def assert_scaled(model, scaled, c, rtol):
    """The topics carry the scale; everything else stays."""
    assert_allclose(scaled.components_, model.components_ * c, rtol=rtol, atol=rtol * 10 * abs(c))
    for name in ("representation_", "target_components_"):
        if hasattr(model, name):
            assert_allclose(getattr(scaled, name), getattr(model, name), rtol=rtol, atol=rtol)
    for values in scaled.history_.values():
        assert not np.isnan(values).any()


def readable(X, losses):
    """Data for the losses: Itakura–Saito reads zeros as something else, which has its own test."""
    return X + X.dtype.type(0.5) if losses[0] == "itakura-saito" else X


def told_if_small(solver, c):
    """Data that the paper's epsilon swamps are fitted with a warning, or rescaled if tiny."""
    if solver == "mu-paper" and 2.0**-100 < c < 1e-6:
        return pytest.warns(UserWarning, match=r"X is at most .*1e-10.*'mu-paper'.*scale it up")
    return nullcontext()


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("c", [1e-300, 1e-150, 1e-8, 1e8, 1e150, 1e300])
def test_scaled_data_give_the_scaled_fit(X, classes, losses, solver, c):
    X = readable(X, losses)
    known = np.where(np.arange(60) < 30, classes, -1)
    model = make(SSNMFClassifier, losses, solver, init="random").fit(X, known)
    with told_if_small(solver, c):
        scaled = make(SSNMFClassifier, losses, solver, init="random").fit(X * c, known)
    assert all(np.isfinite(array).all() for array in arrays(scaled).values())
    if solver == "mu-paper" and 1e-30 < c < 1e30:
        return  # the paper's epsilon is an absolute number
    assert_scaled(model, scaled, c, rtol=1e-5)
    assert_allclose(scaled.transform(X * c), model.transform(X), rtol=1e-4, atol=1e-4)
    assert_allclose(scaled.predict_proba(X * c), model.predict_proba(X), rtol=1e-3, atol=1e-4)


@every_model
@pytest.mark.parametrize("c", [1e-30, 1e-15, 1e15, 1e30])
def test_scaled_single_precision(X, classes, losses, solver, c):
    X, c = readable(X.astype(np.float32), losses), np.float32(c)
    model = make(SSNMFClassifier, losses, solver, init="random").fit(X, classes)
    with told_if_small(solver, c):
        scaled = make(SSNMFClassifier, losses, solver, init="random").fit(X * c, classes)
    assert scaled.components_.dtype == np.float32
    assert all(np.isfinite(array).all() for array in arrays(scaled).values())
    assert np.isfinite(scaled.predict_proba(X * c)).all()
    if solver == "mu-paper":
        return  # the paper's epsilon is an absolute number
    assert_scaled(model, scaled, float(c), rtol=1e-3)
    assert_allclose(scaled.predict_proba(X * c), model.predict_proba(X), rtol=0.01, atol=1e-3)


@every_kind
@pytest.mark.parametrize("init", ["auto", "random", "nndsvd"])
@pytest.mark.parametrize("c", [1.9, 1e-8])
def test_every_start_scales_with_the_data(X, classes, kind, init, c):
    model = make(kind, init=init).fit(X, classes)
    assert_scaled(model, make(kind, init=init).fit(X * c, classes), c, rtol=1e-6)


@pytest.mark.parametrize("c", [1.9, 2.0**-27])
def test_what_stands_for_a_zero_scales_with_the_data(X, c):
    model = make(NMF, ("itakura-saito",)).fit(X)
    assert_scaled(model, make(NMF, ("itakura-saito",)).fit(X * c), c, rtol=1e-6)


@pytest.mark.parametrize("exponent", [-1000, -500, -90, 90, 500, 1000])
@pytest.mark.parametrize("losses", PAIRS, ids="-".join)
def test_powers_of_two_change_no_bit(X, classes, losses, exponent):
    model = make(SSNMFClassifier, losses).fit(X, classes)
    scaled = make(SSNMFClassifier, losses).fit(np.ldexp(X, exponent), classes)
    assert_array_equal(scaled.representation_, model.representation_)
    assert_array_equal(scaled.target_components_, model.target_components_)
    assert_array_equal(scaled.components_, np.ldexp(model.components_, exponent))
    assert_array_equal(scaled.transform(np.ldexp(X, exponent)), model.transform(X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("losses", PAIRS, ids="-".join)
def test_denormal_data(X, classes, losses, dtype):
    """Counts in units of the smallest number there is: exact, so the fit is the same."""
    smallest = np.finfo(dtype).smallest_subnormal
    counts = X.astype(dtype)
    model = make(SSNMFClassifier, losses).fit(counts, classes)
    tiny = make(SSNMFClassifier, losses).fit(counts * smallest, classes)
    assert_array_equal(tiny.representation_, model.representation_)
    assert_array_equal(tiny.target_components_, model.target_components_)
    assert np.isfinite(tiny.components_).all()
    assert_array_equal(tiny.predict(counts * smallest), model.predict(counts))


@pytest.mark.parametrize("losses", PAIRS, ids="-".join)
@pytest.mark.parametrize("c", [1e-200, 2.0**-30, 2.0**30, 1e200])
@pytest.mark.parametrize("init", ["random", "auto"])
def test_scaled_targets_give_the_scaled_head(X, classes, losses, c, init):
    y = classes + 1.0
    model = make(SSNMFRegressor, losses, init=init).fit(X, y)
    scaled = make(SSNMFRegressor, losses, init=init).fit(X, y * c)
    assert_allclose(scaled.target_components_ / c, model.target_components_, rtol=1e-5, atol=1e-5)
    assert_allclose(scaled.components_, model.components_, rtol=1e-5, atol=1e-5)
    assert_allclose(scaled.predict(X) / c, model.predict(X), rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_counts_of_every_dtype(classes, dtype, form):
    """Large counts: sums and squares in the dtype itself would overflow."""
    top = (
        2
        if dtype is bool
        else min(np.iinfo(dtype).max if np.dtype(dtype).kind in "iu" else 2000, 60000)
    )
    X = np.random.default_rng(0).integers(0, top, size=(60, 12)).astype(dtype)
    for losses in (PAIRS[0], ("frobenius", "frobenius")):
        model = make(SSNMFClassifier, losses).fit(X if dtype == "f2" else form(X), classes)
        expected = make(SSNMFClassifier, losses).fit(form(X.astype(float)), classes)
        assert_allclose(model.components_, expected.components_, rtol=1e-4, atol=1e-3)
        assert_allclose(model.history_["objective"], expected.history_["objective"], rtol=1e-4)
        assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("losses", PAIRS[::4], ids="-".join)
@pytest.mark.parametrize("c", [1e-300, 1e-100, 1e-10, 1e10, 1e100, 1e300])
def test_new_data_of_another_scale(X, classes, losses, c):
    pooled = make(SSNMFClassifier, losses).fit(X, classes)  # standardises, so scale matters to it
    assert np.isfinite(pooled.predict_proba(X * c)).all()
    model = make(SSNMFClassifier, losses, head="refit").fit(X, classes)
    representation, probabilities = model.transform(X * c), model.predict_proba(X * c)
    assert np.isfinite(representation).all()
    assert np.isfinite(probabilities).all()
    if losses[0] != "itakura-saito":  # whose zeros are read in units of the training data
        expected = model.transform(X)
        assert_allclose(representation / c, expected, rtol=1e-4, atol=1e-4 * expected.max())
        assert_allclose(probabilities, model.predict_proba(X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("losses", PAIRS[::4], ids="-".join)
@pytest.mark.parametrize("c", [1e-200, 1e200])
def test_a_sample_of_another_scale_leaves_the_others_alone(X, classes, losses, c):
    model = make(SSNMFClassifier, losses).fit(X, classes)
    together = np.array(X)
    together[7] *= c
    others = np.arange(60) != 7
    found = model.transform(together)
    assert_allclose(found[others], model.transform(X)[others], rtol=1e-9, atol=1e-12)
    assert_allclose(found[7] / c, model.transform(together[7:8])[0] / c, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("c", [1e-3, 1.0, 1e3])
def test_a_sum_of_divergences_keeps_the_units_of_the_data(c):
    """Its parts weigh as they were given, at any scale; the objective is that of its cells."""
    loss = Divergence("sum", 1, log=1.0, up=1.0, down=0.2, square=0.2, inverse=0.1, concave=0.1)
    assert not loss.homogeneous
    assert all(each.homogeneous for each in DIVERGENCES.values())
    rng = np.random.default_rng(0)
    X = c * (rng.random((20, 2)) @ rng.random((2, 7)) + 0.1)
    y = X[:, 0]
    for model in (NMF(2, data_loss=loss), SSNMFRegressor(2, target_loss=loss, head="joint")):
        model.set_params(random_state=0, max_iter=20, tol=0).fit(X, y)
        S, A = model.representation_, model.components_
        data = loss if isinstance(model, NMF) else DIVERGENCES["kullback-leibler"]
        expected = data.value(X, S @ A).sum()
        assert model.history_["data"][-1] == pytest.approx(expected, rel=1e-6)
        if not isinstance(model, NMF):
            Y = (y - model.coding.offset)[:, None]
            expected = loss.value(Y, S @ model.target_components_).sum()
            assert model.history_["target"][-1] == pytest.approx(expected, rel=1e-6)
