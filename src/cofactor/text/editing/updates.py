"""A model that learns from new documents without the old ones."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from cofactor._types import FloatArray
from cofactor._warnings import warn
from cofactor.errors import Parameter, ParameterError
from cofactor.estimators.updates import (
    Labelled,
    RememberedSamples,
    learn_labels,
    remembered_scores,
    widen,
)
from cofactor.targets import ClassCoding, Targets, class_weights, encode_classes, label_shares
from cofactor.targets.missing import known_labels, known_values, labelled_mask
from cofactor.targets.reading import is_matrix, read_column, readable
from cofactor.targets.sets import listed, read_targets
from cofactor.text.describe.predictions import (
    document_scores,
    has_head,
    infer_task,
    predicted_kind,
    target_names,
)
from cofactor.text.describe.summaries import model_words
from cofactor.text.describe.support import count_labels
from cofactor.text.documents import document_matrix, fingerprint, read_documents
from cofactor.text.editing.drift import measure_drift
from cofactor.text.editing.edits import described
from cofactor.text.editing.new_topics import OldTopics, find_topics
from cofactor.text.editing.settled import Settled
from cofactor.text.vectorizer.words import WordVectorizer


def update(
    model: Any, documents: Any, y: Any = None, *, new_topics: int | str = 0, move: float = 0.0
) -> Any:
    """Return a model that knows new documents, too; its ``drift_`` says what they changed.

    See ``TopicModel.update``.
    """
    started = time.perf_counter()
    texts, y = read_documents(documents), listed(y)
    number, move = _read_number(new_topics, len(texts)), _read_move(move)
    digest, own = fingerprint([*texts, model.fingerprint_], y), fingerprint(texts, y)
    y = _read_labels(model, y, len(texts))
    vectorizer = _wider_vectorizer(model, texts)
    X = document_matrix(vectorizer, texts)
    if not X.nnz:
        raise ValueError(
            f"None of the {len(texts)} documents has a word that the model knows or could learn; "
            "are these the texts?"
        )
    read = time.perf_counter()
    old = _old_topics(model, X.shape[1], move)
    seed = model.seed_
    found = find_topics(model.estimator_, X, old, number, seed, model.callbacks)
    fitted = time.perf_counter()
    wider = model.estimator_.with_fitted(
        replace(
            widen(model.estimator_.completed(), found.components_, found.representation_),
            history=found.history_,
            stop_reason=found.stop_reason_,
        )
    )
    S = np.asarray(wider.transform(X))
    memory = _memory(model, len(found.components_))
    learned = _with_labels(wider, X, S, y, memory, seed)
    if has_head(learned):
        learned.forget_held_out()  # the labels that told it were of other documents
    new = _published(model, learned, vectorizer, X, memory.S, digest, y)
    ends = [started, read, fitted, time.perf_counter()]
    new.learned_ = [*getattr(model, "learned_", [model.fingerprint_]), own]
    new.timings_ = dict(zip(("vectorise", "fit", "describe"), np.diff(ends).tolist(), strict=True))
    sources = [k if k < len(old.components) else None for k in range(len(found.components_))]
    new.drift_ = measure_drift(model, new, sources, document_matrix(model.vectorizer_, texts), X)
    return new


# ---- what is asked


def _read_number(number: Any, documents: int) -> int | str:
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if whole and number > documents:
        raise ValueError(
            f"new_topics={number} is more than the number of new documents ({documents}); pass a "
            "smaller number, or 'auto'."
        )
    if (isinstance(number, str) and number == "auto") or (whole and number >= 0):
        return number
    raise ValueError(f"new_topics={number!r} must be a whole number, at least 0, or 'auto'.")


def _read_move(move: Any) -> float:
    real = isinstance(move, int | float | np.number) and not isinstance(move, bool)
    if not (real and 0.0 <= float(move) <= 1.0):
        raise ValueError(f"move={move!r} must be a number from 0 to 1.")
    return float(move)


def _read_labels(model: Any, y: Any, n: int) -> Any:
    """Return y as the estimator takes it; None where no label is known."""
    if y is None:
        return None
    estimator, kind = model.estimator_, predicted_kind(model.estimator_)
    if not has_head(estimator):
        raise ParameterError(
            (
                Parameter("y"),
                " is given, but the model was fitted without labels and predicts nothing",
            ),
            "leave it out, or fit a model with labels",
        )
    sets = kind == "sets"
    y = readable(read_targets(y, estimator.classes_.tolist() if sets else None), "y")
    if y.shape[0] != n:
        raise ValueError(f"y has {y.shape[0]} labels for {n} documents; pass one for each.")
    _check_kind(model, y, kind)
    if kind == "classes":
        _wider_coding(estimator.coding, y)  # which refuses labels of another type
    known = known_values(y) if kind == "numbers" else labelled_mask(y)
    return y if known.any() else None


def _check_kind(model: Any, y: Any, kind: str) -> None:
    """Refuse labels of another kind than the model's."""
    wanted = {"classes": "classes", "sets": "several labels a document", "numbers": "numbers"}
    found = kind
    if kind == "numbers":
        try:
            known_values(y)
        except (ValueError, TypeError):
            found = "classes"
    elif is_matrix(y) != (model.estimator_.coding.kind != "multiclass"):
        found = "sets" if is_matrix(y) else "classes"
    elif infer_task(y) == "numbers":
        found = "numbers"
    if found != kind:
        raise ParameterError(
            (Parameter("y"), f" holds {wanted[found]}, but the model predicts {wanted[kind]}"),
            "pass labels of that kind, or fit another model",
        )


