"""Stop words; stories and reviews from files: unknown cells, splits, and their scores."""

import gzip
import json
import sys

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from cofactor.experiments import Options, documents, ratings, reuters
from cofactor.experiments.documents import STOP_WORDS_FILE, find_stop_words, read_stop_words


def write(folder, name, records, packed=False):
    text = "\n".join(json.dumps(record) for record in records) + "\n"
    file = folder / (f"{name}.gz" if packed else name)
    file.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return folder


def options(home, stop_words, **more):
    return Options(out=home / "out", data_home=home, stopwords=stop_words, **more)


def test_labels_become_cells():
    records = [
        {"text": "x", "labels": ["b", "a"]},
        {"text": "x", "labels": ["c"], "unknown": ["a", "nowhere"]},
        {"text": "x", "labels": None},
        {"text": "x", "labels": []},
    ]
    Y, names = reuters.targets(records)
    assert names == ["a", "b", "c"]
    unknown = np.nan
    expected = [[1, 1, 0], [unknown, 0, 1], [unknown] * 3, [0, 0, 0]]
    np.testing.assert_array_equal(Y, expected)


@pytest.mark.parametrize("packed", [False, True])
def test_stories_are_read_and_split_as_the_file_says(tmp_path, stop_words, packed):
    records = reuters.make_up_stories(0)
    home = write(tmp_path, "reuters.jsonl", records, packed)
    data = reuters.prepare(options(home, stop_words)).value
    known = [not np.isnan(row).all() for row in reuters.targets(records)[0]]
    test = sum(r["split"] == "test" and k for r, k in zip(records, known, strict=True))
    assert data.X_test.shape[0] == len(data.Y_test) == test
    assert data.X.shape[0] == sum(record["split"] == "train" for record in records)
    assert np.isnan(data.Y).mean() == pytest.approx(0.1, abs=0.04)


def test_without_split_the_seed_draws_one_in_five(tmp_path, stop_words):
    records = [{k: r[k] for k in ("text", "rating")} for r in ratings.make_up_reviews(0)]
    home = write(tmp_path, "ratings.jsonl", [{**r, "rating": r["rating"] or 3} for r in records])
    one, same, other = (
        ratings.prepare(options(home, stop_words, seed=seed)).value for seed in (0, 0, 1)
    )
    assert len(one.Y_test) == round(0.2 * len(records))
    assert one.digest == same.digest != other.digest


@pytest.mark.slow
def test_unknown_cells_do_not_count(stop_words, tmp_path):
    data = reuters.prepare(options(tmp_path, stop_words, quick=True)).value
    settings = {"model": reuters.LOGISTIC, "trial": 0, "rank": 8, "seed": 0}
    before = reuters.trial(settings, data)
    hidden = np.isnan(data.Y_test)
    assert hidden.any()
    data.Y_test[hidden] = 0.0
    assert reuters.trial(settings, data)["micro-F1"] != before["micro-F1"]


def test_a_label_that_is_always_there_needs_no_classifier():
    X = np.eye(3)
    found = reuters._one_by_one(X, np.array([[1, 0], [1, 1], [np.nan, 0]]), X)
    np.testing.assert_array_equal(found[:, 0], 1)
    assert 0 < found[1, 1] < 1


def test_the_mean_explains_nothing(stop_words, tmp_path):
    data = ratings.prepare(options(tmp_path, stop_words, quick=True)).value
    settings = {"model": ratings.MEAN_RATING, "trial": 0, "rank": 5, "seed": 0}
    result = ratings.trial(settings, data)
    mean = np.nanmean(data.Y)
    expected = np.sqrt(np.mean((data.Y_test - mean) ** 2))
    assert result["RMSE"] == pytest.approx(expected)
    assert result["R²"] <= 0


def test_stop_words_come_from_the_file_then_the_data_folder(tmp_path):
    given, kept = tmp_path / "given.txt", tmp_path / STOP_WORDS_FILE
    given.write_text("The\n\n of \nof\n")
    kept.write_text("the\nand\n")
    assert read_stop_words(given) == ("the", "of")
    assert find_stop_words(given, tmp_path).source == "given.txt"
    assert find_stop_words(None, tmp_path).words == ("the", "and")


def test_without_nltk_a_sentence_says_which_words_were_used(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)
    monkeypatch.setitem(sys.modules, "nltk.corpus", None)
    stop = find_stop_words(None, tmp_path)
    assert stop.source == "scikit-learn"
    assert "the" in stop.words
    assert "or name a file of them" in stop.notes[0]


def test_words_of_equal_frequency_are_chosen_in_alphabetical_order(monkeypatch):
    """scikit-learn's choice among them depends on the instruction set of the machine."""
    monkeypatch.setattr(documents, "MAX_WORDS", 3)
    words = ["pear", "apple", "fig", "plum", "date"]
    texts = [word for word in words for _ in range(5)] + ["plum"]
    _, _, kept = documents.tf_idf(texts, texts[:1], [])
    assert kept == ["apple", "date", "plum"]


def test_the_matrices_are_those_of_scikit_learn_where_no_words_tie():
    texts = ["apple pear", "pear fig", "apple the fig fig", "plum", "pear plum"] * 6
    X, X_test, words = documents.tf_idf(texts, ["fig and pear"], ["the"])
    theirs = TfidfVectorizer(
        token_pattern="[a-zA-Z]+", stop_words=["the"], min_df=5, max_df=0.7, max_features=5000
    )
    expected = theirs.fit_transform(texts)
    assert words == theirs.get_feature_names_out().tolist()
    np.testing.assert_array_equal(X.toarray(), expected.toarray())
    np.testing.assert_array_equal(X_test.toarray(), theirs.transform(["fig and pear"]).toarray())
