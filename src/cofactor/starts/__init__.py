"""Starts.  Random numbers are drawn per feature, target and topic, never per sample.

So integer sample weights equal repeated rows, permuted rows permute, and blocks of rows agree with
one array.  Samples start constant (or from class responsibilities) and take a step that sees the
data only.  No start has exact zeros, which multiplicative updates could not leave.
"""

from cofactor.guesses.naive_bayes import (
    Classes,
    Guess,
    counted,
    guess_classes,
    spread_classes,
)
from cofactor.starts.classwise import class_start
from cofactor.starts.random import plain_start, settled_samples
from cofactor.starts.shared import even_representation

__all__ = [
    "Classes",
    "Guess",
    "class_start",
    "counted",
    "even_representation",
    "guess_classes",
    "plain_start",
    "settled_samples",
    "spread_classes",
]
