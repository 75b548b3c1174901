"""Odd data: a finite result, or one clear sentence; and the limits that have a known answer."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax

import oracles
from cofactor import NMF, Factors, SSNMFClassifier, SSNMFRegressor
from cofactor.divergences import DIVERGENCES, FLOOR
from cofactor.engine.fitting import minimise
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import observe
from cofactor.engine.threads import Threads
from cofactor.estimators.base import SOLVERS
from fits import LOSSES, PAIRS, every_model

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def make(kind, losses, solver, **parameters):
    given = {"n_components": 3, "max_iter": 15, "random_state": 0, **parameters}
    if kind is not NMF:
        given["target_loss"] = losses[1]
    return kind(data_loss=losses[0], solver=solver, **given)


def assert_usable(model, X):
    """Every number that the user can get is finite, and what must not be negative is not."""
    arrays = [model.components_, model.representation_, model.transform(X)]
    if hasattr(model, "target_components_"):
        arrays.append(model.target_components_)
        assert np.isfinite(model.predict(X).astype(float)).all()
    for array in arrays:
        assert np.isfinite(array).all()
        assert array.min() >= 0
    for values in model.history_.values():
        assert np.isfinite(values).all()
        assert len(values) == model.n_iter_
    if hasattr(model, "predict_proba"):
        assert_allclose(model.predict_proba(X).sum(axis=1), 1)


# --- limits with a known answer ------------------------------------------------------------------


@every_model
def test_without_labels_it_is_plain_nmf(X, losses, solver):
    plain = make(NMF, losses, solver).fit(X)
    for kind, y in (
        (SSNMFClassifier, np.full(60, -1)),
        (SSNMFClassifier, np.full((60, 2), np.nan)),
        (SSNMFRegressor, np.full(60, np.nan)),
    ):
        model = make(kind, losses, solver).fit(X, y)
        assert_array_equal(model.components_, plain.components_)
        assert_array_equal(model.representation_, plain.representation_)
        assert model.history_ == plain.history_
        assert not hasattr(model, "target_components_")
        assert_array_equal(model.transform(X), plain.transform(X))
        with pytest.raises(ValueError, match=r"without a single labelled .*fit it with"):
            model.predict(X)


def test_a_refit_without_labels_forgets_the_head(X, classes):
    model = SSNMFClassifier(3, random_state=0).fit(X, classes)
    model.fit(X, np.full(60, -1))
    assert not hasattr(model, "target_components_")
    assert not hasattr(model, "supervision_")
    with pytest.raises(ValueError, match="without a single labelled sample"):
        model.predict_proba(X)


@every_model
def test_without_supervision_the_topics_are_those_of_nmf(X, classes, losses, solver):
    model = make(SSNMFClassifier, losses, solver, supervision=0.0, init="random", max_iter=4)
    model.fit(X, classes)
    plain = make(NMF, losses, solver, init="random", max_iter=4).fit(X)
    if solver != "cd" or losses[0] == losses[1]:  # two losses share a number of inner sweeps
        assert_allclose(model.components_, plain.components_, rtol=1e-9, atol=1e-9)
    tolerance = 0.1 if solver == "cd" else 1e-9
    assert_allclose(model.history_["data"][-1], plain.history_["data"][-1], rtol=tolerance)
    assert model.history_["objective"] == model.history_["data"]
    assert_usable(model, X)


@pytest.fixture(scope="module")
def positive():
    """Small positive data, targets and factors: what every loss can read."""
    random = np.random.default_rng(1)
    X, Y = random.gamma(2, size=(12, 7)), random.gamma(2, size=(12, 2))
    start = Factors(*(random.uniform(0.5, 1.5, size=(rows, 3)) for rows in (12, 7, 2)))
    return X, Y, start


@every_model
def test_a_joint_fit_is_the_engine_and_nothing_else(positive, losses, solver):
    X, Y, start = positive
    model = make(
        SSNMFRegressor, losses, solver, init=start, head="joint", supervision=0.7, max_iter=6, tol=0
    ).fit(X, Y)
    data, target = (DIVERGENCES[name] for name in losses)
    objective = Objective(
        (
            Term("data", "features", observe(X), data),
            Term("target", "targets", observe(Y), target, 0.7),
        )
    )
    fit = minimise(objective, start, SOLVERS[solver], max_iter=6, threads=Threads())
    assert_allclose(model.representation_, fit.factors.samples, rtol=1e-6, atol=1e-9)
    assert_allclose(model.components_.T, fit.factors.features, rtol=1e-6, atol=1e-9)
    assert_allclose(model.target_components_.T, fit.factors.targets, rtol=1e-6, atol=1e-9)
    assert_allclose(model.history_["objective"], fit.history.objective, rtol=1e-7)


@pytest.mark.parametrize(
    ("update", "solver", "losses"),
    [(oracles.surrogate_updates, "mu", losses) for losses in PAIRS]
    + [(oracles.paper_updates, "mu-paper", losses) for losses in PAIRS if LOSSES[2] not in losses],
    ids=lambda value: getattr(value, "__name__", None) or "-".join(np.atleast_1d(value)),
)
def test_multiplicative_fits_are_those_of_the_oracle(positive, update, solver, losses):
    X, Y, start = positive
    model = make(
        SSNMFRegressor, losses, solver, init=start, head="joint", supervision=0.7, max_iter=6, tol=0
    ).fit(X, Y)
    S, A, B = start.each()
    A, B, S, history = update(
        X, A, S, Y, B, data_loss=losses[0], target_loss=losses[1], lam=0.7, n_iter=6
    )
    assert_allclose(model.representation_, S, rtol=1e-6)
    assert_allclose(model.components_.T, A, rtol=1e-6)
    assert_allclose(model.target_components_.T, B, rtol=1e-6)
    assert_allclose(model.history_["objective"], history, rtol=1e-7)


# --- odd data ------------------------------------------------------------------------------------


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("kind", [NMF, SSNMFClassifier, SSNMFRegressor])
@pytest.mark.parametrize("shape", [(4, 3, 5), (1, 6, 3), (6, 1, 3), (1, 1, 1)])
def test_more_topics_than_samples_or_features(X, classes, kind, losses, solver, shape):
    n, m, rank = shape
    model = make(kind, losses, solver, n_components=rank, max_iter=5)
    model.fit(X[:n, :m] + 1e-3, classes[:n])
    assert model.components_.shape == (rank, m)
    assert_usable(model, X[:n, :m])


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_empty_documents_and_words(X, classes, losses, solver, form):
    holed = np.array(X)
    holed[::7] = 0
    holed[:, 3] = 0
    holed = form(holed)
    for kind in (NMF, SSNMFClassifier, SSNMFRegressor):
        model = make(kind, losses, solver).fit(holed, classes)
        assert_usable(model, holed)
        if losses[0] != "itakura-saito":  # which reads a zero as a small number
            assert model.components_[:, 3].max() < 1e-6 * model.components_.max()
            assert model.transform(holed)[0].max() < 1e-6 * model.transform(holed).max()


def test_an_empty_document_gets_every_class_alike(X, classes):
    model = SSNMFClassifier(3, head="refit", random_state=0).fit(X, classes)
    assert_allclose(model.predict_proba(np.zeros((1, 12))), np.full((1, 3), 1 / 3))


def test_an_empty_document_gets_the_base_scores(X, classes):
    X = np.where(np.quantile(X, 0.8) < X, X + 0.5, 0.0)  # sparse, as texts are
    model = SSNMFClassifier(3, random_state=0).fit(X, classes)
    assert model.pooled_head.view.kind == "rows"
    expected = softmax(model.pooled_head.base)
    assert_allclose(model.predict_proba(np.zeros((1, 12)))[0], expected, rtol=1e-12)


@every_model
def test_data_of_nothing_but_zeros(X, classes, losses, solver):
    nothing = np.zeros((60, 12))
    for kind in (NMF, SSNMFClassifier, SSNMFRegressor):
        model = make(kind, losses, solver).fit(nothing, classes)
        assert_usable(model, nothing)
        assert np.isfinite(model.transform(X[:3])).all()


@every_model
@pytest.mark.parametrize("dead", ["samples", "features", "targets", "all three"])
def test_dead_topics(X, classes, losses, solver, dead):
    random = np.random.default_rng(2)
    start = {
        name: random.uniform(0.5, 1.5, size=(rows, 3))
        for name, rows in (("samples", 60), ("features", 12), ("targets", 3))
    }
    for name in start if dead == "all three" else [dead]:
        start[name][:, 1] = 0
    model = make(SSNMFClassifier, losses, solver, init=Factors(**start)).fit(X, classes)
    assert_usable(model, X)
    assert model.history_["objective"][-1] < model.history_["objective"][0]


@every_model
def test_a_single_class(X, losses, solver):
    model = make(SSNMFClassifier, losses, solver).fit(X, np.where(np.arange(60) < 20, 7, -1))
    assert_usable(model, X)
    assert_array_equal(model.predict(X), 7)
    assert_array_equal(model.predict_proba(X), 1.0)


@every_model
def test_constant_numbers(X, losses, solver):
    for value in (0.0, 5.0, -5.0):
        model = make(SSNMFRegressor, losses, solver).fit(X, np.full(60, value))
        assert_usable(model, X)
        assert np.median(np.abs(model.predict(X) - value)) < 2.5


@pytest.mark.parametrize("weight", ["sample_weight", "target_weights"])
@pytest.mark.parametrize("init", ["auto", "random"])
def test_a_class_without_weight_stays_a_class(X, classes, weight, init):
    weights = {weight: np.where(classes == 2, 0.0, 1.0)}
    model = SSNMFClassifier(3, init=init, random_state=0).fit(X, classes, **weights)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert model.target_components_.shape == (3, 3)
    assert_usable(model, X)
    seen = classes < 2
    assert_array_equal(model.predict(X)[seen], classes[seen])
    assert model.predict_proba(X)[seen, 2].max() < 0.2


@pytest.mark.parametrize("y", [np.array([5] * 60), np.array(["new"] * 60), np.full(60, 5.0)])
def test_a_class_that_the_fit_has_not_seen_is_never_right(X, classes, y):
    labels = np.array(["a", "b", "c"])[classes] if y.dtype.kind == "U" else classes
    model = SSNMFClassifier(3, random_state=0).fit(X, labels)
    y = np.where(np.arange(60) < 15, labels, y)
    assert model.score(X, y) == pytest.approx(0.25)


def test_more_classes_than_topics(X):
    y = np.arange(60) % 12
    model = SSNMFClassifier(3, random_state=0).fit(X, y)
    assert_usable(model, X)
    assert model.predict_proba(X).shape == (60, 12)


def test_as_many_classes_as_samples(X):
    model = SSNMFClassifier(3, random_state=0).fit(X, np.arange(60))
    assert_usable(model, X)
    assert model.target_components_.shape == (3, 60)


def test_zeros_under_itakura_saito_are_read_as_a_small_share_of_the_largest(X):
    """d(0, p) is infinite: a zero stands for FLOOR in units of the data."""
    largest = 2.0 ** np.ceil(np.log2(X.max()))
    floored = np.maximum(X, FLOOR * largest)
    parameters = {"data_loss": "itakura-saito", "random_state": 0, "max_iter": 5, "tol": 0}
    model = NMF(3, **parameters).fit(X)
    expected = oracles.objective(
        floored, None, model.components_.T, None, model.representation_, data_loss="itakura-saito"
    )
    assert model.history_["objective"][-1] == pytest.approx(expected.total, rel=1e-6)
