"""Labels in memory that are doubtful: TopicModel warns of them before the fit."""

import warnings

import numpy as np
import pytest

from cofactor import SSNMFClassifier, TopicModel
from cofactor.errors import ParameterWarning

TEXTS = [f"{a} {b} text" for a in ("moon", "goal", "oven", "bank") for b in ("x1", "y1", "z1")] * 4


def said(y, topics=2, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        TopicModel(topics, random_state=0, max_iter=2, **options).fit(TEXTS, y)
    ours = [str(one.message) for one in caught if one.category in (UserWarning, ParameterWarning)]
    return " ".join(one for one in ours if "R² to expect" not in one)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([""] * 48, "y has no label, so the model has topics but predicts nothing"),
        (["a", ""] * 24, "All labels of y are"),
        ([80 + i % 16 for i in range(48)], "16 different whole numbers, read as numbers"),
        ([f"c{i % 4}" for i in range(48)], "n_components=2 is less than the 4 classes"),
    ],
)
def test_doubtful_labels_are_said(y, sentence):
    assert sentence in said(y)


@pytest.mark.parametrize(
    "y", [None, ["a", "b"] * 24, [1, 2, 3, -1] * 12, list(range(12)) * 4, [0.5, 1.5, 7] * 16]
)
def test_usual_labels_are_not(y):
    assert said(y, topics=12) == ""
    assert said(y, topics=1) == ""
    assert y is None or len(set(y)) < 4 or said(y, topics=2)


def test_sets_of_many_labels_share_topics_as_usual():
    assert said([{f"c{i % 4}", "all"} for i in range(48)]) == ""


def test_a_task_settles_whole_numbers():
    y = [80 + i % 16 for i in range(48)]
    assert "whole numbers" not in said(y, topics=16, task="classes")
    assert "whole numbers" not in said(y, topics=16, task="numbers")


def test_minus_one_among_floats_is_said():
    X = np.random.default_rng(0).random((30, 6))
    y = np.array([-1.0, 0.0, 1.0] * 10)
    with pytest.warns(UserWarning, match="y holds -1 among floats, read as a class"):
        SSNMFClassifier(3, random_state=0).fit(X, y)
    y[y == -1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert SSNMFClassifier(3, random_state=0, tol=1e-2).fit(X, y).classes_.tolist() == [0, 1]
