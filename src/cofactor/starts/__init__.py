"""Factors to start a fit from.

random.py     random topics and targets (``plain_start``)
svd.py        topics from singular vectors (NNDSVD)
classwise.py  topics from labelled and guessed samples of each class (``class_start``)
topics.py     topics that are known (``start_from_topics``)
shared.py     functions that all starts use

Random numbers are drawn per feature, target and topic, never per sample.  So integer sample weights
equal repeated rows, permuted rows permute, and blocks of rows agree with one array.  Samples start
constant, or from class responsibilities, and take a step on the data alone.  No start has exact
zeros, because multiplicative updates could not leave them.
"""

from cofactor.starts.classwise import class_start
from cofactor.starts.random import plain_start, settled_samples
from cofactor.starts.shared import even_representation
from cofactor.starts.topics import start_from_topics

__all__ = [
    "class_start",
    "even_representation",
    "plain_start",
    "settled_samples",
    "start_from_topics",
]
