"""The topics of a report: words, heatmap, matches."""

import copy

import numpy as np
import pytest

from cofactor import TopicModel
from cofactor.estimators.inference import topic_shares
from cofactor.report import topic_tables
from cofactor.report.html import _largest_cells, page_state
from cofactor.report.material import read_material
from cofactor.report.page_content import prepare
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


def test_typical_documents_are_ranked_by_strength(held, model, corpus):
    X, A = model.vectorizer_.transform(corpus[0]).toarray(), model.estimator_.components_
    S = model.document_topics_
    shares = topic_shares(S, A)
    for k, card in enumerate(held.topics):
        explained = np.linalg.norm(S[:, [k]] * A[k], axis=1) / np.linalg.norm(X, axis=1)
        strength = shares[:, k] * explained * np.minimum(1, (X > 0).sum(axis=1) / 20)
        best = np.argsort(-strength, kind="stable")[:3]
        assert [document["document"] for document in card["typical"]] == best.tolist()


def test_order_of_documents_does_not_choose_the_typical_ones(model, corpus, held):
    turned = prepare(model, corpus[0][::-1], rows=range(120)[::-1])
    for before, after in zip(held.topics, turned.topics, strict=True):
        assert [d["document"] for d in after["typical"]] == [
            d["document"] for d in before["typical"]
        ]


def test_labels_behind_a_topic(held, model, some):
    shares = topic_shares(model.document_topics_, model.estimator_.components_)
    best = shares.argmax(axis=1)
    for k, card in enumerate(held.topics):
        behind = some[(best == k) & (some != "")]
        assert card["labelled"] == len(behind)
        assert card["of_label"] == (behind == card["label"]).sum()
    assert sum(card["labelled"] for card in held.topics) == 30


def test_similar_topics_have_the_largest_cosines():
    A = np.array([[1.0, 1, 0, 0], [1, 0.9, 0, 0], [0, 0, 1, 0.2], [0.5, 0, 1, 0]])
    found = topic_tables.similar_topics(A)
    cosine = A @ A.T / np.outer(*2 * [np.linalg.norm(A, axis=1)])
    assert [row["topic"] for row in found[0]] == [1, 3]
    assert found[0][1]["similarity"] == pytest.approx(cosine[0, 3])
    assert [row["topic"] for row in found[2]] == [3]


def test_topics_have_one_order(held):
    shares = [held.topics[k]["share"] for k in held.order]
    assert shares == sorted(shares, reverse=True)
    assert [row["topic"] for row in held.changes["topics"]] == held.order
    cells = page_state(held)["tables"]["heatmap"]
    assert list(dict.fromkeys(row["topic"] for row in cells)) == held.order


def test_matching_a_permutation_finds_it(model, corpus):
    other = copy.copy(model.estimator_)
    other.amend(components=model.estimator_.components_[::-1] * 7.0)
    rows = topic_tables.match(read_material(model, corpus[0], None, None), other)
    assert [row["topic"] for row in rows] == [0, 1, 2, 3]
    for row in rows:
        assert row["similarity"] == pytest.approx(1.0)
        assert not row["gained"] + row["lost"]


def test_report_and_compare_agree_on_topics(model, corpus):
    other = TopicModel(5, vectorizer=model.vectorizer_, random_state=3).fit(corpus[0])
    rows = topic_tables.match(read_material(model, corpus[0], None, None), other.estimator_)
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


def test_classes_with_numbers_come_in_the_order_of_these():
    words = {"grade 2": "moon orbit", "grade 10": "bread oven", "grade 11": "goal match"}
    names, n = list(words), 10
    texts = [f"{about} {place}th" for about in words.values() for place in "abcdefghij"]
    labels = [name for name in names for _ in range(n)]
    model = TopicModel(3, random_state=0, max_iter=20).fit(texts, labels)
    found = prepare(model, texts, labels)
    assert found.largest_classes == names
    for chart, column in (
        ("heatmap", "class"),
        ("confusion", "truth"),
        ("confusion", "prediction"),
    ):
        shown = dict.fromkeys(row[column] for row in page_state(found)["tables"][chart])
        assert list(shown) == names
    assert [row["class"] for row in found.evaluation["per_class"]] == names


def test_heat_maps_show_the_same_classes_and_the_topics_that_predict_them():
    names = [f"class{c:02d}" for c in range(40)]
    texts = [f"word{n}a word{n}b word{n}c" for n in names for _ in range(4 + int(n[-2:]) % 7)]
    labels = [text.split()[0][4:-1] for text in texts]
    model = TopicModel(40, random_state=0, max_iter=20).fit(texts, labels)
    found = prepare(model, texts, labels)
    assert len(found.largest_classes) == 25
    charted = {row["class"] for row in _largest_cells(found)}
    assert charted == set(found.largest_classes)
    links = {(row["topic"], row["class"]): row["share"] for row in found.heatmap}
    best = {k: max(links[k, name] for name in charted) for k in range(40)}
    left_out = set(range(40)) - set(found.charted_topics)
    assert max(best[k] for k in left_out) <= min(best[k] for k in found.charted_topics)
