"""The topics of a report: words, heatmap, matches."""

import numpy as np
import pytest

from cofactor.report.preparation import topics


def test_words_are_the_first_ones_at_every_place_of_the_slider(held, model):
    A = model.estimator_.components_
    P = A / A.sum(axis=1, keepdims=True)
    shares = np.array([card["share"] for card in held.topics])
    corpus = shares @ P
    words = model.vectorizer_.get_feature_names_out()
    for k, card in enumerate(held.topics):
        offered = [row["word"] for row in card["words"]]
        first = list(model.topics(10)[k].words)
        assert offered[: len(first)] == first
        for weight in (0.0, 0.3, 0.7):
            kept = np.flatnonzero(P[k] >= 1e-3 * P[k].max())
            p, score = P[k, kept], np.full(len(words), -np.inf)
            score[kept] = weight * np.log(p) + (1 - weight) * np.log(p / corpus[kept])
            best = [words[j] for j in np.argsort(-score)[:5] if np.isfinite(score[j])]
            assert set(best) <= set(offered)


def test_heatmap_columns_sum_to_one(held):
    for k in range(4):
        column = [row["share"] for row in held.heatmap if row["topic"] == k]
        assert sum(column) == pytest.approx(1.0)


def test_typical_documents_are_mostly_of_the_topic(held, model):
    shares = topics.summaries.proportions(model.document_topics_, model.estimator_.components_)
    for k, card in enumerate(held.topics):
        assert len(card["typical"]) == 3
        for document in card["typical"]:
            assert document["share"] == pytest.approx(shares[document["document"], k])
            assert document["share"] >= np.quantile(shares[:, k], 0.7)


def test_matching_a_permutation_finds_it(model):
    rows = topics.match(model, model.estimator_.components_[::-1] * 7.0)
    assert [row["topic"] for row in rows] == [0, 1, 2, 3]
    for row in rows:
        assert row["similarity"] == pytest.approx(1.0)
        assert not row["gained"] + row["lost"]


def test_labels_changed_something(held):
    assert held.changes["with_labels"] > 0.9
    assert 0 <= held.changes["without"] <= 1
    assert len(held.changes["topics"]) == 4
