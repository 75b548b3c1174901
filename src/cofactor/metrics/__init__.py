"""Measures of topics.

`clustering` compares topics with known groups; `topics` measures coherence and diversity of their
words; `matching` pairs the topics of two models; `markers` finds features that tell groups
apart.
"""

from cofactor.metrics.clustering import ClusteringScore, clustering_score
from cofactor.metrics.markers import specificity
from cofactor.metrics.matching import accuracy_difference, match_topics, topic_similarity
from cofactor.metrics.topics import npmi_coherence, top_words, topic_diversity

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
