"""The words that describe topics: values against a slow oracle, invariants, fallbacks."""

import math

import numpy as np
import pytest
from scipy import sparse as sp
from scipy.optimize import nnls

from cofactor import TopicModel, load_model
from cofactor.text import WordVectorizer
from cofactor.text.describe import topic_words as module
from cofactor.text.describe.compare import compare_topics
from cofactor.text.describe.topic_words import rank_words, shown_words
from cofactor.text.word_blocks import open_word_blocks, write_word_blocks
from model_folders import refuse, rewrite
from subjects import SOME, SUBJECTS, TEXTS


@pytest.fixture(scope="module")
def parts(model):
    """Documents, representations and topics."""
    return model.vectorizer_.transform(TEXTS), model.document_topics_, model.estimator_.components_


# --- values --------------------------------------------------------------------------------------


def oracle(X, S, components):
    """The rule in dense numpy, word by word and pair by pair, with an exact least-squares fit."""
    m, r = X.shape[1], len(components)
    A = np.array([nnls(S, X[:, j])[0] for j in range(m)]).T
    P = np.array([row / row.sum() if row.sum() > 0 else row for row in A])
    occurs, q = X > 0, X.sum(axis=0) / X.sum()
    rows = []
    for k in range(r):
        topic = components[k]
        if topic[~occurs.any(axis=0)].sum() > 0.1 * topic.sum():
            rows.append([])
            continue
        weights = {}
        for j in range(m):
            related = occurs[:, j].any() and np.cov(S[:, k], X[:, j])[0, 1] > 1e-12
            if related and topic[j] > 0 and P[k, j] > 0 and P[k, j] >= P[:, j].max() / 2:
                weights[j] = P[k, j] / q[j] ** 0.2
        best = sorted(weights, key=lambda j: (-round(weights[j], 12), j))[:40]
        once = np.unique(occurs, axis=0)
        row = by_company(best, {j: weights[j] for j in best}, once, len(once))
        probable = sorted(np.flatnonzero(topic), key=lambda j: (-topic[j], j))[:10]
        mass = S * components.sum(axis=1)
        share = mass[:, k] / np.maximum(mass.sum(axis=1), 1e-300)
        least = 0.6 * found_by(probable, occurs, share)
        faithful = row and found_by(row[:10], occurs, share) >= least
        rows.append(row if faithful else [])
    return rows


def found_by(words, occurs, share):
    return np.corrcoef(occurs[:, words].sum(axis=1), share)[0, 1]


def by_company(places, weights, occurs, n):
    score = dict(weights)
    for _ in range(2):
        total = sum(score.values())
        score = {
            u: weights[u]
            * sum(npmi(occurs[:, u], occurs[:, v], n) * score[v] / total for v in places if v != u)
            for u in places
        }
        if not sum(score.values()):
            return []
    most = max(score.values())
    return sorted(places, key=lambda j: (-round(score[j] / most, 9), places.index(j)))


def npmi(u, v, n):
    c, either = int((u & v).sum()), int((u | v).sum())
    if c == 0 or c == n or c > either / 2:
        return 0.0
    value = math.log(c * n / (u.sum() * v.sum())) / -math.log(c / n)
    return max(0.0, value) * (c - 1) / (c + 3)


def listed(ranking):
    return [row[row >= 0].tolist() for row in ranking]


def test_values(parts, monkeypatch):
    monkeypatch.setattr(module, "SETTLING_SWEEPS", 2000)
    X, S, A = parts
    expected = oracle(X.toarray(), S, A)
    assert listed(rank_words(X, S, A)) == expected
    assert all(len(row) >= 8 for row in expected)


@pytest.mark.parametrize("seed", range(5))
def test_values_of_random_documents(seed, monkeypatch):
    monkeypatch.setattr(module, "SETTLING_SWEEPS", 5000)
    random = np.random.default_rng(seed)
    S, A = random.gamma(0.3, size=(60, 4)), random.gamma(0.3, size=(4, 70))
    X = random.poisson(S @ A * 0.7).astype(float)
    X[:, 0] = 0
    rows = random.integers(0, 60, 90)  # some documents are repeated
    X, S = X[rows], S[rows]
    ranking = rank_words(sp.csr_array(X), S, A)
    assert listed(ranking) == oracle(X, S, A)
    assert ranking.shape == (4, 40)


