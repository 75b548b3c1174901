"""Helpers that emit LLVM instructions for the vectorised loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

LANES = 4
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_FLAGS = ("contract", "reassoc", "nsz")


class Emitter:
    """Emits the instructions of one intrinsic; arguments are numbered from 0."""

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
        """Emit ``body(first, 4)`` for groups of four entries, ``body(entry, 1)`` for the rest."""
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
        """Return the addresses of ``width`` vectors of zeros."""
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        places = [cgutils.alloca_once_value(self.builder, zero) for _ in range(width)]
        for place in places:  # alloca_once initialises once per call of the caller, not per loop
            self.builder.store(zero, place)
        return places

    def read(self, width: int, address: Any) -> list[Any]:
        """Copy the ``width`` vectors at an address; return the addresses of the copies."""
        places = self.zeros(width)
        for t, place in enumerate(places):
            self.builder.store(self.load(address, LANES * t), place)
        return places

    def accumulate(self, factor: Any, base: Any, places: list[Any]) -> None:
        """Add factor · row to the vectors at the given places."""
        wide = self.broadcast(factor)
        for t, place in enumerate(places):
            product = self.multiply(wide, self.load(base, LANES * t))
            self.builder.store(self.add(self.builder.load(place), product), place)

    def write(self, places: list[Any], address: Any) -> None:
        """Store the vectors at the given places, one after the other."""
        for t, place in enumerate(places):
            target = self.builder.gep(address, [self.integer(LANES * t)])
            self.store(self.builder.load(place), target)
