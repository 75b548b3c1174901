"""The material of a report: a model, documents and their labels, read and checked once.

Documents may be any samples: `Nouns` says what they are called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cofactor.estimators.inference import topic_shares
from cofactor.linear.views import Side
from cofactor.report.nouns import TEXTS, Nouns
from cofactor.targets.classes import holds_sets, is_unknown
from cofactor.targets.reading import (
    is_matrix,
    labelled_mask,
    read_cells,
    read_numbers,
    readable,
    tall,
)
from cofactor.text import TopicModel, read_documents
from cofactor.text.describe.predictions import (
    document_scores,
    predict_rows,
    predicted_kind,
    scores_of,
    topic_links,
    unlike_of,
)
from cofactor.text.describe.topic_words import rank_words
from cofactor.text.documents import DocumentRows, document_rows, fingerprint

MAX_CHART_CLASSES = 25


@dataclass(frozen=True, eq=False)
class Material:
    """A model and documents.

    ``labels`` and ``truth`` hold indices of classes, −1 where unknown. For numbers and for sets of
    labels (0 and 1) they have a column for each target, NaN where unknown.
    """

    model: TopicModel
    texts: list[str] | None
    X: Any  # the documents' matrix; None without documents
    S: np.ndarray  # representations of the documents; without any, of those of the fit
    from_fit: bool  # whether the documents are those of the fit
    labels: np.ndarray
    truth: np.ndarray
    digest: str | None = None  # of documents and labels
    unknown_labels: list[str] = field(default_factory=list)  # labels the model does not know
    rows: Sequence[int | str] | None = None  # the documents' rows in their table, or their names
    with_texts: bool = True  # whether the page may show texts
    side: Side | None = None  # what predictions need of the documents beside X
    nouns: Nouns = TEXTS
    normalised: Any = None  # the matrix that simple methods see; None: X
    rank: Callable[..., np.ndarray] = rank_words  # how the first words of topics are chosen
    markers: list[dict[str, Any]] = field(default_factory=list)  # what marks each class, if known
    call: str = ""  # the call that fits the model; "": that of a TopicModel

    @property
    def is_sample(self) -> bool:
        """Whether the fit had further documents, with labels that nobody gives here."""
        return self.from_fit and self.model.fitted.corpus.n_documents > len(self.S)

    @property
    def explains(self) -> bool:
        """Whether the page may tell which words decide a prediction."""
        return self.X is not None and self.with_texts

    @property
    def number_name(self) -> str:
        """The word before what `number` returns."""
        if self.rows is None:
            return self.nouns.sample
        return self.nouns.name if self.named else "row"

    def number(self, d: int) -> int | str:
        """Return what the page calls a document: its name, its row, or its index."""
        return int(d) if self.rows is None else self.rows[d]

    @property
    def shown_texts(self) -> list[str] | None:
        """The texts that the page may show."""
        return self.texts if self.with_texts else None

    @property
    def named(self) -> bool:
        """Whether documents have names instead of numbers."""
        return any(isinstance(row, str) for row in self.rows or ())

    @cached_property
    def known_rows(self) -> np.ndarray:
        """Mark the documents that the model knows something of."""
        return DocumentRows(self.X, self.side).filled

    @cached_property
    def shares(self) -> np.ndarray:
        """Share of each topic in each document."""
        return topic_shares(self.S, self.model.estimator_.components_)

    @cached_property
    def probabilities(self) -> np.ndarray | None:
        """Probabilities of the classes; None if the model predicts something else."""
        if self.kind != "classes":
            return None
        return predict_rows(self.model.estimator_, self.scores)[0]

    @cached_property
    def scores(self) -> np.ndarray:
        """Scores of the documents, from which predictions are made."""
        if self.X is None:
            return document_scores(self.model)
        return scores_of(self.model.estimator_, self.X, self.S, self.side)

    @cached_property
    def links(self) -> np.ndarray:
        """What is predicted for the documents of each topic on average."""
        return topic_links(self.model)

    @cached_property
    def unlike(self) -> np.ndarray:
        """How unlike the labelled documents of its class each document is; NaN if unknown."""
        found = unlike_of(self.model.estimator_, self.X, self.scores)
        return np.array([np.nan if one is None else one for one in found], dtype=np.float64)

    @cached_property
    def known(self) -> np.ndarray:
        """All known labels: those of the fit, and the truth for the other documents."""
        known = is_known(self.labels)
        return np.where(known if self.labels.ndim == 1 else known[:, None], self.labels, self.truth)

    @property
    def kind(self) -> str:
        """What the model predicts: "topics" (nothing), "classes", "numbers" or "sets"."""
        return predicted_kind(self.model.estimator_)

    @property
    def classes(self) -> list[str]:
        """Names of the classes or numeric targets."""
        return [str(name) for name in self.model.target_names_] if self.kind != "topics" else []

    @property
    def is_single_class(self) -> bool:
        """Whether there is nothing to predict, because all labels are the same class."""
        return self.kind == "classes" and len(self.classes) == 1

    @cached_property
    def class_sizes(self) -> np.ndarray:
        """Number of documents of each class: by label, or by prediction if no label is known."""
        n = len(self.classes)
        if self.kind == "sets":
            return np.nansum(self.known, axis=0).astype(int)
        if self.kind != "classes":
            return np.zeros(n, dtype=int)
        known = self.known[is_known(self.known)]
        if not len(known) and self.probabilities is not None:
            known = self.probabilities.argmax(axis=1)
        return np.bincount(known, minlength=n)

    @property
    def chart_classes(self) -> list[int]:
        """The classes that charts show, "2" before "10": all, or the largest."""
        shown = largest(self.class_sizes, MAX_CHART_CLASSES)
        return sorted(shown, key=lambda c: natural_key(self.classes[c]))


def natural_key(name: str) -> list[Any]:
    """Return what sorts names with numbers by these numbers.

    Examples
    --------
    >>> sorted(["10 m", "b", "2 m"], key=natural_key)
    ['2 m', '10 m', 'b']
    """
    parts = re.split(r"([0-9]+)", name)
    digits = [part.lstrip("0") for part in parts]
    return [
        (len(digits[place]), digits[place]) if place % 2 else part
        for place, part in enumerate(parts)
    ]


def largest(sizes: Any, most: int) -> list[int]:
    """Return the indices of the largest sizes, in ascending order.

    Examples
    --------
    >>> largest([5, 1, 7, 5], 2)
    [0, 2]
    """
    return sorted(np.argsort(-np.asarray(sizes, dtype=float), kind="stable")[:most].tolist())


def is_known(labels: np.ndarray) -> np.ndarray:
    """Mark the documents that have a known label."""
    return labels >= 0 if labels.ndim == 1 else ~np.isnan(labels).all(axis=1)


def read_material(
    model: TopicModel,
    documents: Any,
    labels: Any,
    truth: Any,
    rows: Iterable[int | str] | None = None,
    with_texts: bool = True,
) -> Material:
    """Read documents and labels, and check whether they are those of the fit."""
    rows = None if rows is None else [row if isinstance(row, str) else int(row) for row in rows]
    if documents is None:
        if labels is not None or truth is not None or rows is not None:
            raise ValueError("labels and rows need their documents; pass documents too.")
        S, unknown = model.document_topics_, _unknown(model, len(model.document_topics_))
        return Material(model, None, None, S, True, unknown, unknown, with_texts=with_texts)
    texts = read_documents(documents)
    if rows is not None and len(rows) != len(texts):
        raise ValueError(
            f"rows has {len(rows)} entries, but there are {len(texts)} documents; pass one each."
        )
    read = document_rows(model, texts)
    more = {"rows": rows, "with_texts": with_texts, "side": read.side}
    return material_of(model, texts, read.X, labels, truth, fingerprint(texts, labels), **more)


def material_of(
    model: TopicModel,
    texts: list[str] | None,
    X: Any,
    labels: Any,
    truth: Any,
    digest: str,
    **more: Any,
) -> Material:
    """Return the material of samples X with labels; ``more`` are further fields of `Material`.

    ``digest`` is that of samples and labels, which identifies those of the fit.
    """
    S, from_fit = _representations(model, X, same=digest == model.fingerprint_)
    from_fit = from_fit or digest in (model.fitted.learned or ())  # of an update
    unseen: list[str] = []
    known, hidden = (_read_labels(model, y, X.shape[0], unseen) for y in (labels, truth))
    unseen = list(dict.fromkeys(unseen))
    return Material(model, texts, X, S, from_fit, known, hidden, digest, unseen, **more)


def _representations(model: TopicModel, X: Any, same: bool) -> tuple[np.ndarray, bool]:
    """Return the representations of documents, and whether they are those of the fit.

    ``same`` says that documents and labels have the digest of the fit. Documents of the fit with
    other labels, or with none, are recognised by their representations.
    """
    fitted = model.fitted.document_topics
    if same and fitted is not None:
        return fitted, True
    S = np.asarray(model.estimator_.transform(X))
    if fitted is None:
        return S, same
    return S, fitted.shape == S.shape and bool(np.allclose(fitted, S))


def _unknown(model: TopicModel, n: int) -> np.ndarray:
    if predicted_kind(model.estimator_) in ("topics", "classes"):
        return np.full(n, -1)
    return np.full((n, len(model.target_names_)), np.nan)


def _read_labels(model: TopicModel, y: Any, n: int, unseen: list[str]) -> np.ndarray:
    kind, unknown = predicted_kind(model.estimator_), _unknown(model, n)
    if y is None or kind == "topics":
        return unknown
    sets = holds_sets(y)
    y = y if sets else readable(y, "labels")
    if len(y) != n if sets else y.shape[0] != n:
        raise ValueError(
            f"labels has {np.shape(y)[0]} entries, but there are {n} documents; pass one for each."
        )
    if sets or (kind == "sets" and not is_matrix(y)):
        return _read_sets(model, y if sets else np.asarray(y, dtype=object), unknown, unseen)
    if is_matrix(y) or kind == "numbers":
        return _hard(y, unknown) if kind == "classes" else _read_matrix(y, kind, unknown)
    return _read_classes(model, y, unknown, unseen)


def _read_classes(model: TopicModel, y: Any, unknown: np.ndarray, unseen: list[str]) -> np.ndarray:
    classes = model.estimator_.classes_
    mask, values = labelled_mask(y, classes=classes), np.asarray(y, dtype=object).ravel()
    places = _places(classes)
    for d in np.flatnonzero(mask):
        unknown[d] = places.get(values[d], places.get(str(values[d]), -1))
        if unknown[d] < 0:
            unseen.append(str(values[d]))
    return unknown


def _places(classes: np.ndarray) -> dict[Any, int]:
    """Return the index of each class, by the class itself and by its name."""
    places: dict[Any, int] = {str(c): k for k, c in enumerate(classes.tolist())}
    return places | {c: k for k, c in enumerate(classes.tolist())}


def _read_sets(model: TopicModel, y: Any, unknown: np.ndarray, unseen: list[str]) -> np.ndarray:
    """Read a set of labels, or a single label, for each document."""
    if unknown.ndim == 1:
        raise ValueError("labels are sets, but the model predicts one class; pass one label each.")
    places = _places(model.estimator_.classes_)
    for row, labels in zip(unknown, y, strict=True):
        if is_unknown(labels):
            continue
        row[:] = 0.0
        for label in [labels] if isinstance(labels, str) else labels:
            place = places.get(label, places.get(str(label)))
            if place is None:
                unseen.append(str(label))
            else:
                row[place] = 1.0
    return unknown


def _read_matrix(y: Any, kind: str, unknown: np.ndarray) -> np.ndarray:
    """Read numbers or an indicator of labels; unknown cells become NaN."""
    if kind == "numbers":
        values = tall(read_numbers(y.toarray() if hasattr(y, "toarray") else y, "labels"))
    else:
        cells, known = read_cells(y, "labels")
        values = np.where(known, cells.toarray() if hasattr(cells, "toarray") else cells, np.nan)
    if values.shape != unknown.shape:
        raise ValueError(
            f"labels has {values.shape[1]} columns, but the model has {unknown.shape[1]} targets; "
            "pass one column for each target."
        )
    return values


def _hard(y: Any, unknown: np.ndarray) -> np.ndarray:
    """Return the most probable class of soft labels."""
    Y = np.asarray(y.toarray() if hasattr(y, "toarray") else y, dtype=float)
    mask = labelled_mask(y, name="labels")
    unknown[mask] = np.nan_to_num(Y[mask]).argmax(axis=1)
    return unknown
