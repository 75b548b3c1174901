"""Repeated passages: signatures and disclaimers are noticed, content of a narrow class is not."""

import numpy as np
import pytest

from cofactor import TopicModel, load_model
from cofactor.report import prepare
from cofactor.text import WordVectorizer
from cofactor.text.describe.summaries import repeated_topics
from cofactor.text.vectorizer import passages
from cofactor.text.vectorizer.passages import Passages, find_repeated, without_passages

SIGNATURE = (
    "Northwind Trading Company, Harbour Street 12, Springfield.\n"
    "The opinions expressed here are not those of my employer."
)
DISCLAIMER = "This message is confidential and intended only for the addressee."
SUBJECTS = {
    "space": "moon orbit rocket nasa launch shuttle lunar satellite comet probe",
    "sport": "puck goal hockey team game season player coach rink league",
    "faith": "god church bible jesus faith prayer gospel sin psalm temple",
    "disks": "disk drive scsi cable driver bios memory cache printer modem",
}
FILLERS = [f"word{one}{two}" for one in "abcdefghij" for two in "klmnopqrst"]
CARDS = [
    "My card has not arrived yet and I am worried.",
    "I ordered my new card two weeks ago already.",
    "Could you tell me when the card will be delivered?",
    "The tracking page of the card shows nothing.",
    "My new card is late again this month.",
]


def corpus(n=400, share=0.2, footers=(SIGNATURE, DISCLAIMER), seed=0):
    random = np.random.default_rng(seed)
    labels = [list(SUBJECTS)[i % 4] for i in range(n)]
    texts = []
    for label in labels:
        words = [*random.choice(SUBJECTS[label].split(), 6), *random.choice(FILLERS, 8)]
        text = " ".join(words) + "."
        if random.random() < share:
            text += "\n\n" + footers[random.integers(len(footers))]
        texts.append(text)
    return texts, labels


@pytest.mark.parametrize("share", [0.2, 0.06])
def test_signatures_are_noticed_from_a_few_per_cent_on(share):
    texts, _ = corpus(1000, share)
    found = find_repeated(texts)
    assert len(found) == 2  # the lines of the signature are one passage
    for one in found:
        expected = SIGNATURE.replace("\n", " ") if "Northwind" in one.text else DISCLAIMER
        rows = [row for row, text in enumerate(texts) if expected.split(",")[0] in text]
        assert one.text == expected
        assert (one.texts, one.rows) == (len(rows), rows[:5])
        assert one.share == len(rows) / 1000


def test_a_signature_of_one_class_is_noticed():
    texts, labels = corpus(share=0)
    texts = [
        f"{text}\n{SIGNATURE}" if label == "space" and i % 3 else text
        for i, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    assert len(find_repeated(texts)) == 1


def test_content_of_a_narrow_class_is_not_a_passage():
    texts, _ = corpus(share=0)
    random = np.random.default_rng(0)
    cards = [" ".join(random.choice(CARDS, 3, replace=False)) for _ in range(40)]
    shortest = Passages()
    for row, text in enumerate([*texts, *cards]):
        shortest.add(row, text)
    often = [one for one in shortest.found.values() if one.count >= 15]
    assert len(often) == len(CARDS)  # each is in more than 3 % of the texts, word for word
    assert find_repeated([*texts, *cards]) == []
    whole = find_repeated([*texts, *(CARDS[0] for _ in range(40))])
    assert whole == []  # copies of a text


def test_repeated_passages_are_left_out_of_texts_old_and_new(tmp_path):
    texts, labels = corpus()
    model = TopicModel(4, vectorizer=WordVectorizer(drop_repeated=True), random_state=0)
    model.fit(texts, labels)
    clean = [text.split("\n")[0] for text in texts]
    plain = WordVectorizer().fit(clean)
    assert model.vectorizer_.words_.tolist() == plain.words_.tolist()
    np.testing.assert_allclose(model.transform(texts), model.transform(clean))
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(texts), model.transform(texts))
    assert again.vectorizer_.repeated_ == model.vectorizer_.repeated_
    assert repeated_topics(again) == []


def test_topics_of_passages_are_marked(tmp_path):
    texts, _ = corpus(share=0.3, footers=(SIGNATURE,))
    model = TopicModel(5, random_state=0).fit(texts)
    marked = repeated_topics(model)
    assert len(marked) == 1
    assert "northwind" in model.topics(10)[marked[0]].words
    model.save(tmp_path / "model")
    assert repeated_topics(load_model(tmp_path / "model")) == marked
    notices = [row["text"] for row in prepare(model, texts).notices]
    assert f"such as signatures: {marked[0]};" in " ".join(notices)
    clean = TopicModel(5, random_state=0).fit([text.split("\n")[0] for text in texts])
    assert repeated_topics(clean) == []


def test_passages_are_forgotten_if_there_are_too_many(monkeypatch):
    monkeypatch.setattr(passages, "MAX_PASSAGES", 200)
    found = Passages()
    for row in range(1000):
        found.add(
            row, f"A sentence that is in all the texts. And {chr(97 + row % 26) * (row + 20)}"
        )
    assert len(found.found) <= 201
    assert max(one.count for one in found.found.values()) == 1000


def test_only_whole_passages_are_left_out():
    keys = {"sent from my phone, 0 times."}
    assert without_passages(keys, "Hi.\nSent from my  PHONE, 3 times.\nBye") == "Hi.\n\nBye"
    assert without_passages(keys, "I said sent from my phone, 3 times.") == (
        "I said sent from my phone, 3 times."
    )
