"""A model's answers about documents, as columns of a table.

`answer_documents` computes topics, predictions and probabilities in one pass. `AnswerColumns` fills
the columns that a user asked for, row by row, for the command ``cofactor predict`` and for
`TopicModel.annotate`.

A missing or doubtful prediction comes with a reason:

- a document of which the model knows nothing has no prediction, no topic and no probabilities; one
  without words of topics may have a prediction, from further words or vectors;
- a prediction less probable than ``abstain`` is left out;
- a document that is unlike the labelled ones of its class is marked; with ``abstain``, its
  prediction is left out;
- if a document may have several labels and none reaches its threshold, the label nearest to its
  threshold is given and marked.

Numbers come with the bounds between which nine of ten new values lie, in place of a confidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from cofactor.estimators.classifier import unsure_cells
from cofactor.estimators.inference import topic_shares
from cofactor.io.tables.writers import free_name
from cofactor.linear.familiar import UNLIKE_LEVEL
from cofactor.targets.reading import Column, Frame, as_frame
from cofactor.text.describe.predictions import (
    document_scores,
    label_thresholds,
    predict_rows,
    predicted_kind,
    read_intervals,
    scores_of,
)
from cofactor.text.describe.summaries import Document, document_table
from cofactor.text.describe.table import Table
from cofactor.text.documents import DocumentRows, FittedDocuments, document_rows, each_document

NO_WORD = "no known word"
BELOW_THRESHOLD = "below its threshold"
ABSTAINED = "not sure enough"
UNLIKE = "unlike the labelled texts"
NO_LABELS = "the fit had no labels"


@dataclass(frozen=True, eq=False)
class DocumentAnswers:
    """A model's answers about n documents."""

    documents: Table[Document]
    shares: np.ndarray  # (n, n_topics): share of each topic
    probabilities: np.ndarray | None = None  # (n, n_targets); None for numbers and without labels
    leads: np.ndarray | None = (
        None  # (n, n_targets): scores minus thresholds; only for several labels
    )
    bounds: np.ndarray | None = None  # (n, n_targets, 2): of numbers, NaN if unknown


def answer_documents(model: Any, X: Any) -> DocumentAnswers:
    """Return the answers of a fitted TopicModel about documents."""
    rows = document_rows(model, X)
    return answers_of(model, *represent_documents(model, rows), rows.X)


def represent_documents(model: Any, rows: DocumentRows) -> tuple[np.ndarray, np.ndarray]:
    """Return representations and scores of documents; known ones if they are those of the fit and
    the topics were not edited since."""
    X = rows.X
    known: FittedDocuments | None = model.fitted.documents
    if known is not None and known.X is X and known.estimator is model.estimator_:
        return model.document_topics_, document_scores(model)
    S = np.asarray(model.estimator_.transform(X))  # an array, even if set_output asks for frames
    return S, scores_of(model.estimator_, X, S, rows.side)


def answers_of(model: Any, S: np.ndarray, scores: np.ndarray, X: Any = None) -> DocumentAnswers:
    """Return the answers of a model about documents with representations S, scores and words X."""
    estimator, kind = model.estimator_, predicted_kind(model.estimator_)
    documents = document_table(model, S, scores, X)
    shares = topic_shares(S, estimator.components_)
    if kind in ("topics", "numbers"):
        return DocumentAnswers(documents, shares, bounds=read_intervals(estimator, scores))
    P, _ = predict_rows(estimator, scores)
    leads = scores - label_thresholds(estimator) if kind == "sets" else None
    return DocumentAnswers(documents, shares, P, leads)


