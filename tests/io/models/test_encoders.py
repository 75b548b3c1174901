"""Models with an encoder in folders: they come back, and other encoders are refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cofactor import TopicModel, load_model
from cofactor.io.models import ModelFormatError
from subjects import SOME, TEXTS, UNSEEN


def encode(texts):
    """Return counts of letters."""
    return np.array([[text.count(letter) for letter in "aeglmoprstu"] for text in texts], float)


@pytest.fixture(scope="module")
def model():
    return TopicModel(4, encoder=encode, random_state=0).fit(TEXTS, SOME)


@pytest.fixture
def folder(model, tmp_path):
    assert model.fitted.encoder is not None
    model.save(tmp_path / "model")
    return tmp_path / "model"


def test_predictions_come_back_bit_for_bit(model, folder):
    again = load_model(folder, encoder=encode)
    assert_array_equal(again.predict_proba(UNSEEN), model.predict_proba(UNSEEN))
    assert_array_equal(again.document_scores_, model.document_scores_)
    assert again.explain("rocket to the moon") is not None
    head, own = again.estimator_.pooled_head, model.estimator_.pooled_head
    assert_array_equal(head.vectors.mean, own.vectors.mean)
    assert head.vectors.scale == own.vectors.scale
    assert_array_equal(head.vector_weights, own.vector_weights)
    assert again.refit(TEXTS, SOME).fitted.encoder.name == model.fitted.encoder.name


def test_the_folder_holds_the_name_and_three_vectors(folder):
    config = json.loads((folder / "config.json").read_text())
    assert config["encoder_"]["name"].endswith("test_encoders.encode")
    assert config["encoder_"]["named"] is False
    assert config["parameters"]["items"]["encoder"] is None
    head = config["estimator_"]["_head"]
    assert head["side"]["type"] == "SideView"  # as earlier versions of this format wrote it
    shapes = json.loads((folder / "manifest.json").read_text())["arrays"]
    assert shapes["model.encoder_.probes"]["shape"] == [3, 11]
    assert shapes["model.estimator_._head.side_weights"]["shape"] == [11, 3]


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (None, "fitted with an encoder of your own, .*encode; pass that encoder"),
        (lambda texts: encode(texts)[:, :5], "its vectors have 5 dimensions in place of 11"),
        (lambda texts: encode(texts)[:, ::-1], "it gives other vectors to the same texts"),
        (lambda texts: None, "fails: encoder returned a NoneType"),
    ],
)
def test_other_encoders_are_one_sentence(folder, encoder, message):
    with pytest.raises(ModelFormatError, match=message) as error:
        load_model(folder, encoder=encoder)
    assert "\n" not in str(error.value)


def test_an_encoder_that_is_not_needed_is_told(tmp_path):
    TopicModel(4, random_state=0).fit(TEXTS, SOME).save(tmp_path / "model")
    with pytest.warns(UserWarning, match="encoder is not used"):
        assert load_model(tmp_path / "model", encoder=encode).encoder is None


def test_named_encoders_load_by_themselves(tmp_path):
    pytest.importorskip("wordllama")
    model = TopicModel(4, encoder="wordllama", random_state=0).fit(TEXTS, SOME)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.encoder == "wordllama"
    assert_array_equal(again.predict_proba(UNSEEN), model.predict_proba(UNSEEN))


def test_a_named_encoder_that_is_gone_is_one_sentence(model, tmp_path):
    pytest.importorskip("model2vec")
    record = replace(model.fitted.encoder, name=str(tmp_path / "gone"), named=True)
    copy = TopicModel(4).set_fitted(replace(model.fitted, encoder=record))
    copy.save(tmp_path / "model")
    with pytest.raises(ModelFormatError, match="is not a folder on this machine, and loading"):
        load_model(tmp_path / "model")
    assert load_model(tmp_path / "model", encoder=encode).encoder is encode


def test_heads_and_encoders_that_disagree_are_not_saved(model, tmp_path):
    lost = TopicModel(4).set_fitted(replace(model.fitted, encoder=None))
    with pytest.raises(ValueError, match="encoder_ does not fit the head"):
        lost.save(tmp_path / "model")
    head = model.estimator_.pooled_head
    for broken in (
        replace(head, vectors=None),
        replace(head, vector_weights=head.vector_weights[:4]),
    ):
        estimator = model.estimator_.with_fitted(replace(model.estimator_.fitted, head=broken))
        with pytest.raises(ValueError, match="cannot be saved"):
            TopicModel(4).set_fitted(replace(model.fitted, estimator=estimator)).save(
                tmp_path / "model"
            )
