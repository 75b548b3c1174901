"""The choice of the number of topics."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse as sp

from cofactor import NMF, Factors, SSNMFClassifier, SSNMFRegressor, TopicModel
from cofactor.metrics import match_topics
from cofactor.model_selection import choose
from cofactor.model_selection.figure import prepare
from cofactor.model_selection.problem import settle_problem
from cofactor.model_selection.trials import better_fits, similarities
from commands import make_rows
from complaints import assert_says

RANDOM = np.random.default_rng(0)
SHARES = RANDOM.dirichlet([0.1] * 4, 160)
X = sp.csr_array(RANDOM.poisson(60 * SHARES @ RANDOM.dirichlet([0.1] * 80, 4)).astype(float))
CLASSES = np.array([0, 0, 1, 1])[SHARES.argmax(axis=1)]
Y = np.where(RANDOM.random(160) < 0.4, CLASSES, -1)
TEXTS, LABELS = zip(*[(body, team) for _, body, team in make_rows(60)], strict=True)
SIZES = [2, 3, 4, 5, 6]


def test_the_number_of_topics_is_found_without_labels():
    found = choose(NMF(random_state=0), X, n_components=SIZES, runs=3)
    assert found.n_components == 4
    assert found.supervision is None
    assert [row["n_components"] for row in found.table] == SIZES
    assert [row["chosen"] for row in found.table] == [k == 4 for k in SIZES]
    divergence = [row["cell_divergence"] for row in found.table]
    assert np.argmin(divergence) == 2
    assert 0 < min(divergence) < 1
    assert "labels" not in found.advice
    assert found.advice.startswith("Take 4 topics: with 3, held-out cells are predicted worse")


def test_the_number_of_topics_is_found_with_labels():
    model = SSNMFClassifier(random_state=0)
    found = choose(model, X, Y, n_components=[3, 4, 5], supervision=[1.0, "auto"], runs=3)
    assert found.n_components == 4
    assert found.supervision in (1.0, "auto")
    assert model.set_params(**found.parameters).n_components == 4
    assert len(found.table) == 6
    for row in found.table:
        assert row["label_log_likelihood"] < 0
        assert row["score"] > 0.8  # chance is about a half
    panels = {panel.title.split(" (")[0]: panel for panel in prepare(found.table).panels}
    assert [curve.name for curve in panels["Stability"].curves] == [
        "supervision 1.0",
        "supervision auto",
    ]


def test_threads_and_callers_arrays_change_nothing():
    one, other = (
        choose(NMF(random_state=0, n_jobs=jobs), data, n_components=[3, 4], runs=3)
        for jobs, data in ((1, X), (2, X.toarray()))
    )
    for row, same in zip(one.table, other.table, strict=True):
        for name in row.keys() - {"seconds"}:
            assert row[name] == pytest.approx(same[name], rel=1e-9)


def test_documents_are_vectorised_once_and_have_coherence():
    from cofactor.text.vectorizer.word_vectorizer import WordVectorizer

    calls = []

    class Counting(WordVectorizer):
        def fit_transform(self, *arguments):
            calls.append(1)
            return super().fit_transform(*arguments)

    model = TopicModel(vectorizer=Counting(), random_state=0)
    told = []
    found = choose(
        model, TEXTS, LABELS, n_components=[2, 3], runs=3, progress=lambda *far: told.append(far)
    )
    assert len(calls) == 1
    assert told == [(done, 6) for done in range(1, 7)]
    assert found.n_components == 3
    assert all(-1 <= row["coherence"] <= 1 for row in found.table)
    assert not hasattr(model, "estimator_")


def test_every_seeded_topic_finds_a_place(monkeypatch):
    monkeypatch.setattr("cofactor.model_selection.choosing.USUAL", (2, 3, 4))
    words = TopicModel(3, random_state=0).fit(TEXTS, LABELS).topics(3)[0].words
    model = TopicModel(seeds={word: [word] for word in words}, random_state=0)
    found = choose(model, TEXTS, LABELS, runs=2)
    assert [row["n_components"] for row in found.table] == [3, 4]


def test_numbers_are_predicted_too():
    y = SHARES[:, 0] + 2 * SHARES[:, 1]
    y[::2] = np.nan
    found = choose(SSNMFRegressor(random_state=0), X, y, n_components=[2, 4], runs=3)
    assert found.n_components == 4
    assert found.table[1]["score"] > 0.8


def test_stability_is_the_mean_similarity_of_matched_topics():
    topics = [RANDOM.random((3, 7)) for _ in range(3)]
    pairs = {
        (i, j): np.mean([s for *_, s in match_topics(topics[i], None, topics[j], None)])
        for i in range(3)
        for j in range(3)
    }
    expected = [np.mean([pairs[i, j] for j in range(3) if j != i]) for i in range(3)]
    assert np.allclose(similarities(topics), expected)


def test_stuck_fits_are_the_worse_half_of_a_candidates_fits():
    usual = np.array([10.0, 12.0, 11.0, 14.0, 10.5])  # of the rows of five folds
    stuck = [[1.3, 1.0, 1.3, 1.0, 1.0], [0.9, 0.9, 1.1, 0.9, 1.1]]
    misfits = usual * np.array([*stuck, [0.88] * 5, [0.86] * 5, [0.84] * 5])
    candidates = [SimpleNamespace(misfits=row) for row in misfits]
    found = better_fits(candidates)
    assert found.sum(axis=1).tolist() == [3] * 5
    assert found[0].tolist() == [False, True, False, True, True]
    assert found[1].tolist() == [True, True, False, True, False]


def test_every_other_fit_without_labels_starts_at_random():
    for model, y, expected in (
        (NMF(), None, "random"),
        (NMF(init="nndsvd"), None, "nndsvd"),
        (SSNMFClassifier(), Y, "auto"),
        (SSNMFClassifier(), np.full(160, -1), "random"),
    ):
        make = settle_problem(model, X, y).make
        starts = [make(X, Y, 0, vary, n_components=3).estimator.init for vary in (False, True)]
        assert starts == [model.init, expected]


def test_an_interruption_keeps_the_complete_candidates():
    def interrupt(done, total):
        if done == 7:
            raise KeyboardInterrupt

    model = NMF(random_state=0)
    found = choose(model, X, n_components=SIZES, runs=3, progress=interrupt)
    assert found.interrupted
    assert [row["n_components"] for row in found.table] == [2, 3]
    with pytest.raises(KeyboardInterrupt):
        choose(model, X, n_components=SIZES, runs=8, progress=interrupt)


def test_fits_that_do_not_converge_are_counted_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        choose(NMF(random_state=0, max_iter=2), X, n_components=[2, 3], runs=2)
    assert [str(each.message)[:6] for each in caught] == ["4 fits"]


@pytest.mark.parametrize(
    ("call", "patterns"),
    [
        (lambda: choose(NMF(), X, n_components=[]), ["n_components is empty"]),
        (lambda: choose(NMF(), X, n_components=[0]), ["n_components holds 0"]),
        (lambda: choose(NMF(), X, n_components=[2, 100]), ["holds 100", "80 columns"]),
        (lambda: choose(NMF(), X[:20], n_components=[17]), ["holds 17", "16 rows"]),
        (lambda: choose(NMF(), X, runs=1), ["runs=1"]),
        (lambda: choose(NMF(), X, supervision=[1.0]), ["supervision", "labels"]),
        (lambda: choose(NMF(2, init=Factors(np.ones((160, 2)), np.ones((80, 2)))), X), ["init"]),
        (lambda: choose("NMF", X), ["type str", "TopicModel"]),
        (
            lambda: choose(SSNMFClassifier(), X, np.where(Y == 1, 1, None)),
            ["one class only, 1", "leave y out"],
        ),
        (
            lambda: choose(SSNMFClassifier(), X, np.where(np.arange(160) < 3, CLASSES, None)),
            ["runs=5", "3 labelled"],
        ),
        (lambda: choose(SSNMFClassifier(), X, Y[:9]), [r"\[160, 9\]"]),
        (lambda: choose(TopicModel(), TEXTS, LABELS[:9]), [r"\[60, 9\]"]),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, patterns):
    assert_says(call, *patterns)


def test_labels_may_all_be_unknown():
    found = choose(SSNMFClassifier(random_state=0), X, np.full(160, -1), n_components=[4], runs=2)
    assert found.advice == "Take 4 topics: no other number was tried."
    assert "score" not in found.table[0]
