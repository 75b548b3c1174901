"""Fits a topic model to documents in memory.

`fit_documents` is the whole fit, in order: read the documents, vectorise them, choose an estimator
and apply the seeds, fit it, and describe the result. Streams, blocks and
refits use the same steps. A fit returns the state of the model, which the caller sets at once, so
that a failed fit leaves the model unchanged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse as sp
from sklearn.base import clone
from sklearn.utils import check_random_state

from cofactor._types import FloatArray
from cofactor._warnings import warn
from cofactor.errors import Parameter, ParameterError, ParameterWarning
from cofactor.estimators import NMF
from cofactor.estimators.base import Factorization, FitInterruptedWarning
from cofactor.estimators.validation import SAMPLE_CELLS, as_divergence, check_room
from cofactor.io.tables.label_advice import class_doubts
from cofactor.linear.views import Side
from cofactor.outofcore import RowBlocks
from cofactor.outofcore.rowblocks import usual_blocks
from cofactor.targets.classes import listed, read_targets
from cofactor.targets.reading import cells_of, is_matrix, known_labels, read_column, readable
from cofactor.targets.task import have_fractions
from cofactor.text.class_names import NameLabels, name_labels, task_of
from cofactor.text.describe.predictions import ESTIMATORS, infer_task, scores_of, target_names
from cofactor.text.describe.summaries import count_labels, describe_topics
from cofactor.text.describe.topic_words import Words, even_rows
from cofactor.text.documents import (
    DocumentRows,
    FittedDocuments,
    fingerprint,
    read_documents,
    refuse_given,
)
from cofactor.text.encoders import EncoderRecord, encode_texts, speaks, vectors_fit
from cofactor.text.fitted_topics import FittedTopics
from cofactor.text.further_words import FurtherWords, refuse_further_words
from cofactor.text.grammar import TrialLabels, grammar_helps, rare_words_help, trial_labels
from cofactor.text.seeds import (
    Mass,
    Seed,
    Seeds,
    choose_topics,
    document_mass,
    read_seeds,
    seed_prior,
    seeded_start,
)
from cofactor.text.vectorizer.word_vectorizer import WordVectorizer, are_short

MAX_CUT_DOCUMENTS = 2000  # that tell whether words beyond ``max_features`` help to predict
Returned = TypeVar("Returned")
FitFunction = Callable[..., Any]
"""A function ``fit(estimator, X, y, **weights)`` that returns the fitted estimator."""


def fit_here(estimator: Any, X: Any, y: Any, **weights: Any) -> Any:
    """Fit an estimator in this process."""
    return estimator.fit(X, y, **weights)


def fit_in_blocks(estimator: Any, X: Any, y: Any, **weights: Any) -> Any:
    """Fit an estimator in this process to the blocks that a cluster would fit it to."""
    refuse_given("blocks", **weights)
    return estimator.fit(usual_blocks(X, y))


def fit_documents(
    model: Any, documents: Any, y: Any = None, *, fit: FitFunction = fit_here, **weights: Any
) -> FittedTopics:
    """Fit a topic model to documents in memory; return its state.

    Parameters
    ----------
    model : TopicModel
        The model; its callbacks watch the fit of the estimator.
    documents, y, **weights
        As in ``TopicModel.fit``.
    fit : callable
        Fits the estimator, see `FitFunction`.
    """
    started = time.perf_counter()
    texts = read_documents(documents)
    y = listed(y)
    digest, y = fingerprint(texts, y), read_targets(y)
    elsewhere = fit is not fit_here
    if elsewhere:
        refuse_further_words(model, "fit_with")
    vectorizer, X = vectorise(model, texts, y, alone=elsewhere)
    words, seed = Words.of(vectorizer), draw_seed(model.random_state)
    task = task_of(model, y)
    beside = fit_side(model, vectorizer, texts, X, y, task, alone=elsewhere)
    rows = DocumentRows(X, beside.side)
    vectorised = time.perf_counter()
    estimator, plan = fit_estimator(
        model, vectorizer, X, y, seed=seed, fit=fit, **weights, **rows.given
    )
    fitted = time.perf_counter()
    described = finish_fit(lambda: described_fit(estimator, rows, words, plan.seeded, y))
    return timed_state(
        described,
        {"vectorise": started, "fit": vectorised, "describe": fitted},
        vectorizer=vectorizer,
        estimator=estimator,
        seed=seed,
        fingerprint=digest,
        target_names=target_names(estimator, y),
        class_starts=None if plan.named is None else plan.named.starts,
        **beside.kept(texts, X, estimator),
    )


class FitSide(NamedTuple):
    """What a fit knows of documents beside their words.

    Parameters
    ----------
    side : Side or None
    further : FurtherWords or None
        The further words of the side.
    encoder : object or None
        The encoder that was asked for vectors; None if none was.
    """

    side: Side | None
    further: FurtherWords | None
    encoder: Any

    def kept(self, texts: list[str], X: Any, estimator: Any) -> dict[str, Any]:
        """Return what the model keeps: the documents, and what predictions need."""
        head = getattr(estimator, "pooled_head", None)
        vectors = head is not None and head.vectors is not None
        words = head is not None and head.further is not None
        return {
            "documents": FittedDocuments(fingerprint(texts), X, estimator, *self),
            "encoder": EncoderRecord.of(self.encoder) if vectors else None,
            "further": self.further if words else None,
        }


def fit_side(
    model: Any,
    vectorizer: Any,
    texts: list[str],
    X: Any,
    y: Any,
    task: str,
    *,
    known: FittedDocuments | None = None,
    earlier: FurtherWords | None = None,
    alone: bool = False,
) -> FitSide:
    """Return what a fit knows of documents beside their words.

    ``known`` are the same documents in an earlier fit, ``earlier`` the further words of the fit
    that goes on. ``alone``: there are no further words.
    """
    vectors, found = None, None
    if _wants_vectors(model, y, task):
        vectors = _vectors(model, vectorizer, texts, X, known)
    if not alone and _wants_further(model, vectorizer, X, y, task, earlier):
        if known is not None and known.side is not None and known.side.further is not None:
            found = known.further, known.side.further
        elif earlier is not None:
            found = earlier, earlier.of(texts, vectorizer)
        else:
            found = FurtherWords.fitted(texts, vectorizer)
    further, rows = (None, None) if found is None else found
    side = None if vectors is None and rows is None else Side(vectors, rows)
    return FitSide(side, further, model.encoder if task == "classes" else None)


def _wants_further(
    model: Any, vectorizer: Any, X: Any, y: Any, task: str, earlier: FurtherWords | None
) -> bool:
    """Return whether further words of documents help to predict what the model predicts."""
    if model.further_words == "no" or task == "topics":
        return False
    fault = _one_class_fault(model, y, task)
    if not isinstance(vectorizer, WordVectorizer) or vectorizer.tokens == "characters":
        fault = "the vectorizer does not split documents into words"
    if fault is not None:
        if model.further_words == "auto":
            return False
        raise ParameterError(
            (
                Parameter("further_words", "yes"),
                f" helps the pooled head to predict one class per document, but {fault}",
            ),
            "leave it out",
        )
    return earlier is not None or model.further_words == "yes" or are_short(X.shape[0], X.nnz)


def _one_class_fault(model: Any, y: Any, task: str) -> str | None:
    """Return why a fit does not predict one class per document by a pooled head."""
    if model.head != "pooled":
        return f"head is {model.head!r}"
    if task == "classes" and y is not None and is_matrix(readable(y, "y")):
        return "y holds several labels per document"
    return None if task == "classes" else "y holds numbers"


def _wants_vectors(model: Any, y: Any, task: str) -> bool:
    """Return whether vectors of documents help to predict what the model predicts."""
    if model.encoder is None or task == "topics":
        return False
    if (fault := _one_class_fault(model, y, task)) is not None:
        raise ParameterError(
            (
                Parameter("encoder"),
                f" helps the pooled head to predict one class per document, but {fault}",
            ),
            "leave it out",
        )
    return True


def _vectors(
    model: Any, vectorizer: Any, texts: list[str], X: Any, known: FittedDocuments | None
) -> FloatArray | None:
    """Return the vectors of documents, if the model's encoder fits them.

    Those of ``known`` documents are taken from their fit if it asked the same encoder.
    """
    if known is not None and known.encoder is model.encoder:
        return None if known.side is None else known.side.vectors
    if not speaks(model.encoder, getattr(vectorizer, "languages_", ())):
        return None
    watching = [getattr(one, "on_texts_encoded", None) for one in callbacks_of(model)]

    def progress(done: int, total: int) -> None:
        for watch in filter(None, watching):
            watch(done, total)

    vectors = encode_texts(model.encoder, texts, progress=progress)
    return vectors if vectors_fit(X, vectors) else None


def vectorise(
    model: Any, texts: list[str], y: Any, *, alone: bool = False
) -> tuple[Any, sp.csr_array]:
    """Fit the model's vectorizer to texts; return it and the matrix.

    Further words of short texts have their own view (`fit_side`). Where words are ``alone``, in
    streams and on a cluster, and for several labels per document, this may vectorise twice. If the
    texts are short and there are labels, the first matrix has grammatical words as columns. A trial
    then fits linear models with and without these columns, before any estimator (`grammar_helps`).
    Unless the columns help to predict held-out labels, the texts are vectorised again without them.
    """
    task, apart = task_of(model, y), not alone and model.further_words != "no"
    apart = apart and _one_class_fault(model, y, task) is None
    vectorizer = _new_vectorizer(model, predicts=y is not None and not apart)
    X = sp.csr_array(vectorizer.fit_transform(texts))
    labels = trial_labels(y, len(texts)) if task == "classes" else None
    on_trial = getattr(vectorizer, "keeps_grammar", False) and vectorizer.keep_grammar == "auto"
    if on_trial and not grammar_helps(X, Words.of(vectorizer).hidden, labels, model.n_jobs):
        vectorizer = clone(vectorizer).set_params(keep_grammar=False)
        X = sp.csr_array(vectorizer.fit_transform(texts))
    _tell_of_cut_words(vectorizer, texts, labels)
    return vectorizer, X


def _tell_of_cut_words(vectorizer: Any, texts: list[str], labels: TrialLabels | None) -> None:
    """Warn if ``max_features`` cuts off words that help to predict held-out labels."""
    wider = vectorizer.widened() if isinstance(vectorizer, WordVectorizer) else None
    if wider is None or labels is None:
        return
    labelled = np.flatnonzero(labels.labelled)
    labelled = labelled[even_rows(len(labelled), MAX_CUT_DOCUMENTS)]
    X, kept = wider.transform([texts[d] for d in labelled]), len(vectorizer.words_)
    if rare_words_help(X, kept, labels.cells[labelled]):
        warn(
            ParameterWarning(
                f"Only the {kept:,} most frequent words are kept, but rarer ones help to predict "
                "held-out labels",
                ("try ", Parameter("max_features", 2 * kept)),
            )
        )


def _new_vectorizer(model: Any, predicts: bool) -> Any:
    """Return an unfitted vectorizer; it may keep grammatical words only if its words predict."""
    predicts = predicts and model.task != "topics"
    if model.vectorizer is None:
        return WordVectorizer(language=model.language, keep_grammar="auto" if predicts else False)
    if model.language != "auto":
        raise ValueError(
            f"language={model.language!r} is for the default vectorizer; pass it to yours, such as "
            f"vectorizer=WordVectorizer(language={model.language!r}, ...)."
        )
    own = clone(model.vectorizer)
    if isinstance(own, WordVectorizer) and own.keep_grammar == "auto" and not predicts:
        own.set_params(keep_grammar=False)
    return own


def draw_seed(random_state: Any) -> int:
    """Return the seed as an integer, so that the fit can be repeated."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def fit_estimator(
    model: Any,
    vectorizer: Any,
    X: Any,
    y: Any,
    *,
    seed: int,
    fit: FitFunction = fit_here,
    **weights: Any,
) -> tuple[Factorization, FitPlan]:
    """Fit the estimator for a topic model; return it and the plan of its fit.

    ``vectorizer`` is the fitted one that made X. The model's callbacks watch the fit; they are
    removed from the fitted estimator.
    """
    weights = {name: weight for name, weight in weights.items() if weight is not None}
    plan = plan_fit(model, vectorizer, X, y, seed=seed, **weights)
    plan.estimator.set_callbacks(*callbacks_of(model))
    fitted = fit(plan.estimator, X, plan.y, **plan.weights).set_callbacks()
    if plan.named is not None:
        plan.named.settle(fitted, X, plan.weights.get("side"))
    return let_go(model, fitted), plan


