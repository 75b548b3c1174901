"""Topic models over streams: the first batch is an iteration of fit, later ones refine it."""

import numpy as np
import pytest

from cofactor import TopicModel, load_model
from cofactor.text import WordVectorizer

SUBJECTS = {
    "space": "moon orbit rocket nasa launch shuttle lunar satellite crater comet",
    "sport": "puck goal hockey team game season player coach league penalty",
    "faith": "god church bible jesus faith prayer gospel sin psalm priest",
}
NOISE = "people time year way thing world day life place work week case point company number"


def make_documents(n, seed):
    """Documents of one subject each, with words of others and noise among its own."""
    random, names = np.random.default_rng(seed), list(SUBJECTS)
    everything = " ".join(SUBJECTS.values()).split()
    kinds = random.integers(0, 3, n)
    texts = [
        " ".join(
            [
                *random.choice(SUBJECTS[names[k]].split(), 4),
                *random.choice(everything, 3),
                *random.choice(NOISE.split(), 5),
            ]
        )
        for k in kinds
    ]
    return texts, np.array(names, dtype=object)[kinds]


TEXTS, TRUTH = make_documents(1000, 0)
SOME = np.where(np.arange(1000) % 8 == 0, TRUTH, "")
NEW, NEW_TRUTH = make_documents(300, 1)
NUMBERS = np.where(np.arange(1000) % 3 == 0, np.nan, 1.5 + (TRUTH == "space"))
SETS = [None if i % 4 else {kind, "odd" if i % 8 else "even"} for i, kind in enumerate(TRUTH)]


def stream(model, texts, y=None, size=100, **options):
    for low in range(0, len(texts), size):
        part = (text for text in texts[low : low + size])  # a generator, read once
        model.partial_fit(part, None if y is None else y[low : low + size], **options)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [None, {"sky": ["comet", "crater"]}])
@pytest.mark.parametrize("y", [None, SOME, NUMBERS, SETS], ids=["none", "some", "numbers", "sets"])
def test_the_first_batch_is_one_iteration_of_fit(y, seeds):
    texts, y = TEXTS[:200], None if y is None else y[:200]
    options = {"solver": "mu", "seeds": seeds, "further_words": "no", "random_state": 0}
    once = TopicModel(4, max_iter=1, tol=0, **options).fit(texts, y)
    begun = TopicModel(4, **options).partial_fit(iter(texts), y)
    for name in ("components_", "representation_"):
        np.testing.assert_allclose(
            getattr(begun.estimator_, name), getattr(once.estimator_, name), rtol=1e-9, atol=1e-13
        )
    np.testing.assert_allclose(begun.document_topics_, once.document_topics_, rtol=1e-7, atol=1e-12)
    assert begun.topic_names_ == once.topic_names_
    assert begun.target_names_ == once.target_names_
    assert begun.fingerprint_ == once.fingerprint_
    given = once.estimator_.set_params(max_iter=200, tol=1e-4).get_params()
    assert begun.estimator_.get_params() == given


@pytest.mark.slow
def test_a_stream_predicts_nearly_as_well_as_a_fit():
    fitted = TopicModel(4, random_state=0).fit(TEXTS, SOME)
    streamed = stream(TopicModel(4, random_state=0), TEXTS, SOME, classes=list(SUBJECTS))
    best = fitted.score(NEW, NEW_TRUTH)
    assert best > 0.9
    assert streamed.score(NEW, NEW_TRUTH) > best - 0.03
    assert {topic.label for topic in streamed.topics()} == set(SUBJECTS)


def test_topics_without_labels_come_closer():
    first = TopicModel(3, random_state=0).partial_fit(TEXTS[:100])
    streamed = stream(TopicModel(3, random_state=0), TEXTS)
    best = TopicModel(3, random_state=0).fit(TEXTS).score(NEW)
    assert best > streamed.score(NEW) > 1.2 * first.score(NEW)
    assert streamed.score(NEW) > 0.8 * best


def test_descriptions_are_of_the_last_batch():
    model = stream(TopicModel(4, random_state=0), TEXTS[:250], SOME[:250])
    assert len(model.documents()) == len(model.document_topics_) == 50
    np.testing.assert_array_equal(model.document_topics_, model.transform(TEXTS[200:250]))
    whole = TopicModel(4, random_state=0).fit(TEXTS[200:250], SOME[200:250])
    assert model.fingerprint_ == whole.fingerprint_
    assert sum(topic.share for topic in model.topics()) == pytest.approx(1.0)
    assert [row.label for row in model.class_summaries()] == sorted(SUBJECTS)
    told = model.explain(NEW[0])
    total = told.class_parts.sum(axis=0) + told.topic_scores.sum(axis=0) + told.base
    np.testing.assert_allclose(total, told.scores, atol=1e-9)
    assert model.estimator_.n_samples_seen_ == 250


def test_words_are_settled_by_the_first_batch_or_given():
    model = TopicModel(3, random_state=0).partial_fit(["moon rocket", "puck goal", "god sin"] * 5)
    assert model.vectorizer_.words_.tolist() == ["goal", "god", "moon", "puck", "rocket", "sin"]
    model.partial_fit(["unheard words, and the moon"] * 3)
    assert len(model.vectorizer_.words_) == 6


def test_given_words_may_come_late():
    given = WordVectorizer(vocabulary=["rocket", "Comet", "moon"])
    model = TopicModel(2, vectorizer=given, random_state=0).partial_fit(
        ["moon rocket", "moon", "x"]
    )
    assert model.vectorizer_.words_.tolist() == ["comet", "moon", "rocket"]
    model.partial_fit(["a comet", "comet and rocket"])
    assert model.estimator_.components_[:, 0].max() > 0.1


