"""Write a model as CSV files: topics, words, documents, classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isfinite
from pathlib import Path
from typing import Any

from cofactor.io.atomic import replacing
from cofactor.io.tables.labels import one_cell
from cofactor.io.tables.writers import free_name, make_writer
from cofactor.text.editing import Settled


def write_tables(
    model: Any, folder: Path, n_words: int = 50, columns: dict[str, list[Any]] | None = None
) -> list[str]:
    """Write the tables of a fitted TopicModel; return the names of the files.

    Parameters
    ----------
    model : TopicModel
    folder : Path
        The folder for the files; other files in it stay.
    n_words : int, default=50
        Number of words of each topic in words.csv.
    columns : dict of str to list, optional
        Columns that tell the documents apart, such as their rows in the table of the fit; they come
        first in documents.csv. By default the documents are numbered from 0.

    Returns
    -------
    list of str
    """
    folder.mkdir(parents=True, exist_ok=True)
    tables = {
        "topics.csv": _topics(model),
        "words.csv": _words(model, n_words),
        "documents.csv": _documents(model, columns),
        "classes.csv": _classes(model),
    }
    for name, rows in tables.items():
        _write(folder / name, rows)
    return list(tables)


def _write(path: Path, rows: Iterator[list[Any]]) -> None:
    with replacing(path) as file:
        writer = make_writer(file, "csv", next(rows))
        for row in rows:
            writer.write(row)


def _topics(model: Any) -> Iterator[list[Any]]:
    """Yield the topics; the coherence of an edited one is empty until documents are seen."""
    settled = Settled.of(model)
    names = ("topic", "name", "share", "label", "label_weight", "labels", "stability")
    yield [*names, "coherence", "words", "frozen", "pinned", "banned"]
    for t in model.topics():
        coherence = t.coherence if isfinite(t.coherence) else None
        said = settled.facts(t.topic)
        yield [
            *(getattr(t, name) for name in names),
            coherence,
            " ".join(t.words),
            "yes" if said["frozen"] else "",
            " ".join(said["pinned"]),
            " ".join(said["banned"]),
        ]


def _words(model: Any, n_words: int) -> Iterator[list[Any]]:
    yield ["topic", "name", "rank", "word", "weight"]
    for t in model.topics(n_words):
        for rank, (word, weight) in enumerate(zip(t.words, t.weights, strict=True), start=1):
            yield [t.topic, t.name, rank, word, weight]


def _documents(model: Any, columns: dict[str, list[Any]] | None) -> Iterator[list[Any]]:
    """Yield the training documents without their text, which a model does not keep."""
    first = columns or {"document": [*range(len(model.document_topics_))]}
    own = ["topic", "name", "share", "prediction", "confidence", *_numbered(model.topic_names_)]
    yield [*first, *(free_name(name, first) for name in own)]
    named = zip(*first.values(), strict=True)
    described = zip(named, model.documents(), model.document_topics_.tolist(), strict=True)
    for cells, d, strengths in described:
        said = one_cell(d.prediction)
        yield [*cells, d.topic, d.name, d.share, said, d.confidence, *strengths]


def _classes(model: Any) -> Iterator[list[Any]]:
    yield ["class", "keywords", *_numbered(model.topic_names_)]
    for c in model.classes():
        yield [c.label, " ".join(c.keywords), *c.topics]


def _numbered(names: Iterable[str]) -> list[str]:
    return [f"topic_{k}" for k, _ in enumerate(names)]