def _wider_vectorizer(model: Any, texts: list[str]) -> Any:
    """Return the vectorizer with the words of new documents, where it can learn them."""
    vectorizer = model.vectorizer_
    if isinstance(vectorizer, WordVectorizer) and vectorizer.vocabulary is None:
        return vectorizer.extend(texts, len(model.document_topics_))
    warn(
        "The words stay as they are, because the model's vectorizer cannot add any: "
        f"{type(vectorizer).__name__} has settled them."
    )
    return vectorizer


def _old_topics(model: Any, width: int, move: float) -> OldTopics:
    A = model.estimator_.components_
    further = width - A.shape[1]
    settled = Settled.of(model)
    mask = np.pad(settled.mask(model_words(model)), ((0, 0), (0, further)))
    mask[np.array(settled.frozen, dtype=bool)] = True
    mass = model.document_topics_.sum(axis=0, dtype=np.float64)
    return OldTopics(np.pad(A, ((0, 0), (0, further))), mask, mass, A.shape[1], move)


# ---- what is learned


def _memory(model: Any, n_topics: int) -> RememberedSamples:
    """Return what the model keeps of its documents, in terms of old and new topics."""
    S = model.document_topics_
    return RememberedSamples(
        np.pad(S, ((0, 0), (0, n_topics - S.shape[1]))), document_scores(model)
    )


def _with_labels(
    estimator: Any, X: Any, S: FloatArray, y: Any, memory: RememberedSamples, seed: int
) -> Any:
    """Return the estimator with what labels of new documents add to it."""
    if y is None:
        return estimator
    kind = predicted_kind(estimator)
    if kind != "classes":
        what = "numbers" if kind == "numbers" else "several labels a document"
        warn(
            f"The labels of the update are not used: predictions of {what} stay as they were "
            "fitted; refit the model to change them."
        )
        return estimator
    coding = _wider_coding(estimator.coding, y)
    targets, _ = encode_classes(y, n_samples=X.shape[0], coding=coding)
    further = Labelled(X, S, targets, label_weights(estimator, targets, coding))
    if not further.weights[targets.labelled].any():
        return estimator
    return estimator.with_fitted(learn_labels(estimator, coding, further, memory, seed))