def callbacks_of(model: Any) -> tuple[Any, ...]:
    """Return the callbacks that ``set_callbacks`` was given."""
    return tuple(getattr(model, "_skl_callbacks", ()))


def finish_fit(step: Callable[[], Returned]) -> Returned:
    """Return ``step()``, the last and short step of a long fit.

    If Ctrl-C interrupts it, warn and run it again: so ``step`` must not have side effects.
    """
    try:
        return step()
    except KeyboardInterrupt:
        warn("Interrupted after the last iteration: the model is complete.", FitInterruptedWarning)
        return step()


class FitPlan(NamedTuple):
    """An unfitted estimator, and what to fit it with."""

    estimator: Any
    y: Any
    weights: dict[str, Any]
    seeds: Seeds
    topics: list[int]  # the topic that each seed pulls
    named: NameLabels | None  # labels from names of classes; None if there are none

    @property
    def weak(self) -> bool:
        """Whether names of classes gave labels."""
        return self.named is not None

    @property
    def seeded(self) -> dict[int, Seed]:
        """The seeds by topic."""
        return self.seeds.by_topic(self.topics)


def plan_fit(
    model: Any,
    vectorizer: Any,
    X: Any,
    y: Any,
    *,
    seed: int,
    names_label: bool = True,
    **weights: Any,
) -> FitPlan:
    """Choose the estimator, label documents by the names of classes, and apply the seeds.

    X may be RowBlocks that hold the targets, if ``model.task`` is not "auto". With ``names_label``,
    names of classes label documents.
    """
    task = task_of(model, y)
    y = None if task == "topics" else y
    if task == "topics" and "target_weights" in weights:
        raise ValueError("target_weights needs y; pass labels or leave the weights out.")
    found, side = None, weights.pop("side", None)
    vectors = None if side is None else side.vectors
    if names_label:
        found = name_labels(model, vectorizer, X, y, weights.get("target_weights"), vectors)
    by_meaning = found is not None and vectors is not None and not found.known
    seeds = read_seeds(None if by_meaning else model.seeds, vectorizer, model.n_components)
    if found is not None:
        y, weights = found.labels, {**weights, **found.given(side)}
    elif side is not None:
        weights["side"] = side
    estimator = new_estimator(model, task, seed)
    topics = _pull(model, estimator, seeds, X, y, weights) if seeds else []
    return FitPlan(estimator, y, weights, seeds, topics, found)


