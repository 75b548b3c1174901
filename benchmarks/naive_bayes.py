"""Naive Bayes that also learns from unlabelled rows: the yardstick for a handful of labels."""

from __future__ import annotations

import numpy as np
from scipy import sparse as sp


class EMNaiveBayes:
    """Multinomial naive Bayes with soft labels for unlabelled rows (Nigam et al., 2000).

    Parameters
    ----------
    n_iter : int
        Rounds of expectation and maximisation.
    alpha : float
        Added to each word's weight in each class.
    weight : float
        What an unlabelled row counts, a labelled one counting 1.
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
