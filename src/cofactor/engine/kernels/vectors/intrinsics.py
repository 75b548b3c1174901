"""The vectorised loops; each function returns one for rows of ``width`` vectors."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from cofactor.engine.kernels.vectors.emitter import LANES, Emitter


def dots_of(width: int) -> Any:
    """``p[e] += v[k : k + width·LANES] · F[indices[e], k : ...]`` for every e."""

    @intrinsic
    def dots(_: Any, v: Any, k: Any, indices: Any, F: Any, p: Any) -> Any:
        signature = types.void(v, types.intp, indices, F, p)

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            on = Emitter(context, builder, signature, arguments)
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


def summing_of(width: int, *, adding: bool) -> Any:
    """``out[k : k + width·LANES] = weight · Σ_e x[e] · F[indices[e], k : ...]``.

    The ``count`` entries begin at ``s`` in x and at ``first`` in the indices.  With ``adding`` the
    sum is added to out.
    """

    @intrinsic
    def summing(
        _: Any,
        weight: Any,
        x: Any,
        s: Any,
        indices: Any,
        first: Any,
        count: Any,
        F: Any,
        k: Any,
        out: Any,
    ) -> Any:
        signature = types.void(
            types.float64, x, types.intp, indices, types.intp, types.intp, F, types.intp, out
        )

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            on = Emitter(context, builder, signature, arguments)
            weight, _, s, _, first, count, _, k, _ = arguments
            values, index, matrix, result = (on.array(t) for t in (1, 3, 6, 8))
            totals = on.read(width, on.entry(result, k)) if adding else on.zeros(width)
            with cgutils.for_range(builder, count) as loop:
                place = builder.add(first, loop.index)
                (base,) = on.rows(matrix, index, place, 1, k)
                number = on.numbers(values, builder.add(s, loop.index), 1)
                on.accumulate(on.multiply(weight, number), base, totals)
            on.write(totals, on.entry(result, k))
            return context.get_dummy_value()

        return signature, emit

    return summing


def ratios_of(width: int) -> Any:
    """``p[e] = epsilon + v · F[indices[e]]``, ``q = x / p``, ``out = Σ_e q[e] · F[indices[e]]``."""

    @intrinsic
    def ratios(
        _: Any, v: Any, x: Any, indices: Any, F: Any, epsilon: Any, p: Any, q: Any, out: Any
    ) -> Any:
        signature = types.void(v, x, indices, F, types.float64, p, q, out)

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            on = Emitter(context, builder, signature, arguments)
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


def outer_of(width: int) -> Any:
    """``out[k + t, c : c + width·LANES] = Σ_i L[i, k + t] · F[i, c : ...]`` for t = 0..3.

    With four sums at once, no addition has to wait for the one before.
    """

    @intrinsic
    def outer(_: Any, L: Any, F: Any, k: Any, c: Any, out: Any) -> Any:
        signature = types.void(L, F, types.intp, types.intp, out)

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            on = Emitter(context, builder, signature, arguments)
            left, right, result = on.array(0), on.array(1), on.array(4)
            places = [builder.add(arguments[2], on.integer(t)) for t in range(4)]
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


def products_of(width: int, count: int) -> Any:
    """``out[i, c : c + width·LANES] = Σ_k V[i, k] · F[k, c : ...]`` for ``count`` rows.

    They begin at ``at`` in V and out, and are as wide as the rows of F.
    """

    @intrinsic
    def products(_: Any, V: Any, at: Any, F: Any, c: Any, out: Any) -> Any:
        signature = types.void(V, types.intp, F, types.intp, out)

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            on = Emitter(context, builder, signature, arguments)
            rows, matrix, result = on.array(0), on.array(2), on.array(4)
            at, c = arguments[1], arguments[3]
            n, wide = cgutils.unpack_tuple(builder, matrix.shape, 2)
            starts = [builder.add(at, builder.mul(wide, on.integer(j))) for j in range(count)]
            totals = [on.zeros(width) for _ in starts]
            with cgutils.for_range(builder, n) as loop:
                base = on.row(matrix, loop.index, c)
                for start, total in zip(starts, totals, strict=True):
                    factor = builder.load(on.entry(rows, builder.add(start, loop.index)))
                    on.accumulate(factor, base, total)
            for start, total in zip(starts, totals, strict=True):
                on.write(total, on.entry(result, builder.add(start, c)))
            return context.get_dummy_value()

        return signature, emit

    return products


@intrinsic
def transpose(
    _: Any, F: Any, a: Any, b: Any, c: Any, d: Any, k: Any, out: Any, at: Any, stride: Any
) -> Any:
    """``out[at + t·stride : + 4] = F[(a, b, c, d), k + t]`` for t = 0..3, by a 4×4 transpose."""
    signature = types.void(F, *[types.intp] * 5, out, types.intp, types.intp)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        on = Emitter(context, builder, signature, arguments)
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
