"""Seed words pull their topics."""

import numpy as np
import pytest

from cofactor import TopicModel
from subjects import LABELS, SOME, TEXTS, UNSEEN


def weight_of(model, topic, words):
    places = {word: j for j, word in enumerate(model.vectorizer_.words_)}
    A = model.estimator_.components_
    profile = A[topic] / A[topic].sum()
    return sum(profile[places[word]] for word in words)


@pytest.mark.parametrize("y", [None, SOME], ids=["plain", "labels"])
@pytest.mark.parametrize("loss", ["kullback-leibler", "frobenius"])
def test_seeds_pull_to_convergence(y, loss):
    seeds = {"weekday": ["people", "day"], "sky": ["moon"]}
    exact = {"tol": 1e-9, "max_iter": 3000, "random_state": 0, "data_loss": loss}
    pulled = TopicModel(5, seeds=seeds, **exact).fit(TEXTS, y)
    free = TopicModel(5, **exact).fit(TEXTS, y)
    assert "Converged" in pulled.estimator_.stop_reason_
    for name, words in seeds.items():
        topic = pulled.topic_names_.index(name)
        best = max(weight_of(free, k, words) for k in range(5))
        assert weight_of(pulled, topic, words) > best
        assert set(pulled.topics(len(words))[topic].words) == set(words)
    assert pulled.estimator_.priors is None
    assert np.isfinite(pulled.estimator_.components_).all()


def test_the_pull_grows_with_its_strength():
    def pull(strength):
        model = TopicModel(
            4,
            seeds={"x": ["people"]},
            seed_strength=strength,
            tol=1e-8,
            max_iter=2000,
            random_state=0,
        )
        return weight_of(model.fit(TEXTS), 0, ["people"])

    weights = [pull(strength) for strength in (0.1, 1.0, 10.0)]
    assert weights == sorted(weights)
    assert weights[-1] > 2 * weights[0]


def test_a_seed_with_the_name_of_a_class_pulls_its_topic():
    model = TopicModel(3, seeds={"sport": ["coach", "season"]}, random_state=0).fit(TEXTS, SOME)
    topic = model.topics()[model.topic_names_.index("sport")]
    assert topic.label == "sport"
    assert set(topic.words[:2]) == {"coach", "season"}
    assert model.score(TEXTS, LABELS) > 0.95


def test_seeds_are_looked_up_as_words_are_read():
    model = TopicModel(3, seeds={"x": ["MOON", "Rocket"]}, random_state=0).fit(TEXTS)
    assert set(model.topics(2)[0].words) == {"moon", "rocket"}
    with pytest.warns(UserWarning, match=r"seeds\['x'\]: \['zzz'\] are ignored"):
        TopicModel(3, seeds={"x": ["moon", "zzz"]}).fit(TEXTS)


def test_seeds_join_other_priors():
    from cofactor.priors import L1

    model = TopicModel(3, seeds={"x": ["moon"]}, priors={"features": L1(0.1)}, random_state=0)
    fitted = model.fit(TEXTS)
    assert fitted.topics(1)[0].words == ("moon",)
    assert fitted.estimator_.priors == {"features": L1(0.1)}


# --- seeds as classes ----------------------------------------------------------------------------

NAMES = {"space": ["moon", "orbit"], "sport": ["hockey", "puck"], "faith": ["god", "church"]}


def test_seeds_alone_make_a_classifier():
    model = TopicModel(6, seeds=NAMES, task="classes", random_state=0).fit(TEXTS)
    assert model.score(TEXTS, LABELS) > 0.9
    assert model.predict(UNSEEN[:3]).tolist() == ["space", "sport", "faith"]
    assert model.expected_score_ is None
    assert sorted(model.classes_) == sorted(NAMES)


def test_labels_stay_what_they_are():
    y = np.where(LABELS == "space", 1, 0)
    y[::2] = -1
    seeds = {"1": NAMES["space"], "sky": ["day"]}
    model = TopicModel(6, seeds=seeds, task="classes", random_state=0).fit(TEXTS, y)
    assert model.classes_.tolist() == [0, 1]
    assert model.score(TEXTS, y) > 0.9
    other = TopicModel(6, seeds={"sky": ["day"]}, task="classes", random_state=0).fit(TEXTS, y)
    assert other.expected_score_ is not None  # no seed labelled a document


def test_known_labels_outweigh_seeds():
    wrong = {"space": NAMES["sport"], "sport": NAMES["space"], "faith": NAMES["faith"]}
    model = TopicModel(6, seeds=wrong, task="classes", random_state=0).fit(TEXTS, LABELS)
    assert model.score(TEXTS, LABELS) > 0.9


def test_seeds_alone_need_one_label_a_document_at_most():
    with pytest.raises(ValueError, match="y"):
        TopicModel(6, seeds=NAMES, task="classes").partial_fit(TEXTS[:50])


def test_seeds_that_label_no_document_are_named():
    seeds = {"sky": ["moon"], "night": ["moon"]}
    with pytest.raises(ValueError, match=r"\['sky', 'night'\].*different words.*y"):
        TopicModel(5, seeds=seeds, task="classes").fit(TEXTS)
