"""What a fitted topic model says of new documents."""

from __future__ import annotations

from typing import Any

from scipy import sparse as sp
from sklearn.utils.validation import check_is_fitted

from cofactor.estimators.base import Supervised
from cofactor.targets.sets import read_targets
from cofactor.text.describe import predictions
from cofactor.text.documents import read_documents
from cofactor.text.fitting import explained_share


class Predicting:
    """The part of :class:`TopicModel` that predicts; it needs a fitted model."""

    estimator_: Any
    vectorizer_: Any

    def transform(self, X):
        """Represent documents in terms of the topics.

        Parameters
        ----------
        X : iterable of str
            Documents.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
        """
        matrix = self._matrix(X)
        return self.estimator_.transform(matrix)

    def predict(self, X):
        """Predict the class, the labels or the numbers of documents.

        Parameters
        ----------
        X : iterable of str
            Documents.

        Returns
        -------
        ndarray
        """
        return self._predictor("predict")(self._matrix(X))

    def predict_proba(self, X):
        """Return the probability of each class.

        Parameters
        ----------
        X : iterable of str
            Documents.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
        """
        return self._predictor("predict_proba")(self._matrix(X))

    def score(self, X, y=None, sample_weight=None):
        """Return the accuracy for classes, R² for numbers, both over known labels; without a
        target, the share of the documents' divergence from their mean that the topics explain.

        Parameters
        ----------
        X : iterable of str
            Documents.
        y : array-like, optional
            Their labels.
        sample_weight : array-like of shape (n_documents,), optional
            How often each document counts.

        Returns
        -------
        float
        """
        matrix = self._matrix(X)
        if not isinstance(self.estimator_, Supervised):
            return explained_share(self.estimator_, matrix, sample_weight)
        if y is None:
            raise ValueError("y is None, but this model predicts; pass the documents' labels.")
        y = read_targets(y, getattr(self.estimator_, "classes_", None))
        return self.estimator_.score(matrix, y, sample_weight=sample_weight)

    def _predictor(self, method: str):
        check_is_fitted(self, "estimator_")
        if hasattr(self.estimator_, method):
            return getattr(self.estimator_, method)
        numeric = predictions.is_numeric(self.estimator_)
        had, needed = ("numbers", "classes") if numeric else ("no labels", "labels")
        raise ValueError(
            f"{method} needs {needed}, but the model was fitted with {had}; pass {needed} as y of "
            "fit, or use transform."
        )

    def _matrix(self, X):
        check_is_fitted(self, "estimator_")
        return sp.csr_array(self.vectorizer_.transform(read_documents(X)))