@pytest.mark.slow
def test_seeds_pull_throughout_a_stream():
    """The pull grows with the documents: as strong after ten batches as in a fit of them all."""

    def share(model):
        place = model.topic_names_.index("sky")
        parts = model.estimator_.components_[place][np.isin(model.vectorizer_.words_, words)]
        return parts.sum() / model.estimator_.components_[place].sum()

    words = ["comet", "crater"]
    options = {"seeds": {"sky": words}, "random_state": 0}
    fitted = share(TopicModel(4, **options).fit(TEXTS, SOME))
    streamed = share(stream(TopicModel(4, **options), TEXTS, SOME))
    weak = share(stream(TopicModel(4, seed_strength=0.1, **options), TEXTS, SOME))
    assert streamed == pytest.approx(fitted, rel=0.1)
    assert weak < 0.6 * streamed


def test_batches_without_labels_are_unlabelled():
    first = (TEXTS[:200], SOME[:200])
    begun, silent, blank = (TopicModel(4, random_state=0).partial_fit(*first) for _ in range(3))
    silent.partial_fit(TEXTS[200:300])
    blank.partial_fit(TEXTS[200:300], [""] * 100)
    found = [model.estimator_.components_ for model in (begun, silent, blank)]
    np.testing.assert_array_equal(found[1], found[2])
    assert not np.array_equal(found[0], found[1])


@pytest.mark.parametrize("y", [NUMBERS, SETS], ids=["numbers", "sets"])
def test_other_targets(y):
    model = stream(TopicModel(5, random_state=0), TEXTS[:600], y)
    model.partial_fit(TEXTS[600:700])  # nothing known
    if y is SETS:
        assert model.target_names_ == ["even", "faith", "odd", "space", "sport"]
        found = [set(row.prediction) & set(SUBJECTS) for row in model.documents(NEW)]
        assert np.mean([one == {kind} for one, kind in zip(found, NEW_TRUTH, strict=True)]) > 0.5
    else:
        assert model.score(NEW, 1.5 + (NEW_TRUTH == "space")) > 0.4


def test_a_batch_that_fails_changes_nothing(monkeypatch):
    model = stream(TopicModel(4, random_state=0, seeds={"a": ["moon"]}), TEXTS[:200], SOME)
    before, estimator = dict(vars(model)), dict(vars(model.estimator_))
    with pytest.raises(ValueError, match="cooking"):
        model.partial_fit(TEXTS[:10], ["cooking"] * 10)
    monkeypatch.setattr("cofactor.text.streams.describe_topics", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.partial_fit(TEXTS[200:300], SOME[200:300])
    monkeypatch.undo()
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    assert all(vars(model.estimator_)[name] is value for name, value in estimator.items())
    twin = stream(TopicModel(4, random_state=0, seeds={"a": ["moon"]}), TEXTS[:300], SOME)
    model.partial_fit(TEXTS[200:300], SOME[200:300])
    np.testing.assert_array_equal(model.estimator_.components_, twin.estimator_.components_)


def test_a_first_batch_that_fails_leaves_no_model():
    model = TopicModel(4)
    with pytest.raises(ValueError, match="first batch of a stream"):
        model.partial_fit(TEXTS, [""] * 1000, classes=["a", "b"])
    assert not hasattr(model, "estimator_")


def test_labels_cannot_come_late():
    model = TopicModel(3, random_state=0).partial_fit(TEXTS[:100])
    with pytest.raises(ValueError, match="y came too late"):
        model.partial_fit(TEXTS[:100], SOME[:100])
    TopicModel(3, task="topics").partial_fit(TEXTS[:50], SOME[:50]).partial_fit(
        TEXTS[:50], SOME[:50]
    )


@pytest.mark.slow
def test_a_saved_stream_goes_on(tmp_path):
    model = stream(TopicModel(4, random_state=0), TEXTS[:600], SOME)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    assert again.topics() == model.topics()
    before = again.estimator_.components_
    again.partial_fit(TEXTS[600:700], SOME[600:700])
    assert again.vectorizer_.words_.tolist() == model.vectorizer_.words_.tolist()
    assert again.classes_.tolist() == sorted(SUBJECTS)
    after = again.estimator_.components_
    alike = (before * after).sum(axis=1) / np.sqrt((before**2).sum(axis=1) * (after**2).sum(axis=1))
    assert alike.min() > 0.8  # it went on from the topics that were there
    assert (
        again.score(NEW, NEW_TRUTH) > 0.85
    )  # 0.87 to 0.95 for other seeds: earlier batches' sums are lost


@pytest.mark.slow
def test_a_report_of_a_stream(tmp_path):
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    model = stream(TopicModel(4, random_state=0), TEXTS[:240], SOME, size=120)
    page = model.report(tmp_path / "report.html", TEXTS[120:240], SOME[120:240])
    assert page.stat().st_size > 10_000


def test_scores_of_documents_are_computed_when_they_are_needed():
    model = stream(TopicModel(4, random_state=0), TEXTS[:250], SOME[:250])
    assert model.estimator_.fitted.head is None
    assert model.fitted.document_scores is None
    X = model.vectorizer_.transform(TEXTS[200:250])
    np.testing.assert_array_equal(model.document_scores_, model.estimator_.scores(X))
    model.partial_fit(TEXTS[250:280])
    assert len(model.document_scores_) == 30
    model.fit(TEXTS[:100], SOME[:100])
    assert len(model.document_scores_) == 100
