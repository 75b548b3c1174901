"""The topics of a report: words, heatmap, matches."""

import copy

import numpy as np
import pytest

from cofactor import TopicModel
from cofactor.estimators.inference import topic_shares
from cofactor.report.preparation import topics
from cofactor.text.describe.compare import compare_topics


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
        assert [row["p"] for row in card["words"]][:10] == list(model.topics(10)[k].weights)
        assert set(model.topics(10, by="probability")[k].words) <= set(offered)
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
    shares = topic_shares(model.document_topics_, model.estimator_.components_)
    for k, card in enumerate(held.topics):
        assert len(card["typical"]) == 3
        for document in card["typical"]:
            assert document["share"] == pytest.approx(shares[document["document"], k])
            assert document["share"] >= np.quantile(shares[:, k], 0.7)


def test_matching_a_permutation_finds_it(model, corpus):
    other = copy.copy(model.estimator_)
    other.components_ = model.estimator_.components_[::-1] * 7.0
    rows = topics.match(model, other, model.vectorizer_.transform(corpus[0]))
    assert [row["topic"] for row in rows] == [0, 1, 2, 3]
    for row in rows:
        assert row["similarity"] == pytest.approx(1.0)
        assert not row["gained"] + row["lost"]


def test_report_and_compare_agree_on_topics(model, corpus):
    other = TopicModel(5, vectorizer=model.vectorizer_, random_state=3).fit(corpus[0])
    rows = topics.match(model, other.estimator_, model.vectorizer_.transform(corpus[0]))
    pairs = {pair.second: pair for pair in compare_topics(other, model) if pair.second is not None}
    assert len(rows) == len(pairs) == 4
    for row in rows:
        pair = pairs[row["topic"]]
        assert row["similarity"] == pytest.approx(pair.similarity, abs=1e-12)
        for name in ("kept", "gained", "lost"):
            assert row[name] == getattr(pair, name)
    A, B = model.estimator_.components_, other.estimator_.components_
    cosines = A @ B.T / np.outer(np.linalg.norm(A, axis=1), np.linalg.norm(B, axis=1))
    assert pairs[0].similarity == pytest.approx(cosines[0, pairs[0].first])


def test_labels_changed_something(held):
    assert held.changes["with_labels"] > 0.9
    assert 0 <= held.changes["without"] <= 1
    assert len(held.changes["topics"]) == 4
