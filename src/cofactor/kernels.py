"""The inner loops: bare arrays in, bare arrays out, no policy.

Every kernel works on a block of rows of one factor V and solves, or takes a step on, the same row problem

    min_{v ≥ 0}  (up − down)·v + ½ Σ_t s_t v'G_t v + Σ_t s_t ups_t·v
                 + Σ_e [ −log_e·log p_e + ½ square_e·p_e² + inverse_e/p_e + concave_e·log p_e ]
                 − barrier·log v                              with p_e = EPSILON + F[index_e]·v,

whose coefficients ``Entries`` and ``Forms`` hold (`problems` puts them together).  Arithmetic is float64 throughout;
V and the entries' coefficients may be float32.  Rows are independent, so results do not depend on the blocks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from cofactor.vectors import FASTMATH, axpy, dots, gather

EPSILON = 1e-12
"""Added to every fitted value under a logarithm or a division; data are scaled to a largest value of about 1."""

WIDTH = 8  # scratch rows are padded to whole unrolled vectors
BATCH = 64  # rows per transposed batch of the quadratic kernel
CANCELLED = 1e-3  # a fitted value that falls below this share of itself is computed anew
REMNANT = 1e-12  # of the largest entry of its row
ROOM = 1 << 22  # doubles of gathered factor columns at most: long rows are swept in groups of topics


class Entries(NamedTuple):
    """Curved entries of a block of rows; coefficient arrays that play no part have length 0."""

    log: Any
    square: Any
    inverse: Any
    concave: Any
    indices: Any
    """Rows of F, int32."""
    start: Any
    """``start[i] : start[i + 1]`` are the coefficients of row i."""
    first: Any
    """``first[i] + (0, 1, ...)`` are the positions of row i in ``indices`` (dense rows share one run)."""


class Forms(NamedTuple):
    """Linear, quadratic and barrier parts; a leading dimension of 1 means shared by all rows."""

    down: Any
    up: Any
    ups: Any
    grams: Any
    scales: Any
    barrier: Any


def inlined(function: Any) -> Any:
    """Compile into the caller: a call that passes many arrays costs as much as a short row."""
    return njit(nogil=True, error_model="numpy", fastmath=FASTMATH, forceinline=True)(function)


def kernel(function: Any) -> Any:
    """Compile without the interpreter lock, cached, keeping NaN and infinity meaningful."""
    return njit(nogil=True, cache=True, error_model="numpy", fastmath=FASTMATH)(function)


@inlined
def _pick(array, i):
    return array[i if array.shape[0] > 1 else 0]


@inlined
def _row_linear(forms, i, linear):
    """Write the row's linear coefficients, up − down."""
    scales = _pick(forms.scales, i)
    for k in range(linear.size):
        total = 0.0
        for t in range(forms.ups.shape[0]):
            total += scales[t] * forms.ups[t, k]
        if forms.up.shape[0] > 0:
            total += _pick(forms.up, i)[k]
        if forms.down.shape[0] > 0:
            total -= _pick(forms.down, i)[k]
        linear[k] = total


@kernel
def _row_gram(forms, i, gram):
    """Write the row's quadratic form."""
    scales = _pick(forms.scales, i)
    gram[:] = 0.0
    for t in range(forms.grams.shape[0]):
        for k in range(gram.shape[0]):
            for l in range(gram.shape[1]):
                gram[k, l] += scales[t] * forms.grams[t, k, l]


@kernel
def _matvec(gram, v, out):
    for k in range(out.size):
        total = 0.0
        for l in range(out.size):
            total += gram[k, l] * v[l]
        out[k] = total


@inlined
def _positive_root(curvature, b, c):
    """The positive root of curvature·t² + b·t − c = 0 (curvature, c ≥ 0), without cancellation."""
    root = np.sqrt(b * b + 4.0 * curvature * c)
    if b >= 0.0:
        return 2.0 * c / (b + root) if b + root > 0.0 else 1.0
    return (root - b) / (2.0 * curvature) if curvature > 0.0 else 1.0


