"""Three hand-vectorised loops over the rows of a factor: ``dots``, ``axpy`` and ``gather``.

Everything else in the library is plain numba.  These loops walk short rows (one topic weight after
the other) through an index, a pattern that LLVM leaves scalar; written with explicit 4-wide
vectors they run three to five times faster, which is worth more than a third of a whole fit.  They
know nothing but float64 arrays whose row length is a multiple of ``LANES`` (see ``padded``), and
int32 indices.
"""

from __future__ import annotations

import hashlib
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


def compiled(**options: Any) -> Any:
    """Compile without the interpreter lock, keeping NaN and infinity meaningful.

    Machine code is cached on disk where any place for it can be written to.  numba looks only at
    the file of the function itself to see whether its code is up to date; ours depends on the
    other kernels too.
    """
    options = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH, **options}

    def decorate(function: Any) -> Any:
        try:
            dispatcher = njit(cache=True, **options)(function)
            dispatcher._cache._cache_file._source_stamp = _fingerprint()
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

    def store(self, vector: Any, address: Any) -> None:
        self.builder.store(vector, self.builder.bitcast(address, _VECTOR.as_pointer()), align=8)

    def shuffle(self, first: Any, second: Any, *lanes: int) -> Any:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
        return self.builder.shuffle_vector(first, second, mask)

    def broadcast(self, scalar: Any) -> Any:
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = self.builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
        return self.shuffle(first, undefined, *([0] * LANES))

    def multiply(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=_FLAGS)

    def add(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b, flags=_FLAGS)


def _dots_of(width: int) -> Any:
    """``p[e] += v[k : k + width·LANES] · F[indices[e], k : ...]`` for every e."""

    @intrinsic
    def dots(_: Any, v: Any, k: Any, indices: Any, F: Any, p: Any) -> Any:
        signature = types.void(v, types.intp, indices, F, p)

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            on = _Emitter(context, builder, signature, arguments)
            row, index, matrix, out = on.array(0), on.array(2), on.array(3), on.array(4)
            first = on.entry(row, arguments[1])
            weights = [on.load(first, LANES * t) for t in range(width)]
            total = cgutils.get_or_insert_function(
                builder.module,
                ir.FunctionType(ir.DoubleType(), [ir.DoubleType(), _VECTOR]),
                f"llvm.vector.reduce.fadd.v{LANES}f64",
            )
            count = cgutils.unpack_tuple(builder, index.shape, 1)[0]
            with cgutils.for_range(builder, count) as loop:
                base = on.row(matrix, on.index(index, loop.index), arguments[1])
                products = [
                    on.multiply(weight, on.load(base, LANES * t))
                    for t, weight in enumerate(weights)
                ]
                while len(products) > 1:  # a balanced tree keeps the additions independent
                    products = [
                        on.add(*pair) for pair in zip(products[::2], products[1::2], strict=True)
                    ]
                place = on.entry(out, loop.index)
                value = builder.call(total, [builder.load(place), products[0]], fastmath=_FLAGS)
                builder.store(value, place)
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
            zero = ir.Constant(_VECTOR, [0.0] * LANES)
            sums = [cgutils.alloca_once_value(builder, zero) for _ in range(width)]
            for place in sums:  # alloca_once initialises once per call of the caller, not per loop
                builder.store(zero, place)
            count = cgutils.unpack_tuple(builder, index.shape, 1)[0]
            with cgutils.for_range(builder, count) as loop:
                scalar = builder.load(on.entry(values, loop.index))
                if scalar.type != ir.DoubleType():
                    scalar = builder.fpext(scalar, ir.DoubleType())
                factor = on.broadcast(scalar)
                base = on.row(matrix, on.index(index, loop.index), arguments[3])
                for t, place in enumerate(sums):
                    product = on.multiply(factor, on.load(base, LANES * t))
                    builder.store(on.add(builder.load(place), product), place)
            for t, place in enumerate(sums):
                target = builder.gep(on.entry(result, arguments[3]), [on.integer(LANES * t)])
                on.store(builder.load(place), target)
            return context.get_dummy_value()

        return signature, emit

    return axpy


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
