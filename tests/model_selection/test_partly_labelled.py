"""Folds and scores of partly labelled data."""

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score

from cofactor import SSNMFClassifier, SSNMFRegressor
from cofactor.model_selection import PartlyLabelledKFold, labelled_scorer
from complaints import assert_says

NAN = float("nan")
RANDOM = np.random.default_rng(0)
CODES = RANDOM.choice(3, p=[0.6, 0.3, 0.1], size=90)
KNOWN = RANDOM.random(90) < 0.5


def unlabelled(labels, mark, dtype):
    y = np.array(labels, dtype=dtype)
    y[~KNOWN] = mark
    return y


FORMS = {
    "-1": unlabelled(CODES, -1, int),
    "None": unlabelled(np.array(list("abc"))[CODES], None, object),
    "NaN": unlabelled(CODES, NAN, float),
    "indicator": unlabelled(np.eye(3)[CODES], NAN, float),
}


@pytest.mark.parametrize("form", FORMS)
def test_test_parts_hold_labelled_samples_only_and_are_stratified(form):
    y, folds = FORMS[form], PartlyLabelledKFold(4, random_state=0)
    parts = list(folds.split(np.zeros((90, 2)), y))
    assert len(parts) == folds.get_n_splits() == 4
    tested = np.concatenate([test for _, test in parts])
    assert sorted(tested) == np.flatnonzero(KNOWN).tolist()
    for train, test in parts:
        assert sorted([*train, *test]) == list(range(90))
    for code in range(3):
        counts = [np.sum(CODES[test] == code) for _, test in parts]
        assert max(counts) - min(counts) <= 1
    again = [test for _, test in folds.split(y, y)]
    assert all(np.array_equal(one, other) for one, (_, other) in zip(again, parts, strict=True))


def test_minus_one_is_a_number_if_y_holds_numbers():
    y = np.array([-1, 2, 3, -1, 5, 6])
    tests = [test for _, test in PartlyLabelledKFold(2, numbers=True).split(y, y)]
    assert sorted(np.concatenate(tests)) == list(range(6))


def test_scikit_learns_tools_count_labelled_samples_only():
    """With its own folds, scoring="accuracy" counts -1 as a class that is never predicted."""
    X = np.eye(3)[CODES].repeat(4, axis=1) * 5 + RANDOM.random((90, 12))
    y, model = FORMS["-1"], SSNMFClassifier(3, random_state=0, max_iter=20)
    folds = PartlyLabelledKFold(3, random_state=0)
    found = cross_val_score(model, X, y, cv=folds, scoring="accuracy")
    assert found.tolist() == [1.0, 1.0, 1.0]
    assert cross_val_score(model, X, y, cv=3, scoring="accuracy").mean() < 0.7
    search = GridSearchCV(model, {"n_components": [1, 3]}, cv=folds).fit(X, y)
    assert search.best_score_ == 1.0


def test_bad_folds_are_refused_in_one_sentence():
    y = np.array(["a", "b", "", ""])
    assert_says(lambda: list(PartlyLabelledKFold(3).split(y, y)), "n_splits=3", "2 labelled")
    assert_says(lambda: list(PartlyLabelledKFold(1).split(y, y)), "n_splits=1 must be")
    assert_says(lambda: list(PartlyLabelledKFold(2).split(y)), "y is None")


SCORE_RANDOM = np.random.default_rng(1)
X = SCORE_RANDOM.random((40, 6)) + np.repeat(np.eye(2), 20, axis=0).repeat(3, axis=1)
HALVES = np.repeat([0, 1], 20)
NOISY = np.where(SCORE_RANDOM.random(40) < 0.2, 1 - HALVES, HALVES)


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
    weights = SCORE_RANDOM.random(40)
    weighted = labelled_scorer("accuracy")(model, X, y, sample_weight=weights)
    assert weighted == pytest.approx(np.average(right, weights=weights[known]))


def test_any_scorer_of_sets_and_numbers():
    Y = np.column_stack([HALVES, 1 - HALVES]).astype(float)
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
    y = np.where(HALVES == 0, "a", "b").astype(object)
    model = SSNMFClassifier(2, random_state=0).fit(X, y)
    none = np.full(40, None)
    assert_says(lambda: labelled_scorer("accuracy")(model, X, none), "no labelled", "PartlyLabel")
    y[0] = "c"
    with pytest.warns(UserWarning, match=r"'c'.*PartlyLabelledKFold"):
        assert labelled_scorer("accuracy")(model, X, y) < 1
