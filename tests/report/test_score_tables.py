"""Scores of a report against scikit-learn, and its confusion matrix."""

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    f1_score,
    mean_absolute_error,
    precision_recall_fscore_support,
    r2_score,
)

from cofactor.report import score_tables as scores
from cofactor.targets.values import encode_values


def test_confusion_and_class_scores_agree_with_scikit_learn():
    random = np.random.default_rng(0)
    truth, said = random.integers(0, 4, 200), random.integers(0, 4, 200)
    matrix = scores.confusion(truth, said, 4)
    np.testing.assert_array_equal(matrix, confusion_matrix(truth, said))
    rows = scores.class_scores(matrix, list("abcd"))
    expected = precision_recall_fscore_support(truth, said)
    for name, column in zip(("precision", "recall", "f1"), expected, strict=False):
        np.testing.assert_allclose([row[name] for row in rows], column)


def test_calibration():
    P = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.0, 1.0]])
    rows, error = scores.calibration(np.array([0, 1, 0, 1]), P)
    assert [row["documents"] for row in rows] == [1, 3]
    assert rows[0] == {"confidence": 0.6, "accuracy": 1.0, "documents": 1}
    assert rows[1]["accuracy"] == pytest.approx(2 / 3)
    assert error == pytest.approx((0.4 + 3 * abs(2.8 / 3 - 2 / 3)) / 4)


def scored(kind, truth, predicted, scale=None):
    rows = np.arange(len(truth))
    return scores.Evaluation(kind, "", True, rows, truth, {"m": predicted}, None, scale=scale)


def test_interval_is_wilsons():
    truth = np.arange(100) % 2
    found = scored("classes", truth, np.zeros(100, dtype=int)).interval(np.zeros(100, dtype=int))
    assert found["low"] == pytest.approx(0.404, abs=1e-3)
    assert found["high"] == pytest.approx(0.596, abs=1e-3)


def test_every_score_lies_in_its_interval():
    rng = np.random.default_rng(0)
    truth = (rng.random((80, 3)) < 0.4).astype(float)
    told = np.clip(truth + rng.normal(0, 0.5, size=truth.shape), 0, 1)
    found = scored("sets", truth, told)
    ends = found.interval(told)
    assert ends["low"] < found.all_scores["m"][0] < ends["high"]
    y = np.exp(rng.normal(size=(80, 1)))
    logs = encode_values(y.ravel(), n_samples=80, log="yes")[1]
    for scale in (None, logs):
        found = scored("numbers", y, y * 1.2, scale)
        ends = found.interval(y * 1.2)
        assert ends["low"] < found.all_scores["m"][0] < ends["high"]
    assert found.metrics == ["R² of logarithms", "R²", "mean error"]
    assert len(found.all_scores["m"]) == 3


def test_scores_of_sets_agree_with_scikit_learn():
    random = np.random.default_rng(0)
    truth, said = random.integers(0, 2, (80, 3)).astype(float), random.random((80, 3))
    found = scores.method_scores("sets", truth, said)
    expected = [f1_score(truth, said >= 0.5, average=each) for each in ("micro", "macro")]
    np.testing.assert_allclose(found, [*expected, average_precision_score(truth, said)])
    truth[:40] = np.nan
    rest = scores.method_scores("sets", truth[40:], said[40:])
    assert scores.method_scores("sets", truth, said) == rest


def test_scores_of_numbers_agree_with_scikit_learn():
    random = np.random.default_rng(0)
    truth, said = random.random((50, 2)), random.random((50, 2))
    found = scores.method_scores("numbers", truth, said)
    assert found == [pytest.approx(r2_score(truth, said)), None]
    assert scores.method_scores("numbers", truth[:, :1], said[:, :1])[1] == pytest.approx(
        mean_absolute_error(truth[:, 0], said[:, 0])
    )
    rows = scores.number_tables(np.full((3, 1), np.nan), said[:3, :1])
    assert rows == [{"documents": 0, "r2": None, "mean_error": None}]


def test_small_classes_are_merged_in_the_confusion():
    random = np.random.default_rng(0)
    truth, said = random.integers(0, 6, (2, 300))
    matrix, names = scores.confusion(truth, said, 6), list("abcdef")
    merged, kept = scores._merged(matrix, names, [1, 4])
    assert kept == ["b", "e", scores.OTHERS]
    group = np.array([2, 0, 2, 2, 1, 2])
    np.testing.assert_array_equal(merged, scores.confusion(group[truth], group[said], 3))
    back = list(range(6))[::-1]
    turned, kept_all = scores._merged(matrix, names, back)
    assert kept_all == names[::-1]
    np.testing.assert_array_equal(turned, matrix[::-1, ::-1])
    assert sum(row["documents"] for row in scores._cells(merged, kept)) == 300
    pairs = scores._pairs(matrix, names)
    counts = [row["documents"] for row in pairs]
    assert counts == sorted(matrix[matrix > 0].tolist(), reverse=True)
    assert all(matrix[ord(p["truth"]) - 97, ord(p["prediction"]) - 97] for p in pairs)


def test_large_errors_have_no_exponent():
    assert scores._format_more("numbers", "mean error", 1023.4) == "1,023"
    assert scores._format_more("numbers", "mean error", 3.14159) == "3.14"
