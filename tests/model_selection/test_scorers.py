"""Scores of labelled samples."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from cofactor import SSNMFClassifier, SSNMFRegressor
from cofactor.model_selection import labelled_scorer
from complaints import assert_says

RANDOM = np.random.default_rng(1)
X = RANDOM.random((40, 6)) + np.repeat(np.eye(2), 20, axis=0).repeat(3, axis=1)
CODES = np.repeat([0, 1], 20)
NOISY = np.where(RANDOM.random(40) < 0.2, 1 - CODES, CODES)


@pytest.mark.parametrize(
    ("mark", "y"),
    [
        (-1, NOISY),
        (None, NOISY.astype(object)),
        (None, np.array(["a", "b"], dtype=object)[NOISY]),
        (np.nan, NOISY.astype(float)),
    ],
)
def test_unlabelled_samples_do_not_count(mark, y):
    y = y.copy()
    y[::3] = mark
    known = np.arange(40) % 3 != 0
    model = SSNMFClassifier(2, random_state=0).fit(X, y)
    right = model.predict(X[known]) == np.array(y[known].tolist())
    assert labelled_scorer("accuracy")(model, X, y) == right.mean()
    weights = RANDOM.random(40)
    weighted = labelled_scorer("accuracy")(model, X, y, sample_weight=weights)
    assert weighted == pytest.approx(np.average(right, weights=weights[known]))


def test_any_scorer_of_sets_and_numbers():
    Y = np.column_stack([CODES, 1 - CODES]).astype(float)
    Y[::4] = np.nan
    Y[1, 0] = np.nan  # one unknown cell
    known = ~np.isnan(Y).any(axis=1)
    model = SSNMFClassifier(2, random_state=0).fit(X, Y)
    expected = f1_score(Y[known], model.predict(X)[known], average="micro")
    assert labelled_scorer("f1_micro")(model, X, Y) == expected
    y = X.sum(axis=1) - 5.0
    y[::4] = np.nan
    errors = []
    scorer = labelled_scorer(lambda model, X, y: errors.extend(y) or -1.0)
    assert scorer(SSNMFRegressor(2, random_state=0).fit(X, y), X, y) == -1.0
    assert np.array_equal(errors, y[~np.isnan(y)])


def test_what_cannot_be_scored_is_said():
    y = np.where(CODES == 0, "a", "b").astype(object)
    model = SSNMFClassifier(2, random_state=0).fit(X, y)
    none = np.full(40, None)
    assert_says(lambda: labelled_scorer("accuracy")(model, X, none), "no labelled", "PartlyLabel")
    y[0] = "c"
    with pytest.warns(UserWarning, match=r"'c'.*PartlyLabelledKFold"):
        assert labelled_scorer("accuracy")(model, X, y) < 1
