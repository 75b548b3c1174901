"""Topics and classes over time: values against numpy, gaps, doubtful and refused dates."""

import warnings
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from cofactor import TopicModel
from cofactor.divergences import DIVERGENCES
from cofactor.engine.threads import Threads
from cofactor.text.over_time import MIN_RISE, UNITS, divide, features_step, read_days, suitable_unit
from subjects import LABELS, TEXTS, make_corpus

# Documents of three months; March has none, and its place is seen.
DATES = [date(2024, (1, 2, 4)[i // 40], 1 + i % 28) for i in range(len(TEXTS))]


def rows_of(table, kind, name=None):
    return [row for row in table if row.kind == kind and name in (None, row.name)]


@pytest.fixture(scope="module")
def table(model):
    return model.over_time(TEXTS, DATES)


def parts(model):
    X = np.asarray(model.vectorizer_.transform(TEXTS).todense())
    S = np.asarray(model.transform(TEXTS))
    return X, S, model.estimator_.components_


def test_shares_are_means_over_the_documents_of_a_period(model, table):
    _, S, A = parts(model)
    mass = S * A.sum(axis=1)
    means = (mass / mass.sum(axis=1, keepdims=True)).reshape(3, 40, -1).mean(axis=1)
    P = model.predict_proba(TEXTS).reshape(3, 40, -1).mean(axis=1)
    for kind, expected in (("topic", means), ("class", P)):
        found = [
            [row.share for row in rows_of(table, kind) if row.period == f"2024-0{month}"]
            for month in (1, 2, 4)
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        np.testing.assert_allclose(np.sum(found, axis=1), 1.0)
    assert all(row.low < row.share < row.high for row in table if row.documents)


def test_a_period_without_documents_has_no_shares(table):
    gap = [row for row in table if row.period == "2024-03"]
    assert len(gap) == len(table) / 4
    assert {(row.documents, row.share, row.low, row.words, row.rising) for row in gap} == {
        (0, None, None, (), ())
    }
    assert [row.start for row in table][:: len(gap)] == [date(2024, m, 1) for m in (1, 2, 3, 4)]


@pytest.mark.parametrize("loss", ["kullback-leibler", "frobenius"])
def test_words_are_those_of_one_multiplicative_update(loss):
    model = TopicModel(3, random_state=0, data_loss=loss, max_iter=5, tol=0).fit(TEXTS)
    X, S, A = parts(model)
    period = slice(40, 80)
    x, s = X[period], S[period]
    p = s @ A
    if loss == "frobenius":
        expected = A * (s.T @ x) / (s.T @ p)
    else:
        expected = A * (s.T @ (x / np.where(x > 0, p, 1.0))) / s.sum(axis=0)[:, None]
    expected /= expected.sum(axis=1, keepdims=True)
    with Threads(1) as threads:
        found = features_step(
            DIVERGENCES[loss], csr_array(x), s, np.ascontiguousarray(A.T), threads
        )
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)
    table = model.over_time(TEXTS, DATES)
    names = model.vectorizer_.get_feature_names_out()
    for row in rows_of(table, "topic"):
        if row.period == "2024-02":
            weights = expected[row.topic, np.searchsorted(names, row.words)]
            assert list(weights) == sorted(weights, reverse=True)


def planted():
    """Documents of two years; "comet" is in the documents about space of June 2023 only."""
    texts, labels = make_corpus(600, seed=3)
    days = [date(2023 + i // 300, 1 + (i // 25) % 12, 5) for i in range(len(texts))]
    for i, day in enumerate(days):
        if (day.year, day.month) == (2023, 6) and labels[i] == "space":
            texts[i] += " comet comet"
    return texts, labels, days


def test_a_word_that_comes_and_goes_is_found_where_it_is():
    texts, labels, days = planted()
    model = TopicModel(3, random_state=0).fit(texts, labels)
    found = {
        (row.period, row.name): row.rising
        for row in model.over_time(texts, days)
        if "comet" in row.rising
    }
    ((period, name), rising) = next(iter(found.items()))
    assert (len(found), period, rising[0]) == (1, "2023-06", "comet")
    assert name in {topic.name for topic in model.topics() if topic.label == "space"}


def test_chance_makes_no_word_rise():
    texts, labels = make_corpus(600, seed=4)
    model = TopicModel(3, random_state=0, max_iter=20, tol=0).fit(texts, labels)
    days = [date(2024, 1 + i // 50, 1) for i in range(len(texts))]
    rising = [row.rising for row in model.over_time(texts, days)]
    assert sum(map(len, rising)) <= 2  # of 12 periods × 3 topics × 32 words
    assert MIN_RISE >= 3


def test_numbers_are_mean_predictions():
    y = np.arange(len(TEXTS)) / 7
    numbers = TopicModel(3, task="numbers", random_state=0).fit(TEXTS, y)
    table = numbers.over_time(TEXTS, [DATES[0]] + [date(2023, 1, 1)] * 119, every="year")
    row = rows_of(table, "number")[0]
    assert row.share == pytest.approx(numbers.predict(TEXTS)[1:].mean())
    assert (row.period, row.low, row.documents) == ("2023", None, 119)


# ---- periods


def test_periods_follow_the_calendar():
    days = [date(2023, 12, 31), date(2024, 1, 1), date(2024, 2, 29), date(2024, 12, 30)]
    expected = {
        "day": (366, "2023-12-31", "2024-12-30"),
        "week": (54, "2023-W52", "2025-W01"),
        "month": (13, "2023-12", "2024-12"),
        "quarter": (5, "2023-Q4", "2024-Q4"),
        "year": (2, "2023", "2024"),
    }
    for every, (count, first, last) in expected.items():
        found = divide(days, every)
        assert (len(found.names), found.names[0], found.names[-1]) == (count, first, last)
        for day, place in zip(days, found.places, strict=True):
            assert found.starts[place] <= day
            assert place + 1 == count or day < found.starts[place + 1]
    assert divide([None, days[0]], "day").places.tolist() == [-1, 0]
    assert divide(days, "week").starts[1] == date(2024, 1, 1)  # a Monday


def test_a_chart_gets_periods_that_can_be_read():
    many = [date(2000 + i % 24, 1 + i % 12, 1) for i in range(5000)]
    assert suitable_unit(many) == "year"  # 288 months are too many to read
    assert suitable_unit([date(2024, 1, 1 + i % 30) for i in range(600)]) == "day"
    assert suitable_unit([date(2024, 1, 1), date(2024, 1, 20)]) == "week"
    assert suitable_unit([date(2024, 1, 1)]) == suitable_unit([None]) == "year"
    assert list(UNITS) == ["day", "week", "month", "quarter", "year"]


@pytest.mark.parametrize(
    "dates",
    [
        ["2024-01-31", "", "2024-03-01T10:00:00+02:00"],
        [datetime(2024, 1, 31, 23), None, date(2024, 3, 1)],
        np.array(["2024-01-31", "NaT", "2024-03-01"], dtype="datetime64[ns]"),
        pd.Series(pd.to_datetime(["2024-01-31", None, "2024-03-01"])),
    ],
)
def test_dates_of_any_kind(dates):
    assert read_days(dates, 3) == [date(2024, 1, 31), None, date(2024, 3, 1)]


# ---- bad input


def test_missing_dates_and_a_single_period_are_said(model, table):
    some = [day if i % 4 else None for i, day in enumerate(DATES)]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = model.over_time(TEXTS, some, every="year")
    first, second = (str(one.message) for one in said)
    assert first.startswith("30 of 120 documents have no date")
    assert second.startswith("All dates are in one period, 2024,")
    assert {(row.period, row.documents) for row in found} == {("2024", 90)}
    assert not any(row.rising for row in found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.over_time(TEXTS, DATES) == table


@pytest.mark.parametrize(
    ("dates", "every", "sentence"),
    [
        (["2024-01-01", "soon"], "month", r"dates\[1\] is 'soon', which has another format than"),
        (["soon", ""], "month", r"dates\[0\] is 'soon', which has no format that is known"),
        (["03/04/2024", "05/06/2024"], "month", r"dates\[0\] is '03/04/2024'.* in two ways.* pass"),
        (["2024-01-01", None], "months", "every='months' is not a period. Did you mean 'month'"),
        (["2024-01-01"], "month", "dates has 1 entries, but there are 2 documents"),
        ([None, ""], "month", "dates holds no date"),
        (["0024-01-01", "2024-01-01"], "day", "'day' gives 730,486 periods, from 0024-01-01"),
    ],
)
def test_what_cannot_be_used_is_refused(model, dates, every, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.over_time(TEXTS[:2], dates, every)


def test_documents_without_a_known_word_count_but_have_no_share(model):
    table = model.over_time(["zzz", "", "moon rocket"], ["2024-01-01", "2024-01-02", "2024-02-01"])
    january, february = ([row for row in table if row.period == f"2024-0{m}"] for m in (1, 2))
    assert {(row.documents, row.share) for row in january} == {(2, None)}
    assert sum(row.share for row in rows_of(february, "topic")) == pytest.approx(1.0)


def test_labels_of_the_corpus_are_told():
    """The mean probability of a class is near its share, also where the share changes."""
    texts, labels = make_corpus(300, seed=5)
    order = np.argsort(labels != "faith", kind="stable")  # faith first
    texts, labels = [texts[i] for i in order], labels[order]
    model = TopicModel(3, random_state=0).fit(texts, np.where(np.arange(300) % 5, "", labels))
    days = [date(2024, 1 + i // 50, 1) for i in range(300)]
    for row in rows_of(model.over_time(texts, days), "class", "faith"):
        truth = np.mean(labels[50 * (row.start.month - 1) : 50 * row.start.month] == "faith")
        assert abs(row.share - truth) < 0.1
    assert set(LABELS) == set(labels)
