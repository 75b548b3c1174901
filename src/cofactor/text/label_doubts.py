"""Warnings of `TopicModel.fit` about labels, before the work begins.

`cofactor.io.tables.label_advice` decides what is doubtful about classes; tables and labels in
memory are judged by the same function.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cofactor._warnings import warn
from cofactor.errors import Parameter, ParameterWarning
from cofactor.io.tables.label_advice import class_doubts
from cofactor.targets.missing import known_labels
from cofactor.targets.reading import is_matrix, read_column, readable
from cofactor.text.describe.predictions import infer_task

MOST_CODES = 10
"""Number of distinct whole numbers up to which labels are codes of classes, like 1 to 5 stars."""


def warn_of_labels(y: Any, task: str, topics: int) -> None:
    """Warn of labels that hold no class, one class, numbers, or more classes than topics.

    Parameters
    ----------
    y : object
        Labels, as `read_targets` returns them.
    task : str
        The task of the fit; "auto" where y decided.
    topics : int
        Number of topics.
    """
    if (infer_task(y) if task == "auto" else task) != "classes" or y is None:
        return
    for doubt in _doubts(readable(y, "y"), task, topics):
        warn(doubt)


def _doubts(y: Any, task: str, topics: int) -> Iterator[ParameterWarning]:
    if is_matrix(y):
        classes = np.arange(y.shape[1])
    else:
        labels = known_labels(read_column(y), None)[0]
        try:
            classes = np.unique(labels)
        except TypeError:  # labels without order, which the fit refuses
            return
    several = is_matrix(y)
    if task == "auto" and not several and classes.size > 1 and _are_scores(classes):
        yield ParameterWarning(
            (Parameter("y"), f" holds {classes.size} different whole numbers, read as classes"),
            (
                "pass ",
                Parameter("task", "numbers"),
                " if their order matters, or ",
                Parameter("task", "classes"),
                " to say that they are classes",
            ),
        )
    else:
        yield from class_doubts(classes.tolist(), 0 if several else topics)


def _are_scores(classes: np.ndarray) -> bool:
    """Tell whether classes are many whole numbers that do not count from 0 on."""
    if classes.dtype.kind not in "iuf" or classes.size <= MOST_CODES:
        return False
    return not np.array_equal(classes, np.arange(classes.size))
