"""Documents in parts: counts and matrices of parts that no process needs to hold together.

`fit_parts` is the one procedure, wherever the parts are: `LocalParts` are in this process, those of
`cofactor.distributed.texts` on the workers of a cluster. Tasks run where a part is; only sums and
samples come back. Sums of counts are whole numbers, so both give the same bits.

What comes back of the texts themselves: at most `SAMPLE_TEXTS` texts that show the languages, the
distinct labels, and the `described_rows` (at most 10,000 texts with their labels).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import compress
from typing import Any, NamedTuple, Protocol

import numpy as np

from cofactor._types import IntArray
from cofactor.outofcore import RowBlocks
from cofactor.outofcore.batches import (
    BlockFacts,
    RowsAndTargets,
    check_batch,
    check_like,
    split_places,
)
from cofactor.targets.classes import read_targets
from cofactor.targets.missing import is_missing
from cofactor.text.describe.predictions import infer_task
from cofactor.text.describe.topic_words import even_rows
from cofactor.text.documents import fingerprint, read_documents
from cofactor.text.fitted_topics import FittedTopics
from cofactor.text.fitting import FitFunction, fit_here
from cofactor.text.vectorizer.counts import WordCounts
from cofactor.text.vectorizer.languages import SAMPLE_TEXTS
from cofactor.text.vectorizer.word_vectorizer import WordVectorizer
from cofactor.text.word_blocks import WordBlocks, described_rows, fit_blocks


class TextPart(NamedTuple):
    """Some documents, and their targets: labels, numbers, sets of labels, or rows of numbers.

    ``y`` is an array, or None without targets.
    """

    texts: list[str]
    y: Any = None


class CorpusParts(Protocol):
    """Parts of a corpus, wherever they are: names of files, documents, or anything made of them."""

    def map(self, task: Callable[..., Any], shared: Any) -> CorpusParts:
        """Return the parts ``task(part, shared)``, kept where the parts are."""
        ...

    def only(self, kept: Sequence[bool]) -> CorpusParts:
        """Return some of the parts."""
        ...

    def each(self, task: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Return ``task(part, …)`` of each part; ``arguments`` have one entry for each part."""
        ...

    def total(self, task: Callable[..., Any], shared: Any, add: Callable[[Any, Any], Any]) -> Any:
        """Return the sum of ``task(part, shared)`` over the parts."""
        ...

    def rows(self, task: Callable[..., RowsAndTargets], shared: Any) -> RowBlocks:
        """Return the blocks ``task(part, shared)``, kept where the parts are.

        This ends the use of the parts, so that their memory is free during a fit.
        """
        ...


