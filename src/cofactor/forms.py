"""Linear, quadratic and barrier parts of terms and a prior, put together for the kernels."""

from __future__ import annotations

from collections.abc import Sequence

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
    ups = [part.ups for part in parts]
    grams = [part.gram for part in parts]
    scales: list[float | FloatArray] = [
        weight if part.row_scale is None else weight * part.row_scale
        for part, weight in zip(parts, weights, strict=True)
    ]
    up = sum_rows([part.up for part in parts], weights)
    down = sum_rows([part.down for part in parts], weights) if sloped else None
    barrier = np.zeros((1, r))
    if penalty is not None:
        matrix = np.ndim(penalty.up) > 0
        if matrix:
            up = sum_rows([up, np.asarray(penalty.up)], [1.0, 1.0])
        ups.append(np.full(r, 0.0 if matrix else penalty.up))
        grams.append(np.eye(r) * penalty.square)
        scales.append(1.0)
        rows = n if np.ndim(penalty.barrier) else 1
        barrier = np.array(np.broadcast_to(penalty.barrier, (rows, r)), dtype=np.float64)
    none = np.empty((0, r))
    shared = _collapse(ups, grams, scales, n, r)
    return Forms(none if down is None else down, none if up is None else up, *shared, barrier)


def sum_rows(parts: Sequence[FloatArray | None], weights: Sequence[float]) -> FloatArray | None:
    """Return the weighted sum of the arrays that are there."""
    total: FloatArray | None = None
    for part, weight in zip(parts, weights, strict=True):
        if part is not None:
            scaled = part if weight == 1.0 else part * weight
            total = scaled if total is None else total + scaled
    return total


def _collapse(
    ups: list[FloatArray],
    grams: list[FloatArray],
    scales: list[float | FloatArray],
    n: int,
    r: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sum the forms that all rows share; keep apart those whose weight changes from row to row."""
    up, square, apart = np.zeros(r), np.zeros((r, r)), []
    for t, scale in enumerate(scales):
        if isinstance(scale, np.ndarray):
            apart.append(t)
        else:
            up += scale * ups[t]
            square += scale * grams[t]
    if not apart:
        return up[None], square[None], np.ones((1, 1))
    each = np.ones((n, 1 + len(apart)))
    for column, t in enumerate(apart, 1):
        each[:, column] = scales[t]
    return (
        np.array([up, *(ups[t] for t in apart)]),
        np.array([square, *(grams[t] for t in apart)]),
        each,
    )


def some_rows(forms: Forms, low: int, high: int) -> Forms:
    """Return the forms of some rows; what all rows share stays as it is."""
    return Forms(*(a[low:high] if i not in (2, 3) and len(a) > 1 else a
                   for i, a in enumerate(forms)))  # fmt: skip
