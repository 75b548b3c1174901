"""Text: documents in, topics and predictions out.

`model` holds `TopicModel`, one class with short methods. The work is done by `fitting` (documents
in memory), `streams` (batches), `blocks` (documents on disk) and the functions in `describe`.
`seeds` holds seed words, `vectorizer` turns documents into a matrix. Names are imported when first
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor._lazy import lazy_names

if TYPE_CHECKING:  # type checkers and editors need plain imports
    from cofactor.text.describe.contrast import Contrast as Contrast
    from cofactor.text.describe.explain import Explanation as Explanation
    from cofactor.text.describe.table import Table as Table
    from cofactor.text.documents import read_documents as read_documents
    from cofactor.text.editing.drift import TopicDrift as TopicDrift
    from cofactor.text.model import TopicModel as TopicModel
    from cofactor.text.vectorizer.words import WordVectorizer as WordVectorizer
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "describe.contrast": ["Contrast"],
            "describe.explain": ["Explanation"],
            "describe.table": ["Table"],
            "documents": ["read_documents"],
            "editing.drift": ["TopicDrift"],
            "model": ["TopicModel"],
            "vectorizer.words": ["WordVectorizer"],
        },
    )
