"""The labels of cells: a column of obs, in which some cells are unlabelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from cofactor._warnings import warn
from cofactor.errors import Parameter, ParameterError, ParameterWarning
from cofactor.io.errors import InputError, suggestion
from cofactor.io.tables.label_advice import marks, names
from cofactor.io.tables.labels import LabelCounts
from cofactor.targets.missing import is_missing

MOST = 500
"""Maximum number of classes; a column with more is no column of cell types."""


def read_labels(obs: Any, column: str, unlabelled: str | Sequence[str] = ()) -> np.ndarray:
    """Return the label of each cell as text, None for cells that are not labelled.

    Parameters
    ----------
    obs : DataFrame
        The table of cells.
    column : str
        Its column of labels. Missing values, None and "" are unlabelled.
    unlabelled : str or sequence of str
        Further values that mean "not labelled".
    """
    if not isinstance(column, str):
        raise InputError(f"labels is {column!r}; pass the name of one column of obs.")
    if column not in obs:
        known = suggestion(column, [str(name) for name in obs.columns])
        raise ParameterError((Parameter("labels", column), " is not a column of obs"), known)
    marked = {unlabelled} if isinstance(unlabelled, str) else set(map(str, unlabelled))
    cells = obs[column].astype(object).to_numpy()
    if any(_is_fraction(cell) for cell in cells):
        raise ParameterError(
            (Parameter("labels", column), " holds fractions, so it is a measurement"),
            "name a column of classes",
        )
    texts = [None if is_missing(cell) else _text(cell) for cell in cells]
    unused = marked - set(texts)
    if unused:
        known = suggestion(min(unused), sorted({text for text in texts if text is not None}))
        raise ParameterError(
            (Parameter("unlabelled", min(unused)), f" is not a value of obs[{column!r}]"), known
        )
    labels = np.array([None if text in marked else text for text in texts], dtype=object)
    _doubt(labels, column)
    return labels


def _is_fraction(cell: Any) -> bool:
    return isinstance(cell, float | np.floating) and not is_missing(cell) and bool(cell % 1)


def _text(cell: Any) -> str:
    """Return a label as text; whole numbers, which missing values turn into floats, stay whole."""
    whole = isinstance(cell, float | np.floating)
    return str(int(cell)) if whole else str(cell)


def _doubt(labels: np.ndarray, column: str) -> None:
    counts = Counter(label for label in labels if label is not None)
    if not counts:
        raise ParameterError(
            (Parameter("labels", column), " has no labelled cell"),
            "label some, or leave it out to find topics without labels",
        )
    if len(counts) > MOST:
        raise ParameterError(
            (
                Parameter("labels", column),
                f" has {len(counts):,} classes for {counts.total():,} cells",
            ),
            "name a column of cell types",
        )
    found = marks(LabelCounts([counts], documents=len(labels), labelled=counts.total()))
    if found:
        mean = "means" if len(found) == 1 else "mean"
        options = [Parameter("unlabelled", found[0] if len(found) == 1 else found)]
        reason = f"If {names(found)} in obs[{column!r}] {mean} not labelled, say so with "
        warn(ParameterWarning((reason, *options)))
