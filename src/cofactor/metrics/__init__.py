"""Measures of topics: do they find known groups, do their words belong together, do they differ?"""

from cofactor.metrics.clustering import ClusteringScore, clustering_score
from cofactor.metrics.topics import npmi_coherence, top_words, topic_diversity

__all__ = ["ClusteringScore", "clustering_score", "npmi_coherence", "top_words", "topic_diversity"]
