"""Classes by their names: first labels for documents that nobody has labelled.

A class has a name, and words or a sentence about it; without these, the name describes it. Labels
come in two steps.

1. *A start.* With an encoder, each document has a nearest description, by the cosine of their
   vectors. Some descriptions are near to all documents, so the cosines are compared as they are and
   centred. The start is the surest half of the documents that both give the same class. Without an
   encoder, it is the documents with the words of one description.
2. *What words say.* Naive Bayes learns the words of the start. With an encoder, a document gets a
   label where words and meaning agree; without, the surest half of each class do. This corrects
   errors of the start, which other models would learn by heart.

Known labels stay; more than `NAMES_WORTH` per class outweigh those from names. Without known
labels, vectors do not help to predict: held-out labels, which come from them, would confirm them.
The model is no surer on average than other words confirm the names (`NameLabels.confidence`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor._warnings import warn
from cofactor.engine.threads import Threads
from cofactor.errors import Parameter, ParameterError, ParameterWarning
from cofactor.io.tables.label_advice import names, probable_merges
from cofactor.linear.calibration import flattening
from cofactor.linear.familiar import unit_rows
from cofactor.linear.folds import assign_folds, distinct_rows
from cofactor.linear.parts import naive_bayes
from cofactor.linear.views import Matrix, Side
from cofactor.outofcore import RowBlocks
from cofactor.targets.reading import labelled_mask
from cofactor.text.describe.predictions import infer_task
from cofactor.text.describe.table import Table
from cofactor.text.describe.topic_words import MIN_TOTAL, even_rows
from cofactor.text.encoders import encode_texts
from cofactor.text.seeds import places_of

NAMES_WORTH = 20
"""If there are known labels, names count as much as this many labels per class: with fewer known
labels, names alone would predict better than both; more of them outweigh the names."""
MIN_LEAD = 2.0
"""Words of a class start it where they weigh more than this many times those of any other."""
AGREEMENT_FOLDS = 5
"""Number of parts of the documents, each compared with what the other parts say."""
MIN_COMPARED = 20
"""With fewer documents to compare, nothing is known of how often names are right."""
MAX_COMPARED = 2000
"""Number of documents whose mean confidence is measured."""
SUREST = 0.5
"""Share of the documents of each class that count as sure."""
MIN_SURE = 3
"""Minimum number of sure documents of each class, if there are as many."""

NONE_HELD_OUT = "names of classes gave labels, so none were held out to test the model"
"""Why nothing is known of how well a model predicts."""

Descriptions = dict[str, tuple[str, ...]]
"""Texts about each class, by its name: words, or one sentence."""


@dataclass(frozen=True)
class ClassStart:
    """How a class began: by its name.

    Parameters
    ----------
    label : object
        The class.
    documents : int
        Number of documents that got it as a first label.
    nearest : int
        Number of documents nearest to its description in meaning or, without an encoder, with its
        words. Documents without other words do not count.
    agreement : float
        Share of those documents to which their other words give the same class, as naive Bayes
        learns them from other documents. It is not an accuracy: names and words may be wrong
        together.
    """

    label: Any
    documents: int
    nearest: int
    agreement: float


def starts_sentence(starts: Iterable[ClassStart], n: int) -> str:
    """Return in a sentence how names gave first labels to n documents.

    Examples
    --------
    >>> starts_sentence([ClassStart("a", 40, 50, 0.9), ClassStart("b", 20, 50, 0.5)], 100)
    "Names gave 60 of 100 documents a first label; other words agree with names on 70 % of the \
100 documents nearest to a class, least on 'b' (50 %)."
    """
    rows = list(starts)
    near, agree = _agreement(rows)
    given = f"Names gave {sum(row.documents for row in rows):,} of {n:,} documents a first label; "
    if not near:
        return given + "none of them has other words that could agree with names."
    least = min((row for row in rows if row.nearest), key=lambda row: row.agreement)
    return given + (
        f"other words agree with names on {agree:.0%} of the {near:,} documents nearest to a "
        f"class, least on {str(least.label)!r} ({least.agreement:.0%})."
    ).replace("%", " %")


def _agreement(starts: Iterable[ClassStart]) -> tuple[int, float]:
    """Return the number of documents that were compared, and the share that agree."""
    rows = list(starts)
    n = sum(row.nearest for row in rows)
    return n, sum(row.nearest * row.agreement for row in rows) / max(n, 1)


class NameLabels(NamedTuple):
    """Labels of documents from the names of classes and from known labels."""

    labels: Any  # "" where there is none
    weights: FloatArray
    starts: Table[ClassStart]
    known: bool  # whether some labels are known
    share: float  # of the weights, those of labels from names

    def given(self, side: Side | None) -> dict[str, Any]:
        """Return further arguments of a fit with these labels.

        A side that only labels from the same texts could judge is left out.
        """
        weights = {"target_weights": self.weights}
        return weights | ({} if side is None or not self.known else {"side": side})

    @property
    def confidence(self) -> float:
        """The most that predictions may be sure of on average.

        Labels from names are right as often as other words agree with them; known labels are right.
        """
        n, agreement = _agreement(self.starts)
        return 1.0 - self.share * (1.0 - agreement) if n >= MIN_COMPARED else 1.0

    def settle(self, estimator: Any, X: Any, side: Side | None = None) -> None:
        """Make an estimator that was fitted to X say no more than labels from names can show.

        They are no true labels to test with, or to compare with. A model learns them by heart, so
        its confidences are too high: their mean becomes at most `confidence`.
        """
        estimator.forget_held_out(familiar=True)
        head = estimator.pooled_head
        if head is not None:
            n, filled = X.shape[0], np.diff(X.indptr) > 0
            order = distinct_rows(X, np.zeros((n, 1)), np.zeros(n, dtype=bool), filled, side).order
            rows = order[even_rows(len(order), MAX_COMPARED)]
            known = side[rows] if side is not None and head.needs_side else None
            scores = estimator.scores(X[rows], side=known)
            estimator.amend(head=head.flattened(flattening(scores, self.confidence)))


# ---- what the user gave


def task_of(model: Any, y: Any) -> str:
    """Return the task of a fit with labels y."""
    if model.classes is None:
        return infer_task(y, model.task)
    if model.task not in ("auto", "classes"):
        raise ParameterError(
            (Parameter("classes"), " names classes, but ", Parameter("task", model.task)),
            "leave out one of them",
        )
    return "classes"


def descriptions_of(model: Any) -> Descriptions:
    """Return the descriptions of a model's classes; seeds are classes if the task is "classes"."""
    if model.classes is not None:
        return read_classes(model.classes)
    seeds = model.seeds if model.task == "classes" else None
    return {str(name): tuple(words) for name, words in (seeds or {}).items()}


