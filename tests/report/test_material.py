"""The material of a report: labels in any form, and documents of the fit."""

import numpy as np
import pytest

from cofactor import TopicModel
from cofactor.report.material import largest, read_material


def test_indicators_in_any_form_are_read_alike(corpus, sets):
    model = TopicModel(4, random_state=0).fit(corpus[0], sets)
    one = read_material(model, corpus[0], sets, None).labels
    known = ~np.isnan(one)
    whole = np.where(known, one, -1).astype(int)
    objects = np.where(known, one.astype(object), None)
    marked = whole.astype(object)
    for other in (one, whole, objects, marked, [tuple(s) if s else None for s in sets]):
        np.testing.assert_array_equal(read_material(model, corpus[0], other, None).labels, one)
    single = read_material(model, corpus[0], corpus[1], None)
    assert single.labels.sum() == 120
    strange = read_material(model, corpus[0], [{"chess"}, *sets[1:]], None)
    assert strange.unknown_labels == ["chess"]
    with pytest.raises(ValueError, match="2 columns, but the model has 5 targets"):
        read_material(model, corpus[0], np.zeros((120, 2)), None)
    for predicts in (model, TopicModel(3, random_state=0, max_iter=2, tol=0).fit(*corpus)):
        with pytest.raises(ValueError, match=r"labels has a negative cell, -0\.5"):
            read_material(predicts, corpus[0], np.full((120, 3), -0.5), None)


def test_minus_one_is_a_number_where_the_model_predicts_numbers(corpus):
    y = np.column_stack([np.arange(120) % 3 - 1, np.arange(120) % 2])
    model = TopicModel(3, task="numbers", random_state=0).fit(corpus[0], y)
    np.testing.assert_array_equal(read_material(model, corpus[0], y, None).labels, y)


def test_documents_of_the_fit_are_not_inferred_again(model, corpus, some, monkeypatch):
    again = read_material(model, corpus[0], corpus[1], None)  # other labels
    assert again.from_fit
    assert again.digest != model.fingerprint_
    np.testing.assert_array_equal(again.S, model.document_topics_)
    monkeypatch.setattr(type(model.estimator_), "transform", None)
    same = read_material(model, corpus[0], some, None)
    assert same.from_fit
    assert same.digest == model.fingerprint_
    assert same.S is model.document_topics_


def test_largest_keep_their_order():
    assert largest([3, 9, 1, 9], 3) == [0, 1, 3]
    assert largest([1, 2], 5) == [0, 1]
