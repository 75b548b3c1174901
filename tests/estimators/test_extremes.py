"""Extreme weights, priors and scales: the same model in other units, or one clear error."""

import numpy as np
import pytest

from cofactor import NMF, SSNMFClassifier, SSNMFRegressor, priors

LOSSES = ["kullback-leibler", "frobenius", "itakura-saito"]
FACTORS = [3.0, 1e-9, 1e9, 1e-30, 1e200, 1e299, 1e-299]
FINITE = "numbers that are not finite"


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    X = random.gamma(1.0, 1.0, (40, 20))
    X[random.random(X.shape) < 0.2] = 0.0
    return X, random.integers(0, 3, 40)


def nmf(X, loss, **given):
    return NMF(3, data_loss=loss, random_state=0, max_iter=30, tol=0.0).fit(X, **given)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("form", ["cells", "rows", "columns"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_factor_of_all_data_weights_changes_only_the_objective(data, loss, form, factor):
    X, _ = data
    shape = {"cells": X.shape, "rows": (len(X), 1), "columns": (1, X.shape[1])}[form]
    plain, weighted = nmf(X, loss), nmf(X, loss, data_weights=np.full(shape, factor))
    scale = plain.components_.max()
    np.testing.assert_allclose(weighted.components_, plain.components_, rtol=0, atol=1e-9 * scale)
    expected = np.multiply(plain.history_["objective"], factor)
    np.testing.assert_allclose(weighted.history_["objective"], expected, rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-250, 1e250])
@pytest.mark.parametrize("estimator", [SSNMFClassifier, SSNMFRegressor])
def test_a_factor_of_all_target_weights_divides_the_supervision(data, estimator, factor):
    X, y = data
    X = X + 0.01
    make = {"random_state": 0, "max_iter": 30, "tol": 0.0, "init": "random"}
    plain = estimator(3, supervision=2.0, **make).fit(X, y)
    weighted = estimator(3, supervision=2.0 / factor, **make).fit(
        X, y, target_weights=np.full(len(X), factor)
    )
    np.testing.assert_allclose(weighted.components_, plain.components_, rtol=1e-7)
    np.testing.assert_allclose(
        weighted.history_["objective"], plain.history_["objective"], rtol=1e-9
    )


@pytest.mark.parametrize("factor", [1e-200, 1e200, 1e290])
def test_a_factor_of_all_sample_weights_changes_only_the_objective(data, factor):
    X, y = data
    make = {"random_state": 0, "max_iter": 30, "tol": 0.0, "init": "random"}
    plain = SSNMFClassifier(3, **make).fit(X, y)
    weighted = SSNMFClassifier(3, **make).fit(X, y, sample_weight=np.full(len(X), factor))
    np.testing.assert_allclose(weighted.components_, plain.components_, rtol=1e-7)
    expected = np.multiply(plain.history_["objective"], factor)
    np.testing.assert_allclose(weighted.history_["objective"], expected, rtol=1e-9)


def test_weights_of_samples_and_cells_leave_priors_their_meaning(data):
    """All weights and all priors times one factor: the same model."""
    X, y = data
    for factor in (1e-150, 7.0, 1e150):
        models = [
            SSNMFClassifier(
                3,
                random_state=0,
                max_iter=30,
                tol=0.0,
                supervision=1.0,
                init="random",
                priors={
                    "samples": priors.L1(0.1),
                    "features": priors.L2(c),
                    "targets": priors.L1(c),
                },
            ).fit(X, y, sample_weight=np.full(len(X), c))
            for c in (1.0, factor)
        ]
        np.testing.assert_allclose(models[1].components_, models[0].components_, rtol=1e-7)
        cells = NMF(
            3, random_state=0, max_iter=30, tol=0.0, priors={"samples": priors.L1(factor)}
        ).fit(X, data_weights=np.full(X.shape, factor))
        plain = NMF(
            3, random_state=0, max_iter=30, tol=0.0, priors={"samples": priors.L1(1.0)}
        ).fit(X)
        np.testing.assert_allclose(cells.components_, plain.components_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(
            cells.transform(X, data_weights=np.full(X.shape, factor)),
            plain.transform(X),
            rtol=1e-5,
            atol=1e-9,
        )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("weight", [1e-299, 1e150, 1e299])
@pytest.mark.parametrize("prior", [priors.L1, priors.L2, lambda c: priors.GammaPrior(1 + c, c)])
@pytest.mark.parametrize("factor", ["samples", "features", "targets"])
def test_extreme_priors_give_a_finite_model_or_an_error(data, factor, prior, weight):
    X, y = data
    model = SSNMFClassifier(3, random_state=0, max_iter=10, priors={factor: prior(weight)})
    try:
        model.fit(X, y)
    except ValueError as error:
        assert FINITE in str(error)  # noqa: PT017
    else:
        for name in ("components_", "representation_", "target_components_"):
            assert np.isfinite(getattr(model, name)).all()
        assert np.isfinite(model.history_["objective"]).all()


def test_a_missing_cell_does_not_change_the_other_rows():
    random = np.random.default_rng(0)
    X = random.gamma(1.0, 1.0, (30, 12))
    for loss in LOSSES:
        model = NMF(3, data_loss=loss, random_state=0, max_iter=30, tol=0.0).fit(X)
        Y = X.copy()
        Y[7, 3] = np.nan
        others = np.arange(len(X)) != 7
        np.testing.assert_array_equal(model.transform(Y)[others], model.transform(X)[others])
        np.testing.assert_array_equal(model.transform(Y)[[7]], model.transform(Y[[7]]))


def test_a_row_of_missing_cells_is_named():
    X = np.ones((4, 3))
    model = NMF(1, random_state=0).fit(X)
    X[1, 0] = X[2] = np.nan
    with pytest.raises(ValueError, match="first is row 2"):
        model.transform(X)


def test_data_that_have_no_finite_representation_are_refused():
    X = np.random.default_rng(0).gamma(1.0, 1.0, (20, 6))
    model = NMF(2, random_state=0).fit(X * 1e-300)
    with pytest.raises(ValueError, match="scale X like the training data"):
        model.transform(X * 1e100)


@pytest.mark.filterwarnings("ignore")
def test_a_result_that_is_not_finite_is_an_error(data):
    X, y = data
    prior = {"features": priors.GammaPrior(1e160, 1.0)}
    model = SSNMFClassifier(3, data_loss="itakura-saito", random_state=0, priors=prior)
    with pytest.raises(ValueError, match=FINITE):
        model.fit(X, y)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("weights", [(30, 1), (1, 12)])
def test_a_missing_cell_does_not_change_other_rows_with_weights(weights):
    random = np.random.default_rng(0)
    X, W = random.gamma(1.0, 1.0, (30, 12)), random.uniform(0.5, 2.0, weights)
    model = NMF(3, data_loss="frobenius", random_state=0, max_iter=30, tol=0.0).fit(X)
    Y = X.copy()
    Y[7, 3] = np.nan
    others = np.arange(len(X)) != 7
    found, plain = (model.transform(Z, data_weights=W) for Z in (Y, X))
    np.testing.assert_array_equal(found[others], plain[others])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("init", ["auto", "random"])
def test_the_largest_numbers_give_a_finite_model_or_an_error(data, init):
    X, y = data
    largest = np.finfo(float).max
    weights = {
        "sample_weight": np.full(len(X), largest),
        "target_weights": np.full(len(X), largest),
    }
    for name, weight in weights.items():
        model = SSNMFClassifier(3, random_state=0, max_iter=5, init=init)
        model.fit(X, y, **{name: weight})
        assert np.isfinite(model.components_).all()
    big = X[:, 0] * 1e307 / X[:, 0].max()
    model = SSNMFRegressor(3, random_state=0, max_iter=5, init=init).fit(X, big)
    assert np.isfinite(model.predict(X)).all()
    whole = np.random.default_rng(0).random((8, 5)) * 1.79e308
    with pytest.raises(ValueError, match=FINITE):
        NMF(2, init="nndsvd", random_state=0).fit(whole)


@pytest.mark.filterwarnings("ignore")
def test_a_batch_that_is_not_finite_leaves_a_stream_as_it_was(data):
    X, y = data
    model = SSNMFClassifier(3, random_state=0).partial_fit(X, y)
    before = model.components_.copy()
    with pytest.raises(ValueError, match=FINITE):
        model.partial_fit(X, y, sample_weight=np.full(len(X), 5e-324))
    np.testing.assert_array_equal(model.components_, before)
    assert model.n_samples_seen_ == len(X)
    assert not hasattr(model.fit(X, y), "n_samples_seen_")
