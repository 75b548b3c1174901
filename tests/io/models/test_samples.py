"""What a model folder keeps of each training sample is read when somebody asks for it."""

import dataclasses
import os
import pickle
import shutil
import threading

import numpy as np
import pytest

from cofactor import NMF, ModelFormatError, SSNMFClassifier, TopicModel, load_model, save
from cofactor._fields import Deferred
from cofactor.io.models.samples import SAMPLES, compact
from model_folders import LABELS, TEXTS, refuse, replace, resign, same

NEW = ["moon rocket", "puck", ""]


def has_read(model):
    """The fields of a model with a row for each sample that it has read."""
    states = [model.estimator_.fitted, model.fitted]
    names = [["representation"], ["document_topics", "document_scores"]]
    return [
        name
        for state, own in zip(states, names, strict=True)
        for name in own
        if not isinstance(vars(state)[name], Deferred)
    ]


def test_predictions_read_nothing_of_the_training_documents(folder, model):
    again = load_model(folder)
    assert np.array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    assert again.explain(NEW[0]).words == model.explain(NEW[0]).words
    assert has_read(again) == []
    assert again.topics() == model.topics()
    assert has_read(again) == ["document_topics", "document_scores"]


def test_documents_stay_readable_when_the_folder_is_gone(folder, model):
    again = load_model(folder)
    shutil.rmtree(folder)
    assert same(model, again)


def test_a_model_that_replaces_its_own_folder_stays_whole(folder, model):
    again = load_model(folder)
    again.save(folder)
    assert same(model, again)
    assert same(model, load_model(folder))


def test_a_loaded_model_can_be_pickled_before_it_was_read(folder, model):
    assert same(model, pickle.loads(pickle.dumps(load_model(folder))))


def test_threads_read_the_same_file(folder, model):
    again, found = load_model(folder), []
    states = [(again.fitted, "document_scores"), (again.estimator_.fitted, "representation")] * 4
    threads = [threading.Thread(target=lambda s=s: found.append(getattr(*s))) for s in states]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(states)
    assert same(model, again)


def test_no_descriptor_is_left_open(folder):
    def count():
        return len(os.listdir("/proc/self/fd"))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not list open files")
    load_model(folder)
    before = count()
    for _ in range(20):
        load_model(folder)
    assert count() <= before + 1


