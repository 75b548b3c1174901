"""Numbers about topics."""

from cofactor.metrics.coherence import npmi_coherence, topic_diversity

__all__ = ["npmi_coherence", "topic_diversity"]
