"""Edits of topic models: exact, pure, and in force after save, load and refit."""

import copy
import pickle
from dataclasses import fields

import numpy as np
import pytest

from cofactor import TopicModel, load_model
from cofactor.estimators.edits import with_topics
from cofactor.estimators.inference import masses, topic_shares
from cofactor.text.describe.answers import represent_documents
from cofactor.text.documents import DocumentRows
from cofactor.text.editing import refits
from cofactor.text.editing.edits import edited, regroup

WORDS = {
    "sport": ["goal", "puck", "ice", "team", "score", "skate"],
    "space": ["moon", "orbit", "rocket", "launch", "probe", "lunar"],
    "food": ["bread", "soup", "salt", "oven", "butter", "dough"],
}
K = 5


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    subjects = rng.choice(list(WORDS), 90)
    every = [word for words in WORDS.values() for word in words]
    texts = [
        " ".join([*rng.choice(WORDS[subject], 8), *rng.choice(every, 2)]) for subject in subjects
    ]
    return texts, [label if rng.random() < 0.5 else "" for label in subjects]


@pytest.fixture(scope="module")
def model(corpus):
    return TopicModel(K, random_state=0).fit(*corpus)


@pytest.fixture(scope="module")
def plain(corpus):
    return TopicModel(K, random_state=0).fit(corpus[0])


@pytest.fixture(params=["pooled", "refit", "joint", "plain", "numbers"])
def any_model(request, corpus):
    texts, labels = corpus
    if request.param == "plain":
        return TopicModel(K, random_state=0).fit(texts)
    if request.param == "numbers":
        y = np.array([text.count("goal") + 0.5 for text in texts])
        return TopicModel(K, random_state=0).fit(texts, y)
    return TopicModel(K, random_state=0, head=request.param).fit(texts, labels)


def shares_of_words(model):
    A = model.estimator_.components_
    return A / A.sum(axis=1, keepdims=True)


def mass_of(model):
    return model.document_topics_ * masses(model.estimator_.components_)


def assert_same(one, other, rtol=1e-10):
    for name in ("document_topics_", "document_scores_"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol, atol=1e-10)
    for name in ("components_", "target_components_"):
        if hasattr(other.estimator_, name):
            given, wanted = (getattr(m.estimator_, name) for m in (one, other))
            np.testing.assert_allclose(given, wanted, rtol, atol=1e-12)


def test_merging_two_copies_gives_the_model_before_the_copy(any_model, corpus):
    """A copy takes a third of the topic's mass in every document."""
    estimator = any_model.estimator_
    sources = [0, 1, 1, 2, 3, 4]
    part = np.array([1, 1 / 3, 2 / 3, 1, 1, 1])
    copied = with_topics(
        estimator.fitted,
        estimator.components_[sources],
        estimator.representation_[:, sources] * part,
        np.eye(K)[sources],
    )
    twice = edited(
        any_model,
        {"n_components": K + 1},
        estimator=estimator.with_fitted(copied),
        document_topics=any_model.document_topics_[:, sources] * part,
        **{
            n: np.asarray(getattr(any_model.fitted, n))[sources]
            for n in (
                "coherence",
                "probable_coherence",
                "topic_words",
                "topic_support",
                "topic_labels",
            )
        },
        topic_names=[any_model.topic_names_[k] for k in sources],
    )
    once = twice.merge([1, 2])
    assert_same(once, any_model)
    assert [t.words for t in once.topics()] == [t.words for t in any_model.topics()]
    if hasattr(any_model.estimator_, "target_components_"):
        one, other = (np.asarray(m.predict(corpus[0])) for m in (once, any_model))
        assert np.mean(one == other) == 1.0 or np.allclose(one.astype(float), other.astype(float))


