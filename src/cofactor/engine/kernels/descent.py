"""Safe coordinate descent on rows with entries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cofactor.engine.kernels.rows import (
    EPSILON,
    add_costs,
    load_row,
    longest_row,
    matvec,
    pick,
    row_gram,
    row_linear,
)
from cofactor.engine.kernels.vectors import axpy, bare, dots, gather, inlined, kernel

CANCELLED = 1e-3  # a fitted value that falls below this share of itself is computed anew
REMNANT = 1e-12  # entries with less than this share in their row count as zero
FLAT = 1e-10  # gradients below this share of their parts are zero to rounding
TINY = 1e-100
ROOM = 1 << 22  # maximum number of gathered doubles: long rows are swept in groups of topics


class Row(NamedTuple):
    """Scratch space for one row."""

    v: Any
    x: Any
    """Coefficients of the logarithms; b: of the squares; p: fitted values; q: their inverses."""
    b: Any
    p: Any
    q: Any
    linear: Any
    gram: Any
    bent: Any
    """gram @ v, kept up to date."""
    pull: Any
    push: Any
    part: Any
    """The share of each topic in the row: its entry times the size of its gradient's parts."""
    active: Any
    places: Any
    """Number of each active topic's gathered column in ``columns``."""
    groups: Any
    columns: Any


@inlined
def _safe_step(v, push, pull, h, c):
    """Return the monotone step d for one coordinate.

    ``push`` − ``pull`` is the gradient g, where ``pull`` = Σ log·f/p and h = Σ log·f²/p² describe
    the logarithms; c is the quadratic curvature.  With a model of the logarithms around v' = v + d
    that never overshoots (u = pull/h uphill, u = v downhill), d is the root next to zero of
    (c/u)·d² + b·d + g = 0, written so that nothing cancels when p is tiny or u is huge.
    """
    g = push - pull
    if g <= 0.0:
        inverse = h / pull if pull > 0.0 else 0.0
        b = c + push * inverse
    elif v < TINY:
        return -v
    else:
        inverse = 1.0 / v
        b = c + h + g * inverse
    a = c * inverse
    root = np.sqrt(max(b * b - 4.0 * a * g, 0.0))
    if b < 0.0:
        return (root - b) / (2.0 * a) if a > 0.0 else 0.0
    return -2.0 * g / (b + root) if b + root > 0.0 else 0.0


@inlined
def _largest(v):
    top = v[0]
    for k in range(v.size):
        top = max(top, v[k])
    return top


@inlined
def _unbalanced(v, largest, g, size, tolerance):
    """Whether a coordinate is away from its optimum by more than the tolerance.

    It is at its optimum if the gradient vanishes, or if v is zero and the gradient is not negative.
    A small v counts in proportion to the largest entry of the row.
    """
    if size <= 0.0 or (v <= 0.0 and g >= 0.0):
        return False
    if g < 0.0 or largest <= 0.0:
        return not abs(g) <= tolerance * size
    return not v * g <= tolerance * size * largest


@inlined
def _move(p, q, f, step, stride):
    """Change the fitted values by step·f; return how many lost their leading digits."""
    lost = 0
    for e in range(stride):
        t = max(p[e] + step * f[e], EPSILON)
        lost += t < CANCELLED * p[e]
        p[e] = t
        q[e] = 1.0 / t
    return lost


@inlined
def _zero_is_best(old, f, x, p, stride, slope):
    """Whether the gradient at v = 0, slope − Σ x·f/p there, is nonnegative."""
    for e in range(stride):
        slope -= x[e] * f[e] / max(p[e] - old * f[e], EPSILON)
    return slope >= 0.0


@inlined
def _coordinate(row, k, f, stride, barrier, square):
    """Return a safe step for topic k, whose gathered column is f."""
    x, p, q, b = row.x, row.p, row.q, row.b
    old = max(row.v[k], EPSILON) if barrier > 0.0 else row.v[k]
    push, c = row.linear[k] + row.bent[k], row.gram[k, k]
    pull, h = 0.0, 0.0
    for e in range(stride):
        t = f[e] * q[e]
        u = x[e] * t
        pull += u
        h += u * t
    if square:
        for e in range(stride):
            t = b[e] * f[e]
            push += t * p[e]
            c += t * f[e]
    if barrier > 0.0:
        pull += barrier / old
        h += barrier / (old * old)
    if push > pull:
        if old <= 0.0:
            return 0.0
        # Newton would leave the orthant: is zero the minimiser?
        crosses = barrier == 0.0 and push - pull >= (h + c) * old
        if crosses and _zero_is_best(old, f, x, p, stride, push - c * old):
            return -old
    return max(_safe_step(old, push, pull, h, c), -old)


@inlined
def _gradient(row, F, indices, stride, barrier, square, bends, tolerance):
    """Write the gradient to ``pull`` and gram @ v to ``bent``; return how many topics are not at
    their optimum."""
    v, x, b, p, q, pull, push = row.v, row.x, row.b, row.p, row.q, row.pull, row.push
    for e in range(stride):
        q[e] = x[e] / p[e]
    axpy(q, indices, F, pull)
    if square:
        for e in range(stride):
            q[e] = b[e] * p[e]
        axpy(q, indices, F, push)
    if bends:
        matvec(row.gram, v, row.bent)
    largest = _largest(v)
    unbalanced = 0
    for k in range(row.linear.size):
        g = row.linear[k] + row.bent[k] + push[k] - pull[k]
        size = abs(row.linear[k]) + abs(row.bent[k]) + push[k] + pull[k]
        if barrier[k] > 0.0:
            g -= barrier[k] / v[k]
            size += barrier[k] / v[k]
        unbalanced += _unbalanced(v[k], largest, g, size, tolerance)
        row.part[k] = v[k] * size
        pull[k] = g - FLAT * size  # a gradient that is zero up to rounding error counts as downhill
    return unbalanced


