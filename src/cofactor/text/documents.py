"""Documents in any form: read as a list of strings, turned into a matrix, or digested."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from scipy import sparse as sp

from cofactor._fields import array, number
from cofactor._types import BoolArray, FloatArray
from cofactor.estimators.inference import topic_shares
from cofactor.linear.views import Side
from cofactor.targets.classes import holds_sets, is_unknown
from cofactor.targets.missing import is_missing
from cofactor.targets.reading import as_frame, native
from cofactor.text.encoders import encode_texts


@dataclass(frozen=True, eq=False)
class Corpus:
    """What a topic model knows of all its documents together.

    Parameters
    ----------
    shares : array (r,)
        Mean share of each topic in documents with known words.
    masses : array (r,)
        Sum of each topic's column of the representations.
    n_documents : int
        Their number.
    links : array (r, k) or None
        What is predicted for the documents of each topic on average; kept when they are forgotten.
    """

    shares: FloatArray = array("r", low=0, high=1)
    masses: FloatArray = array("r", low=0)
    n_documents: int = number(int, low=0)
    links: FloatArray | None = array("r", "k", default=None)

    @classmethod
    def of(cls, S: FloatArray, components: FloatArray) -> Corpus:
        """Return it for documents with representations S."""
        shares = topic_shares(S, components)
        filled = shares[shares.sum(axis=1) > 0]
        mean = filled.mean(axis=0) if len(filled) else np.zeros(len(components))
        return cls(mean, S.sum(axis=0), len(S))


def read_documents(documents: Any) -> list[str]:
    """Return documents as a list of strings; missing ones (None, NaN) are empty.

    Parameters
    ----------
    documents : iterable of str
        A list, a generator, an array, a Series, or a table with a single column.

    Returns
    -------
    list of str

    Examples
    --------
    >>> read_documents(text for text in ["one", None, float("nan")])
    ['one', '', '']
    """
    texts = list(each_document(documents))
    if not texts:
        raise ValueError("documents is empty; pass at least one document.")
    return texts


def is_in_parts(documents: Any) -> bool:
    """Return whether documents are a dask collection, or a list of such values."""
    first = documents[0] if isinstance(documents, list) and documents else documents
    return hasattr(first, "__dask_graph__")


def refuse_given(data: str, **arguments: Any) -> None:
    """Refuse arguments of a fit that data of this kind cannot be fitted with."""
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(f"{name} cannot be used with {data}; leave it out.")


def each_document(documents: Any) -> Iterator[str]:
    """Yield documents one by one, read as by ``read_documents``."""
    if isinstance(documents, str | bytes):
        raise TypeError(
            f"documents is one {type(documents).__name__}, which would be read letter by letter; "
            "pass a list: [text]."
        )
    if is_in_parts(documents):
        raise TypeError(
            "documents is a dask collection; pass documents.compute(), or use the function of the "
            "same name in cofactor.distributed if there is one."
        )
    column = _single_column(documents)
    if not isinstance(column, Iterable):
        raise TypeError(
            f"documents has type {type(documents).__name__}; pass a list, a generator or a column "
            "of strings."
        )
    return (_read(place, document) for place, document in enumerate(column))


def _single_column(documents: Any) -> Any:
    """Return the only column of a table or of a 2-D array, and anything else unchanged."""
    frame = as_frame(documents)
    if frame is not None:
        column = frame if len(frame.shape) == 1 else frame[_only(frame.columns)]
        return column.to_list()
    shape: tuple[int, ...] = getattr(documents, "shape", (0,))
    if len(shape) < 2:
        return documents
    _only(range(shape[1]) if len(shape) == 2 else [])
    return documents.ravel()


def _only(columns: Any) -> Any:
    columns = list(columns)
    if len(columns) != 1:
        raise ValueError(
            f"documents is a table with {len(columns)} columns, {columns}; pass the one that holds "
            "the text."
        )
    return columns[0]


def _read(place: int, document: Any) -> str:
    if isinstance(document, str):
        return str(document)
    if document is None or (not isinstance(document, bytes) and is_missing(document)):
        return ""
    raise TypeError(
        f"documents[{place}] is of type {type(document).__name__}, but must be a string; "
        "convert it with str() or decode()."
    )


class DocumentRows(NamedTuple):
    """Documents as a model sees them: their words and, if predictions need them, vectors and
    further words."""

    X: sp.csr_array
    side: Side | None = None

    def select(self, rows: Any) -> DocumentRows:
        """Return some documents."""
        return DocumentRows(self.X[rows], None if self.side is None else self.side[rows])

    @property
    def filled(self) -> BoolArray:
        """Which documents have something that predictions rest on."""
        words = np.diff(self.X.indptr) > 0
        return words if self.side is None else words | self.side.filled_rows

    @property
    def given(self) -> dict[str, Any]:
        """The side as an argument of an estimator's methods, if there is one."""
        return {} if self.side is None else {"side": self.side}


