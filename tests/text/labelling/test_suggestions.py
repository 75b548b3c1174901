"""Documents to label: what is said about each, for every kind of model."""

import numpy as np
import pytest

from cofactor import TopicModel
from cofactor.text.labelling.choice import CLOSE, FIRST, RANDOM
from complaints import assert_says
from subjects import LABELS, SOME, TEXTS


def test_rows_tell_what_the_model_says(model):
    found = model.to_label(TEXTS, 10, y=SOME)
    said = model.documents(TEXTS)
    for row in found:
        one = said[row.document]
        assert (row.prediction, row.topic, row.name) == (one.prediction, one.topic, one.name)
        assert row.confidence == pytest.approx(one.confidence)
        assert SOME[row.document] == ""
    assert found.column("reason") == [CLOSE] * 8 + [RANDOM] * 2  # every topic has a label


def test_close_calls_have_the_least_lead(model):
    """Each class has its turn with its closest text, of those that have enough words."""
    P = model.predict_proba(TEXTS)
    two = np.sort(P, axis=1)[:, -2:]
    words = np.diff(model.vectorizer_.transform(TEXTS).indptr)
    lead = np.where(words < np.median(words), 1.0, two[:, 1] - two[:, 0])
    closest = [np.where(P.argmax(axis=1) == c, lead, 1.0).argmin() for c in range(P.shape[1])]
    rows = model.to_label(TEXTS, len(closest), strategy="close").column("document")
    assert rows == sorted(closest, key=lambda row: lead[row])


def test_labels_of_the_fit_cover_their_topics():
    """Two topics have labels of the fit; those of y cover further ones."""
    some = np.where((np.arange(len(TEXTS)) < 12) & (LABELS != "faith"), LABELS, "")
    model = TopicModel(3, random_state=0).fit(TEXTS, some)
    bare = set(np.flatnonzero(model.topic_support_ == 0))
    first = [row for row in model.to_label(TEXTS[12:], 8) if row.reason == FIRST]
    assert {row.topic for row in first} == bare
    assert not [row for row in model.to_label(TEXTS, 8, y=LABELS) if row.reason == FIRST]


def test_other_models(plain):
    assert set(plain.to_label(TEXTS, 3).column("reason")) == {FIRST}
    assert plain.to_label(TEXTS, 3).column("prediction") == [None] * 3
    numbers = TopicModel(2, random_state=0).fit(TEXTS[:30], np.linspace(0.5, 2.0, 30))
    assert set(numbers.to_label(TEXTS, 4).column("reason")) == {RANDOM}
    sets = TopicModel(3, random_state=0).fit(TEXTS, [{label, "text"} for label in LABELS])
    assert CLOSE in sets.to_label(TEXTS, 4).column("reason")


def test_nothing_is_left_to_label(model):
    assert len(model.to_label(TEXTS, 5, y=LABELS)) == 0


def test_refusals(model):
    assert_says(lambda: model.to_label(TEXTS, 0), r"\bn=0", "at least 1")
    assert_says(lambda: model.to_label(TEXTS, 3, strategy="best"), "strategy='best'", "mixed")
    assert_says(lambda: model.to_label(TEXTS, 3, y=["a"]), r"\by\b", "1 entries")