def test_masses_add_when_topics_are_merged(any_model):
    merged = any_model.merge([3, 1], name="both")
    before, after = mass_of(any_model), mass_of(merged)
    np.testing.assert_allclose(after[:, 1], before[:, 1] + before[:, 3], rtol=1e-12)
    np.testing.assert_allclose(after.sum(axis=1), before.sum(axis=1), rtol=1e-12)
    assert merged.topic_names_[1] == "both"
    assert len(merged.topic_names_) == merged.n_components == K - 1
    others = [0, 2, 3]  # in the new model; to the bit
    kept = any_model.estimator_.components_[[0, 2, 4]]
    assert merged.estimator_.components_[others].tobytes() == kept.tobytes()
    assert np.isnan(merged.coherence_[1])
    support = any_model.topic_support_
    assert merged.topic_support_.tolist() == [support[0], support[1] + support[3], *support[[2, 4]]]
    assert np.array_equal(merged.coherence_[others], any_model.coherence_[[0, 2, 4]])


def test_merged_topics_say_the_mean_of_what_they_said(model):
    head, merged = model.estimator_.pooled_head, model.merge([0, 2])
    S, A = model.estimator_.representation_, model.estimator_.components_
    weights = (S.sum(axis=0) * masses(A))[[0, 2]]
    wanted = np.average(head.topics[[0, 2]], axis=0, weights=weights)
    np.testing.assert_allclose(merged.estimator_.pooled_head.topics[0], wanted)
    shares = topic_shares(merged.document_topics_, merged.estimator_.components_)
    words = (
        model.document_scores_
        - topic_shares(model.document_topics_, model.estimator_.components_) @ head.topics
    )
    again = words + shares @ merged.estimator_.pooled_head.topics
    np.testing.assert_allclose(merged.document_scores_, again, atol=1e-12)


def test_dropped_topics_are_gone(any_model, corpus):
    left = any_model.drop([1, any_model.topic_names_[4]])
    kept = any_model.estimator_.components_[[0, 2, 3]]
    assert left.estimator_.components_.tobytes() == kept.tobytes()
    assert left.topic_names_ == [any_model.topic_names_[k] for k in (0, 2, 3)]
    assert left.transform(corpus[0][:3]).shape == (3, 3)
    assert len(left.topics()) == len(left.topic_words_) == 3


def test_documents_without_a_topic_are_still_predicted(model, corpus):
    """The default head predicts from words, too."""
    texts, _ = corpus
    left = model.drop([0, 1, 2, 3])
    without = ~left.document_topics_.any(axis=1)
    assert without.sum() > 10
    for found in (left.documents(), left.documents(texts)):
        told = [row.prediction for row in found]
        assert told == left.predict(texts).tolist()
    place = int(np.flatnonzero(without)[0])
    assert left.explain(texts[place]).prediction == told[place]


def test_split_divides_what_the_topic_explains(any_model, corpus):
    texts, _ = corpus
    new = any_model.split(1, texts, into=3)
    A, old = new.estimator_.components_, any_model.estimator_.components_
    assert A[[0, 4, 5, 6]].tobytes() == old[[0, 2, 3, 4]].tobytes()
    assert len(new.topic_names_) == K + 2
    if not new.target_names_:  # the score is the explained share: more topics explain more
        assert new.score(texts) > any_model.score(texts)
    words = set(np.argsort(-old[1])[:10])
    parts = {j for k in (1, 2, 3) for j in np.argsort(-A[k])[:6]}
    assert len(parts & words) >= 5


def test_pinned_words_belong_and_banned_words_do_not(model):
    words = list(model.vectorizer_.get_feature_names_out())
    k, least = 0, np.sort(model.estimator_.components_[0])[-10]
    foreign = words[int(np.argmin(model.estimator_.components_[0]))]
    pinned = model.pin(k, foreign)
    assert pinned.topics()[k].words[0] == foreign
    assert pinned.estimator_.components_[k, words.index(foreign)] >= least
    first = model.topics()[k].words[0]
    banned = model.ban(model.topic_names_[k], [first])
    assert first not in banned.topics(30)[k].words
    assert banned.estimator_.components_[k, words.index(first)] == 0.0
    np.testing.assert_allclose(mass_of(banned), mass_of(model), rtol=1e-12)
    back = banned.pin(k, first)
    assert (back.settled_.banned[k], back.settled_.pinned[k]) == ([], [first])


