"""Measures of topics: do they find known groups, do their words belong together, do they differ?"""

from cofactor.metrics.clustering import ClusteringScore, clustering_score
from cofactor.metrics.matching import accuracy_difference, match_topics
from cofactor.metrics.topics import npmi_coherence, top_words, topic_diversity

__all__ = [
    "ClusteringScore",
    "accuracy_difference",
    "clustering_score",
    "match_topics",
    "npmi_coherence",
    "top_words",
    "topic_diversity",
]
