"""Linear, quadratic and barrier parts of terms and a prior, put together for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from cofactor.kernels import Forms
from cofactor.priors import Penalty
from cofactor.sides import Linear
from cofactor.typing import FloatArray


def merge(
    parts: Sequence[Linear],
    weights: Sequence[float],
    penalty: Penalty | None,
    shape: tuple[int, int],
    *,
    sloped: bool = True,
) -> Forms:
    """Put the linear and quadratic parts of terms and a prior together; ``sloped=False`` leaves
    the terms' downward slopes to the kernel."""
    n, r = shape
    blank = _blank(r)
    up = sum_rows([part.up for part in parts], weights)
    down = sum_rows([part.down for part in parts], weights) if sloped else None
    ups, grams, scales = _collapse(parts, weights, n, blank)
    barrier = blank.barrier
    if penalty is not None:
        ups, grams = ups.copy(), grams.copy()
        if np.ndim(penalty.up) > 0:
            up = sum_rows([up, np.asarray(penalty.up)], [1.0, 1.0])
        else:
            ups[0] += penalty.up
        grams[0] += np.eye(r) * penalty.square
        rows = n if np.ndim(penalty.barrier) else 1
        barrier = np.array(np.broadcast_to(penalty.barrier, (rows, r)), dtype=np.float64)
    return Forms(
        blank.down if down is None else down, blank.up if up is None else up, ups, grams, scales,
        barrier,
    )  # fmt: skip


@cache
def _blank(r: int) -> Forms:
    """Return the forms of no term; nobody changes them."""
    none = np.empty((0, r))
    one, zeros = np.ones((1, 1)), np.zeros((1, r))
    return Forms(none, none, zeros, np.zeros((1, r, r)), one, zeros)


def sum_rows(parts: Sequence[FloatArray | None], weights: Sequence[float]) -> FloatArray | None:
    """Return the weighted sum of the arrays that are there."""
    total: FloatArray | None = None
    for part, weight in zip(parts, weights, strict=True):
        if part is not None:
            scaled = part if weight == 1.0 else part * weight
            total = scaled if total is None else total + scaled
    return total


def _collapse(
    parts: Sequence[Linear], weights: Sequence[float], n: int, blank: Forms
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sum the forms that all rows share; keep apart those whose weight changes from row to row."""
    apart = [t for t, part in enumerate(parts) if part.row_scale is not None]
    ups = _stack([part.ups for part in parts], weights, apart, blank.ups)
    grams = _stack([part.gram for part in parts], weights, apart, blank.grams)
    if not apart:
        return ups, grams, blank.scales
    each = np.ones((n, 1 + len(apart)))
    for column, t in enumerate(apart, 1):
        each[:, column] = weights[t] * np.asarray(parts[t].row_scale)
    return ups, grams, each


def _stack(
    found: Sequence[FloatArray | None], weights: Sequence[float], apart: Sequence[int],
    blank: FloatArray,
) -> FloatArray:  # fmt: skip
    """Return the weighted sum of forms, then those that are kept apart."""
    if not apart:
        total = sum_rows(found, weights)
        return blank if total is None else total[None]
    alike = [None if t in apart else form for t, form in enumerate(found)]
    rows = [sum_rows(alike, weights), *(found[t] for t in apart)]
    return np.array([blank[0] if row is None else row for row in rows])


def some_rows(forms: Forms, low: int, high: int) -> Forms:
    """Return the forms of some rows; what all rows share stays as it is."""
    each = forms.down, forms.up, forms.scales, forms.barrier
    down, up, scales, barrier = (a[low:high] if len(a) > 1 else a for a in each)
    return Forms(down, up, forms.ups, forms.grams, scales, barrier)
