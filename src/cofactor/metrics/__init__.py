"""Measures of topics and predictions.

`topics` measures coherence and diversity of topics' words and pairs the topics of two models;
`groups` compares topics and features with known groups; `accuracy` has intervals, differences and
calibration of accuracies.
"""

from cofactor.metrics.accuracy import accuracy_difference
from cofactor.metrics.groups import ClusteringScore, clustering_score, specificity
from cofactor.metrics.topics import (
    match_topics,
    npmi_coherence,
    top_words,
    topic_diversity,
    topic_similarity,
)

__all__ = [
    "ClusteringScore",
    "accuracy_difference",
    "clustering_score",
    "match_topics",
    "npmi_coherence",
    "specificity",
    "top_words",
    "topic_diversity",
    "topic_similarity",
]
