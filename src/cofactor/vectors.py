"""Hand-vectorised loops over the rows of a factor: ``dots``, ``axpy``, ``ratios``, ``gather``.

Everything else in the library is plain numba.  These loops walk short rows (one topic weight after
the other) through an index, a pattern that LLVM leaves scalar; written with explicit 4-wide
vectors they run three to five times faster, which is worth more than a third of a whole fit.  They
know nothing but float64 arrays whose row length is a multiple of ``LANES`` (see ``padded``), and
int32 indices.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

LANES = 4
LINE = 8  # doubles in a cache line
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_FLAGS = ("contract", "reassoc", "nsz")


def padded(width: int) -> int:
    """Return the row length that holds ``width`` topics in whole vectors."""
    return -(-width // LANES) * LANES


def aligned_zeros(n: int, width: int) -> NDArray[np.float64]:
    """Return zeros that start at a cache line: a vector across two lines costs two loads."""
    room = np.zeros(n * width + LINE)
    skip = -(room.ctypes.data // room.itemsize) % LINE
    return room[skip : skip + n * width].reshape(n, width)


@cache
def _fingerprint() -> str:
    """Return a digest of all kernels' sources."""
    here = Path(__file__).parent
    sources = [Path(__file__), *sorted((here / "kernels").glob("*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def _promise_no_overlap(dispatcher: Any) -> None:
    """Tell LLVM that the arguments are apart; numba knows of that, but has no option for it."""

    def with_promise(flags: Any) -> Any:
        flags.noalias = True
        return flags

    dispatcher._compiler._customize_flags = with_promise


def compiled(*, apart: bool = False, **options: Any) -> Any:
    """Compile without the interpreter lock, keeping NaN and infinity meaningful.

    ``apart`` promises that no two arguments share memory: short loops over many arrays are then
    vectorised without asking so each time.

    Machine code is cached on disk where any place for it can be written to.  numba looks only at
    the file of the function itself to see whether its code is up to date; ours depends on the
    other kernels too.
    """
    options = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH, **options}

    def decorate(function: Any) -> Any:
        try:
            dispatcher = njit(cache=True, **options)(function)
            dispatcher._cache._cache_file._source_stamp = _fingerprint()
            if apart:
                _promise_no_overlap(dispatcher)
        except (RuntimeError, AttributeError, OSError):  # no place for a cache, or another numba
            return njit(**options)(function)
        return dispatcher

    return decorate


class _Emitter:
    """The few instructions that the loops below are made of."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.context, self.builder = context, builder
        self.types, self.arguments = signature.args, arguments
        self.intp = context.get_value_type(types.intp)

    def array(self, position: int) -> Any:
        make = self.context.make_array(self.types[position])
        return make(self.context, self.builder, self.arguments[position])

    def integer(self, value: int) -> Any:
        return ir.Constant(self.intp, value)

    def lane(self, value: int) -> Any:
        return ir.Constant(ir.IntType(32), value)

    def length(self, vector: Any) -> Any:
        return cgutils.unpack_tuple(self.builder, vector.shape, 1)[0]

    def row(self, matrix: Any, index: Any, column: Any) -> Any:
        """Return the address of ``matrix[index, column]``."""
        width = cgutils.unpack_tuple(self.builder, matrix.shape, 2)[1]
        offset = self.builder.add(self.builder.mul(index, width), column)
        return self.builder.gep(matrix.data, [offset])

    def entry(self, vector: Any, index: Any) -> Any:
        return self.builder.gep(vector.data, [index])

    def index(self, indices: Any, position: Any) -> Any:
        return self.builder.zext(self.builder.load(self.entry(indices, position)), self.intp)

    def load(self, address: Any, shift: int = 0) -> Any:
        address = self.builder.gep(address, [self.integer(shift)])
        return self.builder.load(self.builder.bitcast(address, _VECTOR.as_pointer()), align=8)

    def store(self, value: Any, address: Any) -> None:
        self.builder.store(value, self.builder.bitcast(address, value.type.as_pointer()), align=8)

    def shuffle(self, first: Any, second: Any, *lanes: int) -> Any:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
        return self.builder.shuffle_vector(first, second, mask)

    def broadcast(self, scalar: Any) -> Any:
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = self.builder.insert_element(undefined, scalar, self.lane(0))
        return self.shuffle(first, undefined, *([0] * LANES))

    def multiply(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=_FLAGS)

    def add(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b, flags=_FLAGS)

    def numbers(self, vector: Any, first: Any, count: int) -> Any:
        """Return one or ``LANES`` entries of a float32 or float64 vector, in float64."""
        address, kind = self.entry(vector, first), ir.DoubleType()
        if count > 1:
            narrow, kind = ir.VectorType(address.type.pointee, count), _VECTOR
            address = self.builder.bitcast(address, narrow.as_pointer())
        value = self.builder.load(address, align=4)
        return value if value.type == kind else self.builder.fpext(value, kind)

    def product(self, weights: list[Any], base: Any) -> Any:
        """Return weights · row, summed up to the lanes of one vector."""
        parts = [self.multiply(w, self.load(base, LANES * t)) for t, w in enumerate(weights)]
        while len(parts) > 1:  # a balanced tree keeps the additions independent
            pairs, odd = zip(parts[::2], parts[1::2], strict=False), parts[len(parts) // 2 * 2 :]
            parts = [self.add(*pair) for pair in pairs] + odd
        return parts[0]

    def sums(self, vectors: list[Any], start: Any) -> Any:
        """Return ``start`` plus the sum over the lanes of each of one or ``LANES`` vectors."""
        if len(vectors) == 1:
            total = cgutils.get_or_insert_function(
                self.builder.module,
                ir.FunctionType(ir.DoubleType(), [ir.DoubleType(), _VECTOR]),
                f"llvm.vector.reduce.fadd.v{LANES}f64",
            )
            return self.builder.call(total, [start, vectors[0]], fastmath=_FLAGS)
        low, high = (
            self.add(self.shuffle(*pair, 0, 4, 2, 6), self.shuffle(*pair, 1, 5, 3, 7))
            for pair in (vectors[:2], vectors[2:])
        )
        halves = self.shuffle(low, high, 0, 1, 4, 5), self.shuffle(low, high, 2, 3, 6, 7)
        return self.add(start, self.add(*halves))

    def by_fours(self, count: Any, body: Callable[[Any, int], None]) -> None:
        """Emit ``body(first, 4)`` for whole groups of entries and ``body(entry, 1)`` for the
        rest."""
        groups = self.builder.lshr(count, self.integer(2))
        whole = self.builder.shl(groups, self.integer(2))
        with cgutils.for_range(self.builder, groups) as loop:
            body(self.builder.shl(loop.index, self.integer(2)), LANES)
        with cgutils.for_range(self.builder, count, start=whole) as loop:
            body(loop.index, 1)

    def rows(self, matrix: Any, indices: Any, first: Any, count: int, column: Any) -> list[Any]:
        """Return the addresses of ``matrix[indices[first + j], column]`` for each j."""
        places = [self.builder.add(first, self.integer(j)) for j in range(count)]
        return [self.row(matrix, self.index(indices, place), column) for place in places]

    def zeros(self, width: int) -> list[Any]:
        """Return the places of ``width`` vectors of zeros."""
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        places = [cgutils.alloca_once_value(self.builder, zero) for _ in range(width)]
        for place in places:  # alloca_once initialises once per call of the caller, not per loop
            self.builder.store(zero, place)
        return places

    def accumulate(self, factor: Any, base: Any, places: list[Any]) -> None:
        """Add factor · row to what stands at the places."""
        wide = self.broadcast(factor)
        for t, place in enumerate(places):
            product = self.multiply(wide, self.load(base, LANES * t))
            self.builder.store(self.add(self.builder.load(place), product), place)

    def write(self, places: list[Any], address: Any) -> None:
        """Store what stands at the places, one vector after the other."""
        for t, place in enumerate(places):
            target = self.builder.gep(address, [self.integer(LANES * t)])
            self.store(self.builder.load(place), target)


def _dots_of(width: int) -> Any:
    """``p[e] += v[k : k + width·LANES] · F[indices[e], k : ...]`` for every e."""

    @intrinsic
    def dots(_: Any, v: Any, k: Any, indices: Any, F: Any, p: Any) -> Any:
        signature = types.void(v, types.intp, indices, F, p)

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            on = _Emitter(context, builder, signature, arguments)
            row, index, matrix, out = on.array(0), on.array(2), on.array(3), on.array(4)
            weights = [on.load(on.entry(row, arguments[1]), LANES * t) for t in range(width)]

            def body(first: Any, count: int) -> None:
                bases = on.rows(matrix, index, first, count, arguments[1])
                products = [on.product(weights, base) for base in bases]
                total = on.sums(products, on.numbers(out, first, count))
                on.store(total, on.entry(out, first))

            on.by_fours(on.length(index), body)
            return context.get_dummy_value()

        return signature, emit

    return dots


def _axpy_of(width: int) -> Any:
    """``out[k : k + width·LANES] = Σ_e x[e] · F[indices[e], k : ...]``."""

    @intrinsic
    def axpy(_: Any, x: Any, indices: Any, F: Any, k: Any, out: Any) -> Any:
        signature = types.void(x, indices, F, types.intp, out)

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            on = _Emitter(context, builder, signature, arguments)
            values, index, matrix, result = on.array(0), on.array(1), on.array(2), on.array(4)
            totals = on.zeros(width)
            with cgutils.for_range(builder, on.length(index)) as loop:
                (base,) = on.rows(matrix, index, loop.index, 1, arguments[3])
                on.accumulate(on.numbers(values, loop.index, 1), base, totals)
            on.write(totals, on.entry(result, arguments[3]))
            return context.get_dummy_value()

        return signature, emit

    return axpy


def _ratios_of(width: int) -> Any:
    """``p[e] = epsilon + v · F[indices[e]]``, ``q = x / p``, ``out = Σ_e q[e] · F[indices[e]]``."""

    @intrinsic
    def ratios(
        _: Any, v: Any, x: Any, indices: Any, F: Any, epsilon: Any, p: Any, q: Any, out: Any
    ) -> Any:
        signature = types.void(v, x, indices, F, types.float64, p, q, out)

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            on = _Emitter(context, builder, signature, arguments)
            row, values, index, matrix = (on.array(t) for t in range(4))
            epsilon, fitted, quotients, zero = arguments[4], on.array(5), on.array(6), on.integer(0)
            weights = [on.load(on.entry(row, zero), LANES * t) for t in range(width)]
            totals = on.zeros(width)

            def body(first: Any, count: int) -> None:
                bases = on.rows(matrix, index, first, count, zero)
                start = epsilon if count == 1 else on.broadcast(epsilon)
                total = on.sums([on.product(weights, base) for base in bases], start)
                on.store(total, on.entry(fitted, first))
                quotient = builder.fdiv(on.numbers(values, first, count), total)
                on.store(quotient, on.entry(quotients, first))
                for j, base in enumerate(bases):
                    one = quotient if count == 1 else builder.extract_element(quotient, on.lane(j))
                    on.accumulate(one, base, totals)

            on.by_fours(on.length(index), body)
            on.write(totals, on.entry(on.array(7), zero))
            return context.get_dummy_value()

        return signature, emit

    return ratios


def _outer_of(width: int) -> Any:
    """``out[k + (0, 1), c : c + width·LANES] = Σ_i L[i, k + (0, 1)] · F[i, c : ...]``."""

    @intrinsic
    def outer(_: Any, L: Any, F: Any, k: Any, c: Any, out: Any) -> Any:
        signature = types.void(L, F, types.intp, types.intp, out)

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            on = _Emitter(context, builder, signature, arguments)
            left, right, result = on.array(0), on.array(1), on.array(4)
            places = [builder.add(arguments[2], on.integer(j)) for j in (0, 1)]
            totals = [on.zeros(width) for _ in places]
            count = cgutils.unpack_tuple(builder, left.shape, 2)[0]
            with cgutils.for_range(builder, count) as loop:
                base = on.row(right, loop.index, arguments[3])
                for place, total in zip(places, totals, strict=True):
                    factor = builder.load(on.row(left, loop.index, place))
                    on.accumulate(factor, base, total)
            for place, total in zip(places, totals, strict=True):
                on.write(total, on.row(result, place, arguments[3]))
            return context.get_dummy_value()

        return signature, emit

    return outer


@intrinsic
def _transpose(
    _: Any, F: Any, a: Any, b: Any, c: Any, d: Any, k: Any, out: Any, at: Any, stride: Any
) -> Any:
    """``out[at + t·stride : + 4] = F[(a, b, c, d), k + t]`` for t = 0..3: a 4x4 register
    transpose."""
    signature = types.void(F, *[types.intp] * 5, out, types.intp, types.intp)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        on = _Emitter(context, builder, signature, arguments)
        matrix, result = on.array(0), on.array(6)
        rows = [on.load(on.row(matrix, j, arguments[5])) for j in arguments[1:5]]
        even, odd = (0, 4, 2, 6), (1, 5, 3, 7)
        pairs = [on.shuffle(rows[i], rows[i + 1], *lanes) for lanes in (even, odd) for i in (0, 2)]
        at = arguments[7]
        for lanes in ((0, 1, 4, 5), (2, 3, 6, 7)):
            for first, second in (pairs[:2], pairs[2:]):
                on.store(on.shuffle(first, second, *lanes), on.entry(result, at))
                at = builder.add(at, arguments[8])
        return context.get_dummy_value()

    return signature, emit


_dots1, _dots2, _dots4, _dots8 = (_dots_of(width) for width in (1, 2, 4, 8))
_axpy1, _axpy2, _axpy4, _axpy8 = (_axpy_of(width) for width in (1, 2, 4, 8))
_outer1, _outer2, _outer4 = (_outer_of(width) for width in (1, 2, 4))
_ratios1, _ratios2, _ratios3, _ratios4 = (_ratios_of(width) for width in (1, 2, 3, 4))


@compiled(_nrt=False)
def dots(v, indices, F, p):
    """Add ``F[indices] @ v`` to p, in place."""
    k, width = 0, F.shape[1]
    while k + 8 * LANES <= width:
        _dots8(v, k, indices, F, p)
        k += 8 * LANES
    if k + 4 * LANES <= width:
        _dots4(v, k, indices, F, p)
        k += 4 * LANES
    if k + 2 * LANES <= width:
        _dots2(v, k, indices, F, p)
        k += 2 * LANES
    if k + LANES <= width:
        _dots1(v, k, indices, F, p)


@compiled(_nrt=False)
def axpy(x, indices, F, out):
    """Write ``x @ F[indices]`` to out."""
    k, width = 0, F.shape[1]
    while k + 8 * LANES <= width:
        _axpy8(x, indices, F, k, out)
        k += 8 * LANES
    if k + 4 * LANES <= width:
        _axpy4(x, indices, F, k, out)
        k += 4 * LANES
    if k + 2 * LANES <= width:
        _axpy2(x, indices, F, k, out)
        k += 2 * LANES
    if k + LANES <= width:
        _axpy1(x, indices, F, k, out)


@compiled(_nrt=False)
def outer(L, F, out):
    """Write ``L.T @ F`` to out, two rows at a time, from the diagonal on."""
    width = F.shape[1]
    for k in range(0, width, 2):
        c = k // LANES * LANES
        while c + 4 * LANES <= width:
            _outer4(L, F, k, c, out)
            c += 4 * LANES
        if c + 2 * LANES <= width:
            _outer2(L, F, k, c, out)
            c += 2 * LANES
        if c + LANES <= width:
            _outer1(L, F, k, c, out)


@compiled(_nrt=False)
def ratios(v, x, indices, F, epsilon, p, q, out):
    """Write ``epsilon + F[indices] @ v`` to p, ``x / p`` to q, and ``q @ F[indices]`` to out.

    Rows of F of up to four vectors are read once for both products.
    """
    width = F.shape[1]
    if width == LANES:
        _ratios1(v, x, indices, F, epsilon, p, q, out)
    elif width == 2 * LANES:
        _ratios2(v, x, indices, F, epsilon, p, q, out)
    elif width == 3 * LANES:
        _ratios3(v, x, indices, F, epsilon, p, q, out)
    elif width == 4 * LANES:
        _ratios4(v, x, indices, F, epsilon, p, q, out)
    else:
        for e in range(indices.size):
            p[e] = epsilon
        dots(v, indices, F, p)
        for e in range(indices.size):
            q[e] = x[e] / p[e]
        axpy(q, indices, F, out)


@compiled(_nrt=False)
def gather(F, indices, groups, n_groups, stride, out):
    """Write column ``groups[g] + t`` of ``F[indices]`` to ``out[(4g + t)·stride :]``,
    zero-padded."""
    count = indices.size
    whole = count // 4 * 4
    for e in range(0, whole, 4):
        a, b = np.intp(indices[e]), np.intp(indices[e + 1])
        c, d = np.intp(indices[e + 2]), np.intp(indices[e + 3])
        for g in range(n_groups):
            _transpose(F, a, b, c, d, groups[g], out, 4 * g * stride + e, stride)  # type: ignore[call-arg]
    for e in range(whole, count):
        for g in range(n_groups):
            for t in range(4):
                out[(4 * g + t) * stride + e] = F[indices[e], groups[g] + t]
    for k in range(4 * n_groups):
        for e in range(count, stride):
            out[k * stride + e] = 0.0
