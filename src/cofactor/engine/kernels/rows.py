"""The coefficients of rows, ``Entries`` and ``Forms``, and how kernels read a row of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cofactor.engine.kernels.vectors import bare, dots, inlined, kernel

EPSILON = 1e-12
"""Added to fitted values under a logarithm or a division; data are scaled to at most about 1."""

ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of √½
WIDTH = 16  # scratch rows are padded to whole unrolled vectors


class Entries(NamedTuple):
    """The entries of some rows, with one coefficient array for each kind of cost.

    Kinds that do not occur have arrays of length 0.
    """

    log: Any
    square: Any
    inverse: Any
    concave: Any
    indices: Any
    """Rows of F, int32."""
    start: Any
    """``start[i] : start[i + 1]`` are the coefficients of row i."""
    first: Any
    """Position of row i's first index in ``indices``; dense rows share their indices."""

    def rows(self, low: int, high: int) -> Entries:
        """Return the entries of some rows."""
        return Entries(*self[:5], self.start[low : high + 1], self.first[low:high])


class Forms(NamedTuple):
    """The linear, quadratic and barrier parts of some rows.

    An array with a first dimension of 1 is shared by all rows.
    """

    down: Any
    """Downward slopes of each row; ``up``: upward slopes.  Absent ones have no rows."""
    up: Any
    ups: Any
    """Upward slopes that rows share: those of form t count ``scales[i, t]`` times in row i."""
    grams: Any
    """Quadratic forms, with the same scales.  The scale of the first form is 1 in every row."""
    scales: Any
    barrier: Any
    """Coefficients of −log v."""

    def rows(self, low: int, high: int) -> Forms:
        """Return the forms of some rows."""
        return Forms(
            _own_rows(self.down, low, high),
            _own_rows(self.up, low, high),
            self.ups,
            self.grams,
            _own_rows(self.scales, low, high),
            _own_rows(self.barrier, low, high),
        )


def _own_rows(array: Any, low: int, high: int) -> Any:
    return array[low:high] if len(array) > 1 else array


@inlined
def pick(array, i):
    """Return which row of ``array`` belongs to row i; all rows may share one."""
    return i if array.shape[0] > 1 else 0


@inlined
def row_linear(forms, i, linear):
    """Write the row's linear coefficients, up − down."""
    scales = forms.scales[pick(forms.scales, i)]
    for k in range(linear.size):
        total = 0.0
        for t in range(forms.ups.shape[0]):
            total += scales[t] * forms.ups[t, k]
        if forms.up.shape[0] > 0:
            total += forms.up[pick(forms.up, i), k]
        if forms.down.shape[0] > 0:
            total -= forms.down[pick(forms.down, i), k]
        linear[k] = total


@bare
def row_gram(forms, i, gram):
    """Write the row's quadratic form to the first columns of ``gram``."""
    scales = forms.scales[pick(forms.scales, i)]
    gram[:] = 0.0
    for t in range(forms.grams.shape[0]):
        for k in range(gram.shape[0]):
            for m in range(gram.shape[0]):
                gram[k, m] += scales[t] * forms.grams[t, k, m]


@inlined
def matvec(gram, v, out):
    for k in range(out.size):
        total = 0.0
        for m in range(out.size):
            total += gram[k, m] * v[m]
        out[k] = total


@inlined
def positive_root(curvature, b, c):
    """The positive root of curvature·t² + b·t − c = 0 (curvature, c ≥ 0), without cancellation."""
    root = np.sqrt(b * b + 4.0 * curvature * c)
    if b >= 0.0:
        return 2.0 * c / (b + root) if b + root > 0.0 else 0.0
    return (root - b) / (2.0 * curvature) if curvature > 0.0 else 1.0


@inlined
def padded_length(w):
    return (w + WIDTH - 1) // WIDTH * WIDTH


