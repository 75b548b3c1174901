"""Random row problems for the kernels, and their values by naive numpy."""

import math
from dataclasses import replace

import numpy as np
import pytest

from cofactor.engine import kernels
from cofactor.engine.factors import pad, padded_width
from cofactor.engine.kernels import EPSILON, Entries, Forms, Places, Slopes


def descend_rows(V, entries, F, forms, rounds, sweeps, tolerance):
    """Descend on rows in place; the kernel knows padded rows only."""
    wide = pad(V)
    unfinished = kernels.descend_slices(
        wide,
        entries,
        F,
        forms,
        everything(V),
        rounds=rounds,
        sweeps=sweeps,
        tolerance=tolerance,
        all_topics=entries.log.size == 0 and not np.any(forms.barrier),
    )
    assert not wide[:, V.shape[1] :].any()
    V[:] = wide[:, : V.shape[1]]
    return unfinished


def descend_quadratic_rows(V, forms, sweeps, tolerance):
    """Do the same for rows without entries."""
    wide = pad(V)
    unfinished = kernels.descend_quadratic(
        wide, forms, everything(V), sweeps=sweeps, tolerance=tolerance
    )
    assert not wide[:, V.shape[1] :].any()
    V[:] = wide[:, : V.shape[1]]
    return unfinished


def multiply_rows(V, entries, F, forms, rounds, tolerance, epsilon, ridge):
    """Update rows in place; the kernel takes downward slopes for cells."""
    slopes = [as_cells(np.broadcast_to(forms.down, V.shape))] if len(forms.down) else []
    old, new = pad(V), np.full((len(V), F.shape[1]), np.nan)
    unfinished = kernels.multiply_slices(
        old,
        new,
        entries,
        F,
        forms,
        slopes,
        everything(V),
        has_barrier=bool(np.any(forms.barrier)),
        rounds=rounds,
        tolerance=tolerance,
        epsilon=epsilon,
        ridge=ridge,
    )
    assert not new[:, V.shape[1] :].any()
    V[:] = new[:, : V.shape[1]]
    return unfinished


def cost_of(V, entries, F, weights=None):
    """The cost of the entries of all rows."""
    out = np.full(1, np.nan)
    kernels.value_slices(pad(V), entries, F, weights, everything(V), out)
    return out[0]


def everything(V):
    """One slice of all rows."""
    return np.array([0, len(V)])


def as_cells(down):
    """Return slopes as cells in rows of a unit matrix, halved, with a weight of two."""
    n, r = down.shape
    indices, start = np.tile(np.arange(r), n).astype(np.int32), np.arange(n + 1) * r
    places = Places(indices, start, start[:-1])
    return Slopes(0.5 * down.ravel(), places, pad(np.eye(r)), 2.0)


def entries_at(indices, start, first=None, **kinds):
    """Return entries with some kinds of coefficients; the others do not occur."""
    names, none = ("log", "square", "inverse", "concave"), np.empty(0)
    places = Places(np.asarray(indices, np.int32), start, start[:-1] if first is None else first)
    return Entries(*(kinds.get(name, none) for name in names), places)


def shared_forms(r, up=0.0):
    """Return forms that all rows share: one upward slope for each topic."""
    none = np.empty((0, r))
    ups = np.array(np.broadcast_to(np.asarray(up, float), (1, r)))
    zeros = np.zeros((1, r))
    free = np.empty((0, r), bool)
    return Forms(none, none, ups, np.zeros((1, r, r)), np.ones((1, 1)), zeros, free)


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
        part(curved),
        part(square),
        part(inverse),
        part(inverse),
        Places(np.concatenate([*indices, []]).astype(np.int32), start, start[:-1]),
    )
    roots = rng.random((2, r + 1, r)) * (rng.random((2, 1, 1)) < 0.7)
    forms = Forms(
        rng.exponential(size=(n, r)) if rng.random() < 0.5 else np.empty((0, r)),
        rng.exponential(size=(n, r)) if rng.random() < 0.5 else np.empty((0, r)),
        rng.exponential(size=(2, r)),
        np.array([root.T @ root + 1e-3 * np.eye(r) for root in roots]),
        rng.exponential(size=(n, 2)) if rng.random() < 0.5 else np.ones((1, 2)),
        rng.exponential(size=(n, r)) * (rng.random((n, r)) < 0.7) if barrier else np.zeros((1, r)),
        np.empty((0, r), bool),
    )
    F = padded_factor(rng, m, r) * np.exp(2 * rng.standard_normal((m, 1)))
    return entries, forms, F


def rows_with(rng, n, r, m, parts):
    """Entries with logarithms, squares, inverses or all of them, and their F."""
    entries, _, F = random_rows(
        rng,
        n,
        r,
        m,
        square=parts in ("square", "all"),
        barrier=False,
        inverse=parts in ("inverse", "all"),
    )
    if parts in ("square", "inverse"):
        entries = replace(entries, log=np.empty(0))
    return entries, F


def row_value(v, i, entries, forms, F, epsilon=EPSILON):
    """The objective of row i, literally."""
    places = entries.places
    s, e = places.start[i], places.start[i + 1]
    index = places.indices[places.first[i] : places.first[i] + e - s]
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
