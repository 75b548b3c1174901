"""A model that learns from new documents without the old ones.

Old topics are rows with fixed entries; new topics explain what they leave. New words may enter an
old topic, and ``move`` may free its words; in both cases its cosine with its former self is bounded
below: a topic that has moved too far is pulled back along the straight line between the two.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.exceptions import ConvergenceWarning

from cofactor._types import BoolArray, FloatArray
from cofactor._warnings import warn
from cofactor.engine.factors import Factors
from cofactor.errors import Parameter, ParameterError
from cofactor.estimators import NMF
from cofactor.estimators.base import ending_at_interrupts
from cofactor.estimators.inference import masses
from cofactor.estimators.updates import (
    Labelled,
    RememberedSamples,
    learn_labels,
    remembered_scores,
    widen,
)
from cofactor.estimators.validation import as_divergence
from cofactor.priors import GammaPrior
from cofactor.targets.classes import (
    ClassCoding,
    class_weights,
    encode_classes,
    label_shares,
    listed,
    read_targets,
)
from cofactor.targets.matrix import Targets
from cofactor.targets.reading import (
    cells_of,
    is_matrix,
    known_labels,
    known_values,
    labelled_mask,
    read_column,
    readable,
)
from cofactor.targets.task import have_fractions
from cofactor.text.describe.compare import measure_drift
from cofactor.text.describe.predictions import (
    document_scores,
    has_head,
    predicted_kind,
    target_names,
)
from cofactor.text.describe.summaries import count_labels, model_words
from cofactor.text.documents import (
    DocumentRows,
    document_matrix,
    document_side,
    fingerprint,
    read_documents,
)
from cofactor.text.editing.edits import described, fitted_cells
from cofactor.text.editing.settled import Settled
from cofactor.text.vectorizer.word_vectorizer import WordVectorizer

MAX_WORD_DRIFT = (
    0.0025  # by which new words may lower the cosine of an old topic, however far move is
)
HALVINGS = 60  # steps of the search for the furthest point that is near enough
HELD_OUT = 0.1  # share of the stored cells that decide whether a new topic pays
MAX_TRIAL_DOCUMENTS, MAX_TRIAL_STEPS = 3000, 30  # documents and iterations of a trial
MAX_NEW_TOPICS = 30  # that "auto" adds
BACKGROUND_PROBABILITY = 1e-3  # probability of an unseen word, spread over all words


def update(
    model: Any, documents: Any, y: Any = None, *, new_topics: int | str = 0, move: float = 0.0
) -> Any:
    """Return a model that has also learned from new documents; see ``TopicModel.update``."""
    started = time.perf_counter()
    texts, y = read_documents(documents), listed(y)
    number, move = _read_number(new_topics, len(texts)), _read_move(move)
    digest, own = fingerprint([*texts, model.fingerprint_], y), fingerprint(texts, y)
    y = _read_labels(model, y, len(texts))
    vectorizer = _wider_vectorizer(model, texts)
    rows = DocumentRows(document_matrix(vectorizer, texts), document_side(model, texts))
    X = rows.X
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
    learned = _with_labels(wider, rows, S, y, memory, seed)
    if has_head(learned):
        learned.forget_held_out()  # they are labels of other documents
    new = _published(model, learned, vectorizer, rows, memory.S, digest, y)
    ends = [started, read, fitted, time.perf_counter()]
    steps = zip(("vectorise", "fit", "describe"), np.diff(ends).tolist(), strict=True)
    sources = [k if k < len(old.components) else None for k in range(len(found.components_))]
    old_rows = DocumentRows(document_matrix(model.vectorizer_, texts), rows.side)
    drift = measure_drift(model, new, sources, old_rows, rows)
    learned = [*(model.fitted.learned or [model.fingerprint_]), own]
    return new.amend(learned=learned, timings=dict(steps), drift=drift)


# ---- input


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
    """Return y for the estimator; None if no label is known."""
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
        _wider_coding(estimator.coding, y)  # raises an error for labels of another type
    known = known_values(y) if kind == "numbers" else labelled_mask(y)
    return y if known.any() else None


def _check_kind(model: Any, y: Any, kind: str) -> None:
    """Raise an error if labels are not of the model's kind."""
    wanted = {"classes": "classes", "sets": "several labels per document", "numbers": "numbers"}
    found = kind
    if kind == "numbers":
        try:
            known_values(y)
        except (ValueError, TypeError):
            found = "classes"
    elif is_matrix(y) != (model.estimator_.coding.kind != "multiclass"):
        found = "sets" if is_matrix(y) else "classes"
    elif not is_matrix(y) and have_fractions(cells_of(y).ravel().tolist()):
        found = "numbers"
    if found != kind:
        raise ParameterError(
            (Parameter("y"), f" holds {wanted[found]}, but the model predicts {wanted[kind]}"),
            "pass labels of that kind, or fit another model",
        )


