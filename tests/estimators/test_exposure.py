"""exposure="total": the total of a sample is a scale, not information."""

import numpy as np
import pytest

from cofactor import Divergence, Factors, RowBlocks, SSNMFClassifier, SSNMFRegressor
from cofactor.engine.observations import observe
from cofactor.estimators.exposure import exposures, totals

SUM = Divergence("sum", 1, log=1.0, up=1.0, down=0.2, square=0.2, inverse=0.1, concave=0.1)


def made(seed=0, n=240, m=30, types=3, dispersion=8.0):
    """Counts of classes whose totals differ by a factor of 30; every fourth is labelled."""
    random = np.random.default_rng(seed)
    y = random.integers(types, size=n)
    profiles = np.tile(np.exp(random.normal(size=m)), (types, 1))
    for c in range(types):
        profiles[c, 5 * c : 5 * c + 5] *= 6.0
    sizes = np.exp(random.uniform(np.log(20), np.log(600), n))
    mean = sizes[:, None] * (profiles / profiles.sum(axis=1, keepdims=True))[y]
    X = random.poisson(random.gamma(dispersion, mean / dispersion)).astype(float)
    return X, y, np.where(np.arange(n) % 4, -1, y)


@pytest.mark.parametrize("losses", [("kullback-leibler",) * 2, ("kullback-leibler", "frobenius")])
def test_it_is_the_model_of_divided_data_with_weights(losses):
    X, _, y = made()
    c = X.sum(axis=1) / X.sum(axis=1).mean()
    random = np.random.default_rng(1)
    S, A, B = (random.uniform(0.5, 1, shape) for shape in ((240, 4), (30, 4), (3, 4)))
    settings = {
        "data_loss": losses[0],
        "target_loss": losses[1],
        "supervision": 3.0,
        "head": "joint",
        "solver": "mu",
        "max_iter": 5,
        "tol": 0,
    }
    ours = SSNMFClassifier(4, exposure="total", init=Factors(S * c[:, None], A, B), **settings)
    same = SSNMFClassifier(4, init=Factors(S, A, B), **settings)
    ours.fit(X, y)
    same.fit(X / c[:, None], y, data_weights=c[:, None])
    assert np.allclose(ours.components_, same.components_, rtol=1e-6)
    assert np.allclose(ours.target_components_, same.target_components_, rtol=1e-6)
    assert np.allclose(ours.representation_, same.representation_ * c[:, None], rtol=1e-6)
    assert np.allclose(ours.history_["target"], same.history_["target"], rtol=1e-6)


def told_apart(exposure, seed):
    """Return the share of samples whose topics, two of each class, name their class."""
    X, truth, y = made(seed, n=400, m=60, types=5, dispersion=1.0)
    model = SSNMFClassifier(10, exposure=exposure, random_state=0).fit(X, y)
    mass = model.components_.sum(axis=1)
    own = (model.target_components_ / mass[:, None]).argmax(axis=1)
    use = model.transform(X) * mass
    by_class = np.stack([use[:, own == c].sum(axis=1) for c in range(5)])
    return np.mean(by_class.argmax(axis=0) == truth)


def test_topics_of_a_class_do_not_tell_short_samples_from_long_ones():
    found, without = (np.mean([told_apart(e, s) for s in (0, 2)]) for e in ("total", None))
    assert found > 0.8
    assert found > without + 0.08


@pytest.mark.parametrize("head", ["pooled", "refit", "joint"])
def test_probabilities_do_not_depend_on_the_depth(head):
    X, _, y = made()
    model = SSNMFClassifier(4, exposure="total", head=head, random_state=0).fit(X, y)
    assert np.allclose(model.predict_proba(X), model.predict_proba(8 * X), atol=1e-6)


def test_blocks_add_up_to_one_block(tmp_path):
    X, _, y = made()
    model = SSNMFClassifier(4, exposure="total", solver="mu", head="joint", random_state=0)
    one = model.fit(RowBlocks.split(X, y, rows=240)).components_
    many = model.fit(RowBlocks.split(X, y, rows=70)).components_
    assert np.allclose(many, one, rtol=1e-8)
    on_disk = RowBlocks.write(tmp_path / "blocks", [(X, y)], rows=70)
    assert np.array_equal(model.fit(on_disk).components_, many)