def read_classes(classes: Any) -> Descriptions:
    """Return the descriptions of classes that are a list of names, or a dict.

    Examples
    --------
    >>> read_classes(["World", "Sports"])
    {'World': ('World',), 'Sports': ('Sports',)}
    >>> read_classes({"World": "war and politics", "Sports": ["goal", "team"]})
    {'World': ('war and politics',), 'Sports': ('goal', 'team')}
    """
    if isinstance(classes, str) or not isinstance(classes, Collection):
        raise TypeError(
            f"classes={classes!r} must be a list of names, or a dict of names and words or a "
            "sentence about each."
        )
    given = classes if isinstance(classes, Mapping) else None
    found: Descriptions = {}
    for name in classes:
        about = name if given is None else given[name]
        texts = (about,) if isinstance(about, str) else _listed(name, about)
        key = str(name).strip()
        if not key:
            raise _refusal(" has a class without a name", "give each class a name")
        if key.casefold() in {one.casefold() for one in found}:
            raise _refusal(f" names {key!r} twice", "give each class its own name")
        texts = tuple(text for text in map(str.strip, texts) if any(map(str.isalnum, text)))
        if not texts:
            raise _refusal(" has no words", "describe the class", key)
        if texts in found.values():
            same = next(other for other, own in found.items() if own == texts)
            raise _refusal(
                f" has the same words as {same!r}", "describe what sets the class apart", key
            )
        found[key] = texts
    if len(found) < 2:
        raise _refusal(" names fewer than two classes", "name all classes")
    return found


