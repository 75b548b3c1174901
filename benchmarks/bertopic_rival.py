"""Runs BERTopic for ``benchmarks.bertopic``, in an environment that need not have cofactor.

    python benchmarks/bertopic_rival.py FOLDER

Reads the texts and vectors in FOLDER; writes the topics' words, outliers and times there.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from bertopic import BERTopic
from sklearn.feature_extraction.text import CountVectorizer
from umap import UMAP


def new_model(topics: int) -> Any:
    """Return BERTopic with its defaults, fixed random numbers and English stop words."""
    return BERTopic(
        nr_topics=topics + 1,  # one is that of the outliers
        umap_model=UMAP(
            n_neighbors=15, n_components=5, min_dist=0, metric="cosine", random_state=0
        ),
        vectorizer_model=CountVectorizer(stop_words="english"),
    )


def main() -> None:
    folder = Path(sys.argv[1])
    given = json.loads((folder / "texts.json").read_text())
    vectors, unseen = np.load(folder / "vectors.npy"), np.load(folder / "unseen.npy")
    new_model(5).fit(given["texts"][:500], vectors[:500])  # compiles what is compiled
    start = time.process_time()
    model = new_model(given["topics"])
    found, _ = model.fit_transform(given["texts"], vectors)
    seconds = time.process_time() - start
    other, _ = model.transform(given["unseen"], unseen)
    words = {k: [word for word, _ in rows if word] for k, rows in model.get_topics().items()}
    result = {
        "words": [own[:10] for k, own in sorted(words.items()) if k >= 0],
        "seconds": seconds,
        "outliers": float(np.mean(np.array(found) < 0)),
        "unseen_outliers": float(np.mean(np.array(other) < 0)),
    }
    (folder / "result.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
