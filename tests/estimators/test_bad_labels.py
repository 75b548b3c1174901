"""Too few, too equal and too extreme labels, rows and weights: a finite result or one sentence.

Warnings of other libraries are errors in all tests.
"""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from cofactor import SSNMFClassifier, SSNMFRegressor, TopicModel
from complaints import assert_says

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
N, M, K = 40, 12, 3
RANDOM = np.random.default_rng(0)
THEMES = RANDOM.dirichlet(np.full(M, 0.3), size=K) * 0.7 + 0.3 / M
TRUTH = RANDOM.integers(0, K, size=N)
X = np.stack([RANDOM.multinomial(15, THEMES[c]) for c in TRUTH]).astype(float)
NUMBERS = 80 + 0.5 * X[:, 0] + 0.1 * RANDOM.normal(size=N)
TAGS = np.eye(K)[TRUTH]
TAGS[:, 0] = np.maximum(TAGS[:, 0], RANDOM.random(N) < 0.3)
FIRST = [int(np.flatnonzero(c == TRUTH)[0]) for c in range(K)]
EQUAL, EMPTY = np.ones((N, M)), np.zeros((N, M))
STRANGE = np.c_[X, np.zeros(N)]
STRANGE[3] = np.eye(M + 1)[M] * 9
HUGE = np.where(np.arange(N)[:, None] == 5, 1e300, X)
WITHOUT_5 = (np.arange(N) != 5).astype(float)
SHARES = np.full(N, 1 / N)
SPREAD = 10.0 ** RANDOM.integers(-300, 300, size=N)


