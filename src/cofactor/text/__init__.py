"""Text: documents in, topics and predictions out.

Names are loaded when first used: the docstring corpus is of use without scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "TopicModel": "model",
    "WordVectorizer": "vectorizer.words",
    "Explanation": "describe.explain",
    "Table": "describe.table",
    "read_documents": "documents",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cofactor.text' has no attribute {name!r}")
    return getattr(import_module(f"cofactor.text.{_HOMES[name]}"), name)
