"""Text: documents in, topics and predictions out.

`model` holds `TopicModel`, one class with short methods. The work is done elsewhere: `fitting`
fits documents in memory, `streams` batches, and `word_blocks` documents on disk; `vectorizer` turns
documents into a matrix, `seeds` applies seed words, `describe` describes a fitted model, `editing`
changes it, `labelling` helps with labels. Names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cofactor.text.describe.compare import TopicDrift
    from cofactor.text.describe.explain import Contrast, Explanation
    from cofactor.text.describe.table import Table
    from cofactor.text.documents import read_documents
    from cofactor.text.model import TopicModel
    from cofactor.text.vectorizer.word_vectorizer import WordVectorizer

__all__ = [
    "Contrast",
    "Explanation",
    "Table",
    "TopicDrift",
    "TopicModel",
    "WordVectorizer",
    "read_documents",
]

_HOMES = {
    "TopicModel": "model",
    "WordVectorizer": "vectorizer.word_vectorizer",
    "Contrast": "describe.explain",
    "Explanation": "describe.explain",
    "TopicDrift": "describe.compare",
    "Table": "describe.table",
    "read_documents": "documents",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cofactor.text' has no attribute {name!r}")
    return getattr(import_module(f"cofactor.text.{_HOMES[name]}"), name)