def test_edits_leave_the_model_as_it_was(model, corpus):
    texts, labels = corpus
    before, estimator = model.fitted, model.estimator_.fitted
    kept = copy.deepcopy((arrays_of(before), arrays_of(estimator)))
    model.rename(0, "x").merge([0, 1]).drop(0).freeze([0]).thaw(0)
    model.pin(1, model.topics()[0].words[0]).ban(2, model.topics()[2].words[0])
    model.split(0, texts).refit(texts, labels, iterations=2)
    assert model.fitted is before
    assert model.estimator_.fitted is estimator
    assert not hasattr(model, "settled_")
    for then, now in zip(kept, (arrays_of(before), arrays_of(estimator)), strict=True):
        assert then.keys() == now.keys()
        for name, value in now.items():
            equal_nan = value.dtype.kind == "f"
            assert np.array_equal(value, then[name], equal_nan=equal_nan), name


def arrays_of(state):
    """Return the arrays of a state."""
    values = {field.name: getattr(state, field.name) for field in fields(state)}
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def test_what_is_settled_survives_save_load_and_refit(model, corpus, tmp_path):
    texts, labels = corpus
    first = model.topics()[0].words[0]
    foreign = model.topics()[2].words[0]
    mine = model.rename(3, "mine").ban(0, first).pin(1, foreign).freeze(2)
    mine.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.settled_ == mine.settled_
    assert_same(loaded, mine, rtol=0)
    for start in (mine, loaded):
        again = start.refit(texts, labels)
        assert again.settled_ == mine.settled_
        assert again.topic_names_[3] == "mine"
        A, old = again.estimator_.components_, mine.estimator_.components_
        fixed = mine.settled_.mask(again.vectorizer_.get_feature_names_out())
        assert A[fixed].tobytes() == old[fixed].tobytes()
        assert fixed[2].all()
        assert not np.array_equal(A[~fixed], old[~fixed])
        assert first not in again.topics(40)[0].words
        assert again.topics()[1].words[0] == foreign
        assert again.drift_[2].similarity == pytest.approx(1.0)
        assert [row.topic for row in again.drift_] == list(range(K))


def test_what_is_settled_holds_in_streams(model, corpus):
    texts, labels = corpus
    first = model.topics()[0].words[0]
    mine = model.rename(3, "mine").ban(0, first).freeze(2)
    before = mine.estimator_.components_.copy()
    for low in (0, 45):
        mine.partial_fit(texts[low : low + 45], labels[low : low + 45])
        fixed = mine.settled_.mask(mine.vectorizer_.get_feature_names_out())
        assert mine.estimator_.components_[fixed].tobytes() == before[fixed].tobytes()
        assert mine.topic_names_[3] == "mine"
        assert first not in mine.topics(40)[0].words
    assert not np.array_equal(mine.estimator_.components_, before)
    assert mine.estimator_.fixed is None


def test_freezing_all_topics_changes_no_bit_of_them(model, corpus):
    again = model.freeze(range(K)).refit(*corpus)
    assert again.estimator_.components_.tobytes() == model.estimator_.components_.tobytes()
    assert all(not row.gained and row.came == row.went == 0 for row in again.drift_)


def test_known_matrix_and_models_change_nothing(model, corpus):
    """A refit on the documents of the fit reuses their matrix and the linear models."""
    texts, labels = corpus
    first = model.freeze(0).refit(texts, labels)
    assert model.estimator_.fitted.linear_models is None  # a fit does not keep them
    known = first.refit(texts, labels)
    assert known.estimator_.fitted.linear_models is first.estimator_.fitted.linear_models
    stranger = pickle.loads(pickle.dumps(first))
    assert stranger.estimator_.fitted.linear_models is None
    anew = stranger.refit(texts, labels)
    assert known.estimator_.components_.tobytes() == anew.estimator_.components_.tobytes()
    assert np.array_equal(known.document_scores_, anew.document_scores_)
    changed = model.freeze(0).refit(texts, ["sport" if x == "food" else x for x in labels])
    assert set(changed.target_names_) == {"sport", "space"}


