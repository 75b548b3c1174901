"""Documents on disk: writes them to a folder of blocks, and fits topic models to such a folder.

Blocks hold rows of the documents' matrix, so a corpus may exceed memory. The notes of the folder
hold the vectorizer, so that a model of the blocks can read new documents.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cofactor._types import IntArray
from cofactor.outofcore import RowBlocks, RowBlocksError
from cofactor.targets.reading import NamedMatrix
from cofactor.text.class_names import refuse_classes
from cofactor.text.describe.predictions import target_names
from cofactor.text.describe.topic_words import Words, even_rows
from cofactor.text.documents import DocumentRows
from cofactor.text.encoders import refuse_encoder
from cofactor.text.fitted_topics import FittedTopics
from cofactor.text.fitting import (
    FitFunction,
    described_fit,
    draw_seed,
    finish_fit,
    fit_estimator,
    fit_here,
    timed_state,
)
from cofactor.text.further_words import refuse_further_words
from cofactor.text.vectorizer.word_vectorizer import (
    ADDED_ATTRIBUTES,
    DEFAULTS_OF_OLDER_MODELS,
    LATER_ATTRIBUTES,
    WordVectorizer,
)

# Maximum number of documents whose representations a model of blocks keeps. Shares, the order of
# words, coherence and reports describe these documents.
MAX_DESCRIBED = 10_000


def described_rows(documents: int) -> IntArray:
    """Return the rows that a model of blocks describes: at most `MAX_DESCRIBED`, evenly spaced."""
    return even_rows(documents, MAX_DESCRIBED)


@dataclass(frozen=True)
class WordBlocks:
    """Blocks of documents, with their vectorizer and the notes of their folder."""

    rows: RowBlocks
    vectorizer: WordVectorizer  # fitted
    targets: list[str]  # names of target columns; empty for one class per document
    fingerprint: str  # digest of the described documents and their labels
    facts: dict[str, Any]  # further notes, as JSON


def write_word_blocks(
    folder: Any,
    vectorizer: WordVectorizer,
    batches: Iterable[tuple[list[str], Any]],
    notes: Callable[[], dict[str, Any]],
    *,
    overwrite: bool = False,
) -> RowBlocks:
    """Write documents to a folder of blocks.

    Parameters
    ----------
    folder : path
        A new folder. It appears only when everything is written.
    vectorizer : WordVectorizer
        Fitted.
    batches : iterable of (list of str, targets)
        Documents and their targets; None without targets.
    notes : callable
        Called after the last batch; returns ``targets``, ``fingerprint`` and ``facts``, as in
        `WordBlocks`.
    overwrite : bool, default=False
        Replace an older folder of blocks.
    """

    def matrices() -> Iterator[Any]:
        for texts, y in batches:
            X = vectorizer.transform(texts)
            yield X if y is None else (X, y)

    words = {
        "parameters": vectorizer.get_params(),
        "words": vectorizer.words_.tolist(),
        "idf": vectorizer.idf_.tolist(),
        "reading": {
            name: getattr(vectorizer, name) for name in (*ADDED_ATTRIBUTES, *LATER_ATTRIBUTES)
        },
    }
    return RowBlocks.write(
        folder, matrices(), overwrite=overwrite, notes=lambda: {"vectorizer": words, **notes()}
    )


def open_word_blocks(folder: Any) -> WordBlocks:
    """Open a folder that `write_word_blocks` wrote."""
    rows = RowBlocks.open(folder)
    noted = rows.notes
    if noted is None:
        raise RowBlocksError(
            f"{str(folder)!r} holds blocks without words; write them with cofactor blocks."
        )
    try:
        vectorizer = _vectorizer(**noted["vectorizer"])
        if len(vectorizer.words_) != rows.width:
            raise ValueError(f"{len(vectorizer.words_)} words for {rows.width} columns")
        targets, digest = [str(name) for name in noted["targets"]], str(noted["fingerprint"])
        if len(targets) > 1:  # manifests of older folders lack the names
            rows = rows.named(targets)
        return WordBlocks(rows, vectorizer, targets, digest, dict(noted["facts"]))
    except (KeyError, TypeError, ValueError) as error:
        raise RowBlocksError(
            f"The notes of {str(folder)!r} are damaged ({error!r}); write the blocks again."
        ) from None


def _vectorizer(
    parameters: dict[str, Any],
    words: list[str],
    idf: list[float],
    reading: dict[str, Any] | None = None,
) -> WordVectorizer:
    pair = tuple(parameters["ngram_range"])  # JSON has lists only
    older = DEFAULTS_OF_OLDER_MODELS if reading is None else {}
    vectorizer = WordVectorizer(**{**older, **parameters, "ngram_range": pair})
    vectorizer._validate_params()
    weights = np.array(idf, dtype=np.float64)
    good = all(isinstance(word, str) for word in words) and len(set(words)) == len(words)
    positive = bool((np.isfinite(weights) & (weights > 0)).all())
    if not good or weights.shape != (len(words),) or not positive:
        raise ValueError("the words do not match their weights")
    vectorizer.words_, vectorizer.idf_ = np.array(words, dtype=object), weights
    if reading is not None:
        for name in ADDED_ATTRIBUTES:
            setattr(vectorizer, name, reading[name])
        for name in LATER_ATTRIBUTES:
            setattr(vectorizer, name, reading.get(name))
    return vectorizer


def fit_blocks(model: Any, blocks: WordBlocks, *, fit: FitFunction = fit_here) -> FittedTopics:
    """Fit a topic model to blocks; return its state, which describes `described_rows`.

    Parameters
    ----------
    model : TopicModel
        A model whose ``task`` is not "auto", since the blocks hold the targets. Its vectorizer is
        not used.
    blocks : WordBlocks
    fit : callable
        Fits the estimator, here or on a cluster; see `cofactor.text.fitting.Fit`.
    """
    refuse_encoder(model, "WordBlocks")
    refuse_further_words(model, "WordBlocks")
    refuse_classes(model, "WordBlocks")
    words, seed = Words.of(blocks.vectorizer), draw_seed(model.random_state)
    started = time.perf_counter()
    estimator, plan = fit_estimator(model, blocks.vectorizer, blocks.rows, None, seed=seed, fit=fit)
    fitted = time.perf_counter()
    places = described_rows(blocks.rows.shape[0])
    X, y = blocks.rows.take(places)
    rows = DocumentRows(X)
    described = finish_fit(lambda: described_fit(estimator, rows, words, plan.seeded, y))
    estimator.amend(representation=np.array(estimator.representation_[places]))
    named = (
        NamedMatrix(np.empty((0, len(blocks.targets))), blocks.targets) if blocks.targets else None
    )
    return timed_state(
        described,
        {"fit": started, "describe": fitted},
        vectorizer=blocks.vectorizer,
        estimator=estimator,
        seed=seed,
        fingerprint=blocks.fingerprint,
        n_undescribed=blocks.rows.shape[0] - len(places),
        target_names=target_names(estimator, named),
    )
