"""Predictors that users already have, tuned as they would tune them.

A rival for classes takes a set and its labels (−1: unknown) and returns the classes of the test
rows. Settings are chosen by cross-validation on the labelled rows; in a tie, or if a class has only
one label, the first value of the grid is used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import LinearSVC

from benchmarks.data_sets import Rows

Classifier = Callable[[Rows, np.ndarray], np.ndarray]
MAX_FIVE_FOLD_LABELS = 1000  # three folds above
GRAPH_NEIGHBOURS = 10
SPREADING_ROUNDS = 25
NO_INTERCEPT = "logistic regression, no intercept"
"""Better if a labelled text is empty or very short: an intercept then favours its class."""
SVM_ON_TFIDF = "linear SVM on TfidfVectorizer"
"""What users of scikit-learn would try first; it sees other words than the others."""


# Choosing a setting


def choose(
    grid: Sequence[Any], y: np.ndarray, attempt: Callable[..., np.ndarray], score: Any
) -> Any:
    """Return the value of the grid with the best held-out predictions.

    ``attempt(value, train, test)`` returns the classes of rows ``test``, learned from ``train``.
    """
    known = np.flatnonzero(y >= 0)
    least = int(np.unique(y[known], return_counts=True)[1].min())
    if least < 2 or len(grid) < 2:
        return grid[0]
    folds = StratifiedKFold(
        min(least, 3 if len(known) > MAX_FIVE_FOLD_LABELS else 5), shuffle=True, random_state=0
    )
    splits = [(known[a], known[b]) for a, b in folds.split(known, y[known])]
    held = np.concatenate([test for _, test in splits])
    scores = [
        score(y[held], np.concatenate([attempt(value, *split) for split in splits]))
        for value in grid
    ]
    return grid[int(np.argmax(scores))]


def score_of(rows: Rows) -> Callable[[np.ndarray, np.ndarray], float]:
    """Return the score of the set, which also chooses the settings."""
    return balanced_accuracy_score if rows.balanced else accuracy_score


# Models that learn from labelled rows


def supervised(
    make: Callable[..., Any], grid: Sequence[Any], views: tuple[Any, Any], rows: Rows, y: np.ndarray
) -> np.ndarray:
    """Choose the setting, learn from all labelled rows, and predict the test rows."""
    X, X_test = views
    make = partial(make, balanced=rows.balanced)

    def attempt(value: Any, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        return fit_predict(make(value), X[train], y[train], X[test])

    value = choose(grid, y, attempt, score_of(rows))
    known = y >= 0
    return fit_predict(make(value), X[known], y[known], X_test)


def fit_predict(model: Any, X: Any, y: np.ndarray, X_new: Any) -> np.ndarray:
    """Predict new rows; a linear model does so without the columns that no training row uses.

    Their weights would be 0. Without them a fit to few rows is much faster.
    """
    if sp.issparse(X) and not isinstance(model, MultinomialNB | ComplementNB | BernoulliNB):
        used = np.unique(X.indices)
        X, X_new = X[:, used], X_new[:, used]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y).predict(X_new)


def logistic(C: float, balanced: bool, intercept: bool = True) -> LogisticRegression:
    weights = "balanced" if balanced else None
    return LogisticRegression(C=C, max_iter=1000, class_weight=weights, fit_intercept=intercept)


def svm(C: float, balanced: bool) -> LinearSVC:
    return LinearSVC(C=C, class_weight="balanced" if balanced else None, random_state=0)


def naive_bayes(kind: type[Any], alpha: float, balanced: bool) -> Any:
    return kind(alpha=alpha, **({"fit_prior": False} if balanced else {}))


def gaussian_naive_bayes(smoothing: float, balanced: bool) -> GaussianNB:
    return GaussianNB(var_smoothing=smoothing)


# The first value of a grid decides ties and serves where a class has one label. Except for logistic
# regression it was chosen by test accuracy with few labels on six sets (wine, breast_cancer,
# digits, trec, searchsnippets, reuters_r8), which favours these rivals there.
LOGISTIC_C = {"words": (10.0, 1.0, 100.0, 0.1), "table": (10.0, 1.0, 100.0, 0.1, 0.01)}
SVM_C = {"words": (1.0, 0.1, 10.0), "table": (0.01, 0.1, 0.001, 1.0)}
ALPHA = {"words": (0.01, 0.1, 1.0), "table": (0.1, 0.01, 1.0)}
SMOOTHING = (0.1, 1.0, 1e-2, 1e-9)
SHARE = (0.9, 0.99, 0.5, 0.2)  # of its neighbours in a row of label spreading


def logistic_regression(rows: Rows, y: np.ndarray, intercept: bool = True) -> np.ndarray:
    make = partial(logistic, intercept=intercept)
    return supervised(make, LOGISTIC_C[_scale(rows)], rows.usual, rows, y)


def linear_svm(rows: Rows, y: np.ndarray) -> np.ndarray:
    return supervised(svm, SVM_C[_scale(rows)], rows.usual, rows, y)


def _scale(rows: Rows) -> str:
    """Return which grid suits the rows: of length one, or with many values around one."""
    return "words" if rows.kind == "words" else "table"


def linear_svm_on_tfidf(rows: Rows, y: np.ndarray) -> np.ndarray:
    """Weigh all words of two letters or more, stop words too, as scikit-learn's users do."""
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    texts, new = rows.texts or ((), ())
    views = vectorizer.fit_transform(texts), vectorizer.transform(new)
    return supervised(svm, SVM_C["words"], views, rows, y)


