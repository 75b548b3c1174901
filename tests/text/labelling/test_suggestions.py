"""Documents to label: what is said about each, for every kind of model."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse as sp
from sklearn.preprocessing import normalize

from cofactor import TopicModel
from cofactor.text.labelling.suggestions import (
    CLOSE,
    FIRST,
    LIKENESS_POWER,
    MIN_DUPLICATE,
    RANDOM,
    TYPICAL,
    Candidates,
    choose_rows,
)
from complaints import assert_says
from subjects import LABELS, SOME, TEXTS


def test_rows_tell_what_the_model_says(model):
    found = model.to_label(TEXTS, 10, y=SOME)
    said = model.documents(TEXTS)
    for row in found:
        one = said[row.document]
        assert (row.prediction, row.topic, row.name) == (one.prediction, one.topic, one.name)
        assert row.confidence == pytest.approx(one.confidence)
        assert SOME[row.document] == ""
    assert found.column("reason") == [CLOSE] * 8 + [RANDOM] * 2  # every topic has a label


def test_close_calls_are_drawn_by_their_doubt(model):
    """The mean probability of a wrong prediction is higher among them than among all texts."""
    doubts = 1 - model.predict_proba(TEXTS).max(axis=1)
    draws = [
        model.to_label(TEXTS, 5, strategy="close", random_state=seed).column("document")
        for seed in range(20)
    ]
    assert doubts[np.concatenate(draws)].mean() > 1.5 * doubts.mean()
    assert len({tuple(rows) for rows in draws}) > 10


def test_labels_of_the_fit_cover_their_topics():
    """Two topics have labels of the fit; those of y cover further ones."""
    some = np.where((np.arange(len(TEXTS)) < 12) & (LABELS != "faith"), LABELS, "")
    model = TopicModel(3, random_state=0).fit(TEXTS, some)
    bare = set(np.flatnonzero(model.topic_support_ == 0))
    first = [row for row in model.to_label(TEXTS[12:], 8) if row.reason == FIRST]
    assert {row.topic for row in first} == bare
    assert not [row for row in model.to_label(TEXTS, 8, y=LABELS) if row.reason == FIRST]


def test_other_models(plain):
    assert set(plain.to_label(TEXTS, 3).column("reason")) == {FIRST}
    assert plain.to_label(TEXTS, 3).column("prediction") == [None] * 3
    numbers = TopicModel(2, random_state=0).fit(TEXTS[:30], np.linspace(0.5, 2.0, 30))
    assert set(numbers.to_label(TEXTS, 4).column("reason")) == {RANDOM}
    sets = TopicModel(3, random_state=0).fit(TEXTS, [{label, "text"} for label in LABELS])
    assert CLOSE in sets.to_label(TEXTS, 4).column("reason")


def test_nothing_is_left_to_label(model):
    assert len(model.to_label(TEXTS, 5, y=LABELS)) == 0


def test_refusals(model):
    assert_says(lambda: model.to_label(TEXTS, 0), r"\bn=0", "at least 1")
    assert_says(lambda: model.to_label(TEXTS, 3, strategy="best"), "strategy='best'", "mixed")
    assert_says(lambda: model.to_label(TEXTS, 3, y=["a"]), r"\by\b", "1 entries")


# ---- Which rows are chosen: their reasons, their order, and no near-duplicates


N, R = 60, 8


def made(doubts=True, seed=0, n_labels=100):
    """Rows of which every third is almost a copy of the one before; topics 0 to 2 have labels."""
    random = np.random.default_rng(seed)
    X = random.random((N, 30)) * (random.random((N, 30)) < 0.3)
    X[2::3] = X[1::3] + 0.01 * random.random((N // 3, 30))
    X[50] = 0.0
    shares = random.dirichlet(np.full(R, 0.2), N)
    labelled = np.zeros(N, dtype=bool)
    labelled[[4, 9]] = True
    rows = sp.csr_array(normalize(X))
    covered = np.arange(R) < 3
    best = (random.random(N), random.integers(3, size=N)) if doubts else (None, None)
    return Candidates(rows, shares, *best, labelled, covered, n_labels=n_labels)


def choose(candidates, n, strategy="mixed", seed=0):
    return choose_rows(candidates, n, strategy, np.random.default_rng(seed))


def test_a_mixture_has_its_parts():
    reasons = [reason for _, reason in choose(made(), 10)]
    assert reasons == [FIRST] * 5 + [CLOSE] * 3 + [RANDOM] * 2
    reasons = [reason for _, reason in choose(made(n_labels=9), 20)]  # R = 8 topics
    assert reasons == [FIRST] * 5 + [TYPICAL] * 2 + [CLOSE] * 9 + [RANDOM] * 4


@pytest.mark.parametrize("with_side", [False, True])
def test_typical_rows_stand_for_the_most_others(with_side):
    """A greedy choice: each row adds most likeness to what the others leave uncovered."""
    candidates = replace(made(), covered=np.ones(R, dtype=bool), n_labels=0)
    views = [np.sqrt(candidates.shares)]
    if with_side:
        views.append(np.random.default_rng(3).normal(size=(N, 5)))
        candidates = replace(candidates, side=views[1])
    chosen = [row for row, reason in choose(candidates, 15) if reason == TYPICAL]
    assert len(chosen) == 12
    cosines = [normalize(view) @ normalize(view).T for view in views]
    likeness = np.clip(np.mean(cosines, axis=0), 0, 1) ** LIKENESS_POWER
    full = np.flatnonzero(candidates.rows.sum(axis=1) > 0)
    X = candidates.rows.toarray()
    known = np.flatnonzero(candidates.labelled).tolist()
    covering = [*known]
    for row in chosen:
        free = [i for i in full if i not in covering]
        while True:
            gains = {i: _covered(likeness, full, [*covering, i]) for i in free}
            best = max(free, key=lambda i: (round(gains[i], 9), i == row))
            covering.append(best)
            free.remove(best)
            if (X[known] @ X[best]).max() < MIN_DUPLICATE:
                break
        assert row == best
        known.append(row)


def _covered(likeness, rows, chosen):
    return likeness[np.ix_(rows, chosen)].max(axis=1).sum()


@pytest.mark.parametrize("strategy", ["mixed", "close", "topics", "random"])
def test_nothing_is_chosen_that_says_nothing_new(strategy):
    """Chosen and labelled rows are not alike; labelled and empty ones are not chosen."""
    candidates = made()
    rows = [row for row, _ in choose(candidates, N, strategy)]
    assert len(set(rows)) == len(rows)
    assert not {4, 9, 50} & {*rows}
    X = candidates.rows.toarray()[[4, 9, *rows]]
    likeness = X @ X.T
    assert likeness[np.triu_indices(len(X), 1)].max() < MIN_DUPLICATE
    if strategy in ("close", "random"):  # each pair of copies gives one of its rows
        assert len(rows) == N - 20 - 3 + (1 if 50 % 3 == 2 else 0)


def test_chances_are_squares_of_doubts_and_shrink_with_labels_of_the_class():
    """First draws from three rows; the last class has two labelled rows."""
    classes, doubts = np.array([0, 0, 1, 1, 1]), np.array([0.6, 0.3, 0.6, 0.5, 0.5])
    labelled = np.arange(5) > 2
    candidates = Candidates(
        sp.csr_array(np.eye(5)), np.ones((5, 1)), doubts, classes, labelled, np.array([True])
    )
    firsts = [choose(candidates, 1, "close", seed)[0][0] for seed in range(3000)]
    found = np.bincount(firsts, minlength=5) / 3000
    chances = np.array([0.36, 0.09, 0.36 / 3, 0, 0])
    assert found == pytest.approx(chances / chances.sum(), abs=0.03)


def test_short_rows_are_chosen_like_others():
    """Where short texts belong to one class, leaving them out would hide it."""
    candidates = replace(made(n_labels=0), covered=np.zeros(R, dtype=bool))
    words = np.diff(candidates.rows.indptr)
    for strategy in ("mixed", "topics", "close"):
        rows = [row for row, _ in choose(candidates, 20, strategy)]
        assert (words[rows] < np.median(words[words > 0])).any()


def test_firsts_are_central_rows_of_topics_without_labels():
    candidates = made()
    rows = [row for row, _ in choose(candidates, N, "topics")]
    X, shares = candidates.rows.toarray(), candidates.shares
    known, expected = [4, 9], []
    for k in sorted(range(3, R), key=lambda k: -shares[:, k].sum()):
        new = np.flatnonzero((X @ X[known].T).max(axis=1) < MIN_DUPLICATE)
        expected.append(max(new, key=lambda i: shares[i, k] * X[i] @ (shares[:, k] @ X)))
        known.append(expected[-1])
    assert rows == expected


def test_without_classes_topics_come_first():
    chosen = choose(made(doubts=False, n_labels=9), 12)
    assert [reason for _, reason in chosen] == [FIRST] * 5 + [TYPICAL] * 2 + [RANDOM] * 5


def test_only_what_is_drawn_depends_on_the_seed():
    one, same, other = (choose(made(), 20, seed=seed) for seed in (0, 0, 1))
    assert one == same
    assert one[:5] == other[:5]  # first rows of topics
    assert one[5:-4] != other[5:-4]
    assert one[-4:] != other[-4:]