@inlined
def _safe_step(v, push, pull, h, c):
    """Return the monotone step for one coordinate (DESIGN: v' = v + u(t − 1)).

    ``push`` − ``pull`` is the gradient, where ``pull`` = Σ log·f/p and h = Σ log·f²/p² describe the logarithms; c is the quadratic curvature.
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
    return u * (_positive_root(c * u, b, h * u) - 1.0)


@inlined
def _imbalance(v, largest, g, size):
    """How far one coordinate is from optimal: 0 where the gradient vanishes or v is rightly at zero."""
    if size <= 0.0 or (v <= 0.0 and g >= 0.0):
        return 0.0
    weight = 1.0 if g < 0.0 or largest <= 0.0 else min(1.0, v / largest)
    return weight * abs(g) / size


@inlined
def _spread(coefficients, s, w, stride, out):
    if coefficients.size > 0:
        for e in range(w):
            out[e] = coefficients[s + e]
        for e in range(w, stride):
            out[e] = 0.0


@inlined
def _load_row(entries, i, F, v, epsilon, x, b, p):
    """Read the coefficients of row i and its fitted values; return the padded length and the indices."""
    s = entries.start[i]
    w = entries.start[i + 1] - s
    stride = (w + WIDTH - 1) // WIDTH * WIDTH
    indices = entries.indices[entries.first[i] : entries.first[i] + w]
    for e in range(w):
        p[e] = epsilon
    for e in range(w, stride):
        p[e] = 1.0
    dots(v, indices, F, p)
    _spread(entries.log, s, w, stride, x)
    _spread(entries.square, s, w, stride, b)
    return stride, indices


@kernel
def longest_row(entries):
    """Return the padded length of the longest row of a block."""
    longest = 0
    for i in range(entries.start.size - 1):
        longest = max(longest, entries.start[i + 1] - entries.start[i])
    return (longest + WIDTH - 1) // WIDTH * WIDTH


@inlined
def _move(p, q, f, step, stride):
    """Change the fitted values by step·f; return how many lost their leading digits to cancellation."""
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
    """Return a safe step for one coordinate, whose linear and shared quadratic gradient is ``push``."""
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
        if barrier == 0.0 and push - pull >= (h + c) * old:
            if _zero_is_best(old, f, x, p, stride, push - c * old):
                return -old
    return max(_safe_step(old, push, pull, h, c), -old)


@inlined
def _gradient(v, F, indices, stride, x, b, p, q, linear, gram, barrier, bent, pull, push, square, bends):
    """Write the gradient to ``pull`` and the quadratic part to ``bent``; return the row's imbalance."""
    r = linear.size
    for e in range(stride):
        q[e] = x[e] / p[e]
    axpy(q, indices, F, pull)
    if square:
        for e in range(stride):
            q[e] = b[e] * p[e]
        axpy(q, indices, F, push)
    if bends:
        _matvec(gram, v, bent)
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
    """List the topics to sweep.  Others are at zero, or at a remnant of rounding that is taken for zero:

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
    """Choose the next topics to sweep together, in groups of four columns; return their end and the groups."""
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

    A row stops at the round whose imbalance is at most ``tolerance``.  Returns how many rows did not get there.
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
        barrier = _pick(forms.barrier, i)
        for k in range(r):
            v[k] = max(V[i, k], EPSILON) if barrier[k] > 0.0 else V[i, k]
        _row_linear(forms, i, linear)
        if bends and (i == 0 or forms.scales.shape[0] > 1) or i == 0:
            _row_gram(forms, i, gram)
        finished = False
        for _ in range(rounds):
            stride, indices = _load_row(entries, i, F, v, EPSILON, x, b, p)
            worst = _gradient(
                v, F, indices, stride, x, b, p, q, linear, gram, barrier, bent, pull, push,
                square, bends,
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
                            for l in range(r):
                                bent[l] += step * gram[k, l]
                done = stop
        for k in range(r):
            V[i, k] = v[k]
        unfinished += not finished
    return unfinished


@kernel
def _load_batch(V, forms, i0, count, Vt, Ct, scale, linear):
    for j in range(count):
        _row_linear(forms, i0 + j, linear)
        scales = _pick(forms.scales, i0 + j)
        for t in range(scales.size):
            scale[t, j] = scales[t]
        for k in range(linear.size):
            Vt[k, j] = V[i0 + j, k]
            Ct[k, j] = -linear[k]


@kernel
def _invert_diagonal(forms, scale, inverse):
    for k in range(inverse.shape[0]):
        for j in range(BATCH):
            total = 0.0
            for t in range(scale.shape[0]):
                total += scale[t, j] * forms.grams[t, k, k]
            inverse[k, j] = 1.0 / total if total > 0.0 else 0.0


@kernel
def descend_quadratic(V, forms, sweeps, tolerance):
    """Coordinate descent (HALS) on rows without curved entries, in transposed batches: loops run over rows.

    A row is frozen after a sweep that moved it by at most ``tolerance`` of its largest entry.
    Returns how many rows did not get there.
    """
    n, r = V.shape
    n_forms = forms.ups.shape[0]
    shared = forms.scales.shape[0] == 1
    Vt, Ct, inverse = np.zeros((r, BATCH)), np.zeros((r, BATCH)), np.zeros((r, BATCH))
    g, part, moved, top, live = (np.empty(BATCH), np.empty(BATCH), np.empty(BATCH), np.empty(BATCH), np.empty(BATCH))
    scale = np.zeros((n_forms, BATCH))
    linear, gram = np.empty(r), np.empty((r, r))
    if n > 0:
        _row_gram(forms, 0, gram)
    unfinished = 0
    for i0 in range(0, n, BATCH):
        count = min(BATCH, n - i0)
        for j in range(BATCH):
            live[j] = 1.0 if j < count else 0.0
        _load_batch(V, forms, i0, count, Vt, Ct, scale, linear)
        if i0 == 0 or not shared:
            _invert_diagonal(forms, scale, inverse)
        for _s in range(sweeps):
            for j in range(BATCH):
                moved[j] = 0.0
                top[j] = 0.0
            for k in range(r):
                for j in range(BATCH):
                    g[j] = Ct[k, j]
                if shared:
                    _subtract_product(gram[k], Vt, g)
                else:
                    for t in range(n_forms):
                        for j in range(BATCH):
                            part[j] = 0.0
                        _subtract_product(forms.grams[t, k], Vt, part)
                        for j in range(BATCH):
                            g[j] += scale[t, j] * part[j]
                for j in range(BATCH):
                    old = Vt[k, j]
                    d = g[j] * inverse[k, j]
                    # no curvature: only the sign of the slope counts, and a rising one sends v to zero
                    d = -old if inverse[k, j] == 0.0 and g[j] < 0.0 else d
                    d = max(d, -old) * live[j]
                    Vt[k, j] = old + d
                    moved[j] = max(moved[j], abs(d))
                    top[j] = max(top[j], old + d)
            for j in range(BATCH):
                live[j] = live[j] if moved[j] > tolerance * top[j] else 0.0
            total = 0.0
            for j in range(BATCH):
                total += live[j]
            if total == 0.0:
                break
        for j in range(count):
            unfinished += live[j] > 0.0
            for k in range(r):
                V[i0 + j, k] = Vt[k, j]
    return unfinished


@kernel
def _subtract_product(row, Vt, out):
    """out −= row @ Vt, four topics at a time."""
    r = row.size
    whole = r // 4 * 4
    for l in range(0, whole, 4):
        a, b, c, d = row[l], row[l + 1], row[l + 2], row[l + 3]
        for j in range(BATCH):
            out[j] -= a * Vt[l, j] + b * Vt[l + 1, j] + c * Vt[l + 2, j] + d * Vt[l + 3, j]
    for l in range(whole, r):
        a = row[l]
        for j in range(BATCH):
            out[j] -= a * Vt[l, j]


@kernel
def _surrogate_root(q, slope, c, e):
    """The positive root of q·t³ + slope·t² − c·t − e = 0: where the majoriser is smallest."""
    if e <= 0.0:
        return _positive_root(q, slope, c) if c > 0.0 or slope < 0.0 or slope + q > 0.0 else 1.0
    if q <= 0.0:  # slope·t² − c·t − e = 0, slope > 0
        return (c + np.sqrt(c * c + 4.0 * slope * e)) / (2.0 * slope) if slope > 0.0 else 1.0
    # Convex and increasing to the right of its largest root: Newton from above never overshoots.
    t = max(1.0, -slope / q, np.sqrt(c / q), 0.0) + (e / q) ** (1.0 / 3.0)
    while q * t * t * t + slope * t * t - c * t - e < 0.0:
        t *= 2.0
    for _ in range(200):
        f = ((q * t + slope) * t - c) * t - e
        d = (3.0 * q * t + 2.0 * slope) * t - c
        new = t - f / d if d > 0.0 else t
        if not new < t:
            break
        t = new
    return t


@kernel
def _surrogate_parts(entries, i, F, indices, x, b, p, epsilon, ratio, c, push, e, u):
    """Write the row's c, q (of the entries), e and u: the numbers of the surrogate, divided by v."""
    s, w = entries.start[i], indices.size
    if entries.log.size > 0:
        for l in range(w):
            ratio[l] = x[l] / p[l]
        axpy(ratio, indices, F, c)
    if entries.square.size > 0:
        for l in range(w):
            ratio[l] = b[l] * (p[l] - epsilon)
        axpy(ratio, indices, F, push)
    if entries.inverse.size > 0:
        for l in range(w):
            ratio[l] = entries.inverse[s + l] / (p[l] * p[l])
        axpy(ratio, indices, F, e)
        for l in range(w):
            ratio[l] = entries.concave[s + l] / p[l]
        axpy(ratio, indices, F, u)