# Models that learn from unlabelled rows, too


class EMNaiveBayes:
    """Multinomial naive Bayes with soft labels for unlabelled rows (Nigam et al., 2000).

    Parameters
    ----------
    n_iter : int
        Rounds of expectation and maximisation.
    alpha : float
        Added to each word's weight in each class.
    weight : float
        Weight of an unlabelled row; a labelled one has 1.
    """

    def __init__(self, n_iter: int = 12, alpha: float = 0.01, weight: float = 0.1) -> None:
        self.n_iter, self.alpha, self.weight = n_iter, alpha, weight

    def fit(self, X: sp.csr_matrix, y: np.ndarray) -> EMNaiveBayes:
        """Learn from classes 0, 1, ... and rows marked −1."""
        known = np.eye(y.max() + 1)[y] * (y >= 0)[:, None]
        self._maximise(X, known)
        counts = np.where(y >= 0, 1.0, self.weight)[:, None]
        for _ in range(self.n_iter):
            responsibilities = np.where((y >= 0)[:, None], known, self.predict_proba(X))
            self._maximise(X, counts * responsibilities)
        return self

    def _maximise(self, X: sp.csr_matrix, counts: np.ndarray) -> None:
        words, rows = X.T @ counts + self.alpha, counts.sum(axis=0) + 1.0
        self.log_words, self.log_prior = (
            np.log(words / words.sum(axis=0)),
            np.log(rows / rows.sum()),
        )

    def predict_proba(self, X: sp.csr_matrix) -> np.ndarray:
        """Return the probability of each class."""
        scores = X @ self.log_words + self.log_prior
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X: sp.csr_matrix) -> np.ndarray:
        """Return the most probable class."""
        return self.predict_proba(X).argmax(axis=1)


def em_naive_bayes(rows: Rows, y: np.ndarray) -> np.ndarray:
    return EMNaiveBayes().fit(rows.X, y).predict(rows.X_test)


