"""Reports on odd models and data: always a page, never a failure."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse as sp

from cofactor import TopicModel
from cofactor.report import render_report

pytestmark = [
    pytest.mark.slow,  # each writes whole reports
    pytest.mark.filterwarnings("ignore:n_components=. is less than the . classes:UserWarning"),
]


@pytest.mark.parametrize(
    "read",
    [
        list,
        np.array,
        pd.Series,
        pl.Series,
        lambda y: pd.Series(y).replace("", None),
        lambda y: pd.Categorical(y).codes.astype(int),
        lambda y: np.array([{"": -1, "faith": 3, "space": 7, "sport": 11}[c] for c in y]),
        lambda y: [None if c == "" else c == "space" for c in y],
    ],
)
def test_labels_in_any_form(corpus, some, read):
    y = read(some.tolist())
    model = TopicModel(3, random_state=0).fit(corpus[0], y)
    page = render_report(model, (text for text in corpus[0]), y)
    assert "labels, which the fit itself held out" in page


def test_labels_of_integers_are_known_as_strings_too(corpus):
    y = np.array([{"faith": 1, "space": 2, "sport": 3}[label] for label in corpus[1]])
    model = TopicModel(3, random_state=0).fit(corpus[0], y)
    page = render_report(model, corpus[0], [str(label) for label in y])
    assert "does not know" not in page


def test_soft_labels(corpus):
    y = pd.DataFrame({"z": corpus[1] == "space", "a": corpus[1] == "sport", "m": 0.2}).astype(float)
    y = y.div(y.sum(axis=1), axis=0)
    model = TopicModel(3, random_state=0).fit(corpus[0], y)
    assert "the fit itself held out" in render_report(model, corpus[0], y)


def test_indicators(corpus):
    y = sp.csr_array(np.column_stack([corpus[1] == "space", corpus[1] != "faith"]).astype(int))
    model = TopicModel(3, random_state=0).fit(corpus[0], y)
    page = render_report(model, corpus[0], y)
    assert "micro F1" in page
    assert "Scores by label" in page


@pytest.mark.parametrize("n_components", [1, 2, 30])
def test_few_and_many_topics(corpus, some, n_components):
    model = TopicModel(n_components, random_state=0).fit(corpus[0], some)
    assert "<title>" in render_report(model, corpus[0], some)


def test_one_class(corpus):
    y = np.where(np.arange(120) < 20, "only", "")
    with pytest.warns(UserWarning, match="label some documents of other classes"):
        model = TopicModel(2, random_state=0).fit(corpus[0], y)
    page = render_report(model, corpus[0], y)
    assert "There is a single class, too little to test the predictions." in page
    assert "Topics and classes" not in page  # a map of one colour
    assert "<b>only</b>" not in page  # nor on each card
    assert "on new documents like those of the fit" not in page  # always right


def test_one_label_of_each_class(corpus):
    y = np.where(np.arange(120) < 3, corpus[1], "")
    model = TopicModel(3, random_state=0).fit(corpus[0], y)
    assert "too few labels" in render_report(model, corpus[0], y)


def test_a_class_with_a_single_label(corpus, some):
    y = np.append(some[:-1], "rare")
    model = TopicModel(4, random_state=0).fit(corpus[0], y)
    assert "On 30 of the 31 labels" in render_report(model, corpus[0], y)


def test_empty_and_repeated_documents(corpus, some):
    texts = [*corpus[0][:117], "", None, corpus[0][0]]
    model = TopicModel(3, random_state=0).fit(texts, some)
    page = render_report(model, texts, some)
    assert "2 documents have no word of the model" in page
    assert "no known word" in page


def test_only_empty_documents(model):
    assert "2 documents have no word" in render_report(model, ["", ""])
    with pytest.raises(ValueError, match="documents is empty"):
        render_report(model, [])


def test_seeds(corpus, some):
    model = TopicModel(4, seeds={"church": ["god", "bible"]}, random_state=0)
    page = render_report(model.fit(corpus[0], some), corpus[0], some)
    assert 'value="church"' in page
    assert "seeds={&#39;church&#39;: [&#39;god&#39;, &#39;bible&#39;]}" in page


def test_several_numbers(corpus):
    y = np.random.default_rng(0).random((120, 2))
    model = TopicModel(3, random_state=0).fit(corpus[0], y)
    assert "<title>" in render_report(model, corpus[0], y)
    model = TopicModel(3, task="numbers", random_state=0).fit(corpus[0], y)
    assert "R² is the share of the variance" in render_report(model, corpus[0], y)