def let_go(model: Any, estimator: Any) -> Any:
    """Restore the estimator's priors and start, and unfix all entries.

    The arrays for seeds and fixed entries are as large as the topics and can be computed again.
    """
    return estimator.set_params(priors=model.priors, init=model.init, fixed=None)


def described_fit(
    estimator: Any, rows: DocumentRows, words: Words, seeded: dict[int, Seed], y: Any
) -> dict[str, Any]:
    """Return the fields that describe the documents of a fit, with their scores and the labels
    behind each topic."""
    described = describe_topics(estimator, rows.X, words, seeded)
    S = described["document_topics"]
    described |= count_labels(estimator, S, y)
    return {**described, "document_scores": scores_of(estimator, rows.X, S, rows.side)}


def timed_state(described: dict[str, Any], begun: dict[str, float], **learned: Any) -> FittedTopics:
    """Return the state of a fitted model.

    ``begun`` holds the time at which each step began; the last step ends now.
    """
    ends = [*list(begun.values())[1:], time.perf_counter()]
    steps = zip(begun.items(), ends, strict=True)
    timings = {step: end - start for (step, start), end in steps}
    return FittedTopics(**described, **learned, timings=timings)


def new_estimator(model: Any, task: str, seed: int) -> Any:
    """Return an unfitted estimator for a task, with the settings of a topic model."""
    if model.class_weight is not None and task != "classes":
        raise ParameterError(
            (
                Parameter("class_weight", model.class_weight),
                f" needs labels that are classes, but the task of this fit is {task!r}",
            ),
            "leave it out, or give labels that are classes",
        )
    estimator = ESTIMATORS[task](random_state=seed)
    names = estimator.get_params(deep=False).keys() - {"random_state"}
    given = {n: v for n, v in model.get_params(deep=False).items() if n in names}
    if given.get("target_loss", ...) is None:
        del given["target_loss"]
    return estimator.set_params(**given)