@kernel
def _row_slopes(forms, i, up, down):
    """Write the row's upward and downward slopes apart, as the paper's ratio needs them."""
    scales = _pick(forms.scales, i)
    for k in range(up.size):
        up[k] = 0.0
        for t in range(forms.ups.shape[0]):
            up[k] += scales[t] * forms.ups[t, k]
        if forms.up.shape[0] > 0:
            up[k] += _pick(forms.up, i)[k]
        down[k] = _pick(forms.down, i)[k] if forms.down.shape[0] > 0 else 0.0


@kernel
def multiply_rows(V, entries, F, forms, rounds, tolerance, epsilon, ridge):
    """Multiplicative updates of each row: new entry = old entry · t.

    ridge = 0: t minimises the majoriser, which never raises the objective.  ridge > 0: the paper's ratio
    t = (v + c)/(q + u + ridge), literally.  ``epsilon`` is added to fitted values.  A row stops at the update that moves it by
    at most ``tolerance`` of its largest entry.  Returns how many rows did not get there.
    """
    n, r = V.shape
    wide = F.shape[1]
    room = longest_row(entries)
    x, b, p, ratio = np.empty(room), np.empty(room), np.empty(room), np.empty(room)
    v, c, e, u, push = np.zeros(wide), np.zeros(wide), np.zeros(wide), np.zeros(wide), np.zeros(wide)
    bent, up, down, gram = np.empty(r), np.empty(r), np.empty(r), np.empty((r, r))
    unfinished = 0
    for i in range(n):
        barrier = _pick(forms.barrier, i)
        for k in range(r):
            v[k] = max(V[i, k], EPSILON) if barrier[k] > 0.0 else V[i, k]
        _row_slopes(forms, i, up, down)
        if i == 0 or forms.scales.shape[0] > 1:
            _row_gram(forms, i, gram)
        finished = False
        for _ in range(rounds):
            _, indices = _load_row(entries, i, F, v, epsilon, x, b, p)
            _surrogate_parts(entries, i, F, indices, x, b, p, epsilon, ratio, c, push, e, u)
            _matvec(gram, v, bent)
            moved, largest = 0.0, 0.0
            for k in range(r):
                q = bent[k] + push[k]
                pull = c[k] + (barrier[k] / v[k] if barrier[k] > 0.0 else 0.0)
                if ridge > 0.0:
                    t = (down[k] + pull) / (q + up[k] + u[k] + ridge)
                else:
                    t = _surrogate_root(q, up[k] + u[k] - down[k], pull, e[k])
                new = v[k] * t
                if barrier[k] > 0.0:
                    new = max(new, EPSILON)
                moved = max(moved, abs(new - v[k]))
                largest = max(largest, new)
                v[k] = new
            if moved <= tolerance * largest:
                finished = True
                break
        for k in range(r):
            V[i, k] = v[k]
        unfinished += not finished
    return unfinished