def document_rows(model: Any, documents: Any) -> DocumentRows:
    """Return documents as a fitted model sees them."""
    texts = read_documents(documents)
    return DocumentRows(document_matrix(model.vectorizer_, texts), document_side(model, texts))


def document_side(model: Any, texts: list[str]) -> Side | None:
    """Return what predictions of a fitted model need of texts beside their words."""
    record, head = model.fitted.encoder, getattr(model.estimator_, "pooled_head", None)
    vectors, further = None, None
    if record is not None:
        vectors = encode_texts(model.encoder, texts, record.width)
    if head is not None and head.further is not None:
        further = model.fitted.further.of(texts, model.vectorizer_)
    return None if vectors is None and further is None else Side(vectors, further)


def document_matrix(vectorizer: Any, documents: Any) -> sp.csr_array:
    """Return the matrix of documents in the words of a fitted vectorizer."""
    return sp.csr_array(vectorizer.transform(read_documents(documents)))


@dataclass(frozen=True, eq=False)
class FittedDocuments:
    """The matrix of the documents that a model was fitted on, and their side, for a later refit.

    It stays in memory with the model; neither ``save`` nor pickle keeps it.
    """

    texts: str  # digest of the documents
    X: Any
    estimator: Any  # the model's representations and scores of the documents are from this one
    side: Side | None = None  # vectors of an encoder that fit the texts, and further words
    further: Any = None  # the further words of the side, which the fit may not have used
    encoder: Any = None  # the encoder that the fit asked for vectors; None if it asked none

    @staticmethod
    def known(model: Any, texts: list[str]) -> FittedDocuments | None:
        """Return the documents of a model's fit if they are these texts, else None."""
        found: FittedDocuments | None = model.fitted.documents
        return found if found is not None and found.texts == fingerprint(texts) else None

    def __reduce__(self) -> Any:
        return type(None), ()


def known_rows(model: Any, texts: list[str]) -> DocumentRows:
    """Return texts as a fitted model sees them; reuse those of its fit if they are known."""
    known = FittedDocuments.known(model, texts)
    head = getattr(model.estimator_, "pooled_head", None)
    if known is None or (known.side is None and head is not None and head.needs_side):
        return document_rows(model, texts)
    return DocumentRows(known.X, known.side)


def fingerprint(documents: list[str], y: Any = None) -> str:
    """Return a digest of documents and labels; equal digests mean equal data."""
    digest = hashlib.sha256()
    for part in (documents, [] if y is None else _cells(y)):
        digest.update(b"%d\n" % len(part))
        for text in part:
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(encoded) + encoded)
    return digest.hexdigest()


def _cells(y: Any) -> list[str]:
    if holds_sets(y):
        return [repr(None if is_unknown(labels) else sorted(map(str, labels))) for labels in y]
    column = as_frame(y)
    if isinstance(column, nw.Series):
        nulls = column.is_null().to_list()
        pairs = zip(column.to_list(), nulls, strict=True)
        return [str(None if null else cell) for cell, null in pairs]
    array = y.toarray() if hasattr(y, "toarray") else np.asarray(native(column or y), dtype=object)
    return [str(cell) for cell in array.ravel().tolist()]