def _wider_vectorizer(model: Any, texts: list[str]) -> Any:
    """Return the vectorizer, extended by the words of new documents if it can learn them."""
    vectorizer = model.vectorizer_
    if isinstance(vectorizer, WordVectorizer) and vectorizer.vocabulary is None:
        return vectorizer.extend(texts, len(model.document_topics_))
    warn(
        "No words are added, because the vectorizer of the model cannot learn new ones: "
        f"{type(vectorizer).__name__} has a fixed vocabulary."
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


# ---- labels


def _memory(model: Any, n_topics: int) -> RememberedSamples:
    """Return the model's memory of its documents, in terms of old and new topics."""
    S = model.document_topics_
    return RememberedSamples(
        np.pad(S, ((0, 0), (0, n_topics - S.shape[1]))), document_scores(model)
    )


def _with_labels(
    estimator: Any, rows: DocumentRows, S: FloatArray, y: Any, memory: RememberedSamples, seed: int
) -> Any:
    """Return the estimator after learning the labels of new documents."""
    if y is None:
        return estimator
    kind = predicted_kind(estimator)
    if kind != "classes":
        what = "numbers" if kind == "numbers" else "several labels per document"
        warn(
            f"The labels of the update are not used: predictions of {what} do not change; refit "
            "the model to change them."
        )
        return estimator
    coding = _wider_coding(estimator.coding, y)
    targets, _ = encode_classes(y, n_samples=rows.X.shape[0], coding=coding)
    weights = label_weights(estimator, targets, coding)
    further = Labelled(rows.X, S, targets, weights, rows.side)
    if not further.weights[targets.labelled].any():
        return estimator
    return estimator.with_fitted(learn_labels(estimator, coding, further, memory, seed))


def label_weights(estimator: Any, targets: Targets, coding: ClassCoding) -> FloatArray:
    """Return the weight of each label by its class; "balanced" counts earlier labels, too."""
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
    """Return the coding with new classes of y appended."""
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
            ("convert ", Parameter("y"), " to their type"),
        )
    return ClassCoding(coding.kind, np.array([*known, *new], dtype=_dtype(coding, new)))


def _dtype(coding: ClassCoding, new: list[Any]) -> Any:
    kind = coding.classes.dtype
    return np.result_type(kind, np.array(new)) if new and kind.kind != "O" else kind


# ---- the new model


def _published(
    model: Any,
    estimator: Any,
    vectorizer: Any,
    rows: DocumentRows,
    earlier: FloatArray,
    digest: str,
    y: Any,
) -> Any:
    """Return the model of earlier and new documents; unchanged topics keep their description."""
    r = len(model.topic_names_)
    wider = Settled.of(model).extended(len(estimator.components_) - r)
    names = target_names(estimator, None) if hasattr(estimator, "classes_") else model.target_names_
    new = described(
        model, estimator, wider, rows, digest, vectorizer=vectorizer, target_names=names
    )
    support = _support(model, estimator, new.document_topics_, y, names)
    before = document_scores(model)
    if predicted_kind(estimator) == "classes":
        before = remembered_scores(model.estimator_, estimator, earlier, before)
    return new.amend(
        document_topics=np.concatenate([earlier, new.document_topics_]),
        document_scores=np.concatenate([before, new.document_scores_]),
        **support,
        **_kept_descriptions(model, new, r),
    )