def _pull(model: Any, estimator: Any, seeds: Seeds, X: Any, y: Any, weights: Any) -> list[int]:
    """Set the estimator's prior for the seeds and, for an NMF, its start; return their topics."""
    loss = as_divergence("data_loss", model.data_loss)
    sample, _, counts = X.sample(SAMPLE_CELLS) if isinstance(X, RowBlocks) else (X, None, None)
    check_room(model.n_components, sample)
    if isinstance(estimator, NMF) and isinstance(model.init, str):
        topics = list(range(len(seeds)))
        estimator.set_params(init=seeded_start(seeds, sample, loss, estimator))
    else:
        topics = choose_topics(seeds, clone(estimator), X, y, **weights)
    estimator.set_params(
        priors=with_seeds(model, seeds, topics, document_mass(sample, loss, counts))
    )
    return topics


def with_seeds(model: Any, seeds: Seeds, topics: list[int], mass: Mass) -> dict[str, Any]:
    """Return the model's priors, with the prior for the seeds added."""
    prior = seed_prior(seeds, topics, model.seed_strength, mass, model.n_components)
    given = (model.priors or {}).get("features", [])
    together = [*(given if isinstance(given, list | tuple) else [given]), prior]
    return {**(model.priors or {}), "features": together}


# ---- doubtful labels


