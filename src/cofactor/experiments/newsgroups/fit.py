"""One fit to the newsgroups, and the numbers that are reported of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor._types import FloatArray
from cofactor.experiments.newsgroups.corpus import Corpus
from cofactor.experiments.newsgroups.models import PROCEDURES, Topics
from cofactor.experiments.tables import as_cell
from cofactor.experiments.trials import Result, Settings
from cofactor.metrics import clustering_score, npmi_coherence, top_words, topic_diversity

WORDS = 10
"""Keywords per topic, as in the paper."""


def select(settings: Settings, corpus: Corpus) -> Result:
    """Learn from the training posts; return the accuracy on the validation posts."""
    outcome = PROCEDURES[settings["procedure"]](settings, corpus.selection)
    return {"accuracy": next(iter(outcome.accuracy.values()))}


def trial(settings: Settings, corpus: Corpus) -> Result:
    """Learn from training and validation posts; describe topics and accuracy on the test posts."""
    outcome = PROCEDURES[settings["procedure"]](settings, corpus.final)
    described = {} if outcome.topics is None else describe(outcome.topics, corpus)
    accuracy = outcome.accuracy
    own = next(iter(accuracy.values()))
    return {"accuracy": own, "accuracies": accuracy, **outcome.facts, **described}


def describe(topics: Topics, corpus: Corpus) -> dict[str, Any]:
    """Return words, classes, groups and measures of each topic, as plain lists."""
    words = np.array(corpus.final.words)
    total = topics.head.sum(axis=1, keepdims=True)
    shares = np.divide(topics.head, total, out=np.zeros_like(topics.head), where=total > 0)
    top = top_words(topics.components, WORDS)
    scaled = topics.documents * topics.components.sum(axis=1)  # gives topics equal mass
    return {
        "words": [words[columns].tolist() for columns in top],
        "shares": shares.tolist(),
        "classes": np.unique(corpus.final.y).tolist(),
        **{kind: _clusters(topics.documents, corpus, kind) for kind in ("hard", "soft")},
        **{f"{kind}_scaled": _clusters(scaled, corpus, kind) for kind in ("hard", "soft")},
        "coherence": [as_cell(value) for value in npmi_coherence(top, corpus.final.X)],
        "diversity": topic_diversity(top),
    }


def _clusters(documents: FloatArray, corpus: Corpus, assignment: str) -> dict[str, Any]:
    score = clustering_score(documents, corpus.groups, assignment=assignment)
    return {"scores": score.scores.tolist(), "groups": score.groups.tolist()}