def _support(model: Any, estimator: Any, S: FloatArray, y: Any, names: list[Any]) -> dict[str, Any]:
    """Return the labels behind the topics, including those of earlier documents."""
    if model.fitted.topic_support is None:
        return {}
    y = y if predicted_kind(estimator) == "classes" else None  # other targets are not learned
    found, r = count_labels(estimator, S, y), len(model.topic_names_)
    columns = [names.index(name) for name in model.target_names_]
    found["topic_support"][:r] += model.topic_support_
    found["topic_labels"][:r, columns] += model.topic_labels_
    return found


def _kept_descriptions(model: Any, new: Any, r: int) -> dict[str, Any]:
    """Return the names of old topics, and the descriptions of unchanged ones, which may hardly
    occur in the new documents."""
    A, old = new.estimator_.components_[:r], model.estimator_.components_
    same = [np.array_equal(row[: old.shape[1]], before) for row, before in zip(A, old, strict=True)]
    kept = np.r_[same, np.zeros(len(new.topic_names_) - r, dtype=bool)]
    before, after = model.fitted, new.fitted
    found: dict[str, Any] = {"topic_names": [*before.topic_names, *after.topic_names[r:]]}
    for name in ("coherence", "probable_coherence", "topic_words"):
        was, is_now = getattr(before, name), getattr(after, name)
        if was is None or is_now is None:
            continue
        if name == "topic_words":
            width = max(was.shape[1], is_now.shape[1])
            was, is_now = (
                np.pad(words, ((0, 0), (0, width - words.shape[1])), constant_values=-1)
                for words in (was, is_now)
            )
        found[name] = is_now.copy()
        found[name][kept] = was[same]
    return found


# ---- new topics


@dataclass(frozen=True, eq=False)
class OldTopics:
    """The topics of a model in the words of the new documents."""

    components: FloatArray  # (r, m): 0 for words that the model did not know
    settled: BoolArray  # (r, m): entries that never move: frozen topics, pinned and banned words
    mass: FloatArray  # (r,): sum of the representations of the old documents
    n_words: int  # number of words that the model knew
    move: float

    @property
    def fixed(self) -> BoolArray:
        """Entries that the fit must not change."""
        known = np.arange(self.components.shape[1]) < self.n_words
        return self.settled | known if self.move == 0 else self.settled

    @property
    def least(self) -> float:
        """Minimum cosine of a topic with its former self."""
        return 1.0 - max(self.move, MAX_WORD_DRIFT)

    def within_reach(self, components: FloatArray) -> FloatArray:
        """Pull topics that have moved too far back towards their former selves.

        Topics without fixed entries also get their old mass back, which their targets refer to.
        """
        old = self.components
        size = np.where(self.fixed.any(axis=1), 1.0, masses(old) / masses(components))
        new = np.where(self.fixed, old, components * size[:, None])
        near, far = np.zeros(len(old)), np.ones(len(old))
        gone = _cosines(old, new) < self.least
        for _ in range(HALVINGS):
            middle = (near + far) / 2
            good = _cosines(old, _between(old, new, middle)) >= self.least
            near, far = np.where(good, middle, near), np.where(good, far, middle)
        back = np.where(self.fixed, old, _between(old, new, near))
        return np.asarray(np.where(gone[:, None], back, new))


def _between(old: FloatArray, new: FloatArray, part: FloatArray) -> FloatArray:
    return old + part[:, None] * (new - old)