def warn_of_labels(y: Any, task: str, topics: int) -> None:
    """Warn if y holds no class, a single class, numbers, or more classes than there are topics.

    ``y`` is as `read_targets` returns it. `class_doubts` also checks labels in tables.
    """
    if y is None:
        return
    settled, y = infer_task(y, task), readable(y, "y")
    if settled == "classes":
        for doubt in _doubts(y, topics):
            warn(doubt)
    elif settled == "numbers" and task == "auto":
        values = cells_of(y).ravel().tolist()
        if not have_fractions(values):
            different = len({*values} - {None, -1})
            warn(
                ParameterWarning(
                    (
                        Parameter("y"),
                        f" holds {different} different whole numbers, read as numbers",
                    ),
                    (
                        "pass ",
                        Parameter("task", "classes"),
                        " if they are codes of classes, or ",
                        Parameter("task", "numbers"),
                        " to confirm",
                    ),
                )
            )


def _doubts(y: Any, topics: int) -> Iterator[ParameterWarning]:
    several = is_matrix(y)
    if several:
        classes = np.arange(y.shape[1])
    else:
        labels = known_labels(read_column(y), None)[0]
        try:
            classes = np.unique(labels)
        except TypeError:  # labels that cannot be sorted, which the fit rejects
            return
    many = 0 if several else topics
    yield from class_doubts(classes.tolist(), many, 0 if several else len(y))
