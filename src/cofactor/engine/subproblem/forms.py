"""Linear, quadratic and barrier parts of terms and a prior, put together for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from cofactor._types import FloatArray
from cofactor.engine.kernels import Forms
from cofactor.engine.subproblem.terms import Linear
from cofactor.priors import Penalty


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
    down = up = ups = gram = None
    apart: list[tuple[Linear, float]] = []
    for part, weight in zip(parts, weights, strict=True):
        up = _plus(up, part.up, weight)
        if sloped:
            down = _plus(down, part.down, weight)
        if part.row_scale is None:
            ups, gram = _plus(ups, part.ups, weight), _plus(gram, part.gram, weight)
        else:
            apart.append((part, weight))
    blank = _blank(r)
    forms = Forms(
        blank.down if down is None else down,
        blank.up if up is None else up,
        blank.ups if ups is None else ups[None],
        blank.grams if gram is None else gram[None],
        blank.scales,
        blank.barrier,
    )
    if apart:
        forms = _beside(forms, apart, n)
    return forms if penalty is None else _with_prior(forms, penalty, n)


def _plus(total: FloatArray | None, part: FloatArray | None, weight: float) -> FloatArray | None:
    """Add what may be absent."""
    if part is None:
        return total
    scaled = part if weight == 1.0 else part * weight
    return scaled if total is None else total + scaled


def _beside(forms: Forms, apart: Sequence[tuple[Linear, float]], n: int) -> Forms:
    """Put forms whose weight changes from row to row beside the one that all rows share."""
    none = _blank(forms.ups.shape[1])
    ups, grams, scales = [forms.ups[0]], [forms.grams[0]], np.ones((n, 1 + len(apart)))
    for t, (part, weight) in enumerate(apart, 1):
        ups.append(none.ups[0] if part.ups is None else part.ups)
        grams.append(none.grams[0] if part.gram is None else part.gram)
        scales[:, t] = weight * np.asarray(part.row_scale)
    return forms._replace(ups=np.array(ups), grams=np.array(grams), scales=scales)


def _with_prior(forms: Forms, penalty: Penalty, n: int) -> Forms:
    up, ups, grams = forms.up, forms.ups.copy(), forms.grams.copy()
    r = ups.shape[1]
    if np.ndim(penalty.up) > 0:
        up = np.asarray(penalty.up) + up if len(up) else np.asarray(penalty.up)
    else:
        ups[0] += penalty.up
    grams[0] += np.eye(r) * penalty.square
    rows = n if np.ndim(penalty.barrier) else 1
    barrier = np.array(np.broadcast_to(penalty.barrier, (rows, r)), dtype=np.float64)
    return forms._replace(up=up, ups=ups, grams=grams, barrier=barrier)


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
        total = _plus(total, part, weight)
    return total


def some_rows(forms: Forms, low: int, high: int) -> Forms:
    """Return the forms of some rows; what all rows share stays as it is."""
    down, up, ups, grams, scales, barrier = forms
    return Forms(
        down[low:high] if len(down) > 1 else down,
        up[low:high] if len(up) > 1 else up,
        ups,
        grams,
        scales[low:high] if len(scales) > 1 else scales,
        barrier[low:high] if len(barrier) > 1 else barrier,
    )
