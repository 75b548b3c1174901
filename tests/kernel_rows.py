"""Random row problems for the kernels, and their values by naive numpy."""

import math

import numpy as np
import pytest

from cofactor.engine import kernels
from cofactor.engine.factors import pad, padded_width
from cofactor.engine.kernels import EPSILON, Entries, Forms, Slopes
from cofactor.engine.subproblem.problem import no_slopes


def descend_rows(V, entries, F, forms, rounds, sweeps, tolerance):
    all_topics = entries.log.size == 0 and not np.any(forms.barrier)
    settings = rounds, sweeps, tolerance, all_topics
    return all_at_once(kernels.descend_slices, V, entries, F, forms, *settings)


def multiply_rows(V, entries, F, forms, rounds, tolerance, epsilon, ridge):
    """Update rows in place, as the descent does; the kernel knows padded rows only, and takes
    downward slopes for entries."""
    none = no_slopes(V.dtype)
    down = as_entries(np.broadcast_to(forms.down, V.shape)) if len(forms.down) else none
    barred = bool(np.any(forms.barrier))
    old, new = pad(V), np.full((len(V), F.shape[1]), np.nan)
    settings = rounds, tolerance, epsilon, ridge
    unfinished = kernels.multiply_slices(
        old, new, entries, F, forms, (down, none), barred, *settings
    )
    assert not new[:, V.shape[1] :].any()
    V[:] = new[:, : V.shape[1]]
    return unfinished


def as_entries(down):
    """Return slopes as entries of the rows of a unit matrix, halved, with a weight of two."""
    n, r = down.shape
    indices, start = np.tile(np.arange(r), n).astype(np.int32), np.arange(n + 1) * r
    return Slopes(0.5 * down.ravel(), indices, start, start[:-1], pad(np.eye(r)), 2.0)


def all_at_once(kernel, V, *arguments):
    """Run a kernel on one slice of all rows, without weights and costs."""
    return kernel(V, *arguments, np.empty(0), 0, np.array([0, len(V)]), np.empty((1, 0)))


def padded_factor(rng, rows, width):
    F = np.zeros((rows, padded_width(width)))
    F[:, :width] = rng.random((rows, width))
    return F


def random_rows(rng, n, r, m, *, square, barrier, curved=True, inverse=False):
    """Row problems with every part that is asked for."""
    lengths = rng.integers(0, m + 1, n) if curved else np.zeros(n, int)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    indices = [rng.permutation(m)[:length] for length in lengths]
    size = int(start[-1])

    def part(wanted):
        return rng.exponential(size=size) * (rng.random(size) < 0.8) if wanted else np.empty(0)

    entries = Entries(
        part(curved), part(square), part(inverse), part(inverse),
        np.concatenate([*indices, []]).astype(np.int32), start, start[:-1],
    )  # fmt: skip
    roots = rng.random((2, r + 1, r)) * (rng.random((2, 1, 1)) < 0.7)
    forms = Forms(
        rng.exponential(size=(n, r)) if rng.random() < 0.5 else np.empty((0, r)),
        rng.exponential(size=(n, r)) if rng.random() < 0.5 else np.empty((0, r)),
        rng.exponential(size=(2, r)),
        np.array([root.T @ root + 1e-3 * np.eye(r) for root in roots]),
        rng.exponential(size=(n, 2)) if rng.random() < 0.5 else np.ones((1, 2)),
        rng.exponential(size=(n, r)) * (rng.random((n, r)) < 0.7) if barrier else np.zeros((1, r)),
    )
    F = padded_factor(rng, m, r) * np.exp(2 * rng.standard_normal((m, 1)))
    return entries, forms, F


def row_value(v, i, entries, forms, F, epsilon=EPSILON):
    """The objective of row i, literally."""
    s, e = entries.start[i], entries.start[i + 1]
    index = entries.indices[entries.first[i] : entries.first[i] + e - s]
    bare = F[index, : len(v)] @ v
    p = bare + epsilon
    scales = forms.scales[i if len(forms.scales) > 1 else 0]
    barrier = forms.barrier[i if len(forms.barrier) > 1 else 0]
    terms = [0.5 * t * v @ G @ v for t, G in zip(scales, forms.grams, strict=True)]
    terms += [t * up @ v for t, up in zip(scales, forms.ups, strict=True)]
    terms += [forms.up[i] @ v] if len(forms.up) else []
    terms += [-forms.down[i] @ v] if len(forms.down) else []
    terms += [*(-entries.log[s:e] * np.log(p))] if entries.log.size else []
    terms += [*(0.5 * entries.square[s:e] * bare**2)] if entries.square.size else []
    if entries.inverse.size:
        terms += [*(entries.inverse[s:e] / p + entries.concave[s:e] * np.log(p))]
    seen = barrier > 0
    terms += [*(-barrier[seen] * np.log(v[seen]))]
    return math.fsum(terms), math.fsum(map(abs, terms))


PARTS = pytest.mark.parametrize(
    ("square", "barrier", "curved"),
    [(s, b, c) for s in (False, True) for b in (False, True) for c in (True, False) if c or not s],
)