def _listed(name: Any, about: Any) -> tuple[str, ...]:
    texts = tuple(about) if isinstance(about, Iterable) else (about,)
    if about is not name and all(isinstance(one, str) for one in texts):
        return texts
    if about is name:
        raise TypeError(f"classes has the name {name!r}, which must be a text.")
    raise TypeError(f"classes[{name!r}]={about!r} must be a list of words, or a sentence.")


def _refusal(what: str, remedy: str, key: Any = ...) -> ParameterError:
    return ParameterError((Parameter("classes", key=key), what), remedy)


def refuse_classes(model: Any, what: str) -> None:
    """Refuse names of classes where not all documents are in memory at once."""
    if model.classes is not None:
        raise _refusal(
            f" cannot be used with {what}: the first labels need all documents",
            "use fit with a list of documents, or leave it out",
        )


# ---- labels


def name_labels(
    model: Any,
    vectorizer: Any,
    X: Any,
    y: Any = None,
    target_weights: Any = None,
    vectors: FloatArray | None = None,
) -> NameLabels | None:
    """Label documents by the names of their classes; known labels stay.

    Parameters
    ----------
    model : TopicModel
    vectorizer : object
        The fitted vectorizer that made X.
    X : sparse array of shape (n_documents, n_words)
    y : array-like of shape (n_documents,) or None
        Known labels.
    target_weights : array-like of shape (n_documents,), optional
        Confidence in the known labels.
    vectors : array (n_documents, d) or None
        Vectors of the documents, from the model's encoder.

    Returns
    -------
    NameLabels or None
        None if the model names no classes, or if no document gets a label from them.
    """
    about = descriptions_of(model)
    if not about or isinstance(X, RowBlocks):
        return None
    if y is not None and np.ndim(y) != 1:
        if model.classes is None:
            return None
        several = " names one class for each document, but y holds several labels"
        raise _refusal(several, "leave it out")
    labels = _known_labels(y, X.shape[0])
    known = labels != ""
    classes = _classes(model, about, labels[known])
    start = _start(model, vectorizer, X, vectors, about, list(classes))
    if not (start.sure & ~known).any() or len(classes) < 2:
        if known.any():
            return None
        raise ValueError(
            f"No document has the words of only one of the classes {list(about)}, so there is "
            "nothing to learn from; give each class different words, or pass labels as y."
        )
    places = {name: place for place, name in enumerate(classes)}
    given = np.array([places.get(str(label), -1) for label in labels])
    learned = np.where(known, given, start.first)
    said, lead = _said_by_words(X, learned, len(classes), model.n_jobs)
    kept = ~known & (np.diff(X.indptr) > 0)
    if start.centred is None:
        kept = surest(said, lead, kept)
    else:
        kept &= (said == start.nearest) | (said == start.centred)
    labels[kept] = np.array([*classes.values()], dtype=object)[said[kept]]
    own = description_columns(about, vectorizer)
    if start.centred is not None and (lost := [name for name in own if not own[name]]):
        rest = "its vector describes this class"
        if len(lost) > 1:
            rest = "their vectors describe these classes"
        warn(f"The model found no word for {names(lost)} in the texts; only {rest}.")
    other = _said_by_others(X, own, start, len(classes), model.n_jobs)
    near, first = np.where(other >= 0, start.nearest, -1), np.where(kept, said, -1)
    rows = [_row(c, label, first, near, other) for c, label in enumerate(classes.values())]
    for label in classes.values():
        if label not in labels:
            nothing = (Parameter("classes", key=label), " labels no document")
            warn(ParameterWarning(nothing, "describe it in other words"))
    weights = _weights(known, kept, len(classes), target_weights)
    share = weights[kept].sum() / max(weights[kept | known].sum(), MIN_TOTAL)
    return NameLabels(labels, weights, Table(rows, ClassStart), bool(known.any()), float(share))


