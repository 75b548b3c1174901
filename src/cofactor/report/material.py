"""What a report is made of: the model, the documents given, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cofactor.reading import is_matrix, readable
from cofactor.targets import labelled_mask
from cofactor.text import predictions, read_documents, summaries


@dataclass(frozen=True, eq=False)
class Material:
    """A model and documents, read and compared.

    ``labels`` and ``truth`` are places among the classes, −1 where unknown; for numbers they are
    floats, NaN where unknown.
    """

    model: Any
    texts: list[str] | None
    X: Any  # the documents' matrix; None without documents
    S: np.ndarray  # representations of the documents, or of those of the fit
    trained: bool  # whether the documents are those of the fit
    labels: np.ndarray
    truth: np.ndarray
    strangers: list[str] = field(default_factory=list)  # labels that are no class of the model

    @cached_property
    def shares(self) -> np.ndarray:
        """Share of each topic in each document."""
        return summaries.proportions(self.S, self.model.estimator_.components_)

    @cached_property
    def probabilities(self) -> np.ndarray | None:
        """Probabilities of the classes; None if the model predicts none."""
        return probabilities(self.model.estimator_, self.S) if self.kind == "classes" else None

    @cached_property
    def known(self) -> np.ndarray:
        """Which labels are known to the fit or to whoever tests it, the fit's first."""
        return np.where(is_known(self.labels), self.labels, self.truth)

    @property
    def kind(self) -> str:
        """What the model predicts: "topics" (nothing), "classes", "numbers" or "sets"."""
        return kind_of(self.model.estimator_)

    @property
    def classes(self) -> list[str]:
        """Names of the classes or numeric targets."""
        return [str(name) for name in self.model.target_names_] if self.kind != "topics" else []


def kind_of(estimator: Any) -> str:
    """Return what an estimator predicts."""
    if not predictions.has_head(estimator):
        return "topics"
    if predictions.is_numeric(estimator):
        return "numbers"
    return "sets" if estimator._coding.kind == "multilabel" else "classes"


def probabilities(estimator: Any, S: np.ndarray) -> np.ndarray:
    """Return the probabilities of the classes for representations."""
    return np.asarray(estimator._probabilities(S @ estimator.target_components_))


def is_known(labels: np.ndarray) -> np.ndarray:
    """Tell which labels are known."""
    return labels >= 0 if labels.dtype.kind == "i" else ~np.isnan(labels)


def read_material(model: Any, documents: Any, labels: Any, truth: Any) -> Material:
    """Read documents and labels, and tell whether they are those of the fit."""
    if documents is None:
        if labels is not None or truth is not None:
            raise ValueError("labels need their documents; pass documents too.")
        S, unknown = model.document_topics_, _unknown(model, len(model.document_topics_))
        return Material(model, None, None, S, True, unknown, unknown)
    texts = read_documents(documents)
    if not texts:
        raise ValueError("documents is empty; pass at least one, or None for a report without.")
    X = model._matrix(texts)
    S = model.estimator_.transform(X)
    seen = np.shape(model.document_topics_) == S.shape and np.allclose(model.document_topics_, S)
    strangers: list[str] = []
    known, hidden = (_read_labels(model, y, len(texts), strangers) for y in (labels, truth))
    unseen = list(dict.fromkeys(strangers))
    return Material(model, texts, X, S, bool(seen), known, hidden, unseen)


def _unknown(model: Any, n: int) -> np.ndarray:
    return np.full(n, np.nan) if kind_of(model.estimator_) == "numbers" else np.full(n, -1)


def _read_labels(model: Any, y: Any, n: int, strangers: list[str]) -> np.ndarray:
    kind, unknown = kind_of(model.estimator_), _unknown(model, n)
    if y is None or kind in ("topics", "sets"):
        return unknown
    y = readable(y, "labels")
    if y.shape[0] != n:
        raise ValueError(f"labels has {y.shape[0]} entries, but there are {n} documents.")
    if is_matrix(y):
        return unknown if kind == "numbers" else _hard(y, unknown)
    if kind == "numbers":
        return np.asarray(y, dtype=float).ravel()
    classes = model.estimator_.classes_
    mask, values = labelled_mask(y, classes=classes), np.asarray(y, dtype=object).ravel()
    places = {str(c): k for k, c in enumerate(classes.tolist())}
    places |= {c: k for k, c in enumerate(classes.tolist())}
    for d in np.flatnonzero(mask):
        unknown[d] = places.get(values[d], places.get(str(values[d]), -1))
        if unknown[d] < 0:
            strangers.append(str(values[d]))
    return unknown


def _hard(y: Any, unknown: np.ndarray) -> np.ndarray:
    """Return the most probable class of soft labels."""
    Y = np.asarray(y.toarray() if hasattr(y, "toarray") else y, dtype=float)
    mask = labelled_mask(y)
    unknown[mask] = np.nan_to_num(Y[mask]).argmax(axis=1)
    return unknown