@bare
def _activate(v, part, gradient, all_topics, active):
    """List the topics to sweep, and count them.

    The others are set to zero; they are zero already, or a remnant of rounding error.  Whether a
    topic is swept must not depend on rounding error.
    """
    largest = _largest(part)
    count = 0
    for k in range(active.size):
        if all_topics or gradient[k] < 0.0 or part[k] > REMNANT * largest:
            active[count] = k
            count += 1
        else:
            v[k] = 0.0
    return count


@bare
def _refresh(v, indices, F, p, q):
    """Compute the fitted values of a row anew."""
    for e in range(indices.size):
        p[e] = EPSILON
    dots(v, indices, F, p)
    for e in range(indices.size):
        q[e] = 1.0 / p[e]


@bare
def _plan(active, done, n_active, limit, groups, places):
    """Choose the next topics to sweep together, four columns to a group; return where they end."""
    n_groups, last, stop = 0, -1, done
    while stop < n_active:
        base = active[stop] // 4 * 4
        if base != last:
            if n_groups == limit:
                break
            groups[n_groups] = base
            n_groups += 1
            last = base
        places[stop] = 4 * (n_groups - 1) + active[stop] - base
        stop += 1
    return stop, n_groups


@inlined
def _sweep(row, F, indices, stride, done, stop, barrier, square, bends):
    """Update the active topics from ``done`` to ``stop``, one after the other."""
    for a in range(done, stop):
        k = row.active[a]
        f = row.columns[row.places[a] * stride : (row.places[a] + 1) * stride]
        step = _coordinate(row, k, f, stride, barrier[k], square)
        if step == 0.0:
            continue
        row.v[k] = max(row.v[k] + step, EPSILON if barrier[k] > 0.0 else 0.0)
        if _move(row.p, row.q, f, step, stride) > 0:
            _refresh(row.v, indices, F, row.p, row.q)
        if bends:
            for m in range(row.bent.size):
                row.bent[m] += step * row.gram[k, m]


@kernel
def _scratch(r, wide, room):
    return Row(
        np.zeros(wide), np.zeros(room), np.zeros(room), np.empty(room), np.empty(room),
        np.empty(r), np.empty((r, r)), np.zeros(r), np.zeros(wide), np.zeros(wide), np.zeros(r),
        np.empty(r, np.int64), np.empty(r, np.int64), np.empty(wide, np.int64),
        np.empty(min(wide * room, max(4 * room, ROOM))),
    )  # fmt: skip


@inlined
def _descend_row(
    row, V, i, entries, F, forms, rounds, sweeps, tolerance, square, bends, all_topics
):
    """Descend on row i; return whether it reached the tolerance."""
    barrier = forms.barrier[pick(forms.barrier, i)]
    for k in range(V.shape[1]):
        row.v[k] = max(V[i, k], EPSILON) if barrier[k] > 0.0 else V[i, k]
    row_linear(forms, i, row.linear)
    if i == 0 or (bends and forms.scales.shape[0] > 1):
        row_gram(forms, i, row.gram)
    finished = False
    for _ in range(rounds):
        stride, first, last = load_row(entries, i, F, row.v, EPSILON, row.x, row.b, row.p)
        indices = entries.indices[first:last]
        if _gradient(row, F, indices, stride, barrier, square, bends, tolerance) == 0:
            finished = True
            break
        n_active = _activate(row.v, row.part, row.pull, all_topics, row.active)
        for e in range(stride):
            row.q[e] = 1.0 / row.p[e]
        done, limit = 0, max(1, ROOM // max(4 * stride, 1))
        while done < n_active:
            stop, n_groups = _plan(row.active, done, n_active, limit, row.groups, row.places)
            gather(F, indices, row.groups, n_groups, stride, row.columns)
            for _s in range(sweeps):
                _sweep(row, F, indices, stride, done, stop, barrier, square, bends)
            done = stop
    for k in range(V.shape[1]):
        V[i, k] = max(row.v[k], EPSILON) if barrier[k] > 0.0 else row.v[k]
    return finished


@kernel
def descend_slices(
    V, entries, F, forms, rounds, sweeps, tolerance, all_topics, weights, split, bounds, costs
):
    """Coordinate descent on each row: ``rounds`` times find the active topics and sweep them.

    ``all_topics`` sweeps all topics, as the quadratic kernel does; the caller sets it where no row
    of any slice has a logarithm.  A row is finished at the round that finds all its topics within
    ``tolerance`` of their optimum.  Return the number of rows that are not finished.

    ``costs``, if it has columns, gets the weighted costs of each slice's entries afterwards.
    Entries of columns before ``split`` belong to the first term, the others to the second.
    """
    row = _scratch(V.shape[1], F.shape[1], longest_row(entries))
    square, bends = entries.square.size > 0, bool(np.any(forms.grams))
    unfinished = V.shape[0]
    costs[:] = 0.0
    for t in range(bounds.size - 1):
        for i in range(bounds[t] - bounds[0], bounds[t + 1] - bounds[0]):
            unfinished -= _descend_row(
                row, V, i, entries, F, forms, rounds, sweeps, tolerance, square, bends, all_topics
            )
            if costs.size > 0:
                weight = weights[i] if weights.size > 0 else 1.0
                add_costs(entries, i, row.x, row.b, row.p, weight, split, costs[t])
    return unfinished