@dataclass(frozen=True)
class AnswerColumns:
    """Which columns describe documents.

    Parameters
    ----------
    kind : {"topics", "classes", "sets", "numbers"}
        What the model predicts.
    targets : tuple
        Names of the classes, labels or numbers.
    n_topics : int
    apart : bool
        Whether each target has its own column: several numbers, or labels as 0 and 1.
    all_classes, topics, top, abstain, whole
        As in ``TopicModel.annotate``.
    """

    kind: str
    targets: tuple[Any, ...]
    n_topics: int
    apart: bool = False
    all_classes: bool = False
    topics: bool = False
    top: int = 0
    abstain: float = 0.0
    whole: bool = False

    @classmethod
    def of(cls, model: Any, apart: bool = False, **asked: Any) -> AnswerColumns:
        """Return the columns for a fitted model.

        ``apart`` applies to labels only; several numbers always have separate columns.
        """
        kind, targets = predicted_kind(model.estimator_), tuple(model.target_names_)
        apart = (apart and kind == "sets") or (kind == "numbers" and len(targets) > 1)
        if kind in ("classes", "sets"):
            asked["top"] = min(asked.get("top", 0), len(targets))
        return cls(kind, targets, len(model.topic_names_), apart, **asked)

    @property
    def needs_classes(self) -> list[str]:
        """The given parameters that need a model that predicts classes, if this one does not."""
        names = () if self.kind in ("classes", "sets") else ("all_classes", "top", "abstain")
        return [name for name in names if getattr(self, name)]

    @cached_property
    def places(self) -> dict[Any, int]:
        """The place of each target."""
        return {name: place for place, name in enumerate(self.targets)}

    @property
    def needs_numbers(self) -> list[str]:
        """The given parameters that need a model that predicts numbers, if this one does not."""
        return ["whole"] if self.whole and self.kind != "numbers" else []

    @cached_property
    def own_names(self) -> list[str]:
        """Names of the columns that hold predictions, with the bounds of numbers."""
        own = ("prediction", "low", "high") if self.kind == "numbers" else ("prediction",)
        if not self.apart:
            return [*own]
        return [f"{column}_{name}" for name in self.targets for column in own]

    @cached_property
    def names(self) -> list[str]:
        """Names of the columns."""
        sure = [] if self.kind == "numbers" else ["confidence"]
        found = [*self.own_names, *sure, "topic", "reason"]
        found += ["unlike"] if self.kind == "classes" else []
        for place in range(1, self.top + 1):
            found += [f"choice_{place}", f"choice_{place}_probability"]
        if self.all_classes:
            found += [f"probability_{name}" for name in self.targets]
        if self.topics:
            found += ["topic_number", "topic_share"]
            found += [f"topic_{k}_share" for k in range(self.n_topics)]
        return found

    def rows(self, answers: DocumentAnswers) -> Iterator[list[Any]]:
        """Yield the cells of each document; a set of labels is a tuple, a missing cell None."""
        for d, document in enumerate(answers.documents):
            if document.is_blank:
                before = self.names.index("reason")
                rest = len(self.names) - before - 1
                yield [*[None] * before, NO_WORD, *[None] * rest]
            else:
                yield [*self._predicted(answers, d, document), *self._further(answers, d, document)]

    def _predicted(self, answers: DocumentAnswers, d: int, document: Document) -> list[Any]:
        """Return prediction, confidence or bounds, topic and reason."""
        topic = document.name if document.topic >= 0 else None
        if self.kind == "numbers":
            return [*self._numbers(answers, d, document), topic, None]
        predicted, sure, reason = document.prediction, document.confidence, None
        if self.kind == "topics":
            reason = NO_LABELS
        elif self.kind == "classes" and self._unsure(answers, d).any():
            predicted, reason = None, ABSTAINED
        elif (document.unlike or 0.0) >= UNLIKE_LEVEL:
            predicted, reason = None if self.abstain else predicted, UNLIKE
        elif self.kind == "sets" and not self.apart:
            predicted, sure, reason = self._labels(answers, d, document)
        cells = self._own(predicted)
        if self.kind == "sets" and self.apart:
            doubtful = self._unsure(answers, d)[0]
            cells = [None if no else cell for no, cell in zip(doubtful, cells, strict=True)]
            reason = ABSTAINED if doubtful.any() else None
        return [*cells, sure, topic, reason]

    def _numbers(self, answers: DocumentAnswers, d: int, document: Document) -> list[Any]:
        """Return each predicted number with its bounds, whole numbers if the user wants them."""
        predicted = document.prediction if self.apart else [document.prediction]
        bounds = [(math.nan, math.nan)] * len(predicted)
        bounds = bounds if answers.bounds is None else answers.bounds[d].tolist()
        cells: list[Any] = []
        for value, (low, high) in zip(predicted, bounds, strict=True):
            ends = [None if math.isnan(end) else end for end in (low, high)]
            if self.whole:
                value, ends = (
                    round(value),
                    [  # the interval must not become narrower
                        None if end is None else side(end)
                        for side, end in zip((math.floor, math.ceil), ends, strict=True)
                    ],
                )
            cells += [value, *ends]
        return cells

    def _unsure(self, answers: DocumentAnswers, d: int) -> np.ndarray:
        """Return whether the prediction of a document, or each of its labels, is left out."""
        assert answers.probabilities is not None
        return unsure_cells(answers.probabilities[d : d + 1], self.abstain, self.kind == "sets")

    def _labels(
        self, answers: DocumentAnswers, d: int, document: Document
    ) -> tuple[Any, float | None, str | None]:
        """Return the labels of a document, their confidence and a reason."""
        assert answers.probabilities is not None
        assert answers.leads is not None
        P, reason, sure = answers.probabilities[d], None, document.confidence
        labels = document.prediction
        if not labels:
            best = int(answers.leads[d].argmax())
            labels, sure, reason = (self.targets[best],), float(P[best]), BELOW_THRESHOLD
        kept = tuple(name for name in labels if P[self.places[name]] >= self.abstain)
        return (kept, sure, reason) if kept else (None, sure, ABSTAINED)

    def _own(self, predicted: Any) -> list[Any]:
        """Return the cells of a prediction: one, or one per target."""
        if not self.apart:
            return [predicted]
        if predicted is None:
            return [None] * len(self.targets)
        return [int(name in predicted) for name in self.targets]

    def _further(self, answers: DocumentAnswers, d: int, document: Document) -> list[Any]:
        cells: list[Any] = [document.unlike] if self.kind == "classes" else []
        if (P := answers.probabilities) is not None:
            for c in np.argsort(-P[d], kind="stable")[: self.top].tolist():
                cells += [self.targets[c], float(P[d, c])]
            cells += P[d].tolist() if self.all_classes else []
        if self.topics:
            main = [document.topic, document.share] if document.topic >= 0 else [None, None]
            cells += [*main, *answers.shares[d].tolist()]
        return cells


