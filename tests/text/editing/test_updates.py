"""update: old topics stay to the bit; new words, topics and classes come."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from cofactor import TopicModel, load_model
from cofactor.targets.classes import ClassCoding, encode_classes
from cofactor.text.editing.updates import label_weights

SPORT = ["goal puck ice", "puck ice rink", "goal rink skate", "ice skate puck goal"]
SPACE = ["moon rocket orbit", "rocket orbit fuel", "moon fuel launch", "launch orbit moon rocket"]
BAKING = ["flour yeast dough", "dough oven flour", "oven bread yeast", "bread dough oven flour"]
TEXTS = (SPORT + SPACE) * 4
LABELS = (["sport"] * 4 + ["space"] * 4) * 4


@pytest.fixture(scope="module")
def model():
    return TopicModel(2, random_state=0).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def wider(model):
    edited = model.rename(0, "mine").pin(0, "fuel" if _is_space(model) else "ice")
    edited = edited.ban(1, "rink" if _is_space(model) else "launch").freeze(1)
    return edited, edited.update(BAKING * 4, ["baking"] * 16, new_topics=1)


def _is_space(model):
    return "moon" in model.topic_names_[0] or "rocket" in model.topic_names_[0]


def cosine(one, other):
    return one @ other / np.linalg.norm(one) / np.linalg.norm(other)


def test_old_topics_stay_and_new_ones_come(wider):
    before, after = wider
    A, B = before.estimator_.components_, after.estimator_.components_
    np.testing.assert_array_equal(B[:2, : A.shape[1]], A)
    assert not B[1, A.shape[1] :].any()  # a frozen topic gets no new word either
    assert B.shape == (3, A.shape[1] + 5)
    np.testing.assert_array_equal(after.vectorizer_.idf_[: A.shape[1]], before.vectorizer_.idf_)
    assert after.vectorizer_.words_[A.shape[1] :].tolist() == [
        "bread",
        "dough",
        "flour",
        "oven",
        "yeast",
    ]
    assert set(after.topics(5)[2].words) == {"bread", "dough", "flour", "oven", "yeast"}
    np.testing.assert_allclose(
        after.vectorizer_.idf_[-5:], np.log((1 + 32 + 16) / (1 + np.array([8, 12, 12, 12, 8]))) + 1
    )
    assert after.topic_names_[0] == "mine"
    assert after.settled_.names == ["mine", None, None]
    assert after.settled_.frozen == [False, True, False]
    assert after.settled_.pinned[0] == before.settled_.pinned[0] != []
    assert after.settled_.banned[1] == before.settled_.banned[1] != []


def test_classes_are_extended_in_order(wider):
    before, after = wider
    assert after.classes_.tolist() == after.target_names_ == ["baking", "space", "sport"]
    assert after.predict([*SPORT, *SPACE, *BAKING]).tolist() == [
        *["sport"] * 4,
        *["space"] * 4,
        *["baking"] * 4,
    ]
    head, old = after.estimator_.pooled_head, before.estimator_.pooled_head
    assert head.labels.tolist() == [16, 16, 16]
    assert old.labels.tolist() == [16, 16]  # the model that was updated stays as it was
    assert before.classes_.tolist() == ["space", "sport"]
    assert after.estimator_.target_components_.shape == (3, 3)
    assert after.expected_score_ is None
    assert after.expected_coverage(0.5) is None
    assert after.topic_support_.sum() == before.topic_support_.sum() + 16
    assert after.topic_labels_.sum(axis=0).tolist() == [16, 16, 16]
    assert after.topic_labels_[2].tolist() == [16, 0, 0]
    assert after.fitted.documents is None
    np.testing.assert_allclose(after.predict_proba(BAKING).sum(axis=1), 1)


def test_the_documents_of_the_past_are_remembered(wider):
    before, after = wider
    n = len(TEXTS)
    np.testing.assert_array_equal(after.document_topics_[:n, :2], before.document_topics_)
    assert not after.document_topics_[:n, 2].any()
    np.testing.assert_allclose(after.document_topics_[n:], after.transform(BAKING * 4))
    found = [row.prediction for row in after.documents()]
    assert found == [*LABELS, *["baking"] * 16]
    drift = after.drift_
    assert [row.before for row in drift] == [0, 1, None]
    assert [row.similarity for row in drift[:2]] == pytest.approx([1, 1], abs=1e-3)
    assert drift[2].documents == drift[2].came == drift[2].predictions == 16


def test_a_saved_update_predicts_alike_and_can_be_updated(wider, tmp_path):
    after = wider[1]
    after.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    texts = [*SPORT, *BAKING, "moon dough"]
    np.testing.assert_array_equal(loaded.predict_proba(texts), after.predict_proba(texts))
    assert loaded.settled_ == after.settled_
    music = ["chord song guitar", "song verse chord", "guitar verse tune", "tune song chord"] * 4
    once_more = loaded.update(music, ["music"] * 16, new_topics=1)
    assert once_more.predict([*BAKING, *music[:4], *SPACE]).tolist() == [
        *["baking"] * 4,
        *["music"] * 4,
        *["space"] * 4,
    ]


def test_labels_of_known_classes_correct_the_scores(model):
    texts = ["rocket goal"] * 6 + ["puck fuel"] * 6
    before = model.predict_proba(texts)
    after = model.update(texts, ["sport"] * 6 + ["space"] * 6).predict_proba(texts)
    assert (after[:6, 1] > before[:6, 1]).all()
    assert (after[6:, 0] > before[6:, 0]).all()
    assert model.update(texts, [None] * 12).classes_.tolist() == ["space", "sport"]


def test_classes_known_by_name_only_are_learned():
    stream = TopicModel(2, random_state=0)
    stream.partial_fit(TEXTS, LABELS, classes=["baking", "space", "sport"])
    after = stream.update(BAKING * 4, ["baking"] * 16)
    assert after.predict([SPORT[0], SPACE[0], BAKING[0]]).tolist() == ["sport", "space", "baking"]


def test_class_weights_count_the_labels_of_before():
    texts, labels = TEXTS + SPORT * 8, LABELS + ["sport"] * 32  # 16 labels of space, 48 of sport
    model = TopicModel(2, class_weight="balanced", random_state=0).fit(texts, labels)
    coding = ClassCoding("multiclass", np.array(["space", "sport", "baking"], dtype=object))
    targets, _ = encode_classes(["baking"] * 4 + ["space"] * 16, n_samples=20, coding=coding)
    weights = label_weights(model.estimator_, targets, coding)
    np.testing.assert_allclose(weights, [32 / 4] * 4 + [32 / (16 + 16)] * 16)
    after = model.update(BAKING, ["baking"] * 4, new_topics=1)
    assert after.predict([SPORT[0], SPACE[0], BAKING[0]]).tolist() == ["sport", "space", "baking"]


@pytest.mark.parametrize("move", [0.02, 0.3])
def test_topics_move_only_as_far_as_they_may(model, move):
    texts = ["goal puck moon moon rocket dough", "ice rocket moon dough", "puck moon"] * 20
    after = model.freeze(1).update(texts, move=move)
    A, B = model.estimator_.components_, after.estimator_.components_
    wide = np.pad(A, ((0, 0), (0, B.shape[1] - A.shape[1])))
    assert 1 - move - 1e-9 <= cosine(wide[0], B[0]) < 1
    np.testing.assert_array_equal(wide[1], B[1])


def test_new_words_in_old_topics_are_bounded(model):
    texts = ["goal puck zamboni zamboni", "ice zamboni", "puck rink zamboni"] * 200
    after = model.update(texts)
    A, B = model.estimator_.components_, after.estimator_.components_
    np.testing.assert_array_equal(A, B[:, : A.shape[1]])
    assert B[:, -1].max() > 0  # the word is learned
    assert all(
        cosine(np.pad(a, (0, B.shape[1] - A.shape[1])), b) >= 0.9975 - 1e-9
        for a, b in zip(A, B, strict=True)
    )


def test_auto_adds_topics_that_pay(model):
    assert len(model.update(TEXTS, new_topics="auto").topic_names_) == 2
    random = np.random.default_rng(0)
    words = np.array(["flour", "yeast", "dough", "oven", "bread", "salt", "butter", "crumb"])
    texts = [" ".join(random.choice(words, 5)) for _ in range(80)]
    assert len(model.update(texts, new_topics="auto").topic_names_) == 3


def test_models_without_a_head_or_with_numbers():
    topics = TopicModel(2, random_state=0).fit(TEXTS)
    assert len(topics.update(BAKING * 4, new_topics=1).topic_names_) == 3
    with pytest.raises(ValueError, match="fitted without labels"):
        topics.update(BAKING, ["baking"] * 4)
    y = np.where(np.array(LABELS) == "sport", 1.5, 3.25)
    numbers = TopicModel(2, random_state=0).fit(TEXTS, y)
    with pytest.warns(UserWarning, match="do not change"):
        after = numbers.update(BAKING, [2.5, 2.5, 1.0, 0.5], new_topics=1)
    np.testing.assert_allclose(after.predict(TEXTS), numbers.predict(TEXTS), rtol=1e-6)
    with pytest.raises(ValueError, match="y holds classes, but the model predicts numbers"):
        numbers.update(BAKING, ["baking"] * 4)


@pytest.mark.parametrize("head", ["refit", "joint"])
def test_heads_of_topics_learn_classes(head):
    model = TopicModel(2, random_state=0, head=head).fit(TEXTS, LABELS)
    after = model.update(BAKING * 4, ["baking"] * 16, new_topics=1)
    assert after.predict([SPORT[0], SPACE[0], BAKING[0]]).tolist() == ["sport", "space", "baking"]


def test_a_vectorizer_of_the_user_keeps_its_words():
    model = TopicModel(2, vectorizer=TfidfVectorizer(), random_state=0).fit(TEXTS, LABELS)
    with pytest.warns(UserWarning, match="No words are added"):
        after = model.update(["puck dough"] * 4, ["baking"] * 4)
    assert len(after.vectorizer_.get_feature_names_out()) == after.estimator_.n_features_in_ == 10


@pytest.mark.parametrize(
    ("documents", "y", "options", "message"),
    [
        (["1 2", "3"], None, {}, "None of the 2 documents has a word"),
        (BAKING, None, {"new_topics": -1}, "new_topics=-1 must be"),
        (BAKING, None, {"new_topics": 5}, r"new_topics=5 is more than .* \(4\)"),
        (BAKING, None, {"new_topics": "many"}, "new_topics='many' must be"),
        (BAKING, None, {"move": 1.5}, "move=1.5 must be"),
        (BAKING, None, {"move": "far"}, "move='far' must be"),
        (BAKING, [0.5, 1.5, 2.0, 2.5], {}, "y holds numbers, but the model predicts classes"),
        (BAKING, [{"a"}, {"a", "b"}, None, {"b"}], {}, "y holds several labels per document"),
        (BAKING, [1, 2, 3, 4], {}, "convert y to their type"),
        (BAKING, ["baking"], {}, "y has 1 labels for 4 documents"),
    ],
)
def test_bad_input_is_refused(model, documents, y, options, message):
    before = {name: id(value) for name, value in vars(model).items()}
    with pytest.raises(ValueError, match=message):
        model.update(documents, y, **options)
    assert before == {name: id(value) for name, value in vars(model).items()}


def test_updated_models_know_labelled_texts_of_old_and_new_classes(model, wider):
    assert np.isfinite(model.estimator_.unlike(model.vectorizer_.transform(TEXTS))).all()
    _, after = wider
    kept = after.estimator_.pooled_head.familiar
    names = np.array(after.target_names_)[kept.classes]
    assert set(names) == {"sport", "space", "baking"}
    said = after.documents([*BAKING, *SPORT])
    assert said.column("prediction") == ["baking"] * 4 + ["sport"] * 4
    assert max(said.column("unlike")) < 0.99


def test_a_missing_encoder_is_named():
    def encode(texts):
        return np.array([[len(text), 1.0] for text in texts])

    model = TopicModel(2, random_state=0, encoder=encode).fit(TEXTS, LABELS)
    assert model.fitted.encoder is not None
    model.set_params(encoder=None)
    with pytest.raises(ValueError, match="encoder is None, but the model was fitted with an"):
        model.update(BAKING, ["baking"] * 4)
