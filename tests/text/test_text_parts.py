"""Documents in parts: the words, matrices and models are those of the whole corpus."""

import numpy as np
import pytest

from cofactor import TopicModel
from cofactor.text import WordVectorizer
from cofactor.text.text_parts import LocalParts, TextPart, as_part, fit_parts
from cofactor.text.vectorizer.counts import WordCounts
from commands import make_rows

ROWS = make_rows()
TEXTS = [row[1] for row in ROWS]
LABELS = np.array([row[2] or None for row in ROWS], dtype=object)
GERMAN = ["die Bestellung ist nicht angekommen", "Bestellungen sind noch nicht da"] * 40


def cut(texts, y=None, step=20):
    places = range(0, len(texts), step)
    return LocalParts(
        [TextPart(texts[i : i + step], None if y is None else y[i : i + step]) for i in places]
    )


def fitted(parts, **settings):
    model = TopicModel(6, random_state=0, **settings)
    return model.set_fitted(fit_parts(model, parts))


@pytest.mark.parametrize("texts", [TEXTS, GERMAN], ids=["English", "stems"])
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_counts_of_parts_add_up(texts, step):
    whole, parts = WordVectorizer().fit(texts), WordVectorizer()
    parts.settle(texts)
    pieces = [texts[i : i + step] for i in range(0, len(texts), step)]
    total = WordCounts.plus(parts.count_words([]), parts.count_words(pieces[0]))
    for piece in pieces[1:]:
        total = total.plus(parts.count_words(piece))
    parts.learn(total)
    assert parts.words_.tolist() == whole.words_.tolist()
    assert parts.idf_.tobytes() == whole.idf_.tobytes()
    assert parts.known_share_ == whole.known_share_


def test_a_model_of_parts_has_the_words_of_the_whole():
    model = fitted(cut(TEXTS, LABELS))
    whole = TopicModel(6, vectorizer=WordVectorizer(), random_state=0).fit(TEXTS, LABELS)
    assert model.vectorizer_.words_.tolist() == whole.vectorizer_.words_.tolist()
    assert model.fingerprint_ == whole.fingerprint_
    assert model.target_names_ == whole.target_names_
    assert (model.predict(TEXTS) == whole.predict(TEXTS)).mean() > 0.95
    assert len(model.documents()) == len(TEXTS)


def test_one_part_gives_the_bits_of_one_block():
    from cofactor import RowBlocks, SSNMFClassifier

    model = fitted(cut(TEXTS, LABELS, step=1000))
    X = model.vectorizer_.transform(TEXTS)
    alone = SSNMFClassifier(6, random_state=0).fit(RowBlocks.split(X, LABELS, rows=1000))
    assert alone.components_.tobytes() == model.estimator_.components_.tobytes()


def test_numbers_topics_and_given_words():
    numbers = np.where(np.arange(len(TEXTS)) % 3, np.arange(len(TEXTS)) / 7, np.nan)
    assert fitted(cut(TEXTS, numbers)).predict(TEXTS[:2]).dtype == float
    assert fitted(cut(TEXTS)).target_names_ == []
    assert fitted(cut(TEXTS, LABELS), task="topics").target_names_ == []
    words = fitted(cut(TEXTS), vectorizer=WordVectorizer(max_features=8)).vectorizer_.words_
    assert len(words) == 8


def test_labels_in_any_form():
    part = as_part(["a b", "c d", "e f"], np.array(["x", None, float("nan")], dtype=object))
    assert part.y.tolist() == ["x", None, None]
    assert as_part([], []).texts == []
    with pytest.raises(ValueError, match="y has 1 entries in a part of 2 documents"):
        as_part(["a", "b"], ["x"])


def test_refusals():
    with pytest.raises(ValueError, match="documents is empty"):
        fitted(LocalParts([TextPart([])]))
    from sklearn.feature_extraction.text import TfidfVectorizer

    with pytest.raises(ValueError, match="is a TfidfVectorizer; documents in parts need"):
        fitted(cut(TEXTS), vectorizer=TfidfVectorizer())