def test_models_of_other_labels_are_not_reused(corpus):
    """Numbers sort otherwise than the same numbers as words."""
    texts, labels = corpus
    numbers = {"sport": 2, "space": 10, "food": 33, "": -1}
    y = [numbers[label] for label in labels]
    model = TopicModel(3, random_state=0).fit(texts, y)
    again = model.refit(texts, ["" if k < 0 else str(k) for k in y])
    fresh = TopicModel(3, random_state=0).fit(texts, ["" if k < 0 else str(k) for k in y])
    assert again.target_names_ == ["10", "2", "33"]
    assert np.array_equal(
        again.estimator_.pooled_head.weights, fresh.estimator_.pooled_head.weights
    )


def test_marks_are_read_by_the_classes_of_the_model(corpus):
    """-1 and 1 alone would be two classes."""
    texts, labels = corpus
    codes = {"sport": 0, "space": 1, "food": 0, "": -1}
    y = np.array([codes[label] for label in labels])
    model = TopicModel(3, random_state=0).fit(texts, y)
    some = np.flatnonzero(y != 0)
    batch, known = [texts[i] for i in some], y[some]
    assert len(model.to_label(batch, 5, y=known)) == 5
    assert model.refit(batch + texts[:1], [*known.tolist(), 1]).classes_.tolist() == [1]


def test_settings_come_from_the_model(corpus):
    texts, labels = corpus
    options = {"head": "refit", "supervision": 7.0, "target_loss": "frobenius"}
    again = TopicModel(3, random_state=0, **options).fit(texts).refit(texts, labels)
    assert {name: getattr(again.estimator_, name) for name in options} == options


def test_seeds_follow_edits(corpus):
    texts, labels = corpus
    seeds = {"sport": ["goal"], "space": ["moon"], "food": ["bread"]}
    model = TopicModel(3, seeds=seeds, random_state=0).fit(texts, labels)
    assert model.rename("sport", "games").seeds == {"games": ["goal"], **dict([*seeds.items()][1:])}
    assert set(model.drop("sport").seeds) == {"space", "food"}
    both = model.merge(["sport", "space"])
    assert len(both.seeds) == 2
    both.partial_fit(texts, labels)
    assert model.seeds == seeds


def test_names_are_not_shared(model):
    other = model.freeze(0)
    other.topic_names_[0] = "changed"
    assert model.topic_names_[0] != "changed"


def test_refits_take_other_documents_labels_and_classes(model, corpus):
    texts, labels = corpus
    more = [*labels[:-2], "other", "other"]
    again = model.refit(texts[20:], more[20:])
    assert again.target_names_ == ["food", "other", "space", "sport"]
    assert len(again.document_topics_) == len(texts) - 20


@pytest.mark.parametrize("several", [False, True])
def test_a_sample_is_fitted_and_all_documents_are_described(corpus, several, monkeypatch, tmp_path):
    texts, labels = corpus
    labels = (
        [None if i % 9 else {one, "text"} for i, one in enumerate(labels)]
        if several
        else ["" if i % 9 else one or "food" for i, one in enumerate(labels)]
    )
    model = TopicModel(K, random_state=0).fit(texts, labels)
    fitted, run = [], refits.run_fit
    monkeypatch.setattr(
        refits, "run_fit", lambda e, X, *rest, **more: fitted.append(X) or run(e, X, *rest, **more)
    )
    again = model.refit(texts, labels, iterations=3, sample=30)
    rows = {tuple(row.nonzero()[0]) for row in fitted[0].toarray()}
    X = model.vectorizer_.transform(texts).toarray()
    assert fitted[0].shape[0] == 30
    assert all(tuple(X[i].nonzero()[0]) in rows for i in range(0, len(texts), 9))  # labelled ones
    np.testing.assert_allclose(again.document_topics_, again.transform(texts), atol=1e-12)
    assert len(again.documents()) == len(again.estimator_.representation_) == len(texts)
    assert again.topic_support_.sum() == 10
    again.save(tmp_path / "model")
    assert load_model(tmp_path / "model").document_topics_.shape == (len(texts), K)
    whole, large = (model.refit(texts, labels, sample=n) for n in (None, len(texts)))
    assert whole.estimator_.components_.tobytes() == large.estimator_.components_.tobytes()
    assert model.refit(texts, labels, sample=1).topic_support_.sum() == 10


