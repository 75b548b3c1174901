"""Factors to start a fit from.

random_or_svd.py  topics without labels: random, or from singular vectors (``plain_start``)
classwise.py      topics from labelled and guessed samples of each class (``class_start``)
samples.py        samples that settle on the data alone; known topics (``start_from_topics``)

Random numbers are drawn per feature, target and topic, never per sample. So integer sample weights
equal repeated rows, permuted rows permute, and blocks of rows agree with one array. Samples start
constant, or from class responsibilities, and take a step on the data alone. No start has exact
zeros, because multiplicative updates could not leave them.
"""

from cofactor.starts.classwise import class_start
from cofactor.starts.random_or_svd import plain_start
from cofactor.starts.samples import even_representation, settled_samples, start_from_topics

__all__ = [
    "class_start",
    "even_representation",
    "plain_start",
    "settled_samples",
    "start_from_topics",
]
