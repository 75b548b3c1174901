"""A fit that continues from the topics of a model and respects the user's decisions about them."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cofactor.estimators.validation import as_divergence
from cofactor.model_selection.problem import take
from cofactor.targets.classes import listed, read_targets
from cofactor.targets.reading import labelled_mask
from cofactor.text.class_names import name_labels, task_of
from cofactor.text.describe.compare import measure_drift
from cofactor.text.describe.predictions import has_head, predicted_kind, target_names
from cofactor.text.describe.summaries import model_words
from cofactor.text.documents import (
    DocumentRows,
    FittedDocuments,
    document_matrix,
    fingerprint,
    known_rows,
    read_documents,
)
from cofactor.text.editing.edits import described
from cofactor.text.editing.settled import Settled
from cofactor.text.fitting import finish_fit, fit_side, let_go, new_estimator, with_seeds
from cofactor.text.labelling.suggestions import labelled_documents
from cofactor.text.seeds import document_mass, read_seeds


def refit(
    model: Any,
    documents: Any,
    y: Any = None,
    *,
    iterations: int | None = None,
    sample: int | None = None,
) -> Any:
    """Return a model that continues the fit of ``model``; see ``TopicModel.refit``."""
    _check_number("iterations", iterations)
    _check_number("sample", sample)
    texts = read_documents(documents)
    y = listed(y)
    digest, y = fingerprint(texts, y), _marked(model, read_targets(y))
    known = FittedDocuments.known(model, texts)
    X = document_matrix(model.vectorizer_, texts) if known is None else known.X
    settled = Settled.of(model)
    if not X.nnz:
        raise ValueError(
            "No document has a word of the model; pass documents like those of its fit."
        )
    places = _sampled(model, X, y, sample)
    task = _task(model, y)
    beside = fit_side(
        model, model.vectorizer_, texts, X, y, task, known=known, earlier=model.fitted.further
    )
    rows = DocumentRows(X, beside.side)
    before = rows if known is None else known_rows(model, texts)
    vectors = None if rows.side is None else rows.side.vectors
    named = name_labels(model, model.vectorizer_, X, y, None, vectors)
    if named is None and y is None and has_head(model.estimator_):
        raise ValueError("y is None, but this model predicts; pass the documents' labels.")
    labels, given = y, rows.given
    if named is not None:
        labels, given = named.labels, named.given(rows.side)
    estimator = new_estimator(model, task, model.seed_)
    estimator.set_params(max_iter=iterations or model.max_iter, priors=_priors(model, X))
    settled.hold(estimator, model.estimator_.components_, model_words(model))
    some = X
    if places is not None:
        some, labels = X[places], None if labels is None else take(labels, places)
        given = {name: values[places] for name, values in given.items()}
    fitted = run_fit(
        estimator, some, labels, iterations, model.callbacks, model.estimator_, **given
    )
    fitted = let_go(model, fitted)
    if named is not None:
        named.settle(fitted, some, given.get("side"))
    learned = {
        "target_names": target_names(fitted, y),
        **beside.kept(texts, X, fitted),
        "class_starts": None if named is None else named.starts,
        "learned": None,
    }
    new = finish_fit(lambda: described(model, fitted, settled, rows, digest, y, **learned))
    if places is not None:
        fitted.amend(representation=new.document_topics_)  # of all documents, as the rest
    return new.amend(drift=measure_drift(model, new, range(len(settled)), before, rows))


def _task(model: Any, y: Any) -> str:
    """Return the task of the refit; labels that the first fit read as classes stay classes."""
    task = task_of(model, y)
    if task == "numbers" != model.task and predicted_kind(model.estimator_) == "classes":
        return "classes"  # which refuses fractions
    return task


def _marked(model: Any, y: Any) -> Any:
    """Return y with −1 replaced by None if −1 is not a class of the model: a y with only −1 and 1
    could otherwise be taken for two classes."""
    classes = getattr(model.estimator_, "classes_", None)
    numbers = np.asarray(y) if isinstance(y, np.ndarray | list) else None
    if classes is None or numbers is None or numbers.ndim != 1 or numbers.dtype.kind != "i":
        return y
    marked = numbers.astype(object)
    marked[~labelled_mask(numbers, classes=classes)] = None
    return marked


def _sampled(model: Any, X: Any, y: Any, sample: int | None) -> Any:
    """Return the documents to fit on, labelled ones and a sample of the others; None: all."""
    n = X.shape[0]
    if sample is None or sample >= n:
        return None
    labelled = labelled_documents(model, y, n)
    others = np.random.default_rng(model.seed_).permutation(np.flatnonzero(~labelled))
    others = others[: max(sample - np.count_nonzero(labelled), 0)]
    return np.sort(np.concatenate([np.flatnonzero(labelled), others]))


def _check_number(name: str, value: Any) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if value is not None and not (whole and value > 0):
        raise ValueError(f"{name}={value!r} must be a positive whole number, or None.")


def _priors(model: Any, X: Any) -> Any:
    """Return the model's priors, with a prior for the seeds that still have a topic."""
    names = [*map(str, model.topic_names_)]
    seeds = {name: words for name, words in (model.seeds or {}).items() if str(name) in names}
    if not seeds:
        return model.priors
    found = read_seeds(seeds, model.vectorizer_, len(names))
    mass = document_mass(X, as_divergence("data_loss", model.data_loss), None)
    return with_seeds(model, found, [names.index(name) for name in found.names], mass)


def run_fit(
    estimator: Any,
    X: Any,
    y: Any,
    iterations: int | None,
    callbacks: Any,
    earlier: Any = None,
    **weights: Any,
) -> Any:
    """Fit, and reuse linear models of an ``earlier`` estimator that would be the same.

    There is no convergence warning if the user set the number of iterations.
    """
    with warnings.catch_warnings():
        if iterations is not None:
            warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.set_callbacks(*callbacks)
        fit = estimator.fit if earlier is None else partial(estimator.fit_after, earlier)
        return fit(X, y, **weights).set_callbacks()