@kernel
def _weighted_log(x, p, count):
    """Σ x·log p for positive normal p, to full precision, in a form that vectorises.

    log p = exponent·log 2 + 2·atanh((m − 1)/(m + 1)) with the mantissa m in [1/√2, √2].
    """
    total = 0.0
    for e in range(count):
        bits = np.float64(p[e]).view(np.int64)
        exponent = np.float64((bits >> 52) - 1023)
        m = np.int64((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
        upper = m > 1.4142135623730951
        m = m * 0.5 if upper else m
        exponent = exponent + 1.0 if upper else exponent
        s = (m - 1.0) / (m + 1.0)
        q = s * s
        series = 1.0 + q * (1 / 3 + q * (1 / 5 + q * (1 / 7 + q * (1 / 9 + q * (
            1 / 11 + q * (1 / 13 + q * (1 / 15 + q * (1 / 17 + q / 19))))))))  # fmt: skip
        total += x[e] * (exponent * 0.6931471805599453 + 2.0 * s * series)
    return total


@kernel
def curved_value(V, entries, F, weights):
    """Return Σ_i weight_i Σ_e [−log·log p + ½ square·p² + inverse/p + concave·log p] over a block."""
    n, r = V.shape
    room = longest_row(entries)
    x, b, p = np.empty(room), np.empty(room), np.empty(room)
    v = np.zeros(F.shape[1])
    total = 0.0
    for i in range(n):
        for k in range(r):
            v[k] = V[i, k]
        _, indices = _load_row(entries, i, F, v, EPSILON, x, b, p)
        s = entries.start[i]
        row = 0.0
        if entries.log.size > 0:
            row -= _weighted_log(x, p, indices.size)
        if entries.square.size > 0:
            for e in range(indices.size):
                row += 0.5 * b[e] * (p[e] - EPSILON) ** 2
        if entries.inverse.size > 0:
            for e in range(indices.size):
                row += entries.inverse[s + e] / p[e] + entries.concave[s + e] * np.log(p[e])
        total += row * (weights[i] if weights.size > 0 else 1.0)
    return total


@kernel
def cross_rows(values, indices, start, first, F, out):
    """out[i] = Σ_e values[e] · F[index_e]: a sparse matrix times a factor."""
    r = out.shape[1]
    row = np.empty(F.shape[1])
    for i in range(out.shape[0]):
        s = start[i]
        w = start[i + 1] - s
        axpy(values[s : s + w], indices[first[i] : first[i] + w], F, row)
        for k in range(r):
            out[i, k] = row[k]


@kernel
def gram_rows(V, weights, out):
    """out = V' diag(weights) V of a block (no weights: ones), in transposed batches."""
    n, r = V.shape
    left, right = np.zeros((r, BATCH)), np.zeros((r, BATCH))
    out[:] = 0.0
    for i in range(0, n, BATCH):
        for j in range(BATCH):
            w = 0.0
            if i + j < n:
                w = weights[i + j] if weights.size > 0 else 1.0
            for k in range(r):
                right[k, j] = V[min(i + j, n - 1), k]
                left[k, j] = w * right[k, j]
        for k in range(r):
            for l in range(k + 1):
                total = 0.0
                for j in range(BATCH):
                    total += left[k, j] * right[l, j]
                out[k, l] += total
    for k in range(r):
        for l in range(k):
            out[l, k] = out[k, l]


@kernel
def sum_rows(V, weights, out):
    """out = weights @ V of a block (no weights: ones)."""
    n, r = V.shape
    out[:] = 0.0
    for i in range(n):
        w = weights[i] if weights.size > 0 else 1.0
        for k in range(r):
            out[k] += w * V[i, k]
