"""Few labels: the unlabelled documents help, as much as they help expectation maximisation."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

from cofactor import SSNMFClassifier
from oracles import em_naive_bayes

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def hide_all_but(y, per_class, seed):
    """Labels of ``per_class`` documents of each class, −1 for the others."""
    random = np.random.default_rng(seed)
    y_few = np.full(len(y), -1)
    for c in np.unique(y):
        chosen = random.choice(np.flatnonzero(y == c), per_class, replace=False)
        y_few[chosen] = c
    return y_few


def accuracies(X, y, X_test, y_test, per_class, rank, draws=2):
    """Mean test accuracy of the classifier, of EM naive Bayes and of logistic regression."""
    rows = []
    for seed in range(draws):
        few = hide_all_but(y, per_class, seed)
        known = few >= 0
        ours = SSNMFClassifier(rank, random_state=seed).fit(X, few)
        plain = LogisticRegression().fit(X[known], few[known])
        em = em_naive_bayes(X, few, len(np.unique(y)), X_test)
        rows.append(
            [ours.score(X_test, y_test), np.mean(em == y_test), plain.score(X_test, y_test)]
        )
    return np.mean(rows, axis=0)


@pytest.mark.parametrize("per_class", [2, 20])
def test_few_labels_of_newsgroups(newsgroups, per_class):
    X, y, X_test, y_test = newsgroups
    ours, em, plain = accuracies(X, y, X_test, y_test, per_class, rank=13)
    assert ours > em - 0.02
    if per_class == 2:
        assert ours > plain + 0.20


@pytest.fixture(scope="module")
def made():
    """Documents of five classes, of whose words four in five are common to all."""
    random = np.random.default_rng(0)
    words, n_classes, n = 600, 5, 1500
    common = random.dirichlet(np.full(words, 0.3))
    themes = random.dirichlet(np.full(words, 0.05), size=n_classes)
    y = random.integers(0, n_classes, size=n)
    rates = 0.8 * common + 0.2 * themes[y]
    lengths = random.integers(30, 80, size=n)
    counts = np.vstack([random.multinomial(*pair) for pair in zip(lengths, rates, strict=True)])
    X = TfidfTransformer().fit_transform(sparse.csr_array(counts))
    return X[:1100], y[:1100], X[1100:], y[1100:]


@pytest.mark.slow
@pytest.mark.parametrize("per_class", [2, 20])
def test_few_labels_of_made_documents(made, per_class):
    ours, em, plain = accuracies(*made, per_class, rank=13)
    assert ours > em - 0.02
    if per_class == 2:
        assert ours > plain + 0.15


@pytest.mark.slow
def test_unlabelled_documents_help(made):
    X, y, X_test, y_test = made
    few = hide_all_but(y, 2, seed=0)
    with_all = SSNMFClassifier(13, random_state=0).fit(X, few).score(X_test, y_test)
    known = few >= 0
    without = SSNMFClassifier(13, random_state=0).fit(X[known], few[known]).score(X_test, y_test)
    assert with_all > without + 0.1