@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
def test_arrays_come_back_in_the_same_bits(density, tmp_path):
    draw = np.random.default_rng(0)
    X = draw.random((40, 6)) + 0.1
    model = NMF(3, random_state=0, tol=0.1).fit(X)
    S = np.where(draw.random((40, 3)) < density, draw.random((40, 3)), 0.0)
    model.amend(representation=S)
    assert len(compact("representation_", S)) == (1 if density == 1.0 else 3)
    save(model, tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").representation_, S)


def test_a_folder_of_many_documents_is_smaller_than_its_arrays(tmp_path):
    draw = np.random.default_rng(0)
    X = draw.poisson(0.05, (3000, 60)).astype(float)
    model = SSNMFClassifier(20, random_state=0, tol=0.01).fit(X, draw.integers(3, size=3000))
    save(model, tmp_path / "model")
    S = model.representation_
    if np.mean(S > 0) < 0.4:
        assert (tmp_path / "model" / SAMPLES).stat().st_size < 0.7 * S.nbytes


# ---- damage


def test_a_changed_file_is_refused_when_it_is_read(folder):
    data = bytearray((folder / SAMPLES).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / SAMPLES).write_bytes(data)
    again = load_model(folder)
    assert again.predict(["moon rocket"]).tolist() == ["space"]
    with pytest.raises(ModelFormatError, match=r"samples\.npz was changed after it was saved; fit"):
        again.document_topics_  # noqa: B018


def test_declared_sizes_are_compared_with_those_of_topics_and_targets(folder):
    def grow(content):
        content["samples"]["model.document_topics_"]["shape"] = [6, 2**40]

    resign(folder, grow)
    refuse(folder, "document_topics_ has 1099511627776 topics, others 2")


def test_declared_rows_are_compared_with_the_file(folder):
    def grow(content):
        for one in content["samples"].values():
            one["shape"][0] = 2**40

    resign(folder, grow)
    with pytest.raises(ModelFormatError, match="declares"):
        load_model(folder).document_topics_  # noqa: B018


@pytest.mark.parametrize("name", ["model.coherence_", "model.document_topics_x", ""])
def test_other_arrays_cannot_be_deferred(folder, name):
    def add(content):
        content["samples"][name] = {"dtype": "<f8", "shape": [2]}

    resign(folder, add)
    refuse(folder, "needs dtype and shape")


def test_a_missing_array_is_refused(folder):
    from cofactor.io import npy

    replace(folder, SAMPLES, npy.pack({"other": np.zeros(3)}))
    refuse(folder, "is missing")


# ---- forgetting


def test_a_model_that_forgot_its_documents_predicts_as_before(model, tmp_path):
    small = model.forget_documents()
    small.save(tmp_path / "small")
    again = load_model(tmp_path / "small")
    for one in (small, again):
        assert np.array_equal(one.predict_proba(NEW), model.predict_proba(NEW))
        assert one.topics() == model.topics()
        assert one.class_summaries() == model.class_summaries()
        assert one.documents(TEXTS) == model.documents(TEXTS)
    assert len(model.document_topics_) == len(TEXTS)


def test_a_folder_without_links_loads(model, tmp_path):
    """Models that forgot their documents did not keep links at first."""
    small = model.forget_documents()
    kept = dataclasses.replace(small.fitted.forgotten, links=None)
    older = dataclasses.replace(small.fitted, forgotten=kept)
    small.set_fitted(older).save(tmp_path / "older")
    again = load_model(tmp_path / "older")
    assert np.array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    links = [topic.label_weight for topic in again.topics()]
    assert all(1 / len(model.target_names_) <= link <= 1 for link in links)


@pytest.mark.parametrize(
    "use", [lambda m: m.documents(), lambda m: m.merge([0, 1]), lambda m: m.document_topics_]
)
def test_what_needs_the_documents_says_so(model, use):
    with pytest.raises(ValueError, match="has forgotten its documents"):
        use(model.forget_documents())


def test_the_size_of_a_forgetful_model_does_not_depend_on_the_documents(tmp_path):
    sizes = []
    for times in (50, 200):  # both have further words
        name = tmp_path / str(times)
        fitted = TopicModel(2, random_state=0, tol=0.1).fit(TEXTS * times, LABELS * times)
        fitted.forget_documents().save(name)
        sizes.append(sum(path.stat().st_size for path in name.iterdir()))
    assert sizes[1] < sizes[0] + 5000


def test_what_stays_of_documents_in_a_folder_that_forgot_them(tmp_path):
    """Everything else has the size of words, topics or classes."""
    texts = [f"{text} word{i % 50}" for i, text in enumerate(TEXTS * 60)]
    plain = TopicModel(2, random_state=0, tol=0.1, further_words="no")
    fitted = plain.fit(texts, LABELS * 60)
    fitted.forget_documents().save(tmp_path / "small")
    with np.load(tmp_path / "small" / "factors.npz") as stored:
        shapes = {name.removeprefix("model."): stored[name].shape for name in stored.files}
    axes = shapes["estimator_._head.familiar.axes.centre"][0]
    sizes = {len(fitted.vectorizer_.words_), 2, len(fitted.classes_), 40, axes}  # 40 ranked words
    of_documents = {name for name, shape in shapes.items() if not set(shape) <= sizes}
    head = "estimator_._head."
    assert of_documents == {f"{head}held_out", f"{head}held_out_unlike", f"{head}familiar.samples"}
    assert shapes[f"{head}held_out"][0] == 3
    assert len(shapes[f"{head}held_out_unlike"]) == 1
    assert shapes[f"{head}familiar.samples"][0] <= 50 * len(fitted.classes_)
    with np.load(tmp_path / "small" / "samples.npz") as stored:
        assert sum(stored[name].size for name in stored.files) <= 1  # where no rows start