class Case(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None = None
    target_weights: np.ndarray | None = None


def only(y, rows):
    """Hide all labels but those of some rows."""
    out = np.full(y.shape, np.nan)
    out[rows] = y[rows]
    return out


def soft_at(row):
    return np.where((np.arange(N) == row)[:, None], [[0.5, 0.2, 0.3]], 0.0)


CLASSES = {
    "one label in all": Case(X, only(TRUTH, [0])),
    "one label per class": Case(X, only(TRUTH, FIRST)),
    "two classes, one label each": Case(X, only(TRUTH, FIRST[:2])),
    "labels in some folds": Case(X, only(TRUTH, [*FIRST, 1, 2, 3])),
    "a class without look-alikes": Case(
        STRANGE, np.where(np.arange(N) == 3, 7, only(TRUTH, FIRST))
    ),
    "all rows are equal": Case(EQUAL, TRUTH),
    "all rows are equal, few labels": Case(EQUAL, only(TRUTH, FIRST)),
    "all rows are empty": Case(EMPTY, only(TRUTH, FIRST)),
    "fewer rows than neighbours": Case(X[:4], only(TRUTH[:4], [0, 1])),
    "two rows": Case(X[:2], np.array([0, 1])),
    "one row": Case(X[:1], np.array([0])),
    "huge cells without weight": Case(HUGE, only(TRUTH, FIRST), WITHOUT_5),
    "soft labels without weight": Case(X, soft_at(5), WITHOUT_5),
    "soft labels of one sample": Case(X, soft_at(6), WITHOUT_5),
    "soft labels without mass": Case(X, only(np.zeros((N, K)), [0, 1, 2])),
    "weights that sum to one": Case(X, only(TRUTH, FIRST), SHARES),
    "weights of all sizes": Case(X, only(TRUTH, range(12)), SPREAD),
    "confidences of all sizes": Case(X, TRUTH, None, SPREAD),
}
SETS = {
    "one labelled sample": Case(X, only(TAGS, [0])),
    "two labelled samples": Case(X, only(TAGS, [0, 5])),
    "one labelled sample a class": Case(X, only(TAGS, FIRST)),
    "no tag": Case(X, np.zeros((N, K))),
    "all tags": Case(X, np.ones((N, K))),
    "a tag of one sample": Case(X, np.c_[TAGS, np.arange(N) == 7]),
    "a tag that is unknown": Case(X, np.c_[TAGS, np.full(N, np.nan)]),
    "all rows are equal": Case(EQUAL, TAGS),
    "all rows are empty": Case(EMPTY, TAGS),
    "one row": Case(X[:1], TAGS[:1]),
    "huge cells without weight": Case(HUGE, TAGS, WITHOUT_5),
    "weights that sum to one": Case(X, TAGS, SHARES),
    "weights of all sizes": Case(X, TAGS, SPREAD),
}
VALUES = {
    "one value": Case(X, only(NUMBERS, [0])),
    "two values": Case(X, only(NUMBERS, [0, 1])),
    "three values": Case(X, only(NUMBERS, FIRST)),
    "constant": Case(X, np.full(N, 3.0)),
    "zero": Case(X, np.zeros(N)),
    "constant and negative": Case(X, only(np.full(N, -3e5), FIRST)),
    "an outlier": Case(X, np.where(np.arange(N) == 4, 1e6, NUMBERS)),
    "an outlier among few": Case(X, only(np.where(np.arange(N) == 4, 1e6, NUMBERS), range(6))),
    "an outlier of 1e300": Case(X, np.where(np.arange(N) == 4, 1e300, NUMBERS)),
    "all rows are equal": Case(EQUAL, NUMBERS),
    "all rows are empty": Case(EMPTY, NUMBERS),
    "fewer rows than neighbours": Case(X[:4], NUMBERS[:4]),
    "one row": Case(X[:1], NUMBERS[:1]),
    "two columns, one of one value": Case(X, np.c_[NUMBERS, only(NUMBERS, [0])]),
    "two columns, one unknown": Case(X, np.c_[NUMBERS, np.full(N, np.nan)]),
    "huge cells without weight": Case(HUGE, NUMBERS, WITHOUT_5),
    "a huge value without weight": Case(X, np.where(WITHOUT_5 == 0, 1e300, NUMBERS), WITHOUT_5),
    "weights that sum to one": Case(X, NUMBERS, SHARES),
    "weights of all sizes": Case(X, NUMBERS, SPREAD),
    "confidences of all sizes": Case(X, NUMBERS, None, SPREAD),
}
STORAGES = pytest.mark.parametrize("storage", [np.asarray, csr_array], ids=["dense", "sparse"])


def fitted(kind, case, storage, **options):
    model = kind(K, random_state=0, max_iter=5, **options)
    weights = {"sample_weight": case.sample_weight, "target_weights": case.target_weights}
    return model.fit(storage(case.X), case.y, **weights)


def with_an_unknown_row(case):
    """A row without a known word stands below the others."""
    return np.vstack([case.X, np.zeros(case.X.shape[1])])


@STORAGES
@pytest.mark.parametrize(
    "case", [*CLASSES.values(), *SETS.values()], ids=[*CLASSES, *(f"sets: {name}" for name in SETS)]
)
def test_classes(case, storage):
    model = fitted(SSNMFClassifier, case, storage)
    rows = storage(with_an_unknown_row(case))
    P = model.predict_proba(rows)
    assert np.isfinite(P).all()
    assert ((P >= 0) & (P <= 1)).all()
    assert len(model.predict(rows)) == rows.shape[0]
    if model.coding.kind != "multilabel":
        assert_allclose(P.sum(axis=1), 1.0)
    if model.expected_score_ is not None:
        assert 0 <= model.expected_score_.low <= model.expected_score_.high <= 1


@STORAGES
@pytest.mark.parametrize("case", VALUES.values(), ids=VALUES)
def test_numbers(case, storage):
    model = fitted(SSNMFRegressor, case, storage)
    rows = storage(with_an_unknown_row(case))
    assert np.isfinite(model.predict(rows)).all()
    interval = model.predict_interval(rows)
    assert not np.isnan(interval).any()
    assert (interval[..., 0] <= interval[..., 1]).all()


@pytest.mark.parametrize("head", ["refit", "joint"])
@pytest.mark.parametrize("name", ["huge cells without weight", "a huge value without weight"])
@pytest.mark.parametrize("loss", ["kullback-leibler", "frobenius"])
def test_what_has_no_weight_changes_nothing(name, head, loss):
    case, kept = VALUES[name], WITHOUT_5 > 0
    without = Case(X[kept], NUMBERS[kept])
    options = {"data_loss": loss, "head": head}
    found = fitted(SSNMFRegressor, case, np.asarray, **options)
    expected = fitted(SSNMFRegressor, without, np.asarray, **options)
    assert_allclose(found.predict(X), expected.predict(X), rtol=1e-6)


def test_weights_that_sum_to_one_say_as_much_as_ones():
    plain, shares = (
        fitted(SSNMFRegressor, Case(X, NUMBERS, w), np.asarray, tol=1.0)
        for w in (np.ones(N), SHARES)
    )
    widths = [np.ptp(model.predict_interval(X), axis=1)[0] for model in (plain, shares)]
    assert np.isfinite(widths[0])
    assert widths[1] == pytest.approx(widths[0], rel=1e-6)
    for name in ("value", "low", "high", "n_samples"):
        ours, theirs = (getattr(model.expected_score_, name) for model in (shares, plain))
        assert ours == pytest.approx(theirs, rel=1e-6)
    few = Case(X, only(TRUTH, range(20)), SHARES)
    held = fitted(SSNMFClassifier, few, csr_array, tol=1.0).expected_score_
    assert held.n_samples == pytest.approx(20)


NOISE = np.random.default_rng(3).normal(size=N)
WARNING = r"The R² to expect on new samples is -?\d\.\d\d, which is not above 0: .*; add known"


def test_numbers_that_cannot_be_predicted_are_doubted():
    with pytest.warns(UserWarning, match=WARNING) as caught:
        model = SSNMFRegressor(K, random_state=0, tol=0.1).fit(X, NOISE)
    assert model.expected_score_.value <= 0
    assert [one.filename for one in caught] == [__file__]
    texts = [" ".join(f"word{j}" for j in np.flatnonzero(row)) for row in X]
    with pytest.warns(UserWarning, match=WARNING):
        TopicModel(K, task="numbers", random_state=0, tol=0.1).fit(texts, NOISE)


@pytest.mark.filterwarnings("error:The R²")
def test_numbers_that_can_be_predicted_are_not_doubted():
    good = SSNMFRegressor(K, random_state=0, tol=0.1).fit(X, NUMBERS)
    assert good.expected_score_.value > 0.5
    SSNMFRegressor(K, random_state=0, tol=0.1, head="refit").fit(X, NOISE)


def test_labels_of_samples_without_weight_are_no_labels():
    model = fitted(SSNMFClassifier, Case(X, only(TRUTH, [5]), WITHOUT_5), np.asarray, tol=1.0)
    assert_says(lambda: model.predict(X), "without a single labelled sample", "fit it with labels")
