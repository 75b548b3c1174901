"""y ↔ target matrix and weights.

- ``missing``: the one rule for "unlabelled"
- ``reading``: arrays, frames and sparse matrices become something with a shape
- ``classes``: labels, several labels a sample, soft labels
- ``values``: numbers
- ``sets``: sets of label names become an indicator
- ``matrix``: the target matrix Y with its weights L
"""

from cofactor.targets.classes import ClassCoding, encode_classes
from cofactor.targets.matrix import Targets, complete, stack
from cofactor.targets.missing import is_missing, known_values, labelled_mask
from cofactor.targets.values import ValueCoding, encode_values

__all__ = [
    "ClassCoding",
    "Targets",
    "ValueCoding",
    "complete",
    "encode_classes",
    "encode_values",
    "is_missing",
    "known_values",
    "labelled_mask",
    "stack",
]
