"""Model folders: what comes back, what cannot be saved, and golden models."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

import cofactor
from cofactor import (
    NMF,
    Factors,
    ModelFormatError,
    SSNMFClassifier,
    SSNMFRegressor,
    TopicModel,
    load_model,
    noise,
    priors,
)
from cofactor.io.models import manifest, read_facts
from cofactor.io.models.samples import SAMPLES
from cofactor.text import WordVectorizer
from model_folders import LABELS, TEXTS, same

GOLDEN = Path(__file__).parent / "golden"


# --- there and back ------------------------------------------------------------------------------


def test_a_folder_has_what_is_documented(folder):
    names = {path.name for path in folder.iterdir()}
    assert names == {*manifest.FILES, SAMPLES, "manifest.json", "README.md"}
    assert sorted(os.listdir(folder.parent)) == ["model"]
    with np.load(folder / "factors.npz", allow_pickle=False) as found:
        assert found["model.estimator_.components_"].shape == (2, 12)
    content = json.loads((folder / "manifest.json").read_text())
    assert content["schema"] == manifest.SCHEMA
    assert content["seed"] == 0
    assert content["data"]["targets"] == ["space", "sport"]
    assert content["shape"] == {"topics": 2, "features": 12, "samples": 6, "targets": 2}
    assert content["versions"]["numpy"] == np.__version__


def test_topic_models_come_back_equal(model, folder):
    again = load_model(folder)
    assert same(model, again)
    assert again.get_params() == model.get_params()
    assert again.estimator_.history_ == model.estimator_.history_
    text = "moon puck rocket unseen"
    assert np.array_equal(again.explain(text).class_parts, model.explain(text).class_parts)
    again.save(folder)
    assert same(model, load_model(folder))


def test_a_refit_from_the_folder_gives_the_same_bits(folder, model):
    again = load_model(folder)
    again.set_params(random_state=again.seed_).fit(TEXTS, LABELS)
    assert again.fingerprint_ == model.fingerprint_
    assert np.array_equal(again.estimator_.components_, model.estimator_.components_)


def test_a_lack_of_memory_is_not_damage(folder, monkeypatch):
    def fail(*given):
        raise MemoryError("Unable to allocate 3 GiB")

    monkeypatch.setattr("cofactor.io.models.save_load.check_contents", fail)
    with pytest.raises(MemoryError, match="3 GiB"):
        load_model(folder)


def test_notes_are_kept(model, folder):
    assert read_facts(folder)["notes"] == {}
    model.save(folder, notes={"text": "body", "labels": ["team", 3, None]})
    facts = read_facts(folder)
    assert facts["notes"] == {"text": "body", "labels": ["team", 3, None]}
    assert facts["data"]["fingerprint"] == model.fingerprint_
    assert facts["timings"].keys() == {"vectorise", "fit", "describe"}
    with pytest.raises(TypeError, match="JSON"):
        model.save(folder, notes={"a": object()})
    assert same(load_model(folder), model)
    with pytest.raises(ModelFormatError, match="does not exist"):
        read_facts(folder / "nothing")
    model.save(folder, notes={"labels": ("team", 1.5, True)})
    assert read_facts(folder)["notes"] == {"labels": ["team", 1.5, True]}


ESTIMATORS = {
    "nmf": (NMF(3, random_state=0), None),
    "float labels": (SSNMFClassifier(3, random_state=0), np.array([0.0, 1.0, np.nan] * 4)),
    "strings": (SSNMFClassifier(3, random_state=0), np.array(["ä", "", "b"] * 4)),
    "objects": (SSNMFClassifier(3, random_state=0), np.array(["ä", None, "b"] * 4, dtype=object)),
    "integers": (SSNMFClassifier(3, random_state=0), np.array([7, -1, 9] * 4, dtype=np.int32)),
    "booleans": (SSNMFClassifier(3, random_state=0), np.array([True, False, True] * 4)),
    "no label": (SSNMFClassifier(3, random_state=0), np.array([""] * 12)),
    "several": (SSNMFClassifier(3, random_state=0), np.eye(3)[[0, 1, 2] * 4]),
    "numbers": (SSNMFRegressor(3, random_state=0), np.linspace(-1.5, 2, 12)),
    "columns": (SSNMFRegressor(3, random_state=0), np.linspace(-1, 2, 24).reshape(12, 2)),
    "noise": (
        SSNMFRegressor(
            3, data_loss=noise.Poisson(), target_loss=noise.Gaussian(0.3), random_state=0
        ),
        np.linspace(0, 2, 12),
    ),
    "losses": (
        SSNMFClassifier(
            3, data_loss=cofactor.divergences.Frobenius, target_loss="frobenius", random_state=1
        ),
        np.array([0, 1, -1] * 4),
    ),
    "priors": (
        NMF(
            3,
            priors={
                "samples": [priors.L1(0.1), priors.L2(0.2)],
                "features": priors.GammaPrior(np.full((7, 3), 1.5), 0.5),
            },
            random_state=0,
        ),
        None,
    ),
    "given start": (NMF(2, init=Factors(np.ones((12, 2)), np.arange(1.0, 15).reshape(7, 2))), None),
    "random state": (NMF(2, random_state=np.random.RandomState(3)), None),
    "numpy numbers": (NMF(np.int64(2), tol=np.float64(1e-3), random_state=np.int64(3)), None),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_come_back_equal(name, dtype, X, tmp_path):
    estimator, y = ESTIMATORS[name]
    estimator.fit(X.astype(dtype), y)
    cofactor.save(estimator, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert type(again) is type(estimator)
    assert again.components_.dtype == dtype
    for attribute in ("components_", "representation_", "target_components_"):
        if hasattr(estimator, attribute):
            assert np.array_equal(getattr(again, attribute), getattr(estimator, attribute))
    new = np.random.default_rng(1).poisson(2.0, (5, 7)).astype(dtype)
    assert np.array_equal(again.transform(new), estimator.transform(new))
    if hasattr(estimator, "target_components_"):
        expected = estimator.predict(new)
        assert np.array_equal(again.predict(new), expected)
        assert again.predict(new).dtype.kind == expected.dtype.kind
    public = {n for n in dir(estimator) if n.endswith("_") and hasattr(estimator, n)}
    assert {n for n in dir(again) if n.endswith("_") and hasattr(again, n)} == public
    assert again.history_ == estimator.history_


def test_feature_names_come_back(X, tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=list("abcdefg"))
    estimator = NMF(2, random_state=0).fit(table)
    cofactor.save(estimator, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.feature_names_in_.tolist() == list("abcdefg")
    assert np.array_equal(again.transform(table), estimator.transform(table))


VECTORIZERS = [
    WordVectorizer(ngram_range=(1, 2), stop_words=["the"], min_df=1, max_features=9),
    TfidfVectorizer(stop_words="english", sublinear_tf=True),
    TfidfVectorizer(use_idf=False),
    CountVectorizer(dtype=np.float64),
    CountVectorizer(vocabulary=["moon", "puck", "goal", "rocket", "orbit"]),
]


@pytest.mark.parametrize("vectorizer", VECTORIZERS, ids=str)
def test_vectorizers_come_back_equal(vectorizer, tmp_path):
    model = TopicModel(2, vectorizer=vectorizer, random_state=0).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    assert same(model, load_model(tmp_path / "model"))


@pytest.mark.parametrize(
    "text", ["Ünïcode कहानी 中文", "\ud800", "</script>|`\n#", "a\x00b", '"\\']
)
def test_strange_strings_come_back(text, tmp_path):
    texts = [f"{text} moon", "puck goal", "moon rocket"]
    labels = np.array([text, "b", None], dtype=object)
    model = TopicModel(2, random_state=0).fit(texts, labels)
    model.topic_names_[0] = text
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.predict(texts).tolist() == model.predict(texts).tolist()
    assert again.topic_names_ == model.topic_names_
    assert "<script>" not in (tmp_path / "model" / "README.md").read_text()


# --- what cannot be saved ------------------------------------------------------------------------


def test_only_fitted_models_of_ours_can_be_saved(tmp_path, X):
    with pytest.raises(NotFittedError):
        cofactor.save(NMF(), tmp_path / "model")
    with pytest.raises(TypeError, match="TfidfVectorizer; what can be saved is NMF"):
        cofactor.save(TfidfVectorizer(), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


class Letters(CountVectorizer):
    """A vectorizer of the user's own."""


