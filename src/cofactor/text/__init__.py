"""Text: documents in, topics and predictions out.

`model` holds `TopicModel`, one class with short methods. The work is done elsewhere: `fitting`
fits documents in memory, `streams` batches, and `word_blocks` documents on disk; `vectorizer` turns
documents into a matrix, `encoders` into vectors, `seeds` applies seed words, `class_names` labels
documents by the names of classes, `describe` describes a fitted model, `editing`
changes it, `labelling` helps with labels. Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor._lazy import lazy_names

if TYPE_CHECKING:  # type checkers and editors need plain imports
    from cofactor.text.describe.compare import TopicDrift as TopicDrift
    from cofactor.text.describe.explain import Contrast as Contrast
    from cofactor.text.describe.explain import Explanation as Explanation
    from cofactor.text.describe.table import Table as Table
    from cofactor.text.documents import read_documents as read_documents
    from cofactor.text.encoder_cache import CachedEncoder as CachedEncoder
    from cofactor.text.encoder_cache import EncoderCacheError as EncoderCacheError
    from cofactor.text.model import TopicModel as TopicModel
    from cofactor.text.vectorizer.word_vectorizer import WordVectorizer as WordVectorizer
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "describe.compare": ["TopicDrift"],
            "describe.explain": ["Contrast", "Explanation"],
            "describe.table": ["Table"],
            "documents": ["read_documents"],
            "encoder_cache": ["CachedEncoder", "EncoderCacheError"],
            "model": ["TopicModel"],
            "vectorizer.word_vectorizer": ["WordVectorizer"],
        },
    )
