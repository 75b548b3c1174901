"""Choosing and trusting models: how much topics depend on the samples that happen to be there."""

from cofactor.model_selection.stability import bootstrap_counts, topic_stability

__all__ = ["bootstrap_counts", "topic_stability"]