def test_a_few_sweeps_are_enough(parts, monkeypatch):
    few = rank_words(*parts)
    monkeypatch.setattr(module, "SETTLING_SWEEPS", 2000)
    for one, other in zip(listed(few), listed(rank_words(*parts)), strict=True):
        assert one[:5] == other[:5]


def test_words_of_the_subject_come_before_words_of_every_document(model):
    for topic in model.topics(6):
        assert set(topic.words) <= set(SUBJECTS[topic.label].split())


def test_words_of_a_footer_are_no_group(monkeypatch):
    random = np.random.default_rng(0)
    X = np.zeros((400, 20))
    X[:200, :6] = random.random((200, 6)) < 0.4  # words that often meet
    X[:60, 6:12] = random.random((60, 6)) < 0.97  # a footer
    X[200:, 12:] = random.random((200, 8)) < 0.4
    S = np.repeat(np.eye(2), 200, axis=0)
    A = S.T @ X
    assert set(rank_words(X, S, A)[0, :6]) == set(range(6))
    assert listed(rank_words(X, S, A)) == oracle(X, S, A)
    monkeypatch.setattr(module, "MAX_OVERLAP", 0.999)
    assert set(rank_words(X, S, A)[0, :6]) == set(range(6, 12))


# --- what does not matter ------------------------------------------------------------------------


def test_order_of_documents(parts):
    X, S, A = parts
    order = np.random.default_rng(0).permutation(len(S))
    assert np.array_equal(rank_words(X[order], S[order], A), rank_words(X, S, A))


def test_repeated_documents(parts):
    X, S, A = parts
    twice = rank_words(sp.vstack([X, X]), np.vstack([S, S]), A)
    assert np.array_equal(twice, rank_words(X, S, A))
    model = TopicModel(3, random_state=0).fit([*TEXTS, *TEXTS])
    X = model.vectorizer_.transform(TEXTS)
    once = rank_words(X, model.transform(TEXTS), model.estimator_.components_)
    assert np.array_equal(model.topic_words_, once)


def test_scales(parts):
    X, S, A = parts
    scales = 2.0 ** np.arange(-4, 4, 2)
    expected = rank_words(X, S, A)
    assert np.array_equal(rank_words(X, S * scales, A / scales[:, None]), expected)
    for scale in (1e-150, 1e150):
        assert np.array_equal(rank_words(X * scale, S * scale, A), expected)
        assert np.array_equal(rank_words(X * scale, S, A * scale), expected)


def test_storage_of_documents(parts):
    X, S, A = parts
    cells = X.toarray().ravel()
    explicit = sp.csr_array((cells, np.indices(X.shape).reshape(2, -1)), X.shape)
    assert explicit.nnz > X.nnz
    for form in (sp.csc_array(X), explicit, X.toarray(), X.astype(np.float32)):
        assert np.array_equal(rank_words(form, S, A), rank_words(X, S, A))
    before = X.copy()
    rank_words(X, S, A)
    assert (before != X).nnz == 0


def test_an_even_sample_of_many_documents(parts, monkeypatch):
    X, S, A = parts
    monkeypatch.setattr(module, "MAX_RANKING_DOCUMENTS", 60)
    rows = np.linspace(0, 119, 60).round().astype(int)
    assert np.array_equal(rank_words(X, S, A), rank_words(X[rows], S[rows], A))


def test_threads(model):
    for n_jobs in (1, 2):
        again = TopicModel(4, random_state=0, n_jobs=n_jobs).fit(TEXTS, SOME)
        assert np.array_equal(again.topic_words_, model.topic_words_)
        assert again.topics() == model.topics()


# --- fallbacks -----------------------------------------------------------------------------------


def by_probability(model):
    return model.topics(30).column("words") == model.topics(30, by="probability").column("words")


