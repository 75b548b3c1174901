"""Measures of topics and predictions.

`topics` measures coherence and diversity of topics' words and pairs the topics of two models;
`groups` compares topics and features with known groups; `accuracy` has intervals, differences and
calibration of accuracies; `agreement` compares people who labelled the same things.
"""

from cofactor.metrics.accuracy import accuracy_difference
from cofactor.metrics.agreement import cohen_kappa, krippendorff_alpha
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
    "cohen_kappa",
    "krippendorff_alpha",
    "match_topics",
    "npmi_coherence",
    "specificity",
    "top_words",
    "topic_diversity",
    "topic_similarity",
]