class Graph:
    """Training rows and their nearest neighbours by cosine, and the neighbours of test rows."""

    def __init__(self, X: Any, X_test: Any) -> None:
        k = min(GRAPH_NEIGHBOURS, X.shape[0] - 1)
        finder = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute").fit(X)
        self.test = _similarities(finder.kneighbors_graph(X_test, mode="distance"))
        near = _similarities(finder.kneighbors_graph(mode="distance"))  # a row is not its own
        near = sp.csr_array(near.maximum(near.T))
        scale = sp.diags_array(1 / np.sqrt(np.maximum(np.asarray(near.sum(axis=1)).ravel(), 1e-12)))
        self.train = sp.csr_array(scale @ near @ scale)

    def spread(self, y: np.ndarray, n_classes: int, share: float) -> np.ndarray:
        """Return the shares of the classes in each training row (Zhou et al., 2004)."""
        start = np.eye(n_classes)[np.maximum(y, 0)] * (y >= 0)[:, None]
        F = start
        for _ in range(SPREADING_ROUNDS):
            F = share * (self.train @ F) + (1 - share) * start
        total = F.sum(axis=1, keepdims=True)
        return np.divide(F, total, out=np.full_like(F, 1 / n_classes), where=total > 0)


def _similarities(distances: Any) -> sp.csr_array:
    found = sp.csr_array(distances)
    found.data = np.maximum(1 - found.data, 0)
    return found