@pytest.mark.parametrize(
    "vectorizer",
    [Letters(analyzer="char"), CountVectorizer(tokenizer=str.split, token_pattern=None)],
    ids=str,
)
def test_vectorizers_of_ones_own_are_given_again(vectorizer, tmp_path):
    model = TopicModel(2, vectorizer=vectorizer, random_state=0).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model", vectorizer=model.vectorizer_)
    np.testing.assert_array_equal(again.transform(TEXTS), model.transform(TEXTS))
    assert again.vectorizer.get_params() == vectorizer.get_params()
    again.save(tmp_path / "again")
    name = type(vectorizer).__qualname__
    with pytest.raises(ModelFormatError, match=rf"{name}; pass that .*load_model\(path, vector"):
        load_model(tmp_path / "again")
    other = CountVectorizer().fit(TEXTS)
    with pytest.raises(
        ModelFormatError, match=rf"columns that are not the .* of the model.*{name}"
    ):
        load_model(tmp_path / "again", vectorizer=other)


def test_a_vectorizer_that_is_not_needed(model, folder):
    with pytest.raises(ValueError, match="vectorizer is not needed"):
        load_model(folder, vectorizer=model.vectorizer_)


def _change_components(model):
    model.components_[0, 0] = np.nan


def _change_target_components(model):
    model.target_components_[1, 0] = -1.0


