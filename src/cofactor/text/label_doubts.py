"""What is doubtful about labels in memory; `TopicModel.fit` warns of it before the work.

The counterpart of `cofactor.io.tables.label_advice`, which speaks about labels in tables with the
options of the command line. It imports `targets`, and the rule for the task.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cofactor._warnings import warn
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
    for sentence in _doubts(readable(y, "y"), task, topics):
        warn(sentence)


def _doubts(y: Any, task: str, topics: int) -> Iterator[str]:
    if is_matrix(y):
        classes = np.arange(y.shape[1])
    else:
        labels = known_labels(read_column(y), None)[0]
        try:
            classes = np.unique(labels)
        except TypeError:  # labels without order, which the fit refuses
            return
    if not classes.size:
        yield "y has no label, so the model has topics but predicts nothing; add labels."
    elif classes.size == 1:
        yield f"All labels of y are {str(classes[0])!r}; label some documents of other classes."
    elif task == "auto" and not is_matrix(y) and _are_scores(classes):
        yield (
            f"y holds {classes.size} different whole numbers, read as classes; pass "
            "task='numbers' if their order matters, or task='classes' to say that they are classes."
        )
    elif 1 < topics < classes.size and not is_matrix(y):
        yield (
            f"n_components={topics} is less than the {classes.size} classes, so several classes "
            f"share a topic; n_components={classes.size} gives one to each."
        )


def _are_scores(classes: np.ndarray) -> bool:
    """Tell whether classes are many whole numbers that do not count from 0 on."""
    if classes.dtype.kind not in "iuf" or classes.size <= MOST_CODES:
        return False
    return not np.array_equal(classes, np.arange(classes.size))