# ---- answers beside the rows of a table


def annotate(model: Any, X: Any, text: str | None, asked: dict[str, Any]) -> Any:
    """Return a table, of the kind of X, with the answers of a fitted model beside its rows."""
    columns = AnswerColumns.of(model, **asked)
    for name in (*columns.needs_classes, *columns.needs_numbers):
        needed = "numbers" if name in columns.needs_numbers else "classes"
        predicts = {"numbers": "numbers", "topics": "nothing"}.get(columns.kind, "classes")
        raise ValueError(
            f"{name}={asked[name]!r} needs a model that predicts {needed}, but this one predicts "
            f"{predicts}; leave {name} out."
        )
    found = as_frame(X)
    texts = list(each_document(X if found is None else _texts(found, text)))
    answers = list(columns.rows(answer_documents(model, texts))) if texts else []
    cells = {name: [row[place] for row in answers] for place, name in enumerate(columns.names)}
    if found is None:
        return _records(texts, text or "text", cells)
    frame = found.to_frame() if isinstance(found, nw.Series) else found
    return _as_given(_with_columns(frame, columns, cells), X)


def _texts(found: Frame | Column, text: str | None) -> Any:
    """Return the column that holds the texts."""
    if isinstance(found, nw.Series) or (text is None and found.shape[1] == 1):
        return found
    if text is None:
        raise ValueError(
            f"text is None, but X has the columns {found.columns}; name the one that holds the "
            "texts."
        )
    if text not in found.columns:
        raise ValueError(f"text={text!r} is not a column of X, which has {found.columns}.")
    return found[text]


def _records(texts: list[str], name: str, cells: dict[str, list[Any]]) -> list[dict[str, Any]]:
    names = [name, *cells]
    rows = zip(texts, *cells.values(), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _with_columns(frame: Frame, columns: AnswerColumns, cells: dict[str, list[Any]]) -> Frame:
    added: dict[str, Any] = {}
    for name, values in cells.items():
        free = free_name(name, [*frame.columns, *added])
        dtype = _dtype(columns, name, frame)
        lists = [list(one) if isinstance(one, tuple) else one for one in values]
        added[free] = nw.new_series(free, lists, dtype, backend=frame.implementation)
    return frame.with_columns(*added.values())


def _dtype(columns: AnswerColumns, name: str, frame: Frame) -> Any:
    """Return the type of a column, which may hold only missing cells; None to infer it."""
    if name in ("topic", "reason"):
        return nw.String()
    if name == "topic_number":
        return None if frame.implementation.is_pandas_like() else nw.Int64()
    if name in ("confidence", "unlike") or name.endswith(("_share", "_probability")):
        return nw.Float64()
    if name in columns.own_names and columns.whole:
        return None if frame.implementation.is_pandas_like() else nw.Int64()
    if name.startswith("probability_") or columns.kind == "numbers":
        return nw.Float64()
    named = nw.String() if all(isinstance(one, str) for one in columns.targets) else None
    if columns.kind != "sets" or name != "prediction":
        return None if columns.apart else named
    return nw.List(named) if named and not frame.implementation.is_pandas_like() else None


def _as_given(frame: Frame, X: Any) -> Any:
    """Return a table of the kind of X, lazy if X is lazy."""
    given: Any = nw.from_native(X, allow_series=True, pass_through=True)
    if isinstance(given, nw.LazyFrame):
        return frame.lazy(backend=given.implementation).to_native()
    return frame.to_native()
