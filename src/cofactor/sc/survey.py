"""Describe the cells of an AnnData file, before a model is fitted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from cofactor.sc.cells import MAX_CELL_TYPES, open_cells, read_labels
from cofactor.sc.fitting import choose_genes

MIN_LABELLED_CELLS = 5
"""Classes with fewer labelled cells are listed."""


def survey(
    data: Any,
    layer: str | None = None,
    labels: str | None = None,
    unlabelled: str | Sequence[str] = (),
    genes: Any = None,
    batch_key: str | None = None,
) -> dict[str, Any]:
    """Return facts about cells in plain types; reject values that are not counts.

    The parameters are those of `cofactor.sc.fit`.
    """
    with open_cells(data, layer) as cells:
        depths: list[np.ndarray] = []
        columns, _ = choose_genes(
            cells,
            genes,
            batch_key,
            each=lambda rows: depths.append(np.asarray(rows.sum(axis=1)).ravel()),
        )
        depth = np.concatenate(depths)
        advice, y = _labels(cells.obs, labels, unlabelled)
        classes = Counter(label for label in y if label is not None)
        few = [name for name, count in classes.items() if count < MIN_LABELLED_CELLS]
        if few:
            advice.append(
                f"Fewer than {MIN_LABELLED_CELLS} labelled cells of {', '.join(few)}: a few more "
                "would help most."
            )
        return {
            "cells": cells.shape[0],
            "genes": cells.shape[1],
            "fitted_genes": len(columns),
            "matrix": cells.place,
            "layers": [name for name in cells.elsewhere if name != "X"],
            "depth": np.percentile(depth, (0, 50, 100)).tolist(),
            "empty": int(np.count_nonzero(depth == 0)),
            "label": labels,
            "labelled": sum(classes.values()),
            "classes": dict(classes.most_common()),
            "advice": advice,
        }


def _labels(obs: Any, labels: str | None, unlabelled: Any) -> tuple[list[str], Any]:
    """Return sentences about the labels, and the label of each cell."""
    if labels is None:
        found = [str(name) for name in obs if _may_be_labels(obs[name])]
        columns = f" Columns that may hold some: {', '.join(found)}." if found else ""
        return [f"No label column is named.{columns}"], []
    return [], read_labels(obs, labels, unlabelled)


def _may_be_labels(column: Any) -> bool:
    """Return whether a column of obs holds a few names."""
    kind = getattr(column.dtype, "kind", "O")
    return kind not in "iufb" and 1 < column.nunique() <= min(
        MAX_CELL_TYPES, max(2, len(column) // 5)
    )
