"""Write a model for topicwizard: its data as JSON and .npz, and a script that opens them.

The files of topicwizard itself are pickles, which are not safe to open, so we do not write them.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from cofactor.io.atomic import replacing, write_text
from cofactor.io.json_text import to_json
from cofactor.io.tables.labels import one_cell

SCRIPT = '''\
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


def write_wizard(model: Any, folder: Path, documents: list[str]) -> list[str]:
    """Write a folder whose ``show.py`` opens the topics in topicwizard; return the files' names.

    Parameters
    ----------
    model : TopicModel
        A fitted model.
    folder : Path
        The folder for the files.
    documents : list of str
        Documents to show, which topicwizard needs. Documents without a known word are left out.

    Returns
    -------
    list of str
    """
    folder.mkdir(parents=True, exist_ok=True)
    X, S = model.vectorizer_.transform(documents), np.asarray(model.transform(documents))
    filled = np.flatnonzero(S.sum(axis=1) > 0)
    kept = [documents[place] for place in filled]
    with replacing(folder / "arrays.npz") as file:
        file.write(_arrays(X[filled], S[filled], model.estimator_.components_))
    write_text(folder / "topics.json", to_json(_facts(model, kept)) + "\n")
    write_text(folder / "show.py", SCRIPT)
    return ["arrays.npz", "topics.json", "show.py"]


def _arrays(X: Any, S: np.ndarray, topics: np.ndarray) -> bytes:
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


def _facts(model: Any, documents: list[str]) -> dict[str, Any]:
    said = model.documents(documents).column("prediction")
    return {
        "corpus": documents,
        "vocabulary": [str(word) for word in model.vectorizer_.get_feature_names_out()],
        "topic_names": [str(name) for name in model.topic_names_],
        "predictions": None if said[:1] == [None] else [str(one_cell(one)) for one in said],
    }