def label_spreading(rows: Rows, y: np.ndarray, standardised: bool = False) -> np.ndarray:
    """Spread the labels over the graph; a test row takes the mean of its neighbours' shares."""
    graph, n_classes = _graph(rows, standardised), int(y.max()) + 1

    def attempt(share: float, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        shown = np.full(len(y), -1)
        shown[train] = y[train]
        return graph.spread(shown, n_classes, share)[test].argmax(axis=1)

    share = choose(SHARE, y, attempt, score_of(rows))
    return (graph.test @ graph.spread(y, n_classes, share)).argmax(axis=1)


@lru_cache(maxsize=2)
def _graph(rows: Rows, standardised: bool) -> Graph:
    """Return the graph of a set, which is built once for all its draws and budgets."""
    return Graph(*(rows.usual if standardised else (rows.X, rows.X_test)))


def rivals_of_classes(rows: Rows) -> dict[str, Classifier]:
    """Return the rivals that suit the kind of data."""
    words, plain = rows.kind == "words", (rows.X, rows.X_test)

    def bayes(kind: type[Any]) -> Classifier:
        return partial(supervised, partial(naive_bayes, kind), ALPHA[_scale(rows)], plain)

    found: dict[str, Classifier] = {
        "logistic regression": logistic_regression,
        NO_INTERCEPT: partial(logistic_regression, intercept=False),
        "linear SVM": linear_svm,
        "multinomial NB": bayes(MultinomialNB),
        "complement NB": bayes(ComplementNB),
        "Bernoulli NB": bayes(BernoulliNB),
        "Gaussian NB": partial(supervised, gaussian_naive_bayes, SMOOTHING, plain),
        "EM naive Bayes": em_naive_bayes,
        "label spreading": label_spreading,
        "label spreading, standardised": partial(label_spreading, standardised=True),
        SVM_ON_TFIDF: linear_svm_on_tfidf,
    }
    of_tables = ("Gaussian NB", "label spreading, standardised")
    left_out = of_tables if words else (NO_INTERCEPT, "Bernoulli NB", SVM_ON_TFIDF)
    return {name: rival for name, rival in found.items() if name not in left_out}


def rivals_of_cells(rows: Rows) -> dict[str, Classifier]:
    """Return linear models of log-normalised counts, the usual view of single cells."""
    return {"logistic regression": logistic_regression, "linear SVM": linear_svm}


# Numbers


def ridge(rows: Rows, y: np.ndarray) -> np.ndarray:
    """Return ridge regression's numbers; the penalty is chosen by leave-one-out error."""
    (X, X_test), known = rows.usual, ~np.isnan(y)
    return RidgeCV(np.logspace(-3, 4, 15)).fit(X[known], y[known]).predict(X_test)


# Several labels


TAG_FOLDS, TAG_C, TAG_SVM_C = 3, (10.0, 30.0, 100.0), (1.0, 0.3, 3.0)
PRIOR_STRENGTH = 10.0  # of all labels' F1 in the threshold of one


def one_vs_rest_svm(rows: Rows, Y: np.ndarray) -> np.ndarray:
    """Return the labels of one SVM for each; C by the micro F1 of a held-out third."""
    known = ~np.isnan(Y[:, 0])
    X, Y = rows.X[known], Y[known]
    train, test = next(_folds(len(Y)))

    def held_out(C: float) -> float:
        found = _each_label(svm, C, X[train], Y[train], X[test]) > 0
        return f1_score(Y[test], found, average="micro", zero_division=0)

    return _each_label(svm, max(TAG_SVM_C, key=held_out), X, Y, rows.X_test) > 0


def one_vs_rest_logistic(rows: Rows, Y: np.ndarray) -> np.ndarray:
    """Return the labels of one logistic regression for each, with a threshold for each.

    C has the least held-out log loss; the thresholds come from the same held-out scores.
    """
    known = ~np.isnan(Y[:, 0])
    X, Y = rows.X[known], Y[known]

    def held_out(C: float) -> np.ndarray:
        scores = np.empty(Y.shape)
        for train, test in _folds(len(Y)):
            scores[test] = _each_label(tag_logistic, C, X[train], Y[train], X[test])
        return scores

    def log_loss(scores: np.ndarray) -> float:
        return float(np.logaddexp(0, np.where(Y > 0, -scores, scores)).mean())

    tried = {C: held_out(C) for C in TAG_C}
    C = min(tried, key=lambda C: log_loss(tried[C]))
    return _each_label(tag_logistic, C, X, Y, rows.X_test) > thresholds(tried[C], Y)


def tag_logistic(C: float, balanced: bool) -> LogisticRegression:
    return LogisticRegression(C=C, solver="liblinear", random_state=0)


def _folds(n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return KFold(TAG_FOLDS, shuffle=True, random_state=0).split(np.arange(n))


def _each_label(
    make: Callable[..., Any], C: float, X: Any, Y: np.ndarray, X_new: Any
) -> np.ndarray:
    """Return the scores of new rows; a label that all rows have, or none, gets ±50."""
    scores = np.tile(np.where(Y.all(axis=0), 50.0, -50.0), (X_new.shape[0], 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for j in np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0)):
            model = make(C, balanced=False).fit(X, Y[:, j])
            scores[:, j] = model.decision_function(X_new)
    return scores


def thresholds(scores: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the score above which each label is given.

    A label's own F1 is shrunk towards the F1 of all labels at the same threshold:
    (2 TP + s F) / (PP + P + s) is maximised, with s = 10.
    """
    grid = np.linspace(-6, 3, 91)
    hits = np.array([((scores > t) & (Y > 0)).sum(axis=0) for t in grid])
    sizes = np.array([(scores > t).sum(axis=0) for t in grid]) + Y.sum(axis=0)
    micro = 2 * hits.sum(axis=1) / np.maximum(sizes.sum(axis=1), 1)
    value = (2 * hits + PRIOR_STRENGTH * micro[:, None]) / (sizes + PRIOR_STRENGTH)
    return grid[value.argmax(axis=0)]


# Ratings


def damped_biases(ratings: sp.csr_matrix, cells: sp.coo_matrix, damping: float = 5.0) -> np.ndarray:
    """Predict cells from the mean and from the damped offsets of their row and their column."""
    seen = sp.coo_matrix(ratings)
    mean = seen.data.mean()
    by_column = _offsets(seen.col, seen.data - mean, ratings.shape[1], damping)
    left = seen.data - mean - by_column[seen.col]
    by_row = _offsets(seen.row, left, ratings.shape[0], damping)
    return mean + by_column[cells.col] + by_row[cells.row]


def _offsets(groups: np.ndarray, values: np.ndarray, n: int, damping: float) -> np.ndarray:
    return np.bincount(groups, values, n) / (np.bincount(groups, minlength=n) + damping)
