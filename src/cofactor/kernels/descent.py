"""Safe coordinate descent on rows with logarithms."""

from __future__ import annotations

import numpy as np

from cofactor.kernels.rows import (
    EPSILON,
    inlined,
    kernel,
    load_row,
    longest_row,
    matvec,
    pick,
    positive_root,
    row_gram,
    row_linear,
)
from cofactor.vectors import axpy, dots, gather

CANCELLED = 1e-3  # a fitted value that falls below this share of itself is computed anew
REMNANT = 1e-12  # entries below this share of the largest one of their row are taken for zero
ROOM = 1 << 22  # doubles of gathered columns at most: long rows are swept in groups of topics


@inlined
def _safe_step(v, push, pull, h, c):
    """Return the monotone step for one coordinate (DESIGN: v' = v + u(t − 1)).

    ``push`` − ``pull`` is the gradient, where ``pull`` = Σ log·f/p and h = Σ log·f²/p² describe
    the logarithms; c is the quadratic curvature.
    """
    if push <= pull:
        if h <= 0.0 or pull <= 0.0:
            return (pull - push) / c if c > 0.0 else 0.0
        u = pull / h
        b = push - c * u  # g + h·u − c·u without the cancellation of pull, which may be huge
    elif h <= 0.0:
        return max((pull - push) / c, -v) if c > 0.0 else -v
    else:
        u = v
        b = (push - pull) + (h - c) * u
    return u * (positive_root(c * u, b, h * u) - 1.0)


@inlined
def _imbalance(v, largest, g, size):
    """How far one coordinate is from optimal: 0 where the gradient vanishes or v is rightly at
    zero."""
    if size <= 0.0 or (v <= 0.0 and g >= 0.0):
        return 0.0
    weight = 1.0 if g < 0.0 or largest <= 0.0 else min(1.0, v / largest)
    return weight * abs(g) / size


@inlined
def _move(p, q, f, step, stride):
    """Change the fitted values by step·f; return how many lost their leading digits to
    cancellation."""
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
def _coordinate(old, f, x, b, p, q, stride, push, c, barrier, square):
    """Return a safe step for one coordinate, whose linear and shared quadratic gradient is
    ``push``."""
    pull = 0.0
    h = 0.0
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
def _gradient(
    v, F, indices, stride, x, b, p, q, linear, gram, barrier, bent, pull, push, square, bends
):
    """Write the gradient to ``pull`` and the quadratic part to ``bent``; return the row's
    imbalance."""
    r = linear.size
    for e in range(stride):
        q[e] = x[e] / p[e]
    axpy(q, indices, F, pull)
    if square:
        for e in range(stride):
            q[e] = b[e] * p[e]
        axpy(q, indices, F, push)
    if bends:
        matvec(gram, v, bent)
    largest = 0.0
    for k in range(r):
        largest = max(largest, v[k])
    worst = 0.0
    for k in range(r):
        g = linear[k] + bent[k] + push[k] - pull[k]
        size = abs(linear[k]) + abs(bent[k]) + push[k] + pull[k]
        if barrier[k] > 0.0:
            g -= barrier[k] / v[k]
            size += barrier[k] / v[k]
        worst = max(worst, _imbalance(v[k], largest, g, size))
        pull[k] = g
    return worst


@kernel
def _activate(v, gradient, active):
    """List the topics to sweep.  Others are at zero, or at a remnant of rounding that is taken for
    zero:

    a topic must not be swept or passed over by the luck of its last bit.
    """
    largest = 0.0
    for k in range(active.size):
        largest = max(largest, v[k])
    count = 0
    for k in range(active.size):
        if gradient[k] < 0.0 or v[k] > REMNANT * largest:
            active[count] = k
            count += 1
        else:
            v[k] = 0.0
    return count


@kernel
def _refresh(v, indices, F, p, q):
    """Compute the fitted values of a row anew."""
    for e in range(indices.size):
        p[e] = EPSILON
    dots(v, indices, F, p)
    for e in range(indices.size):
        q[e] = 1.0 / p[e]


@kernel
def _plan(active, done, n_active, limit, groups, places):
    """Choose the next topics to sweep together, in groups of four columns; return their end and
    the groups."""
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


@kernel
def descend_rows(V, entries, F, forms, rounds, sweeps, tolerance):
    """Coordinate descent on each row: ``rounds`` times find the active topics and sweep them.

    A row stops at the round whose imbalance is at most ``tolerance``.  Returns how many rows did
    not get there.
    """
    n, r = V.shape
    wide = F.shape[1]
    room = longest_row(entries)
    x, b, p, q = np.zeros(room), np.zeros(room), np.empty(room), np.empty(room)
    limit = max(1, min(wide // 4, ROOM // max(4 * room, 1)))
    columns = np.empty(4 * limit * room)
    v, pull, push = np.zeros(wide), np.zeros(wide), np.zeros(wide)
    linear, bent, gram = np.empty(r), np.zeros(r), np.empty((r, r))
    active, places, groups = np.empty(r, np.int64), np.empty(r, np.int64), np.empty(wide, np.int64)
    square = entries.square.size > 0
    bends = bool(np.any(forms.grams))
    unfinished = 0
    for i in range(n):
        barrier = pick(forms.barrier, i)
        for k in range(r):
            v[k] = max(V[i, k], EPSILON) if barrier[k] > 0.0 else V[i, k]
        row_linear(forms, i, linear)
        if (bends and (i == 0 or forms.scales.shape[0] > 1)) or i == 0:
            row_gram(forms, i, gram)
        finished = False
        for _ in range(rounds):
            stride, indices = load_row(entries, i, F, v, EPSILON, x, b, p)
            worst = _gradient(
                v,
                F,
                indices,
                stride,
                x,
                b,
                p,
                q,
                linear,
                gram,
                barrier,
                bent,
                pull,
                push,
                square,
                bends,
            )
            if worst <= tolerance:
                finished = True
                break
            n_active = _activate(v, pull, active)
            for e in range(stride):
                q[e] = 1.0 / p[e]
            done = 0
            while done < n_active:
                stop, n_groups = _plan(active, done, n_active, limit, groups, places)
                gather(F, indices, groups, n_groups, stride, columns)
                for _s in range(sweeps):
                    for a in range(done, stop):
                        k = active[a]
                        f = columns[places[a] * stride : (places[a] + 1) * stride]
                        step = _coordinate(
                            v[k], f, x, b, p, q, stride,
                            linear[k] + bent[k], gram[k, k], barrier[k], square,
                        )  # fmt: skip
                        if step == 0.0:
                            continue
                        v[k] += step
                        if _move(p, q, f, step, stride) > 0:
                            _refresh(v, indices, F, p, q)
                        if bends:
                            for m in range(r):
                                bent[m] += step * gram[k, m]
                done = stop
        for k in range(r):
            V[i, k] = v[k]
        unfinished += not finished
    return unfinished