@pytest.mark.parametrize(
    "texts",
    [
        ["moon rocket orbit"],
        ["moon rocket orbit"] * 9,
        ["moon rocket", "puck goal", "", None],
        ["a b c"] * 3 + ["moon"],
    ],
    ids=["one document", "words in every document", "nothing together", "one word"],
)
def test_documents_that_tell_nothing(texts):
    model = TopicModel(2, random_state=0).fit(texts)
    assert (model.topic_words_ == -1).all()
    assert by_probability(model)
    np.testing.assert_array_equal(model.coherence_, model.probable_coherence_)


def test_one_topic():
    model = TopicModel(1, random_state=0).fit(TEXTS)
    known = set(model.vectorizer_.words_)
    assert len(model.topics()) == 1
    assert len(set(model.topics()[0].words)) == 10
    assert set(model.topics(100)[0].words) == known


def test_dead_topics_and_unrelated_topics(parts):
    X, S, A = parts
    A, S = np.vstack([A, np.zeros_like(A[:1]), A[:1]]), np.hstack([S, S[:, :1], S[:, :1] * 0])
    ranking = rank_words(X, S, A)
    assert (ranking[4:] == -1).all()  # a topic without words, a topic without documents
    shown = shown_words(A, ranking, 10)
    assert [len(words) for words in shown] == [10, 10, 10, 10, 0, 10]
    assert np.array_equal(shown[5], np.argsort(-A[0], kind="stable")[:10])


def test_words_must_correlate_with_the_documents_of_their_topic(parts):
    X, S, A = parts
    strength = S / S.max(axis=0)
    against = rank_words(X, 1.0 - strength, A)
    for k, row in enumerate(against):
        for j in row[row >= 0]:
            assert np.corrcoef(strength[:, k], X[:, [j]].toarray()[:, 0])[0, 1] < 0
    ranking = rank_words(X, S, A)
    for k, row in enumerate(ranking):
        for j in row[row >= 0]:
            assert np.corrcoef(strength[:, k], X[:, [j]].toarray()[:, 0])[0, 1] > 0
            assert A[k, j] > 0


def test_words_that_hardly_find_the_documents_of_their_topic(monkeypatch):
    """A few documents repeat a group of words; the other documents of the topic lack them."""
    random = np.random.default_rng(0)
    X = np.zeros((400, 30))
    X[:200, :10] = np.tile(np.eye(10), (20, 1))  # words that never meet
    X[:12, :10], X[:12, 10:20] = 0, random.random((12, 10)) < 0.6
    X[200:, 20:] = random.random((200, 10)) < 0.4
    S = np.repeat(np.eye(2), 200, axis=0)
    A = S.T @ X
    assert listed(rank_words(X, S, A)) == oracle(X, S, A)
    assert (rank_words(X, S, A)[0] == -1).all()
    assert (rank_words(X, S, A)[1] >= 0).any()
    monkeypatch.setattr(module, "MIN_FAITHFUL", 0.1)
    assert set(rank_words(X, S, A)[0, :6]) <= set(range(10, 20))


def test_documents_that_hardly_show_a_topic(model):
    """A batch of a stream about one subject says nothing about the words of the others."""
    labels = model.topics().column("label")
    space = [text for text, label in zip(TEXTS, SOME, strict=True) if label == "space"][:3]
    again = TopicModel(4, random_state=0).fit(TEXTS, SOME).partial_fit(space, ["space"] * 3)
    for topic, probable in zip(again.topics(), again.topics(by="probability"), strict=True):
        assert set(topic.words) & set(SUBJECTS[labels[topic.topic]].split())
        if labels[topic.topic] != "space":
            assert topic.words == probable.words


@pytest.mark.parametrize(("mass", "ranked"), [(0.09, True), (0.11, False)])
def test_words_that_no_document_has(parts, mass, ranked):
    X, S, A = parts
    unseen = A.sum(axis=1, keepdims=True) * mass / (1 - mass) * (np.arange(len(A)) == 2)[:, None]
    X = sp.csr_array(sp.hstack([X, sp.csr_array((len(S), 1))]))
    expected = rank_words(*parts)
    if not ranked:
        expected[2] = -1
    found = rank_words(X, S, np.hstack([A, unseen]))
    assert listed(found) == listed(expected)