def test_known_documents_are_represented_once(model, corpus, monkeypatch):
    texts, labels = corpus
    kind, calls = type(model.estimator_), []
    transform = kind.transform
    monkeypatch.setattr(kind, "transform", lambda *given: calls.append(1) or transform(*given))
    again = model.refit(texts, labels, iterations=2)
    again.to_label(texts, 5, y=labels)
    assert len(calls) == 1
    again.to_label(texts[:40], 5, y=labels[:40])
    assert len(calls) == 2


def test_seeds_still_pull(corpus):
    texts, labels = corpus
    seeded = TopicModel(3, seeds={"sport": ["goal"]}, random_state=0).fit(texts, labels)
    again = seeded.refit(texts, labels, iterations=3)
    k = seeded.topic_names_.index("sport")
    assert again.topic_names_[k] == "sport"
    assert "goal" in again.topics()[k].words
    loose = TopicModel(3, random_state=0).fit(texts, labels)
    goal = list(again.vectorizer_.get_feature_names_out()).index("goal")
    share = [P[:, goal].max() for P in map(shares_of_words, (again, loose.refit(texts, labels)))]
    assert share[0] > share[1]


def test_regrouping_can_merge_and_drop_at_once(plain):
    new = regroup(plain, [[0, 3], [2]])
    assert len(new.topic_names_) == 2
    assert new.estimator_.components_[1].tobytes() == plain.estimator_.components_[2].tobytes()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda m: m.rename(9, "x"), r"topic 9 does not exist; the topics are 0 to 4"),
        (lambda m: m.rename("nobody", "x"), r"topic 'nobody' does not exist; the topics are '"),
        (lambda m: m.rename(0, " "), r"name=' ' must be a text"),
        (
            lambda m: m.rename(0, "x").rename(1, "x").freeze("x"),
            r"topics \[0, 1\] are all named 'x'",
        ),
        (lambda m: m.merge([2]), r"topics=\[2\] must name at least two different topics"),
        (lambda m: m.merge([2, 2]), r"at least two different topics"),
        (lambda m: m.drop(range(K)), r"A model needs a topic"),
        (lambda m: m.drop(-1), r"topic -1 does not exist"),
        (lambda m: m.freeze(1.5), r"'float' object is not iterable|must be a number or a name"),
        (lambda m: m.pin(0, "zzzz"), r"word 'zzzz' is not among the \d+ words of the model"),
        (lambda m: m.ban(0, []), r"words=\[\] must be one word or a list of words"),
        (lambda m: m.ban(0, list(m.vectorizer_.get_feature_names_out())), "drop it instead"),
        (lambda m: m.split(0, ["nothing known"]), r"fits 0 of the documents; splitting it into 2"),
        (lambda m: m.split(0, ["goal"], into=1), r"into=1 must be a whole number, at least 2"),
        (lambda m: m.refit(["goal puck"], ["sport"], iterations=0), r"iterations=0 must be"),
        (lambda m: m.refit(["goal puck"], ["sport"], sample=0), r"sample=0 must be"),
        (lambda m: m.refit(["goal puck"]), r"y is None, but this model predicts"),
    ],
)
def test_bad_edits_are_one_sentence(model, edit, message):
    with pytest.raises((TypeError, ValueError), match=message):
        edit(model)


def test_documents_of_edited_topics_are_represented_anew(corpus):
    """The model knows its documents' matrix, and had represented them by the topics before."""
    texts, y = corpus
    model = TopicModel(K, random_state=0).fit(texts, y)
    X, side = model.fitted.documents.X, model.fitted.documents.side
    rows = DocumentRows(X, side)
    assert represent_documents(model, rows)[0] is model.document_topics_
    for changed in (model.drop(0), model.merge([0, 1]), model.drop(0).refit(texts, y).drop(1)):
        S, scores = represent_documents(changed, rows)
        np.testing.assert_allclose(S, changed.estimator_.transform(X), rtol=1e-9)
        expected = changed.estimator_.scores(X, **rows.given)
        np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-9)