def _known_labels(y: Any, n: int) -> Any:
    """Return the known labels of n documents, "" for the others."""
    labels = np.full(n, "", dtype=object)
    if y is not None:
        known = labelled_mask(y)
        labels[known] = np.asarray(y, dtype=object)[known]
    return labels


def _classes(model: Any, about: Descriptions, known: Any) -> dict[str, Any]:
    """Return the classes by the texts of their labels.

    If there are known labels, seeds add no classes: some may only attract a topic.
    """
    found = {str(label): label for label in known}
    new = [] if found and model.classes is None else [name for name in about if name not in found]
    if new and not all(isinstance(label, str) for label in found.values()):
        raise _refusal(
            f" names {new[0]!r}, but the labels are numbers such as {known[0]!r}",
            "name the classes as the labels do",
        )
    sizes = Counter(map(str, known)) if new else {}
    for name, meant in probable_merges({**sizes, **dict.fromkeys(new, 0)}).items():
        if name in new and meant in found:
            beside = (Parameter("classes", key=name), f" is a new class beside {names([meant])}")
            warn(ParameterWarning((*beside, " of the labels"), f"did you mean {names([meant])}?"))
    return found | {name: name for name in new}


def _weights(known: BoolArray, kept: BoolArray, n_classes: int, target_weights: Any) -> FloatArray:
    """Return the weights of known labels and of those from names."""
    weights = np.ones(len(known)) if target_weights is None else np.array(target_weights, float)
    weights[kept] = 1.0
    if known.any():
        n = max(int(np.count_nonzero(kept)), 1)
        weights[kept] = min(1.0, NAMES_WORTH * n_classes / n)
    return weights


def _row(c: int, label: Any, first: IntArray, near: IntArray, other: IntArray) -> ClassStart:
    own, nearest = other[near == c] == c, int(np.count_nonzero(near == c))
    agreement = float(own.mean()) if nearest else 0.0
    return ClassStart(label, int(np.count_nonzero(first == c)), nearest, agreement)


# ---- the start, and what words make of it


class Start(NamedTuple):
    """What names say about documents.

    Parameters
    ----------
    nearest : array of int (n,)
        The class of each document by its description; −1 for none.
    sure : array of bool (n,)
        The documents that naive Bayes learns from.
    centred : array of int (n,) or None
        The class by centred cosines; None if the start is by words.
    """

    nearest: IntArray
    sure: BoolArray
    centred: IntArray | None = None

    @property
    def first(self) -> IntArray:
        """The classes that naive Bayes learns; −1 for none."""
        return np.where(self.sure, self.nearest, -1)


def _start(
    model: Any,
    vectorizer: Any,
    X: Any,
    vectors: FloatArray | None,
    about: Descriptions,
    classes: list[str],
) -> Start:
    described = {name: texts for name, texts in about.items() if name in classes}
    if not described:
        return Start(np.full(X.shape[0], -1), np.zeros(X.shape[0], dtype=bool))
    if vectors is None:
        start = start_by_words(described, vectorizer, X)
    else:
        start = start_by_meaning(model.encoder, described, vectors)
    places = np.array([*(classes.index(name) for name in described), -1])
    centred = None if start.centred is None else places[start.centred]
    return Start(places[start.nearest], start.sure, centred)