def label_weights(estimator: Any, targets: Targets, coding: ClassCoding) -> FloatArray:
    """Return the weight of each label by its class; "balanced" counts the labels of before, too."""
    asked, head = estimator.class_weight, getattr(estimator, "pooled_head", None)
    weights = class_weights(asked, targets, coding)
    if weights is None:
        return np.ones(len(targets.labelled))
    shares = label_shares(targets)
    if isinstance(asked, str) and head is not None and head.labels is not None:
        before = np.pad(head.labels, (0, shares.shape[1] - len(head.labels)))
        weights = head.labels.mean() / np.maximum(before + shares.sum(axis=0), 1.0)
    return np.asarray(shares @ weights)


def _wider_coding(coding: ClassCoding, y: Any) -> ClassCoding:
    """Return the coding with the classes of y that it lacks at its end."""
    if coding.kind != "multiclass":
        return coding
    labels, _ = known_labels(read_column(y), coding.classes)
    _, found = encode_classes(labels, n_samples=len(labels))
    known = coding.classes.tolist()
    new = [label for label in found.classes.tolist() if label not in known]
    if new and isinstance(new[0], str) != isinstance(known[0], str):
        raise ParameterError(
            (
                Parameter("y"),
                f" has the class {new[0]!r}, but the classes of the model are like {known[0]!r}",
            ),
            "convert the labels to their type",
        )
    return ClassCoding(coding.kind, np.array([*known, *new], dtype=_dtype(coding, new)))


def _dtype(coding: ClassCoding, new: list[Any]) -> Any:
    kind = coding.classes.dtype
    return np.result_type(kind, np.array(new)) if new and kind.kind != "O" else kind


# ---- the new model


def _published(
    model: Any, estimator: Any, vectorizer: Any, X: Any, earlier: FloatArray, digest: str, y: Any
) -> Any:
    """Return the model of earlier and new documents; topics that stay are described as before."""
    r = len(model.topic_names_)
    wider = Settled.of(model).extended(len(estimator.components_) - r)
    names = target_names(estimator, None) if hasattr(estimator, "classes_") else model.target_names_
    new = described(model, estimator, wider, X, digest, vectorizer_=vectorizer, target_names_=names)
    new.__dict__.update(_support(model, estimator, new.document_topics_, y, names))
    before = document_scores(model)
    if predicted_kind(estimator) == "classes":
        before = remembered_scores(model.estimator_, estimator, earlier, before)
    new.document_topics_ = np.concatenate([earlier, new.document_topics_])
    new.document_scores_ = np.concatenate([before, new.document_scores_])
    return _kept_descriptions(model, new, r)


def _support(model: Any, estimator: Any, S: FloatArray, y: Any, names: list[Any]) -> dict[str, Any]:
    """Return the labels behind the topics, those of earlier documents included."""
    if "topic_support_" not in vars(model):
        return {}
    y = y if predicted_kind(estimator) == "classes" else None  # others are not learned
    found, r = count_labels(estimator, S, y), len(model.topic_names_)
    columns = [names.index(name) for name in model.target_names_]
    found["topic_support_"][:r] += model.topic_support_
    found["topic_labels_"][:r, columns] += model.topic_labels_
    return found


def _kept_descriptions(model: Any, new: Any, r: int) -> Any:
    """Keep the names of old topics, and describe those whose words stay as before: the new
    documents may hardly show them."""
    A, old = new.estimator_.components_[:r], model.estimator_.components_
    same = [np.array_equal(row[: old.shape[1]], before) for row, before in zip(A, old, strict=True)]
    new.topic_names_[:r] = model.topic_names_
    for name in ("coherence_", "probable_coherence_"):
        if name in vars(model):
            getattr(new, name)[:r][same] = getattr(model, name)[same]
    if getattr(model, "topic_words_", None) is not None:
        width = max(model.topic_words_.shape[1], new.topic_words_.shape[1])
        before, new.topic_words_ = (
            np.pad(words, ((0, 0), (0, width - words.shape[1])), constant_values=-1)
            for words in (model.topic_words_, new.topic_words_)
        )
        new.topic_words_[:r][same] = before[same]
    return new