def _change_offset(model):
    model.coding.offset[0] = np.inf


REFUSED = {
    _change_components: "components_ has an entry that is not finite or negative",
    _change_target_components: "target_components_ has an entry that is not finite or negative",
    _change_offset: "_coding.*offset has an entry that is not finite",
    lambda model: model.set_params(n_components=3): r"components_ has shape \(2, 7\)",
    lambda model: model.set_params(max_iter=-3): "'max_iter' parameter",
    lambda model: model.amend(history={**model.history_, "x": np.ones((1, 1, 1))}): (
        r"arrays\['model.history_.x'\]: bad shape"
    ),
    lambda model: setattr(model, "feature_names_in_", np.array(["a"], dtype=object)): "7 features",
}


@pytest.mark.parametrize("change", REFUSED)
def test_save_refuses_what_load_model_would_refuse(change, X, tmp_path):
    model = SSNMFRegressor(2, random_state=0).fit(X, X[:, 0] - 3)
    cofactor.save(model, tmp_path / "old")
    change(model)
    for name in ("new", "old"):
        with pytest.raises(ValueError, match=f"The model cannot be saved: .*{REFUSED[change]}"):
            cofactor.save(model, tmp_path / name)
    assert os.listdir(tmp_path) == ["old"]
    load_model(tmp_path / "old")


@pytest.mark.parametrize(
    ("notes", "match"),
    [
        ({1: "a", "1": "b"}, "notes has the key 1; keys in JSON are strings"),
        ({"a": [{2: None}]}, r"notes\['a'\]\[0\] has the key 2;"),
        ({"a": (0.0, float("nan"))}, r"notes\['a'\]\[1\] is nan, which JSON cannot hold"),
        ({"a": {"b"}}, r"notes\['a'\] is of type set, which JSON cannot hold"),
        (["a"], "notes is a list; pass a dict"),
        ({"a": "x" * manifest.MAX_MANIFEST_BYTES}, "cannot be saved: .*; shorten the notes"),
    ],
)
def test_notes_that_cannot_be_read_again(notes, match, model, tmp_path):
    with pytest.raises((TypeError, ValueError), match=match):
        model.save(tmp_path / "model", notes=notes)
    assert list(tmp_path.iterdir()) == []


# --- golden models -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("schema-*")), ids=lambda path: path.name)
def test_golden_models_load_and_predict_as_ever(path):
    expected = json.loads((path / "expected.json").read_text())
    again = load_model(path)
    assert type(again).__name__ == expected["model"]
    assert again.predict(expected["texts"]).tolist() == expected["predictions"]
    sure = again.predict_proba(expected["texts"]).max(axis=1)
    np.testing.assert_allclose(sure, expected["confidences"], rtol=1e-8)
    assert [list(topic.words) for topic in again.topics(3)] == expected["words"]


def test_models_of_before_read_texts_as_before():
    vectorizer = load_model(GOLDEN / "schema-1").vectorizer_
    settings = {"clean": False, "language": None, "tokens": "words", "stem": None}
    assert vectorizer.get_params().items() >= settings.items()
    assert vectorizer.build_analyzer()("the moon&nbsp;is 天气好") == ["moon", "nbsp", "天气好"]


def test_older_topic_models_keep_their_settings():
    """Later versions see more of short texts; a refit of an older model does not."""
    for path in GOLDEN.glob("*"):
        model = load_model(path)
        if isinstance(model, TopicModel):
            assert model.further_words == "no"


def test_there_is_a_golden_model_of_this_schema():
    assert (GOLDEN / f"schema-{manifest.SCHEMA}" / "manifest.json").exists()
