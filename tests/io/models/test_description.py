"""A manifest describes the topics as the loaded model does; without that, the model is loaded."""

import json

import pytest

from cofactor import TopicModel, load_model, read_facts
from cofactor.io.models.description import TOPIC_FACTS, WORDS_IN_MANIFEST, Description

TEXTS = ["refund the invoice", "wrong invoice amount", "login fails", "app crashes at login"] * 5
LABELS = ["billing", "billing", "support", ""] * 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model"
    model = TopicModel(2, random_state=0).fit(TEXTS, LABELS)
    model.rename(0, "payments").freeze(0).save(path)
    return path


def test_the_manifest_describes_what_the_loaded_model_shows(folder):
    model = load_model(folder)
    saved = Description.read(read_facts(folder), WORDS_IN_MANIFEST)
    assert saved == Description.of(model)
    assert saved.predicts == "classes"
    assert saved.topics[0].keys() == TOPIC_FACTS.keys()
    assert saved.topics[0]["given_name"] == "payments"
    assert saved.topics[0]["settled"] == "frozen"
    for by in ("coherence", "probability"):
        words = [list(topic.words) for topic in model.topics(3, by=by)]
        assert [topic["words"][by][:3] for topic in saved.topics] == words


@pytest.mark.parametrize(
    "damage",
    [
        lambda found: found.pop("topics"),
        lambda found: found.update(topics=["x"]),
        lambda found: found.update(predicts=1),
        lambda found: found["topics"][0].pop("share"),
        lambda found: found["topics"][0].update(share="much"),
        lambda found: found["topics"][0].update(words={"coherence": ["a"]}),
        lambda found: found["topics"][0]["words"].update(coherence=[1]),
        lambda found: found["topics"][0]["coherence"].update(coherence="x"),
    ],
)
def test_a_description_in_another_form_counts_as_none(folder, damage):
    facts = json.loads(json.dumps(read_facts(folder)))
    assert Description.read(facts, 10) is not None
    damage(facts["description"])
    assert Description.read(facts, 10) is None


def test_older_models_and_more_words_have_no_description(folder):
    facts = read_facts(folder)
    assert Description.read(facts, WORDS_IN_MANIFEST + 1) is None
    assert Description.read({**facts, "description": None}, 10) is None
    assert Description.read({}, 10) is None


def test_a_manifest_does_not_hold_thousands_of_topics():
    topics = [dict.fromkeys(TOPIC_FACTS)] * 1001
    assert Description("topics", "", topics).to_json() is None
    assert Description("topics", "", topics[:1000]).to_json() is not None
