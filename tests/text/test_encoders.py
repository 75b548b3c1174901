"""Encoders: what they may return, static models, and topic models that have one."""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cofactor import ModelFormatError, TopicModel, load_model
from cofactor.callbacks import ProgressBar
from cofactor.text import encoders
from cofactor.text.encoders import (
    EncoderRecord,
    StaticEncoder,
    agreement,
    encode_texts,
    find_encoder,
    read_vectors,
    text_without,
)
from static_models import subject_vectors, write_static
from subjects import LABELS, NOISE, SOME, SUBJECTS, TEXTS, UNSEEN

WIDTH = 6


VECTORS = subject_vectors(map(str.split, SUBJECTS.values()), NOISE.split(), WIDTH)


def encode(texts):
    """Return the means of the words' vectors."""
    rows = [[VECTORS[word] for word in text.split() if word in VECTORS] for text in texts]
    return np.array([np.mean(row, axis=0) if row else np.zeros(WIDTH) for row in rows])


class Own:
    """An encoder with a method."""

    def encode(self, texts):
        return encode(texts)


class Tensor:
    """Looks like a tensor of torch."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def detach(self):
        return self

    cpu = float = detach

    def numpy(self):
        return self.values


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_static(tmp_path_factory.mktemp("static"), VECTORS)


@pytest.fixture(scope="module")
def static(folder):
    return TopicModel(4, encoder=folder, random_state=0).fit(TEXTS, SOME)


@pytest.fixture(scope="module")
def own():
    return TopicModel(4, encoder=encode, random_state=0).fit(TEXTS, SOME)


# ---- what encoders return


@pytest.mark.parametrize(
    "raw",
    [
        [[1, 2], [3, 4]],
        ((1.0, 2.0), (3.0, 4.0)),
        np.array([[1, 2], [3, 4]], dtype=np.float16),
        np.array([[1, 2], [3, 4]], dtype=np.uint8),
        [np.array([1.0, 2.0]), np.array([3.0, 4.0])],
        Tensor([[1, 2], [3, 4]]),
    ],
)
def test_arrays_lists_and_tensors_are_read(raw):
    found = read_vectors(raw, 2)
    assert found.dtype == np.float32
    assert_array_equal(found, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([[1, 2]], "returned 1 rows for 2 texts"),
        ([[1, 2], [3]], "one row of numbers for each"),
        ([1, 2], r"an array of shape \(2,\) for 2 texts"),
        (None, "one row of numbers for each"),
        (["a", "b"], "a list for 2 texts"),
        ([[1, np.nan], [1, 2]], "not finite for text 0 of 2"),
        ([[1, 2], [np.inf, 2]], "not finite for text 1 of 2"),
        (np.full((2, 2), 1e300), "not finite"),
        (np.zeros((2, 0)), "0 dimensions"),
        (np.ones((2, 5)), "5 dimensions, but earlier ones have 2"),
    ],
)
def test_other_results_are_one_sentence(raw, message):
    with pytest.raises(ValueError, match=message) as error:
        read_vectors(raw, 2, width=2 if "earlier" in message else None)
    assert str(error.value).endswith(".")


def test_zero_vectors_only_are_refused():
    with pytest.raises(ValueError, match="zero vectors only"):
        TopicModel(3, encoder=lambda texts: np.zeros((len(texts), 3))).fit(TEXTS, SOME)


def test_an_encoder_that_fails_in_the_middle_says_where(monkeypatch):
    monkeypatch.setattr(encoders, "TEXTS_TOGETHER", 2)

    def fails(texts):
        if "c" in texts:
            raise RuntimeError("out of memory")
        return np.ones((len(texts), 2))

    with pytest.raises(ValueError, match="texts 2 to 3: RuntimeError: out of memory"):
        encode_texts(fails, ["a", "b", "c", "d", "e"])


def test_the_dimension_may_not_change_between_batches(monkeypatch):
    monkeypatch.setattr(encoders, "TEXTS_TOGETHER", 1)
    with pytest.raises(ValueError, match="3 dimensions, but earlier ones have 2"):
        encode_texts(lambda texts: np.ones((1, 2 if texts == ["a"] else 3)), ["a", "b"])


def test_batches_do_not_change_vectors(folder, monkeypatch):
    whole = encode_texts(folder, TEXTS)
    monkeypatch.setattr(encoders, "TEXTS_TOGETHER", 7)
    assert_array_equal(encode_texts(folder, TEXTS), whole)


# ---- static models


def test_static_vectors_are_means_of_token_vectors(folder):
    texts = [*TEXTS[:20], "Moon moon god", ""]
    expected = encode([text.lower() for text in texts])
    assert_allclose(encode_texts(folder, texts), expected, rtol=1e-5, atol=1e-6)


def test_model2vec_agrees(folder):
    model2vec = pytest.importorskip("model2vec")
    found = model2vec.StaticModel.from_pretrained(folder).encode(TEXTS)
    assert_allclose(encode_texts(folder, TEXTS), found, rtol=1e-5, atol=1e-6)


def test_weights_and_mapping_are_used(tmp_path):
    words = {word: VECTORS[word] for word in ("moon", "god")}
    vectors = np.array([[0, 0], [1, 2]], dtype=np.float32)
    arrays = {
        "embeddings": vectors,
        "weights": np.array([1, 3, 5], dtype=np.float32),
        "mapping": np.array([0, 1, 1]),
    }
    found = encode_texts(write_static(tmp_path / "static", words, **arrays), ["moon", "moon god"])
    assert_allclose(found, [[3, 6], [4, 8]])


@pytest.mark.parametrize("text", ["The moon, the MOON and god!", "", "zzz", "moon\n  puck-goal"])
def test_parts_of_words_add_up(folder, text):
    encoder, weights = find_encoder(folder), np.random.default_rng(0).normal(size=(WIDTH, 3))
    parts = encoder.word_parts(text, weights)
    total = sum(parts.values(), np.zeros(3))
    assert_allclose(total, encoder.encode([text])[0] @ weights, rtol=1e-5, atol=1e-6)
    assert set(parts) == {word for word in ("moon", "god", "puck", "goal") if word in text.lower()}


def test_tokens_of_one_word_have_one_part(tmp_path):
    folder = write_static(
        tmp_path / "static", {"mo": np.ones(6), "##on": np.ones(6), "god": np.ones(6)}
    )
    parts = find_encoder(folder).word_parts("Moon god moon", np.eye(WIDTH))
    assert list(parts) == ["moon", "god"]


def test_text_without_a_word():
    assert text_without("Goal, goals and GOAL", "goal") == ", goals and "
    assert text_without("New  York is new", "new york") == " is new"
    assert text_without("a+b", "") == "a+b"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: (f / "tokenizer.json").write_text("{"), "cannot be loaded"),
        (lambda f: (f / "tokenizer.json").unlink(), "cannot be loaded"),
        (lambda f: (f / "model.safetensors").write_bytes(b"\xff" * 64), "cannot be loaded"),
        (lambda f: (f / "model.safetensors").write_bytes(b""), "cannot be loaded"),
        (lambda f: (f / "config.json").write_text("[]"), "cannot be"),
    ],
)
def test_damaged_folders_are_one_sentence(tmp_path, spoil, message):
    name = write_static(tmp_path / "static", VECTORS)
    spoil(tmp_path / "static")
    with pytest.raises(ValueError, match=message) as error:
        find_encoder(name)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"embeddings": np.full((33, 2), np.nan, np.float32)}, "not finite"),
        ({"embeddings": np.ones((33, 2), np.int64)}, "not a matrix of numbers"),
        ({"weights": np.ones(3, np.float32)}, "weights do not fit"),
        ({"mapping": np.full(33, 99)}, "mapping does not fit"),
        ({"mapping": np.full(33, -1)}, "mapping does not fit"),
    ],
)
def test_static_models_that_do_not_fit_together_are_refused(tmp_path, arrays, message):
    assert len(VECTORS) + 1 == 33
    with pytest.raises(ValueError, match=message):
        find_encoder(write_static(tmp_path / "static", VECTORS, **arrays))


def test_unknown_names_are_one_sentence():
    pytest.importorskip("model2vec")
    with pytest.raises(ValueError, match="neither a folder nor a known name"):
        find_encoder("nothing here")


def test_wordllama_needs_no_network():
    pytest.importorskip("wordllama")
    found = encode_texts("wordllama", ["the king", "a queen", "the invoice"])
    assert found.shape == (3, 256)
    cosines = found @ found.T / np.outer(*[np.linalg.norm(found, axis=1)] * 2)
    assert cosines[0, 1] > cosines[0, 2]


# ---- whether vectors fit


def test_vectors_that_follow_the_words_agree(own):
    X = own.fitted.documents.X
    vectors = encode(TEXTS)
    assert agreement(X, vectors) > 0.5
    order = np.random.default_rng(0).permutation(len(TEXTS))
    assert abs(agreement(X, vectors[order])) < 0.15
    assert agreement(X[:20], vectors[:20]) is None


def test_vectors_that_do_not_fit_are_left_out_with_a_warning():
    random = np.random.default_rng(0)

    def noise(texts):
        return random.normal(size=(len(texts), 5))

    with pytest.warns(UserWarning, match="The encoder's vectors are not used"):
        model = TopicModel(4, encoder=noise, random_state=0).fit(TEXTS, SOME)
    words = TopicModel(4, random_state=0).fit(TEXTS, SOME)
    assert_array_equal(model.predict_proba(UNSEEN), words.predict_proba(UNSEEN))
    assert model.fitted.encoder is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a refit does not ask again
        model.refit(TEXTS, SOME)


def test_an_encoder_of_another_language_is_left_out():
    pytest.importorskip("wordllama")
    german = [
        "der Mond und die Rakete sind nicht auf der Erde",
        "das Tor und die Mannschaft waren für uns da",
        "wir haben die Kirche und die Bibel bei uns",
    ] * 20
    labels = np.where(np.arange(60) < 12, np.array(["a", "b", "c"] * 20), "")
    with pytest.warns(UserWarning, match="made for English, but .* seems to be German"):
        model = TopicModel(3, encoder="wordllama", random_state=0).fit(german, labels)
    assert model.fitted.encoder is None


# ---- topic models


def test_without_an_encoder_nothing_changes(model):
    assert model.fitted.encoder is None
    assert model.estimator_.pooled_head.vectors is None


@pytest.mark.parametrize("kind", ["static", "own"])
def test_models_use_vectors(kind, request):
    model = request.getfixturevalue(kind)
    head = model.estimator_.pooled_head
    assert head.vector_weights.shape == (WIDTH, 3)
    assert model.score(TEXTS, LABELS) > 0.95
    assert_allclose(
        model.predict_proba(TEXTS), model.estimator_.probabilities(model.document_scores_)
    )
    assert [row.prediction for row in model.documents(TEXTS)] == model.predict(TEXTS).tolist()
    assert len(model.annotate(UNSEEN)) == len(UNSEEN)
    assert len(model.to_label(TEXTS, 3, y=SOME)) == 3
    assert len(model.over_time(TEXTS, ["2024-01-01", "2024-02-01"] * 60)) > 0


def test_an_object_and_its_function_agree(own):
    other = TopicModel(4, encoder=Own(), random_state=0).fit(TEXTS, SOME)
    assert_array_equal(other.predict_proba(UNSEEN), own.predict_proba(UNSEEN))


def test_permuted_documents_permute(own):
    order = np.random.default_rng(0).permutation(len(TEXTS))
    texts = [TEXTS[i] for i in order]
    other = TopicModel(4, encoder=encode, random_state=0).fit(texts, SOME[order])
    assert_allclose(other.predict_proba(UNSEEN), own.predict_proba(UNSEEN), atol=1e-5)


@pytest.mark.parametrize("kind", ["static", "own"])
def test_explanations_add_up(kind, request):
    model, bases = request.getfixturevalue(kind), []
    for text in [*TEXTS[:30], *UNSEEN[:3]]:
        told = model.explain(text)
        total = told.class_parts.sum(axis=0) + told.topic_scores.sum(axis=0) + told.base
        assert_allclose(total, told.scores, rtol=1e-9, atol=1e-9)
        found = model.estimator_.probabilities(told.scores[None])
        assert_allclose(found, model.predict_proba([text]), atol=1e-9)
        lead = told.contrast.words.sum() + told.contrast.topics.sum() + told.contrast.base
        assert lead == pytest.approx(told.contrast.lead)
        bases.append(told.base)
    rounding = 1e-6 * np.abs(bases).max()  # vectors have single precision
    assert_allclose(bases, np.broadcast_to(bases[0], (33, 3)), atol=rounding)  # hides no rest


def test_words_or_the_whole_text_have_the_vectors_parts(static, own):
    text = "rocket to the moon"
    words = ["moon", "rocket", "the", "to"]  # short texts have further words
    assert set(static.explain(text).words) <= {*words}
    assert own.explain(text).words[-1] == "the text as a whole"
    assert {*own.explain(text).words[:-1]} <= {*words}
    assert "the text as a whole" not in [row.word for row in own.explain(text).left_out]


def test_words_that_only_the_encoder_knows_have_parts(tmp_path):
    folder = write_static(tmp_path / "static", {**VECTORS, "the": np.ones(WIDTH)})
    model = TopicModel(4, encoder=folder, random_state=0).fit(TEXTS, SOME)
    told = model.explain("the moon")
    assert told.words == ["moon", "the"]
    assert told.weights[1] == 0.0
    assert not told.topic_parts[1].any()
    assert told.class_parts[1].any()
    rows = {row.word: row for row in told.table}
    assert rows["the"].topic == ""
    (row,) = [row for row in told.left_out if row.word == "the"]
    c = told.explained
    assert row.probability == pytest.approx(model.predict_proba([" moon"])[0, c])


def test_a_word_left_out_is_left_out_of_the_vector(own):
    told = own.explain("moon puck bible moon")
    for row in told.left_out:
        rest = text_without("moon puck bible moon", row.word)
        assert row.probability == pytest.approx(own.predict_proba([rest])[0, told.explained])


def test_vectors_are_computed_once(monkeypatch):
    calls = []

    def counting(texts):
        calls.append(len(texts))
        return encode(texts)

    model = TopicModel(4, encoder=counting, random_state=0).fit(TEXTS, SOME)
    model = model.refit(TEXTS, LABELS)
    model.to_label(TEXTS, 3, y=SOME)
    model.doubtful_labels(TEXTS, LABELS)
    assert calls.count(len(TEXTS)) == 1
    assert model.fitted.documents.side.vectors.nbytes == 4 * WIDTH * len(TEXTS)


def test_a_refit_equals_the_fit_in_its_linear_models(own):
    again = own.refit(TEXTS, SOME)
    weights = own.estimator_.pooled_head.vector_weights
    assert_allclose(again.estimator_.pooled_head.vector_weights, weights, rtol=1e-9)
    sampled = own.refit(TEXTS, SOME, sample=60)
    assert sampled.score(TEXTS, LABELS) > 0.9


def test_a_refit_follows_the_encoder_of_the_model():
    model = TopicModel(4, encoder=encode, random_state=0).fit(TEXTS, SOME)
    without = model.set_params(encoder=None)
    with pytest.raises(ValueError, match="encoder"):  # the drift needs what the model predicted
        without.predict(TEXTS)
    plain = TopicModel(4, random_state=0).fit(TEXTS, SOME)
    found = plain.set_params(encoder=encode).refit(TEXTS, SOME)
    assert found.fitted.encoder is not None
    assert without.refit(TEXTS, SOME).fitted.encoder is None


def test_models_without_labels_do_not_ask_the_encoder():
    def refuse(texts):
        raise AssertionError

    model = TopicModel(3, encoder=refuse, random_state=0).fit(TEXTS)
    assert model.fitted.encoder is None
    assert model.transform(UNSEEN).shape == (len(UNSEEN), 3)


def test_updates_keep_the_vectors(own, tmp_path):
    new, labels = ["heretic chapel"] * 4 + UNSEEN[:3], ["faith"] * 4 + [""] * 3
    updated = own.update(new, labels, new_topics=1)
    assert_array_equal(
        updated.estimator_.pooled_head.vector_weights, own.estimator_.pooled_head.vector_weights
    )
    assert updated.predict(new).tolist() == [*labels[:4], "space", "sport", "faith"]
    updated.save(tmp_path / "model")
    again = load_model(tmp_path / "model", encoder=encode).update(new, labels)
    assert_array_equal(again.predict_proba(new), updated.update(new, labels).predict_proba(new))
    told = updated.explain(new[0])
    parts = told.class_parts.sum(axis=0) + told.topic_scores.sum(axis=0) + told.base
    assert_allclose(parts, told.scores, rtol=0, atol=1e-9)


def test_edits_keep_the_vectors(own):
    for changed in (own.drop(0), own.merge([0, 1]), own.ban(0, own.topics(1)[0].words[0])):
        assert changed.predict(UNSEEN[:3]).tolist() == ["space", "sport", "faith"]
    assert own.split(0, TEXTS).predict(UNSEEN[:3]).tolist() == ["space", "sport", "faith"]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda m: m.fit(TEXTS, np.arange(len(TEXTS)) + 0.5), "y holds numbers"),
        (lambda m: m.fit(TEXTS, [{"a", label} for label in LABELS]), "several labels per document"),
        (lambda m: m.set_params(head="refit").fit(TEXTS, SOME), "head is 'refit'"),
        (lambda m: m.partial_fit(TEXTS, SOME), "cannot be used with partial_fit"),
        (lambda m: m.fit(TEXTS, SOME).set_params(encoder=None).partial_fit(TEXTS), "partial_fit"),
        (lambda m: m.set_params(encoder=3).fit(TEXTS, SOME), "encoder"),
    ],
)
def test_encoders_are_refused_where_nothing_uses_them(act, message):
    with pytest.raises((ValueError, TypeError), match=message):
        act(TopicModel(4, encoder=encode, random_state=0))


def test_records_tell_encoders_apart():
    record = EncoderRecord.of(encode_all)
    assert (record.named, record.width) == (False, 2)
    assert record.name.endswith("encode_all")
    assert record.differs(encode_all) is None
    assert record.differs(lambda texts: encode_all(texts) * (1 + 1e-4)) is None
    assert "other vectors" in record.differs(lambda texts: -encode_all(texts))
    assert "3 dimensions in place of 2" in record.differs(lambda texts: np.ones((3, 3)))
    assert EncoderRecord.of(Letters()).name.endswith("Letters")


def encode_all(texts):
    return np.array([[len(text), text.count("e")] for text in texts], dtype=float)


class Letters:
    encode = staticmethod(encode_all)


def test_static_encoders_are_frozen():
    with pytest.raises(AttributeError):
        StaticEncoder(None, None).vectors = 3  # type: ignore[misc]


# ---- at the border: other dimensions, long texts, hostile files, the hub, other processes


def test_another_dimension_at_prediction_is_refused():
    width = [WIDTH]

    def changing(texts):
        return encode(texts)[:, : width[0]]

    model = TopicModel(4, encoder=changing, random_state=0).fit(TEXTS, SOME)
    width[0] = 4
    for act in (model.predict, model.predict_proba, model.documents, model.annotate):
        with pytest.raises(ValueError, match="4 dimensions, but earlier ones have 6"):
            act(UNSEEN)


def test_long_texts_are_encoded_as_a_whole(folder):
    long = "moon " * 200_000 + "god"
    found = encode_texts(folder, [long, "moon"])
    assert_allclose(found[0], found[1], atol=1e-4)
    assert found[0].tolist() != found[1].tolist()  # its last word counts, too


def test_an_encoder_that_takes_no_long_texts_says_so():
    def short(texts):
        if max(map(len, texts)) > 100:
            raise RuntimeError("The size of tensor a (600) must match the size of tensor b (512)")
        return encode(texts)

    model = TopicModel(4, encoder=short, random_state=0).fit(TEXTS, SOME)
    with pytest.raises(ValueError, match="encoder failed at texts 0 to 0: RuntimeError: The size"):
        model.predict(["moon " * 100])


def _safetensors(header, data=b"\0" * 64):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize(
    "data",
    [
        (2**63).to_bytes(8, "little") + b"{}",
        (100).to_bytes(8, "little") + b"{}",
        _safetensors(
            {"embeddings": {"dtype": "F32", "shape": [2**40, 6], "data_offsets": [0, 64]}}
        ),
        _safetensors({"embeddings": {"dtype": "F32", "shape": [2, 8], "data_offsets": [0, 2**50]}}),
        _safetensors({"embeddings": {"dtype": "F32", "shape": [2, 8], "data_offsets": [64, 0]}}),
        _safetensors({"embeddings": {"dtype": "F32", "shape": [-2, 8], "data_offsets": [0, 64]}}),
        _safetensors({"embeddings": {"dtype": "X9", "shape": [2, 8], "data_offsets": [0, 64]}}),
        _safetensors({"embeddings": {"dtype": "I64", "shape": [2, 4], "data_offsets": [0, 64]}}),
        _safetensors({"embeddings": {"dtype": "F32", "shape": [16], "data_offsets": [0, 64]}}),
        _safetensors({"embeddings": {"dtype": "F32", "shape": [2, 8], "data_offsets": [0, 64]}}),
        _safetensors({"other": {"dtype": "F32", "shape": [2, 8], "data_offsets": [0, 64]}}),
        _safetensors(b"[" * 10_000),
        _safetensors(b"null"),
    ],
    ids=str,
)
def test_hostile_safetensors_are_one_sentence(tmp_path, data):
    name = write_static(tmp_path / "static", VECTORS)
    (tmp_path / "static" / "model.safetensors").write_bytes(data)
    with pytest.raises(ValueError, match="cannot be") as error:
        encode_texts(name, TEXTS)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found["model"]["vocab"].update(moon=10**9),
        lambda found: found["model"]["vocab"].update(moon=-1),
        lambda found: found["model"].update(type="Code"),
        lambda found: found["model"].update(vocab=[]),
        lambda found: found.update(model=None),
        lambda found: found.update(added_tokens=[{"id": 10**9, "content": "moon"}]),
    ],
)
def test_hostile_tokenizers_are_one_sentence(tmp_path, change):
    name = write_static(tmp_path / "static", VECTORS)
    path = tmp_path / "static" / "tokenizer.json"
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))
    with pytest.raises(ValueError, match="cannot be") as error:
        encode_texts(name, TEXTS)
    assert "\n" not in str(error.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "model.safetensors"])
def test_pipes_devices_and_huge_files_are_refused(tmp_path, name):
    folder = write_static(tmp_path / "static", VECTORS)
    path = tmp_path / "static" / name
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ValueError, match="is not a plain file"):
        find_encoder(folder)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(ValueError, match="is not a plain file"):
        find_encoder(folder)
    path.unlink()
    with open(path, "wb") as file:
        file.truncate(2**33)
    with pytest.raises(ValueError, match=r"8,589,934,592 bytes, more than"):
        find_encoder(folder)


@pytest.mark.parametrize("added", [False, True])
def test_huge_numbers_of_tokens_are_refused_before_memory_is_asked_for(tmp_path, added):
    folder = write_static(tmp_path / "static", VECTORS)
    path = tmp_path / "static" / "tokenizer.json"
    found = json.loads(path.read_text())
    if added:
        found["added_tokens"] = [{"id": 2**31, "content": "huge"}]
    else:
        found["model"]["vocab"]["huge"] = 2**31
    path.write_text(json.dumps(found))
    with pytest.raises(ValueError, match="a token with the number 2,147,483,648"):
        find_encoder(folder)


def test_names_with_a_slash_are_looked_up_if_the_user_gives_them(folder, monkeypatch, tmp_path):
    """The hub cannot be reached here, so its answer is that of a folder."""
    model2vec, asked = pytest.importorskip("model2vec"), []
    load = model2vec.StaticModel.from_pretrained

    def from_hub(path, **settings):
        if path != folder:
            asked.append((path, settings))
        return load(folder)

    monkeypatch.setattr(model2vec.StaticModel, "from_pretrained", from_hub)
    found = encode_texts("owner/model", TEXTS)
    assert_array_equal(found, encode_texts(folder, TEXTS))
    encode_texts("owner/model", TEXTS)
    assert asked == [("owner/model", {"force_download": False})]  # loaded once
    model = TopicModel(4, encoder="owner/model", random_state=0).fit(TEXTS, SOME)
    assert model.fitted.encoder.name == "owner/model"
    assert model.fitted.encoder.named
    model.save(tmp_path / "model")
    encoders._named_encoder.cache_clear()
    asked.clear()
    with pytest.raises(ModelFormatError, match=r"loading downloads nothing; pass it: .*'owner/m"):
        load_model(tmp_path / "model")
    assert asked == []
    again = load_model(tmp_path / "model", encoder="owner/model")  # the user names it
    assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert len(asked) == 1


def test_a_hub_that_cannot_be_reached_is_one_sentence(monkeypatch):
    model2vec = pytest.importorskip("model2vec")

    def fail(path, **settings):
        raise OSError("We couldn't connect to the hub.\nCheck your connection.")

    monkeypatch.setattr(model2vec.StaticModel, "from_pretrained", fail)
    with pytest.raises(ValueError, match=r"'owner/other' cannot be loaded \(We couldn't") as error:
        encode_texts("owner/other", TEXTS)
    assert "\n" not in str(error.value)


AGAIN = """
import sys, numpy as np
from cofactor import load_model
texts = open(sys.argv[2]).read().split("\\n")
np.save(sys.argv[3], load_model(sys.argv[1]).predict_proba(texts))
"""


def test_another_process_predicts_the_same_bits(static, tmp_path):
    static.save(tmp_path / "model")
    (tmp_path / "texts").write_text("\n".join(TEXTS))
    places = [str(tmp_path / name) for name in ("model", "texts", "found.npy")]
    subprocess.run([sys.executable, "-c", AGAIN, *places], check=True)
    assert_array_equal(np.load(tmp_path / "found.npy"), static.predict_proba(TEXTS))


# ---- progress


class Watch:
    def __init__(self):
        self.told = []

    def setup(self, estimator, context):
        pass

    teardown = on_fit_task_begin = on_fit_task_end = setup

    def on_texts_encoded(self, done, total):
        self.told.append((done, total))


def test_callbacks_are_told_how_many_texts_are_encoded(monkeypatch):
    monkeypatch.setattr(encoders, "TEXTS_TOGETHER", 50)
    watch = Watch()
    TopicModel(4, encoder=encode, random_state=0).set_callbacks(watch).fit(TEXTS, SOME)
    assert watch.told == [(50, 120), (100, 120), (120, 120)]


def test_the_progress_bar_shows_encoded_texts(capfd):
    bar = ProgressBar()
    TopicModel(4, encoder=encode, random_state=0).set_callbacks(bar).fit(TEXTS, SOME)
    err = capfd.readouterr().err
    assert "encode" in err
    assert "120/120" in err
    assert "objective" in err


def test_an_interrupted_encoding_leaves_the_model_unfitted():
    def interrupted(texts):
        raise KeyboardInterrupt

    model = TopicModel(4, encoder=interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(TEXTS, SOME)
    assert not hasattr(model, "estimator_")
