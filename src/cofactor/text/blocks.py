"""Documents beyond memory: a folder of blocks with its words, and topic models of it.

The notes of such a folder hold the vectorizer, so that a model of the blocks can read documents.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor._types import IntArray
from cofactor.outofcore import RowBlocks, RowBlocksError
from cofactor.outofcore.rowblocks import as_csr
from cofactor.text.describe import predictions
from cofactor.text.describe.summaries import describe
from cofactor.text.fitting import draw_seed, fit_estimator, publish
from cofactor.text.interrupts import finish
from cofactor.text.vectorizer.words import WordVectorizer

DESCRIBED = 10_000
"""Documents that a model of blocks keeps representations of, for shares, coherence and reports."""


def described_rows(documents: int) -> IntArray:
    """Return which of so many documents a model describes: all, or some evenly spaced ones."""
    return np.linspace(0, documents - 1, min(documents, DESCRIBED)).round().astype(np.int64)


@dataclass(frozen=True)
class WordBlocks:
    """Blocks, the vectorizer that made them, and what else was noted.

    Parameters
    ----------
    rows : RowBlocks
    vectorizer : WordVectorizer
        Fitted.
    targets : list of str
        Names of the columns of targets; none for one class a document.
    fingerprint : str
        Digest of the documents to describe, and their labels.
    facts : dict
        Anything else in JSON.
    """

    rows: RowBlocks
    vectorizer: WordVectorizer
    targets: list[str]
    fingerprint: str
    facts: dict[str, Any]


def write_word_blocks(
    folder: Any, vectorizer: WordVectorizer, batches: Iterable[tuple[list[str], Any]],
    notes: Callable[[], dict[str, Any]], *, overwrite: bool = False,
) -> RowBlocks:  # fmt: skip
    """Write documents to a folder of blocks.

    Parameters
    ----------
    folder : path
        A new folder; it appears when all is written, or not at all.
    vectorizer : WordVectorizer
        Fitted.
    batches : iterable of (list of str, targets)
        Documents and their targets, None where there are none.
    notes : callable
        Returns ``targets``, ``fingerprint`` and ``facts`` of `WordBlocks` after the last batch.
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
        return WordBlocks(rows, vectorizer, targets, digest, dict(noted["facts"]))
    except (KeyError, TypeError, ValueError) as error:
        raise RowBlocksError(
            f"The notes of {str(folder)!r} are damaged ({error!r}); write the blocks anew."
        ) from None


def _vectorizer(parameters: dict[str, Any], words: list[str], idf: list[float]) -> WordVectorizer:
    pair = tuple(parameters["ngram_range"])  # JSON has lists only
    vectorizer = WordVectorizer(**{**parameters, "ngram_range": pair})
    vectorizer._validate_params()
    worth = np.array(idf, dtype=np.float64)
    good = all(isinstance(word, str) for word in words) and len(set(words)) == len(words)
    if not good or worth.shape != (len(words),) or not (np.isfinite(worth) & (worth > 0)).all():
        raise ValueError("words and their worth do not match")
    vectorizer.words_, vectorizer.idf_ = np.array(words, dtype=object), worth
    return vectorizer


def fit_blocks(model: Any, blocks: WordBlocks) -> Any:
    """Fit a topic model over blocks; it describes up to `DESCRIBED` of their documents.

    Parameters
    ----------
    model : TopicModel
        With a task, since targets are in the blocks; its vectorizer is not used.
    blocks : WordBlocks

    Returns
    -------
    TopicModel
        The model.
    """
    words, seed = blocks.vectorizer.get_feature_names_out(), draw_seed(model.random_state)
    started = time.perf_counter()
    estimator, seeded = fit_estimator(model, words, blocks.rows, None, seed=seed)
    fitted = time.perf_counter()
    places = described_rows(blocks.rows.shape[0])
    described = finish(lambda: describe(estimator, take_rows(blocks.rows, places), words, seeded))
    estimator.representation_ = np.array(estimator.representation_[places])
    names = _name_targets(estimator, blocks.targets)
    publish(
        model, described, {"fit": started, "describe": fitted},
        vectorizer_=blocks.vectorizer, estimator_=estimator, seed_=seed,
        fingerprint_=blocks.fingerprint, target_names_=names,
    )  # fmt: skip
    return model


def _name_targets(estimator: Any, names: list[str]) -> list[Any]:
    """Give columns of targets their names, which blocks do not have."""
    if not names or not predictions.has_head(estimator):
        return predictions.target_names(estimator, None)
    if hasattr(estimator, "classes_"):
        estimator.classes_ = np.asarray(names)
        estimator._coding = replace(estimator._coding, classes=estimator.classes_)
    return list(names)


def take_rows(rows: RowBlocks, places: IntArray) -> sp.csr_array:
    """Return some rows of blocks, in order, as a matrix in memory."""
    parts = []
    for i, (low, high) in enumerate(zip(rows.bounds[:-1], rows.bounds[1:], strict=True)):
        inside = places[(places >= low) & (places < high)] - low
        parts.append(as_csr(rows.block(i).X)[inside])
    return sp.csr_array(sp.vstack(parts, format="csr"))