def _cosines(one: FloatArray, other: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.asarray((one * other).sum(axis=1) / np.maximum(lengths, 1e-300))


def find_topics(
    estimator: Any, X: Any, old: OldTopics, number: int | str, seed: int, callbacks: Any = ()
) -> Any:
    """Return a fitted NMF of the documents X, with the old topics, then ``number`` new ones.

    It uses the loss and the limits of the model's ``estimator``; ``callbacks`` watch the fit.
    """
    with ending_at_interrupts():
        if number == "auto":
            number = choose_number(estimator, X, old, seed)
        A = np.vstack([old.components, _start(estimator, X, old.components, int(number), seed)])
        fitted = _fit(estimator, X, A, old, seed, callbacks=callbacks)
        kept = old.within_reach(fitted.components_[: len(old.components)])
        if np.array_equal(kept, fitted.components_[: len(kept)]):
            return fitted
        A = np.vstack([kept, fitted.components_[len(kept) :]])
        still = replace(old, components=kept, settled=np.ones_like(old.settled))
        return _fit(estimator, X, A, still, seed)


def _fit(
    estimator: Any,
    X: Any,
    A: FloatArray,
    old: OldTopics,
    seed: int,
    steps: int | None = None,
    callbacks: Any = (),
) -> Any:
    """Fit from given topics, with the fixed entries of the old ones."""
    r = len(old.components)
    fixed = np.vstack([old.fixed, np.zeros((len(A) - r, A.shape[1]), dtype=bool)])
    A = np.where(fixed, A, np.maximum(A, _least_entries(A, X)))
    nmf = _nmf_at(estimator, A, fixed, max_iter=steps or estimator.max_iter, random_state=seed)
    nmf.set_params(solver=estimator.solver, tol=estimator.tol, priors=_priors(estimator, A, X, old))
    if steps is not None:
        return _fit_quietly(nmf, X)
    return nmf.set_callbacks(*callbacks).fit(X).set_callbacks()


def _nmf_at(estimator: Any, A: FloatArray, fixed: BoolArray, **settings: Any) -> NMF:
    """Return an unfitted NMF with the loss of the model that starts from topics A."""
    start, fix = Factors.of_topics(np.ascontiguousarray(A.T)), {"features": fixed}
    return _nmf(estimator, len(A), init=start, fixed=fix, **settings)


def _nmf(estimator: Any, n_components: int, **settings: Any) -> NMF:
    loss, n_jobs = estimator.data_loss, estimator.n_jobs
    return NMF(n_components, data_loss=loss, n_jobs=n_jobs, **settings)


def _fit_quietly(nmf: NMF, X: Any) -> NMF:
    """Fit with few iterations, without a convergence warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return nmf.fit(X)


def _least_entries(A: FloatArray, X: Any) -> FloatArray:
    """Return small starting values for free entries, because multiplicative updates keep zeros."""
    words = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
    return np.asarray(1e-3 * masses(A)[:, None] * words / max(float(words.sum()), 1e-300))


def _priors(estimator: Any, A: FloatArray, X: Any, old: OldTopics) -> dict[str, Any]:
    """Return the model's scalar priors, and the prior that remembers the old topics."""
    given = {
        name: [
            prior
            for prior in (some if isinstance(some, list | tuple) else [some])
            if prior.penalty.uniform and np.ndim(prior.penalty.square) == 0
        ]
        for name, some in (estimator.priors or {}).items()
        if name in ("samples", "features")
    }
    if as_divergence("data_loss", estimator.data_loss).degree == 1:
        given["features"] = [*given.get("features", []), _memory_prior(A, X, old)]
    return given


def _memory_prior(A: FloatArray, X: Any, old: OldTopics) -> GammaPrior:
    """Return the prior by which the old documents hold the old topics in place.

    A topic explained of them its old words times its mass there. They may have had new words, too,
    too rare to be learned: each is assumed to have occurred once. The Kullback–Leibler divergence
    of that from a moved topic is a Gamma prior. (It is an upper bound of the divergence of the
    documents, because topics could stand in for each other.)
    """
    r, mass = len(old.components), old.mass[:, None]
    pull = np.zeros(A.shape)
    if old.move > 0:  # otherwise the old words are fixed
        pull[:r] = np.where(old.fixed, 0.0, old.components * mass)
    once = float(X.data.mean()) if X.nnz else 0.0
    pull[:r, old.n_words :] += once * mass / max(float(mass.sum()), 1e-300)
    pull[:r][old.settled] = 0.0
    rate = np.broadcast_to(np.pad(mass, ((0, len(A) - r), (0, 0))), A.shape)
    return GammaPrior(np.ascontiguousarray(1.0 + pull.T), np.ascontiguousarray(rate.T))


def _start(estimator: Any, X: Any, A: FloatArray, number: int, seed: int) -> FloatArray:
    """Return topics of what the given ones leave unexplained."""
    if number == 0:
        return np.zeros((0, A.shape[1]), dtype=A.dtype)
    rest = _unexplained(estimator, X, A)
    parts = _nmf(estimator, number, max_iter=MAX_TRIAL_STEPS, random_state=seed)
    found = _fit_quietly(parts, rest).components_
    size = float(np.median(masses(A)))
    return np.asarray(found * (size / masses(found))[:, None], dtype=A.dtype)


def _unexplained(estimator: Any, X: Any, A: FloatArray) -> Any:
    """Return the part of each stored cell that the topics do not explain."""
    S = represented(estimator, X, A)
    rest = np.maximum(X.data - fitted_cells(S, A, X), 0.0)
    if not rest.any():
        rest = X.data
    return sp.csr_array((rest, X.indices, X.indptr), shape=X.shape)


def represented(estimator: Any, X: Any, A: FloatArray) -> FloatArray:
    """Return the representations of documents in terms of given topics."""
    plain = _nmf_at(estimator, A, np.ones(len(A), dtype=bool), max_iter=1)
    return np.asarray(_fit_quietly(plain, X).transform(X))


# ---- number of new topics


def choose_number(estimator: Any, X: Any, old: OldTopics, seed: int) -> int:
    """Return how many new topics are worthwhile, judged by held-out cells.

    Topics are added one by one, as long as each makes the held-out cells more likely by more than a
    standard error over the documents.
    """
    random = np.random.default_rng(seed)
    rows = random.permutation(X.shape[0])[:MAX_TRIAL_DOCUMENTS]
    X = sp.csr_array(X[np.sort(rows)])
    out = random.random(X.nnz) < HELD_OUT
    known, held = _only(X, ~out), _only(X, out)
    if not known.nnz or not held.nnz:
        return 0
    A = _trial(estimator, known, old.components, old, seed)
    best = _likelihoods(estimator, known, held, A)
    for number in range(MAX_NEW_TOPICS):
        A = np.vstack([A, _start(estimator, known, A, 1, seed)])
        A = _trial(estimator, known, A, old, seed)
        found = _likelihoods(estimator, known, held, A)
        gain = found - best
        if not gain.mean() > gain.std() / np.sqrt(len(gain)):
            return number
        best = found
    return MAX_NEW_TOPICS


def _only(X: Any, cells: BoolArray) -> Any:
    """Return a matrix with some of the stored cells."""
    part = X.copy()
    part.data = np.where(cells, X.data, 0.0)
    part.eliminate_zeros()
    return part


def _trial(estimator: Any, X: Any, A: FloatArray, old: OldTopics, seed: int) -> FloatArray:
    return np.asarray(_fit(estimator, X, A, old, seed, MAX_TRIAL_STEPS).components_)


def _likelihoods(estimator: Any, known: Any, held: Any, A: FloatArray) -> FloatArray:
    """Return the log-likelihood of the held-out cells of each document that has any."""
    S = represented(estimator, known, A)
    rows = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
    total = np.maximum(S @ masses(A), 1e-300)[rows]
    p = (1.0 - BACKGROUND_PROBABILITY) * fitted_cells(
        S, A, held
    ) / total + BACKGROUND_PROBABILITY / held.shape[1]
    sums = np.bincount(rows, held.data * np.log(p), minlength=held.shape[0])
    return np.asarray(sums[np.diff(held.indptr) > 0])