def test_empty_documents_change_nothing(parts):
    X, S, A = parts
    more = sp.vstack([X, sp.csr_array((20, X.shape[1]))])
    ranking = rank_words(more, np.vstack([S, np.zeros((20, S.shape[1]))]), A)
    for one, other in zip(rank_words(X, S, A), ranking, strict=True):
        assert len(set(one[:5]) & set(other[:5])) >= 4


def test_more_words_than_are_ranked(model):
    everything = set(model.vectorizer_.words_)
    for topic in model.topics(1000):
        assert len(topic.words) == len(set(topic.words))
        held = model.estimator_.components_[topic.topic] > 0
        assert set(topic.words) == set(model.vectorizer_.words_[held]) <= everything
    assert model.topics(1)[0].words == model.topics(1000)[0].words[:1]


# --- seeds, files, comparisons -------------------------------------------------------------------


def test_seed_words_come_first():
    model = TopicModel(3, seeds={"weekday": ["people", "day"]}, random_state=0).fit(TEXTS)
    topic = model.topics()[model.topic_names_.index("weekday")]
    assert set(topic.words[:2]) == {"people", "day"}
    A, column = model.estimator_.components_, model.vectorizer_.words_.tolist().index
    pinned = {1: [column("people")]}
    X = model.vectorizer_.transform(TEXTS)
    free = rank_words(X, model.document_topics_, A)
    weak = rank_words(X, model.document_topics_, A, pinned)
    assert column("people") not in np.argsort(-A[1])[:10]  # so it does not describe the topic
    assert np.array_equal(weak, free)


def test_a_saved_model_shows_the_same_words(model, tmp_path):
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert np.array_equal(again.topic_words_, model.topic_words_)
    assert again.topics(50) == model.topics(50)
    assert again.topics(by="probability") == model.topics(by="probability")


def test_a_model_of_before_shows_words_by_probability(model, tmp_path):
    old = TopicModel(4, random_state=0).fit(TEXTS, SOME)
    old.amend(topic_words=None, probable_coherence=None)
    old.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert not hasattr(again, "topic_words_")
    assert again.topics().column("words") == model.topics(by="probability").column("words")
    assert again.topics() == again.topics(by="probability")
    pairs = compare_topics(again, model)  # one order for both
    assert all(not pair.gained + pair.lost for pair in pairs)


def test_blocks_of_documents(tmp_path):
    vectorizer = WordVectorizer().fit(TEXTS)
    notes = {"targets": [], "fingerprint": "", "facts": {}}
    batches = [(TEXTS[low : low + 50], None) for low in range(0, len(TEXTS), 50)]
    write_word_blocks(tmp_path / "blocks", vectorizer, batches, lambda: notes)
    model = TopicModel(3, task="topics", random_state=0)
    model.fit(open_word_blocks(tmp_path / "blocks"))
    X = vectorizer.transform(TEXTS)
    expected = rank_words(X, model.transform(TEXTS), model.estimator_.components_)
    assert np.array_equal(model.topic_words_, expected)
    assert (expected[:, :8] >= 0).all()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda ranking: ranking + 1000, "outside the 32 words"),
        (lambda ranking: ranking - 5, "outside"),
        (lambda ranking: ranking * 0, "names a word twice"),
        (lambda ranking: ranking[:2], "list of columns for each topic"),
        (lambda ranking: ranking * 1.0, "list of columns"),
        (lambda ranking: np.full((4, 41), -1), "more than 40 columns"),
        (lambda ranking: None, "need each other"),
    ],
)
def test_hostile_rankings(change, match, tmp_path):
    model = TopicModel(4, random_state=0).fit(TEXTS, SOME)
    model.amend(topic_words=change(model.topic_words_))
    with pytest.raises(ValueError, match=match):
        model.save(tmp_path / "model")


def test_half_a_ranking_is_refused(model, tmp_path):
    model.save(tmp_path / "model")
    rewrite(tmp_path / "model", "config.json", lambda c: c.update(probable_coherence_=None))
    refuse(tmp_path / "model", "probable_coherence_")
