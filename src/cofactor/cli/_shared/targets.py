"""Decides what a model learns from the labels of a table, and converts them to targets.

`label_form` of `cofactor.io.tables.labels` says what the labels look like. `settle_form` combines
that with the user's --task, and `targets_of` returns what `TopicModel.fit` takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cofactor.io.tables import Documents, InputError, Source
from cofactor.io.tables.labels import LabelCounts, join_columns, label_numbers, read_switch

TASKS = {"none": "topics", "numbers": "numbers"} | dict.fromkeys(
    ("classes", "sets", "columns"), "classes"
)
"""The task of a model that learns from labels of a form."""


class NoLabelsError(InputError):
    """A model is to learn from labels, but there are none."""


def settle_form(counts: LabelCounts, asked: str) -> str:
    """Return the form of the targets.

    Parameters
    ----------
    counts : LabelCounts
        The labels of the table.
    asked : str
        The user's --task, or the form that an earlier fit noted.
    """
    form = counts.form
    if form == "none" and asked in ("classes", "numbers"):
        raise NoLabelsError(
            f"--task {asked} needs labels, but there are none; name their column with --label"
            f"{', or give --seed-words for each class' if asked == 'classes' else ''}."
        )
    if asked in ("topics", "none") or form == "none":
        return "none"
    if asked in ("numbers", "sets", "columns"):
        return asked
    if form == "numbers" and asked == "classes":
        form = "classes" if len(counts.columns) == 1 else "sets"
    # Sets of a single label would become a matrix of one column.
    return "classes" if form == "sets" and len(counts.labels) < 2 else form


def count_classes(counts: LabelCounts, form: str) -> int:
    """Return the number of classes or labels that targets of a form have."""
    known = {"none": 0, "numbers": 0, "columns": len(counts.columns)}
    return known.get(form, len(counts.labels))


def targets_of(form: str, source: Source, documents: Documents, columns: Sequence[str]) -> Any:
    """Return the labels of documents as `TopicModel.fit` takes them."""
    cells = documents.label_cells or []
    if form == "none":
        return None
    if form == "classes":
        return [next(iter(join_columns(one) or ("",))) for one in cells]
    if form == "sets":
        return [join_columns(one) for one in cells]
    if form == "numbers" and len(columns) == 1:
        return label_numbers(source, documents, columns[0])
    return _matrix(form, source, documents, columns)


def _matrix(form: str, source: Source, documents: Documents, columns: Sequence[str]) -> Any:
    import numpy as np

    from cofactor.targets.reading import NamedMatrix

    if form == "columns":
        cells = documents.label_cells or []
        return NamedMatrix(np.array([list(map(read_switch, one)) for one in cells]), [*columns])
    values = [label_numbers(source, documents, name, place) for place, name in enumerate(columns)]
    return NamedMatrix(np.column_stack(values), [*columns])
