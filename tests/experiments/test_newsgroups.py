"""The newsgroups experiment: splits, inference in few steps, choices and medians."""

import numpy as np
import pytest
from scipy import sparse as sp

from cofactor import SSNMFClassifier
from cofactor.experiments import paper
from cofactor.experiments.newsgroups import hyperparameters, models, splits, tables
from cofactor.experiments.newsgroups.splits import balanced, make_up_posts, paper_splits

WORDS = ("the", "a")


@pytest.fixture(scope="module")
def made():
    return paper_splits(balanced(make_up_posts(3), 3), WORDS)


def test_posts_are_balanced_and_split_sixty_twenty_twenty(made):
    per_class = 2 * 16  # the smallest classes have two groups
    n = 5 * per_class
    assert len(made.groups) == n
    assert made.selection.X.shape[0] == int(0.6 * n)
    assert made.selection.X.shape[0] + made.selection.X_test.shape[0] == made.final.X.shape[0]
    assert made.final.X.shape[0] + made.final.X_test.shape[0] == n
    labels = np.concatenate([made.final.y, made.final.y_test])
    assert {np.sum(labels == name) for name in splits.CLASSES} == {per_class}
    np.testing.assert_array_equal(made.final.y[: len(made.selection.y)], made.selection.y)


def test_the_vocabulary_does_not_see_the_test_posts(made):
    alone = splits.split(balanced(make_up_posts(3), 3), made.selection.X.shape[0], None, WORDS)
    np.testing.assert_array_equal(alone.X.toarray(), made.selection.X.toarray())


def test_digest_tells_data_apart(made):
    assert paper_splits(balanced(make_up_posts(3), 3), WORDS).digest == made.digest
    assert paper_splits(balanced(make_up_posts(3), 4), WORDS).digest != made.digest
    assert paper_splits(balanced(make_up_posts(3), 3), ("the",)).digest != made.digest


def test_few_steps_are_the_papers_updates():
    random = np.random.default_rng(0)
    X = random.poisson(1.0, (6, 9)).astype(float)
    A = random.random((9, 3))
    found = models.few_steps(sp.csr_array(X), A, np.random.default_rng(5))
    S = np.random.default_rng(5).random((6, 3))
    for _ in range(20):
        S = S * ((X / (S @ A.T)) @ A) / A.sum(axis=0)
    np.testing.assert_allclose(found, S, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_papers_procedure_reports_both_ways_of_inference(made):
    settings = {
        "model": "(KL, F)",
        "rank": 13,
        "seed": 0,
        "trial": 0,
        "iterations": 10,
        "tol": 1e-3,
        "supervision": 100.0,
    }
    outcome = models.paper_procedure(settings, made.final)
    assert list(outcome.accuracy) == ["20 steps", "exact"]
    assert outcome.facts["iterations"] <= 10
    assert outcome.topics.documents.shape == (len(made.groups), 13)
    other = models.paper_procedure({**settings, "model": "(F, KL)"}, made.final)
    assert list(other.accuracy) == ["exact"]


def test_defaults_are_the_librarys(made):
    settings = {"model": "(KL, KL)", "rank": 13, "seed": 0, "trial": 2}
    outcome = models.defaults(settings, made.final)
    plain = SSNMFClassifier(13, random_state=models.seed_of(settings))
    plain.fit(made.final.X, made.final.y)
    assert outcome.accuracy["exact"] == plain.score(made.final.X_test, made.final.y_test)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_heads_of_unsupervised_topics_are_thresholded(made):
    settings = {
        "model": paper.NMF_SVM,
        "rank": 6,
        "seed": 0,
        "trial": 0,
        "iterations": 40,
        "tol": 1e-4,
        "supervision": None,
    }
    topics = models.nmf_and_svm(settings, made.final).topics
    assert topics.head.shape == (6, 5)
    assert topics.head.min() == 0 < topics.head.max()


def test_median_is_a_trial():
    trials = [{"accuracy": a, "name": n} for a, n in ((0.8, "a"), (0.7, "b"), (0.9, "c"))]
    assert tables.median(trials)["name"] == "a"
    assert tables.median(trials[:2])["name"] == "b"


def test_accuracy_table_by_hand():
    def fits(*values):
        return [{"accuracy": v, "accuracies": {"20 steps": v, "exact": v - 0.1}} for v in values]

    literal = {model: fits(0.5, 0.7) for model in paper.MODELS}
    ours = {model: fits(0.8) for model in paper.MODELS}
    tuned = {model: fits(0.81, 0.83) for model in paper.MODELS}
    table = tables.accuracy(literal, ours, tuned, {"multinomial NB": fits(0.9)})
    row = dict(zip(table.columns, table.rows[2], strict=True))
    assert row["paper"] == 81.88
    assert row["its procedure"] == pytest.approx(60)
    assert row["its sd"] == pytest.approx(np.std([50, 70], ddof=1))
    assert row["with exact inference"] == pytest.approx(50)
    assert (row["our defaults"], row["our sd"]) == (pytest.approx(80), None)
    assert (row["ours, tuned"], row["tuned sd"]) == (pytest.approx(82), pytest.approx(2**0.5))
    assert (4, 3) in table.bold


def test_other_splits_are_compared_pair_by_pair():
    def result(old, new):
        scores = {f"paper: {m}": old for m in paper.MODELS}
        scores |= {f"defaults: {m}": new for m in paper.MODELS}
        scores |= {f"tuned: {m}": 0.7 for m in paper.MODELS}
        return scores | {f"classifier: {m}": 0.5 for m in models.CLASSIFIERS}

    table = tables.other_splits([result(0.6, 0.7), result(0.8, 0.7), result(0.6, 0.61)])
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert row["its procedure"] == pytest.approx(100 * 2 / 3)
    assert row["our defaults"] == pytest.approx(67)
    assert (row["splits where ours is ahead"], row["splits where tuned is ahead"]) == (2, 2)


def test_a_share_of_one_and_no_prior_are_the_defaults(made):
    settings = {"model": "(KL, F)", "rank": 13, "seed": 0, "trial": 1}
    chosen = {"share": 1.0, "pseudo_count": 0.0}
    plain = SSNMFClassifier(13, target_loss="frobenius", random_state=models.seed_of(settings))
    plain.fit(made.final.X, made.final.y)
    found = models.tuned({**settings, **chosen}, made.final)
    np.testing.assert_array_equal(found.topics.components, plain.components_)
    third = models.tuned({**settings, "share": 1 / 3, "pseudo_count": 0.05}, made.final)
    assert third.facts["supervision"] == pytest.approx(plain.supervision_ / 3)
    assert third.topics.documents.min() > 0  # which is what a pseudo-count is for


def test_the_best_point_of_each_model_is_chosen():
    grid = {("a", 1, 2): 0.5, ("a", 1, 3): 0.7, ("b", 0, 0): 0.1, ("a", 2, 2): 0.7}
    assert hyperparameters._best(grid) == {"a": (1, 3), "b": (0, 0)}


def test_scaled_topics_are_compared_by_their_mass(made):
    topics = models.defaults(
        {"model": "(KL, KL)", "rank": 6, "seed": 0, "trial": 0}, made.final
    ).topics
    shape = np.linspace(0.01, 10, 6)
    other = models.FoundTopics(
        topics.components * shape[:, None], topics.head, topics.documents / shape
    )
    one, two = (models.describe(each, made) for each in (topics, other))
    np.testing.assert_allclose(one["soft_scaled"]["scores"], two["soft_scaled"]["scores"])
    assert not np.allclose(one["soft"]["scores"], two["soft"]["scores"])