@dataclass(frozen=True)
class LocalParts:
    """Parts in this process; see `CorpusParts`."""

    parts: Sequence[Any]

    def map(self, task: Callable[..., Any], shared: Any) -> LocalParts:
        """Return the parts ``task(part, shared)``."""
        return LocalParts([task(part, shared) for part in self.parts])

    def only(self, kept: Sequence[bool]) -> LocalParts:
        """Return some of the parts."""
        return LocalParts([*compress(self.parts, kept)])

    def each(self, task: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Return ``task(part, …)`` of each part."""
        return [task(*given) for given in zip(self.parts, *arguments, strict=True)]

    def total(self, task: Callable[..., Any], shared: Any, add: Callable[[Any, Any], Any]) -> Any:
        """Return the sum of ``task(part, shared)`` over the parts."""
        return reduce(add, (task(part, shared) for part in self.parts))

    def rows(self, task: Callable[..., RowsAndTargets], shared: Any) -> RowBlocks:
        """Return the blocks ``task(part, shared)``."""
        held = [task(part, shared) for part in self.parts]
        for block in held:
            check_like(held[0], block)
        facts = [BlockFacts.of(*block) for block in held]
        return RowBlocks(facts, held[0][0].shape[1], held=held)


def fit_parts(
    model: Any, parts: CorpusParts, names: Sequence[str] = (), *, fit: FitFunction = fit_here
) -> FittedTopics:
    """Fit a topic model to documents in parts; return its state.

    Parameters
    ----------
    model : TopicModel
        Its vectorizer must be a WordVectorizer, or None.
    parts : CorpusParts
        Each is a `TextPart` and becomes a block of rows; those without documents are left out. The
        state describes `described_rows` of the documents.
    names : sequence of str
        All labels if targets are sets of labels, or the names of columns of numbers.
    fit : callable
        Fits the estimator, here or on a cluster; see `cofactor.text.fitting.FitFunction`.
    """
    sizes = np.array(parts.each(part_size), dtype=np.int64)
    if not sizes.sum():
        raise ValueError("documents is empty; pass at least one document.")
    parts, bounds = parts.only((sizes > 0).tolist()), np.r_[0, np.cumsum(sizes[sizes > 0])]
    vectorizer = _settled(model, parts, bounds)
    vectorizer.learn(parts.total(count_part, vectorizer, WordCounts.plus))
    described = parts.each(take_documents, split_places(described_rows(int(bounds[-1])), bounds))
    texts = [text for part in described for text in part.texts]
    y = None if described[0].y is None else np.concatenate([part.y for part in described])
    if names:
        task = "classes" if model.task == "auto" else model.task
    else:
        task = infer_task(None if y is None else _labels(parts), model.task)
    rows = parts.rows(part_rows, RowTask(vectorizer, task != "topics", tuple(names)))
    if len(names) > 1 and task != "topics":
        rows = replace(rows, target_names=tuple(names))
    blocks = WordBlocks(rows, vectorizer, [*names], fingerprint(texts, y), {})
    settled = copy.copy(model)
    settled.task = task
    return fit_blocks(settled, blocks, fit=fit)


def _settled(model: Any, parts: CorpusParts, bounds: IntArray) -> WordVectorizer:
    """Return a vectorizer that has determined how to read the texts, from a sample of them."""
    own = model.vectorizer
    if own is not None and not isinstance(own, WordVectorizer):
        raise ValueError(
            f"vectorizer is a {type(own).__name__}; documents in parts need a WordVectorizer, "
            "whose counts add up."
        )
    settings = {"language": model.language} if own is None else own.get_params()
    # Whether grammatical words help can be tried only with all labels in one place.
    vectorizer = WordVectorizer(**{**settings, "keep_grammar": False})
    vectorizer._validate_params()
    places = even_rows(int(bounds[-1]), SAMPLE_TEXTS)
    some = parts.each(take_documents, split_places(places, bounds))
    vectorizer.settle([text for part in some for text in part.texts])
    return vectorizer


def _labels(parts: CorpusParts) -> Any:
    """Return the distinct labels as a column, so that their kind can be inferred."""
    values = list(dict.fromkeys(label for some in parts.each(distinct_labels) for label in some))
    if all(isinstance(value, int | float | np.number) for value in values):
        return np.array(values)
    return np.array(values, dtype=object)


# ---- tasks: from one part to what is sent


def as_part(documents: Any, y: Any = None) -> TextPart:
    """Return documents and labels as a part."""
    texts = read_documents(documents) if len(documents) else []
    if y is None:
        return TextPart(texts)
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if values.dtype.kind not in "biuf":
        values = np.array([None if is_missing(v) else v for v in values.tolist()], dtype=object)
    if len(values) != len(texts):
        raise ValueError(
            f"y has {len(values)} entries in a part of {len(texts)} documents; pass one for each."
        )
    return TextPart(texts, values)


def part_size(part: TextPart) -> int:
    """Return the number of documents of a part."""
    return len(part.texts)


def take_documents(part: TextPart, places: IntArray) -> TextPart:
    """Return the documents of a part at some places."""
    texts = [part.texts[place] for place in places]
    return TextPart(texts, None if part.y is None else part.y[places])


def distinct_labels(part: TextPart) -> list[Any]:
    """Return the distinct labels of a part."""
    if part.y is None:
        return []
    return [v for v in dict.fromkeys(part.y.tolist()) if not is_missing(v)]


def count_part(part: TextPart, vectorizer: WordVectorizer) -> WordCounts:
    """Count the words of a part."""
    return vectorizer.count_words(part.texts)


class RowTask(NamedTuple):
    """How documents become rows: in which words, and with which targets."""

    vectorizer: WordVectorizer
    with_targets: bool
    names: tuple[str, ...] = ()  # of targets that are sets or numbers


def part_rows(part: TextPart, task: RowTask) -> RowsAndTargets:
    """Return the matrix of a part, and its targets."""
    X, y = task.vectorizer.transform(part.texts), part.y if task.with_targets else None
    if y is None:
        return check_batch(X)
    if (
        task.names and y.dtype == object
    ):  # a set more, so that a part without labels holds sets, too
        y = read_targets([*y, frozenset()], task.names).values[:-1]
    return check_batch((X, y))
