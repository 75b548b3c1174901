"""What is doubtful about labels in memory; `TopicModel.fit` warns of it before the work.

The counterpart of `cofactor.io.tables.label_advice`, which speaks about labels in tables and names
options of the command line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cofactor._warnings import warn
from cofactor.targets.reading import cells_of, is_matrix, known_labels, read_column, readable
from cofactor.targets.task import have_fractions
from cofactor.text.describe.predictions import infer_task


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
    if y is None:
        return
    settled = infer_task(y) if task == "auto" else task
    if settled == "classes":
        for sentence in _doubts(readable(y, "y"), topics):
            warn(sentence)
    elif task == "auto" and settled == "numbers":
        values = cells_of(readable(y, "y")).ravel().tolist()
        if not have_fractions(values):
            warn(
                f"y holds {len({*values} - {None, -1})} different whole numbers, read as numbers; "
                "pass task='classes' if they are codes of classes, or task='numbers' to say that "
                "they are numbers."
            )


def _doubts(y: Any, topics: int) -> Iterator[str]:
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
    elif 1 < topics < classes.size and not is_matrix(y):
        yield (
            f"n_components={topics} is less than the {classes.size} classes, so several classes "
            f"share a topic; n_components={classes.size} gives one to each."
        )
