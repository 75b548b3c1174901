"""The parameter class_weight: the objective, guesses and heads follow it, however rows arrive."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.estimator_checks import check_class_weight_classifiers

from cofactor import SSNMFClassifier, load_model
from cofactor.engine.observations import observe
from cofactor.engine.threads import Threads
from cofactor.io.models import save
from cofactor.linear.pool import PartlyLabelled, fit_pool
from cofactor.outofcore import RowBlocks
from complaints import assert_says

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
K, M, N = 3, 60, 240
RANDOM = np.random.default_rng(0)
THEMES = RANDOM.dirichlet(np.full(M, 0.1), size=K) * 0.4 + 0.6 * RANDOM.dirichlet(np.ones(M))
TRUTH = RANDOM.choice(K, p=[0.5, 0.3, 0.2], size=N)
X = np.stack([RANDOM.multinomial(15, THEMES[c]) for c in TRUTH]).astype(float)
MANY, SOME, ONE = (np.flatnonzero(c == TRUTH) for c in range(K))
RARE = np.full(N, -1)
RARE[MANY[:60]], RARE[SOME[:40]], RARE[ONE[:2]] = 0, 1, 2
WEIGHTS = {0: 1.0, 1: 2.0, 2: 8.0}


def fit(y=RARE, class_weight=None, data=X, **options):
    options = {"random_state": 0, "max_iter": 15, **options}
    given = {name: options.pop(name) for name in ("sample_weight",) if name in options}
    return SSNMFClassifier(K, class_weight=class_weight, **options).fit(data, y, **given)


@pytest.mark.parametrize("head", ["joint", "refit"])
def test_the_objective_is_that_of_target_weights(head):
    """Both heads see nothing but the objective, if the start is random."""
    options = {"head": head, "init": "random", "random_state": 0, "max_iter": 15}
    own = np.array([WEIGHTS.get(label, 1.0) for label in RARE.tolist()])
    for loss in ("kullback-leibler", "frobenius"):
        model = SSNMFClassifier(K, target_loss=loss, **options)
        expected = model.fit(X, RARE, target_weights=own)
        found = fit(class_weight=WEIGHTS, target_loss=loss, head=head, init="random")
        assert_array_equal(found.history_["objective"], expected.history_["objective"])
        assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def test_balanced_is_a_dict():
    known = RARE >= 0
    counts = np.random.default_rng(1).integers(1, 4, size=N).astype(float)
    for weight in (None, counts):
        some = None if weight is None else weight[known]
        classes = np.arange(K)
        values = compute_class_weight(
            "balanced", classes=classes, y=RARE[known], sample_weight=some
        )
        named = fit(class_weight=dict(enumerate(values)), sample_weight=weight)
        found = fit(class_weight="balanced", sample_weight=weight)
        assert_allclose(found.predict_proba(X), named.predict_proba(X), rtol=1e-6)


def test_weights_of_one_change_nothing():
    ones = dict.fromkeys(range(K), 1)
    assert_allclose(fit().predict_proba(X), fit(class_weight=ones).predict_proba(X), rtol=1e-9)


def test_regression_and_shares_of_the_pool_see_repeated_labels():
    """Softmax regression with weights is that of repeated labels; dense data have no other part."""
    data, labelled = observe(np.sqrt(X) + 0.5), np.ones(N, dtype=bool)
    shares, ones = np.eye(K)[TRUTH], np.ones(N)
    factor = np.array([1.0, 2.0, 8.0])[TRUTH]
    given = PartlyLabelled(data, ones, shares, labelled)
    found, _ = fit_pool(replace(given, importance=factor), Threads())
    plain, _ = fit_pool(given, Threads())
    assert list(found.parts) == ["softmax"]
    assert found.expected.n_samples == plain.expected.n_samples == N
    weighted = found.model.base - plain.model.base
    assert weighted[2] - weighted[0] > 0.5 * found.parts["softmax"]


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("head", ["pooled", "refit"])
def test_a_class_of_two_labels_is_found(kind, head):
    def recall(weight):
        found = fit(class_weight=weight, data=kind(X), head=head).predict(kind(X))
        return [np.mean(found[c == TRUTH] == c) for c in range(K)]

    plain, balanced = recall(None), recall("balanced")
    assert balanced[2] > max(0.7, plain[2] + 0.2)
    assert min(balanced[:2]) > 0.7


def test_the_expected_score_counts_labels_alike():
    plain, weighted = fit(), fit(class_weight={0: 1.0, 1: 1.0, 2: 1000.0})
    held = weighted.expected_score_
    assert held.n_samples == plain.expected_score_.n_samples == 102
    assert held.value * 102 == pytest.approx(round(held.value * 102))  # a number of labels
    assert held.measure == "accuracy"


def test_weight_zero_hides_a_class():
    found, hidden = fit(class_weight={2: 0.0}), np.where(RARE == 2, -1, RARE)
    assert_array_equal(found.classes_, [0, 1, 2])
    expected = fit(hidden)
    assert_array_equal(found.predict(X), expected.predict(X))
    assert_allclose(found.predict_proba(X)[:, :2], expected.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("weight", ["balanced", WEIGHTS])
def test_row_blocks_give_what_one_array_gives(weight):
    """Their samples start elsewhere, but the objective is the same, and so is its minimum."""
    rows = RowBlocks.split(csr_array(X), RARE, rows=60)
    options = {"class_weight": weight, "max_iter": 100, "tol": 0.0}
    found, expected = fit(None, data=rows, **options), fit(data=csr_array(X), **options)
    assert found.supervision_ == pytest.approx(expected.supervision_, rel=1e-8)
    ends = [model.history_["objective"][-1] for model in (found, expected)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-4)
    assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=0.05)


def test_streams_take_a_dict():
    def stream(weight):
        model = SSNMFClassifier(K, class_weight=weight, random_state=0)
        for low in range(0, N, 80):
            rows = slice(low, low + 80)
            model.partial_fit(
                X[rows], np.where(TRUTH[rows] == 2, RARE[rows], TRUTH[rows]), classes=[0, 1, 2]
            )
        return np.mean(model.predict(X)[TRUTH == 2] == 2)

    assert stream({0: 1.0, 1: 1.0, 2: 50.0}) > stream(None) + 0.1
    model = SSNMFClassifier(K, class_weight="balanced")
    assert_says(
        lambda: model.partial_fit(X, TRUTH), "class_weight='balanced'", "partial_fit", "dict"
    )


@pytest.mark.parametrize(
    ("y", "weight", "patterns"),
    [
        (RARE, {"a": 2.0}, ["class_weight", "'a', which is not a class", "There are '0'"]),
        (RARE, {0: -2}, ["class_weight", "-2", "at least 0"]),
        (RARE, "even", ["class_weight", "even", "balanced"]),
        (RARE, [1, 2, 3], ["class_weight", "dict"]),
        (RARE, dict.fromkeys(range(K), 0), ["class_weight", "every labelled sample"]),
        (np.eye(K, dtype=int)[TRUTH], "balanced", ["class_weight", "several labels"]),
    ],
)
def test_refusals(y, weight, patterns):
    assert_says(lambda: fit(y, weight), *patterns)


@pytest.mark.parametrize("scale", [1e-290, 1e290])
def test_extreme_weights(scale):
    weights = {c: scale * weight for c, weight in WEIGHTS.items()}
    found = fit(class_weight=weights)
    assert np.isfinite(found.predict_proba(X)).all()
    assert np.isfinite(found.history_["objective"]).all()


class Shifted(SSNMFClassifier):
    """The classifier for data that may be negative; scikit-learn's check has such data."""

    def fit(self, X, y):
        return super().fit(X + 200.0, y)

    def predict(self, X):
        return super().predict(X + 200.0)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = False  # so that the check looks at the predictions
        return tags


def test_scikit_learn_check_of_class_weights():
    check_class_weight_classifiers("Shifted", Shifted(2))


@pytest.mark.parametrize("weight", [None, "balanced", WEIGHTS])
def test_saved_models_keep_the_weights(tmp_path, weight):
    model = fit(class_weight=weight)
    save(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.class_weight == weight
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_weight_zero_hides_a_class_in_blocks_and_batches():
    """Also where a block or a batch holds no other class."""
    order = np.argsort(TRUTH, kind="stable")
    weights = {0: 1.0, 1: 1.0, 2: 0.0}
    blocks = RowBlocks.split(X[order], TRUTH[order], rows=40)
    model = SSNMFClassifier(K, class_weight=weights, random_state=0).fit(blocks)
    assert set(model.predict(X)) == {0, 1}
    stream = SSNMFClassifier(K, class_weight=weights, random_state=0)
    for low in range(0, N, 40):
        rows = order[low : low + 40]
        stream.partial_fit(X[rows], TRUTH[rows], classes=[0, 1, 2])
    assert set(stream.predict(X)) == {0, 1}
