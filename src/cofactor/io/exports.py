"""Writes models for other programs: CSV files, AnnData (.h5ad) and topicwizard.

The files of topicwizard itself are pickles, which are not safe to open. We write its data as JSON
and .npz, with a script that opens them.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cofactor.io.atomic import replacing, write_data, write_whole
from cofactor.io.json_text import to_json
from cofactor.io.tables.labels import one_cell
from cofactor.io.tables.writers import free_name, make_writer
from cofactor.text.editing import Settled

if TYPE_CHECKING:
    from pandas import DataFrame

    from cofactor.text import TopicModel

WIZARD_SCRIPT = '''\
"""Open the exported topics in topicwizard: pip install topic-wizard, then run this file."""

import json
from pathlib import Path

import numpy as np
import topicwizard
from scipy.sparse import csr_matrix

here = Path(__file__).parent
said = json.loads((here / "topics.json").read_text(encoding="utf-8"))
arrays = np.load(here / "arrays.npz", allow_pickle=False)
words = csr_matrix(
    (arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"])
)
predictions = said["predictions"]
topicwizard.visualize(
    topic_data={
        "corpus": said["corpus"],
        "vocab": np.array(said["vocabulary"]),
        "document_term_matrix": words,
        "document_topic_matrix": arrays["documents"],
        "topic_term_matrix": arrays["topics"],
        "document_representation": words,
        "transform": None,
        "topic_names": said["topic_names"],
        "topic_positions": None,
        "word_positions": None,
        "document_positions": None,
    },
    group_labels=None if predictions is None else np.array(predictions),
)
'''


# ---- CSV


def write_tables(
    model: TopicModel, folder: Path, n_words: int = 50, columns: dict[str, list[Any]] | None = None
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
        Columns that identify the documents, such as their rows in the table of the fit; they come
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
        with replacing(folder / name) as file:
            writer = make_writer(file, "csv", next(rows))
            for row in rows:
                writer.write(row)
    return list(tables)


def _topics(model: TopicModel) -> Iterator[list[Any]]:
    """Yield the topics; the coherence of an edited topic is unknown until a fit sees documents."""
    settled = Settled.of(model)
    names = ("topic", "name", "share", "label", "label_weight", "labels", "stability")
    yield [*names, "coherence", "words", "frozen", "pinned", "banned"]
    for t in model.topics():
        yield [
            *(getattr(t, name) for name in names),
            t.coherence if isfinite(t.coherence) else None,
            " ".join(t.words),
            "yes" if settled.frozen[t.topic] else "",
            " ".join(settled.pinned[t.topic]),
            " ".join(settled.banned[t.topic]),
        ]


def _words(model: TopicModel, n_words: int) -> Iterator[list[Any]]:
    yield ["topic", "name", "rank", "word", "weight"]
    for t in model.topics(n_words):
        for rank, (word, weight) in enumerate(zip(t.words, t.weights, strict=True), start=1):
            yield [t.topic, t.name, rank, word, weight]


def _documents(model: TopicModel, columns: dict[str, list[Any]] | None) -> Iterator[list[Any]]:
    """Yield the documents of the fit without their texts, which a model does not keep."""
    first = columns or {"document": [*range(len(model.document_topics_))]}
    own = ["topic", "name", "share", "prediction", "confidence", *_numbered(model.topic_names_)]
    yield [*first, *(free_name(name, first) for name in own)]
    named = zip(*first.values(), strict=True)
    described = zip(named, model.documents(), model.document_topics_.tolist(), strict=True)
    for cells, d, strengths in described:
        said = one_cell(d.prediction)
        yield [*cells, d.topic, d.name, d.share, said, d.confidence, *strengths]


def _classes(model: TopicModel) -> Iterator[list[Any]]:
    yield ["class", "keywords", *_numbered(model.topic_names_)]
    for c in model.class_summaries():
        yield [c.label, " ".join(c.keywords), *c.topics]


def _numbered(names: Iterable[str]) -> list[str]:
    return [f"topic_{k}" for k, _ in enumerate(names)]


# ---- AnnData


def write_anndata(
    model: TopicModel,
    path: Path,
    documents: list[str] | None,
    facts: str,
    names: list[str] | None = None,
) -> None:
    """Write an AnnData file (.h5ad): documents × words, with topics for both.

    Parameters
    ----------
    model : TopicModel
        A fitted model.
    path : Path
        The file; an older one is replaced atomically.
    documents : list of str or None
        The documents of the fit, whose tf-idf weights go into ``X``; None leaves ``X`` out.
    facts : str
        How the model was made, as JSON; stored in ``uns``.
    names : list of str, optional
        Names of the documents; by default they are numbered from 0.
    """
    try:
        from anndata import AnnData
        from pandas import DataFrame
    except ImportError as error:
        missing = "AnnData files need a package that is not installed: pip install anndata."
        raise ImportError(missing, name="anndata") from error
    table = AnnData(
        X=None if documents is None else model.vectorizer_.transform(documents),
        obs=_observations(model, names),
        var=DataFrame(index=_vocabulary(model)),
        obsm={"X_topics": np.asarray(model.document_topics_)},
        varm={"topics": np.ascontiguousarray(model.estimator_.components_.T)},
        uns={"topic_names": [str(name) for name in model.topic_names_], "cofactor": facts},
    )
    write_whole(path, _h5ad(table))


def _h5ad(table: Any) -> bytes:
    """Return AnnData as the bytes of a file, because HDF5 may crash where a disk is full."""
    import h5py
    from anndata.io import write_elem

    with h5py.File("memory.h5ad", "w", driver="core", backing_store=False) as file:
        write_elem(file, "/", table)
        file.flush()
        return bytes(file.id.get_file_image())


def _observations(model: TopicModel, names: list[str] | None) -> DataFrame:
    """Return the documents as anndata expects them: named, with plain columns."""
    documents = model.documents()
    table = documents.to_pandas().drop(columns="document")
    table.index = table.index.astype(str) if names is None else names
    table["prediction"] = [
        str(one_cell("" if p is None else p)) for p in documents.column("prediction")
    ]
    table["name"] = table["name"].astype(str)
    for name in ("confidence", "unlike"):
        table[name] = table[name].astype(float)
    return table


def _vocabulary(model: TopicModel) -> list[str]:
    return [str(word) for word in model.vectorizer_.get_feature_names_out()]


# ---- topicwizard


def write_wizard(model: TopicModel, folder: Path, documents: list[str]) -> list[str]:
    """Write a folder whose ``show.py`` opens the topics in topicwizard; return the files' names.

    Parameters
    ----------
    model : TopicModel
        A fitted model.
    folder : Path
        The folder for the files.
    documents : list of str
        Documents to show; topicwizard needs them. Those without a known word are left out.

    Returns
    -------
    list of str
    """
    folder.mkdir(parents=True, exist_ok=True)
    X, S = model.vectorizer_.transform(documents), np.asarray(model.transform(documents))
    filled = np.flatnonzero(S.sum(axis=1) > 0)
    kept = [documents[place] for place in filled]
    arrays = _wizard_arrays(X[filled], S[filled], model.estimator_.components_)
    write_data(folder / "arrays.npz", arrays)
    write_data(folder / "topics.json", f"{to_json(_wizard_data(model, kept))}\n".encode())
    write_data(folder / "show.py", WIZARD_SCRIPT.encode())
    return ["arrays.npz", "topics.json", "show.py"]


def _wizard_arrays(X: Any, S: np.ndarray, topics: np.ndarray) -> bytes:
    packed = io.BytesIO()
    np.savez_compressed(
        packed,
        allow_pickle=False,
        data=X.data,
        indices=X.indices,
        indptr=X.indptr,
        shape=np.array(X.shape),
        documents=S,
        topics=topics,
    )
    return packed.getvalue()


def _wizard_data(model: TopicModel, documents: list[str]) -> dict[str, Any]:
    said = model.documents(documents).column("prediction")
    return {
        "corpus": documents,
        "vocabulary": _vocabulary(model),
        "topic_names": [str(name) for name in model.topic_names_],
        "predictions": None if said[:1] == [None] else [str(one_cell(one)) for one in said],
    }
