"""Doubtful labels: planted ones are found, by models that have not seen them."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from cofactor import TopicModel
from cofactor.text.labelling.doubts import rank_doubts
from complaints import assert_says
from subjects import LABELS, TEXTS


@pytest.fixture(scope="module")
def planted():
    """Labels of which one in fifteen is wrong."""
    y, wrong = np.array(LABELS, dtype=object), np.zeros(len(LABELS), dtype=bool)
    names = sorted(set(LABELS))
    for i in range(3, len(y), 15):
        y[i] = names[(names.index(y[i]) + 1) % len(names)]
        wrong[i] = True
    return y, wrong


def test_planted_labels_come_first_with_the_right_class(planted):
    y, wrong = planted
    model = TopicModel(3, random_state=0).fit(TEXTS, y)
    found = model.doubtful_labels(TEXTS, y)
    rank = np.zeros(len(y))
    rank[found.column("document")] = np.arange(len(found), 0, -1)
    assert average_precision_score(wrong, rank) > 0.95
    first = found[: wrong.sum()]
    assert [one.label for one in first] == [y[one.document] for one in first]
    assert [one.suggestion for one in first] == [LABELS[one.document] for one in first]
    assert all(one.probability > one.label_probability for one in found)


def test_the_least_probable_label_comes_first():
    P = np.array([[0.5, 0.4, 0.1], [0.2, 0.7, 0.1], [0.6, 0.3, 0.1], [0.9, 0.05, 0.05]])
    log_p = np.log(P)
    log_p[3] = np.nan
    found = rank_doubts(log_p, np.array([1, 0, 0, 1]), ["a", "b", "c"])
    assert found.column("document") == [1, 0]
    assert found.column("suggestion") == ["b", "a"]
    assert found.column("label_probability") == pytest.approx([0.2, 0.4])


def test_refusals():
    model = TopicModel(2, random_state=0).fit(TEXTS[:20])
    few = ["a", "b", *[""] * 18]
    assert_says(lambda: model.doubtful_labels(TEXTS[:20], few), r"\by\b", "Add labels")
    sets = [{"a"}, {"a", "b"}, *[None] * 18]
    assert_says(lambda: model.doubtful_labels(TEXTS[:20], sets), "several labels per document")
