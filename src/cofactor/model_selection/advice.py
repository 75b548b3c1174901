"""One sentence about a choice: what to take, and what decided."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cofactor.model_selection.rule import Decision
from cofactor.model_selection.trials import Parameters

WORSE = {
    "labels": "held-out labels are predicted worse",
    "cells": "held-out cells are predicted worse",
    "stability": "topics are less stable",
    "": "nothing is gained",
}
"""What a criterion says of the candidates that it excludes; "" stands for none."""


def advise(grid: Sequence[Parameters], decision: Decision) -> str:
    """Return a sentence about the choice.

    It names the criterion that excluded the next smaller number of topics and the one that excluded
    the next larger number.
    """
    sizes = [parameters["n_components"] for parameters in grid]
    chosen = sizes[decision.chosen]
    taken = f"Take {_topics(chosen)}"
    if "supervision" in grid[decision.chosen]:
        taken += f" with supervision={grid[decision.chosen]['supervision']}"
    if len(set(sizes)) == 1:
        return f"{taken}: no other number was tried."
    reasons = [_why_not_fewer(sizes, decision), _why_not_more(sizes, decision)]
    return f"{taken}: {', and '.join(filter(None, reasons))}."


def _topics(k: int) -> str:
    return "1 topic" if k == 1 else f"{k} topics"


def _why_not_fewer(sizes: Sequence[int], decision: Decision) -> str:
    chosen = sizes[decision.chosen]
    if chosen == min(sizes):
        return "it is the smallest number that was tried"
    near = max(k for k in sizes if k < chosen)
    return f"with {near}, {WORSE[_excluded_by(near, sizes, decision)]}"


def _why_not_more(sizes: Sequence[int], decision: Decision) -> str:
    chosen = sizes[decision.chosen]
    if chosen == max(sizes):
        return "it is the largest number that was tried, so try larger ones, too"
    near = min(k for k in sizes if k > chosen)
    return f"with {near}, {WORSE[_excluded_by(near, sizes, decision)]}"


def _excluded_by(k: int, sizes: Sequence[int], decision: Decision) -> str:
    """Return the criterion that excluded the last of the candidates with k topics, or ""."""
    names = list(decision.left)
    found = [decision.excluded_by(int(c)) for c in np.flatnonzero(np.equal(sizes, k))]
    return max((name or "" for name in found), key=lambda n: names.index(n) if n else len(names))
