"""Vectorizers of the user's own: a model folder names them, and `load_model` is given them again.

A folder cannot hold code, and loading one must not run any. So it keeps the name of the class and
the words of the columns; the vectorizer itself comes from the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from cofactor.io.models.errors import NoModelError
from cofactor.io.untrusted import require


@dataclass(frozen=True, eq=False)
class OwnVectorizer:
    """Stands for a vectorizer that a model folder cannot hold."""

    name: str  # of its class
    words_: np.ndarray

    @classmethod
    def of(cls, vectorizer: Any) -> OwnVectorizer:
        """Return what stands for a fitted vectorizer."""
        kind = type(vectorizer)
        words = np.array([str(word) for word in vectorizer.get_feature_names_out()], dtype=object)
        return cls(f"{kind.__module__}.{kind.__qualname__}", words)

    def get_feature_names_out(self) -> np.ndarray:
        """Return the names of the columns."""
        return self.words_


def check_own(own: OwnVectorizer) -> None:
    """Refuse a stand-in that `OwnVectorizer.of` cannot have made."""
    require(isinstance(own.name, str), "its name is not a string")
    good = isinstance(own.words_, np.ndarray) and own.words_.ndim == 1
    require(good and all(isinstance(word, str) for word in own.words_), "its words are no strings")


def put_back(model: Any, vectorizer: Any) -> None:
    """Give a loaded model the vectorizer that it was fitted with."""
    own = model.vectorizer_
    if vectorizer is None:
        raise NoModelError(
            f"it was fitted with a vectorizer of your own, {own.name}; pass that vectorizer, "
            "fitted: cofactor.load_model(path, vectorizer=...)"
        )
    words = [str(word) for word in vectorizer.get_feature_names_out()]
    if words != own.words_.tolist():
        raise NoModelError(
            f"vectorizer has {len(words)} columns that are not the {len(own.words_)} of the model; "
            f"pass the fitted {own.name} that made them"
        )
    model.vectorizer_, model.vectorizer = vectorizer, clone(vectorizer, safe=False)
