"""Numbers about topics."""

from cofactor.metrics.coherence import npmi_coherence, topic_diversity
from cofactor.metrics.matching import accuracy_difference, match_topics

__all__ = ["accuracy_difference", "match_topics", "npmi_coherence", "topic_diversity"]