@inlined
def load_coefficients(entries, s, w, x, b, p):
    """Read the coefficients of a row of w entries, from the s-th on; pad them and p."""
    if entries.log.size > 0:
        for e in range(w):
            x[e] = entries.log[s + e]
    if entries.square.size > 0:
        for e in range(w):
            b[e] = entries.square[s + e]
    for e in range(w, padded_length(w)):
        x[e], b[e], p[e] = 0.0, 0.0, 1.0


@inlined
def load_row(entries, i, F, v, epsilon, x, b, p):
    """Read the coefficients of row i and compute its fitted values p.

    Return the padded length, and where the row's indices begin and end.
    """
    s, first = entries.start[i], entries.first[i]
    w = entries.start[i + 1] - s
    stride = padded_length(w)
    for e in range(w):
        p[e] = epsilon
    dots(v, entries.indices[first : first + w], F, p)
    load_coefficients(entries, s, w, x, b, p)
    return stride, first, first + w


@bare
def longest_row(entries):
    """Return the padded length of the longest row."""
    longest = 0
    for i in range(entries.start.size - 1):
        longest = max(longest, entries.start[i + 1] - entries.start[i])
    return padded_length(longest)


@bare
def _weighted_log(x, p, count):
    """Σ x·log p for positive normal p, to full precision, in a form that vectorises.

    log p = exponent·log 2 + 2·atanh(s), s = (m − 1)/(m + 1), with the mantissa m in [1/√2, √2];
    the polynomial in s² has the least error there (below 2⁻⁵⁸); the C library uses the same.
    """
    total = 0.0
    for e in range(count):
        bits = np.float64(p[e]).view(np.int64)
        power = (bits - ROOT_HALF) >> 52
        m = np.int64(bits - (power << 52)).view(np.float64)
        exponent = np.float64(power)
        s = (m - 1.0) / (m + 1.0)
        q = s * s
        series = 2.0 + q * (0.6666666666666735 + q * (0.3999999999940942 + q * (
            0.2857142874366239 + q * (0.22222198432149784 + q * (0.1818357216161805 + q * (
                0.15313837699209373 + q * 0.14798198605116586))))))  # fmt: skip
        total += x[e] * (exponent * 0.6931471805599453 + s * series)
    return total


@inlined
def row_cost(entries, x, b, p, low, high):
    """Return Σ [−log·log p + ½ square·p²] over a row's entries from ``low`` to ``high``."""
    total = 0.0
    if entries.log.size > 0:
        total -= _weighted_log(x[low:high], p[low:high], high - low)
    if entries.square.size > 0:
        for e in range(low, high):
            total += 0.5 * b[e] * (p[e] - EPSILON) ** 2
    return total


@inlined
def add_costs(entries, i, x, b, p, weight, split, out):
    """Add the costs of row i, whose fitted values are p, to ``out``.

    Entries of columns before ``split`` belong to the first term, ``out[0]``, others to ``out[1]``.
    """
    first, w = entries.first[i], entries.start[i + 1] - entries.start[i]
    middle = w
    while middle > 0 and entries.indices[first + middle - 1] >= split:
        middle -= 1
    both = row_cost(entries, x, b, p, 0, padded_length(w))  # whole vectors are faster than parts
    second = row_cost(entries, x, b, p, middle, w) if middle < w else 0.0
    out[0] += weight * (both - second)
    out[1] += weight * second


@kernel
def place_values(values, start, place, out):
    """Copy each row's values to ``out``, from position ``place[i]`` on."""
    for i in range(place.size):
        s, at = start[i], place[i]
        for e in range(start[i + 1] - s):
            out[at + e] = values[s + e]


@kernel
def place_indices(indices, start, first, offset, place, out):
    """Copy each row's indices plus ``offset`` to ``out``, from position ``place[i]`` on."""
    for i in range(place.size):
        f, at = first[i], place[i]
        for e in range(start[i + 1] - start[i]):
            out[at + e] = indices[f + e] + offset