def test_streams_can_be_exposed():
    X, truth, y = made()
    model = SSNMFClassifier(4, exposure="total", random_state=0)
    for part in range(0, 240, 80):
        model.partial_fit(X[part : part + 80], y[part : part + 80], classes=[0, 1, 2])
    assert np.mean(model.predict(X) == truth) > 0.9


def test_empty_samples_do_not_count():
    X, _, y = made()
    X[0] = 0
    assert exposures(observe(X), totals(observe(X)).mean())[0] == 0
    first = SSNMFClassifier(3, exposure="total", head="joint", random_state=0)
    y[0] = 0
    one = first.fit(X, y).target_components_
    y[0] = 1
    assert np.allclose(one, first.fit(X, y).target_components_, rtol=0.05)


@pytest.mark.parametrize("kind", ["classes", "sets"])
def test_predictions_do_not_depend_on_the_total(kind):
    random = np.random.default_rng(0)
    X = random.poisson(3.0 + 9.0 * (np.arange(12) % 3 == np.arange(60)[:, None] % 3)).astype(float)
    classes = np.arange(60) % 3
    y = classes if kind == "classes" else np.eye(3)[classes]
    model = SSNMFClassifier(3, exposure="total", random_state=0).fit(X, y)
    assert np.array_equal(model.predict(8 * X), model.predict(X))
    assert np.array_equal(model.predict(X), y)


@pytest.mark.parametrize(
    ("settings", "sets", "cell", "said"),
    [
        ({"head": "refit"}, True, 1.0, "head='refit' predicts labels that grow"),
        ({"head": "joint"}, True, 1.0, "head='joint' predicts labels that grow"),
        ({}, False, np.nan, "needs all cells of X"),
        ({"target_loss": SUM}, False, 1.0, "needs a target_loss of one degree"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_totals_that_are_no_scale_are_refused(settings, sets, cell, said, method):
    X, classes = np.ones((9, 4)), np.arange(9) % 3
    X[0, 0] = cell
    model = SSNMFClassifier(2, exposure="total", random_state=0, **settings)
    with pytest.raises(ValueError, match=said):
        getattr(model, method)(X, np.eye(3)[classes] if sets else classes)


def test_held_out_predictions_are_those_of_the_expected_score():
    X, truth, _ = made(n=600, m=60, types=5, dispersion=1.0)
    y = np.where(np.arange(600) % 6, -1, truth)
    model = SSNMFClassifier(5, exposure="total", random_state=0).fit(X, y)
    scores = model.held_out_predictions(X, y)
    tested = ~np.isnan(scores).any(axis=1)
    assert np.mean(scores[tested].argmax(axis=1) == y[tested]) == model.expected_score_.value


@pytest.mark.parametrize("kind", ["classes", "sets", "numbers"])
def test_held_out_predictions_count_the_samples_as_the_fit_did(kind):
    random = np.random.default_rng(0)
    X = random.random((400, 12))
    score = X[:, :4].sum(axis=1) - X[:, 4:8].sum(axis=1) + random.normal(scale=0.4, size=400)
    y = {"classes": score > 0.3, "numbers": score}.get(kind, np.c_[score > 0, score > 0.5])
    weights = random.choice([0.1, 1.0, 6.0], 400)
    make = SSNMFRegressor if kind == "numbers" else SSNMFClassifier
    y = np.asarray(y) * 1 if kind != "numbers" else y
    model = make(3, random_state=0, max_iter=3, tol=1.0).fit(X, y, sample_weight=weights)
    scores = model.held_out_predictions(X, y, sample_weight=weights)
    plain = model.held_out_predictions(X, y)
    assert np.nanmax(np.abs(scores - plain)) > 1e-3
    if kind == "classes":
        held, right = weights[rows := ~np.isnan(scores[:, 0])], scores.argmax(axis=1) == y
        assert np.average(right[rows], weights=held) == pytest.approx(model.expected_score_.value)