def start_by_meaning(encoder: Any, about: Descriptions, vectors: FloatArray) -> Start:
    """Compare the vectors of documents with those of the descriptions."""
    T = np.array(
        [unit_rows(encode_texts(encoder, [*texts])).mean(axis=0) for texts in about.values()]
    )
    for name, row in zip(about, T, strict=True):
        if not row.any():
            raise _refusal(" has no word that the encoder knows", "use other words", name)
    rows = unit_rows(vectors)
    plain = rows @ unit_rows(T).T
    centred = unit_rows(rows - rows.mean(axis=0)) @ unit_rows(T - T.mean(axis=0)).T
    nearest, other = (np.where(vectors.any(axis=1), c.argmax(axis=1), -1) for c in (plain, centred))
    lead = rankdata(_lead(plain)) + rankdata(_lead(centred))
    return Start(nearest, surest(nearest, lead, (nearest == other) & (nearest >= 0)), other)


def start_by_words(about: Descriptions, vectorizer: Any, X: Any) -> Start:
    """Find the documents that hold the words of one description."""
    found = np.zeros((X.shape[0], max(len(about), 2)))
    for c, (name, columns) in enumerate(description_columns(about, vectorizer).items()):
        if not columns:
            raise _refusal(
                f" has no word of the texts: {', '.join(about[name])!r}",
                "describe the class by words that occur in them, or use an encoder",
                name,
            )
        found[:, c] = np.asarray(X[:, columns].sum(axis=1)).ravel()
    low, high = np.sort(found, axis=1)[:, -2:].T
    nearest = np.where(high > MIN_LEAD * low, found.argmax(axis=1), -1)
    return Start(nearest, nearest >= 0)


def description_columns(about: Descriptions, vectorizer: Any) -> dict[str, list[int]]:
    """Return the columns of the words of each description."""
    places = {word: j for j, word in enumerate(vectorizer.get_feature_names_out())}
    analyze = vectorizer.build_analyzer() if hasattr(vectorizer, "build_analyzer") else str.split
    found = {}
    for name, texts in about.items():
        words = [*texts, *(word for text in texts for word in analyze(text))]
        found[name] = sorted({j for word in words for j in places_of(word, places, analyze)})
    return found


def _said_by_others(
    X: Any, own: dict[str, list[int]], start: Start, n_classes: int, n_jobs: int | None
) -> IntArray:
    """Return the class of each document by words of no description; −1 if names or words lack.

    Naive Bayes learns these words from other documents. So this reading of a document and its name
    share nothing but the documents that began.
    """
    X = X[:, np.setdiff1d(np.arange(X.shape[1]), [j for some in own.values() for j in some])]
    usable = (start.nearest >= 0) & (np.diff(X.indptr) > 0)
    distinct = distinct_rows(X, start.nearest[:, None] + 1.0, usable, usable)
    folds = assign_folds(start.nearest[distinct.rows], AGREEMENT_FOLDS)
    fold_of = distinct.of_each(folds.astype(float), len(usable))
    found = np.full(len(usable), -1)
    for fold in np.unique(folds):
        held = fold_of == fold
        said, _ = _said_by_words(X, np.where(held, -1, start.first), n_classes, n_jobs)
        found[held] = said[held]
    return found


def _said_by_words(
    X: Any, learned: IntArray, n_classes: int, n_jobs: int | None
) -> tuple[IntArray, FloatArray]:
    """Return the class of each document by naive Bayes, and its lead over the next class."""
    weighted = (learned[:, None] == np.arange(n_classes)).astype(float)
    with Threads(n_jobs) as threads:
        words = Matrix(X, threads)
        scores = naive_bayes(words, weighted).model().scores(words)
    return scores.argmax(axis=1), _lead(scores)


def surest(classes: IntArray, lead: FloatArray, among: BoolArray) -> BoolArray:
    """Return the documents of each class with the largest lead, and all with the same lead."""
    found = np.zeros(len(classes), dtype=bool)
    for c in np.unique(classes[among]):
        own = among & (classes == c)
        leads = np.sort(lead[own])[::-1]
        found |= own & (lead >= leads[: max(MIN_SURE, int(SUREST * len(leads)))][-1])
    return found


def _lead(scores: FloatArray) -> FloatArray:
    best = np.sort(scores, axis=1)[:, -2:]
    return np.asarray(best[:, 1] - best[:, 0])
