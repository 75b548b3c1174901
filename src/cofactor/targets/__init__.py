"""y ↔ target matrix and weights.

- ``missing``: the one rule for "unlabelled"
- ``reading``: arrays, frames and sparse matrices become something with a shape
- ``classes``: labels, several labels a sample, soft labels
- ``values``: numbers
- ``sets``: sets of label names become an indicator
- ``matrix``: the target matrix Y with its weights L
- ``class_weights``: how much a label counts because of its class
"""

from cofactor.targets.class_weights import (
    class_weights,
    label_shares,
    refuse_weightless,
    weigh_classes,
)
from cofactor.targets.classes import ClassCoding, encode_classes
from cofactor.targets.matrix import Targets, complete, stack
from cofactor.targets.missing import is_missing, known_values, labelled_mask
from cofactor.targets.values import ValueCoding, encode_values

__all__ = [
    "ClassCoding",
    "Targets",
    "ValueCoding",
    "class_weights",
    "complete",
    "encode_classes",
    "encode_values",
    "is_missing",
    "known_values",
    "label_shares",
    "labelled_mask",
    "refuse_weightless",
    "stack",
    "weigh_classes",
]
