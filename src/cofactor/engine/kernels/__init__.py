"""The inner loops, in C: they take arrays and write arrays, and decide nothing else.

Every kernel works on slices of rows of one factor V and takes a step on a row problem of this kind:

    min_{v ≥ 0}  (up − down)·v + ½ Σ_t s_t v'G_t v + Σ_t s_t ups_t·v
                 + Σ_e [ −log_e·log p_e + ½ square_e·p_e² + inverse_e/p_e + concave_e·log p_e ]
                 − barrier·log v                              with p_e = EPSILON + F[index_e]·v,

whose coefficients are in ``Entries`` and ``Forms`` (``subproblem.problem`` puts them together).
Factors are padded (``factors.pad``); arithmetic is float64 throughout, and coefficients of entries
may be float32.  Rows are independent, so results do not depend on the slices, which lie between
consecutive ``bounds``.

This module is the border: it checks what it passes (``arguments``) and calls the library
(``library``, native/*.c).  The interpreter is released during a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import byref
from typing import Any

from cofactor._types import FloatArray, IntArray
from cofactor.engine.kernels.arguments import (
    DescendingStruct,
    Entries,
    EntriesOfRows,
    FactorStruct,
    Forms,
    MultiplyingStruct,
    Places,
    Slopes,
    SlopesStruct,
    Surrogate,
    address,
    check,
    check_apart,
    check_factor,
    check_topics,
    check_weights,
    noting,
    slices_of,
)
from cofactor.engine.kernels.library import LIBRARY

__all__ = [
    "EPSILON",
    "Entries",
    "EntriesOfRows",
    "Forms",
    "Places",
    "Slopes",
    "Surrogate",
    "cross_slices",
    "descend_quadratic",
    "descend_slices",
    "gram_slices",
    "inner_slices",
    "multiply_by_parts",
    "multiply_slices",
    "sum_slices",
    "surrogate_slices",
    "value_slices",
]

EPSILON = LIBRARY.epsilon
"""Added to fitted values under a logarithm or a division; data are scaled to at most about 1."""


def descend_slices(
    V: FloatArray,
    entries: EntriesOfRows,
    F: FloatArray,
    forms: Forms,
    bounds: IntArray,
    costs: FloatArray | None = None,
    *,
    rounds: int,
    sweeps: int,
    tolerance: float,
    all_topics: bool,
    weights: FloatArray | None = None,
    split: int = 0,
) -> int:
    """Coordinate descent on rows of V, in place: ``rounds`` times find and sweep active topics.

    ``all_topics`` sweeps all topics, as the quadratic kernel does; the caller sets it where no row
    of any slice has a logarithm.  A row is finished at the round that finds all its topics within
    ``tolerance`` of their optimum.  Return the number of rows that are not finished.

    ``costs`` gets the weighted costs of each slice's entries afterwards.  The last entries of a
    row, with indices of at least ``split``, belong to the second term, the others to the first.
    """
    check_factor("V", V, write=True)
    check("F", F, (None, V.shape[1]))
    check_apart("V", V, F=F)
    if rounds < 0 or sweeps < 0 or (rounds == 0 and costs is not None):
        raise ValueError(f"rounds={rounds} and sweeps={sweeps} must be positive")
    which, low, high = slices_of(bounds, len(V)), int(bounds[0]), int(bounds[-1])
    some = entries.rows(low, high)  # must live until the call returns
    if some.inverse.size:
        raise ValueError("entries must have no inverse: the descent does not know it")
    given = some.cover(low, high, F)
    return _call(
        "descend",
        address(V),
        byref(which),
        byref(given),
        byref(FactorStruct(address(F), V.shape[1])),
        byref(forms.cover(len(V), V.shape[1])),
        byref(DescendingStruct(rounds, sweeps, all_topics, tolerance)),
        byref(noting(costs, weights, split, which, len(V))),
    )


def descend_quadratic(
    V: FloatArray, forms: Forms, bounds: IntArray, *, sweeps: int, tolerance: float
) -> int:
    """Coordinate descent (HALS) on rows of V without entries, in place.

    A row is frozen after a sweep that found every topic within ``tolerance`` of its minimum.
    Return the number of rows that are not frozen.
    """
    check_factor("V", V, write=True)
    return _call(
        "descend_quadratic",
        address(V),
        V.shape[1],
        byref(slices_of(bounds, len(V))),
        byref(forms.cover(len(V), V.shape[1])),
        byref(DescendingStruct(1, sweeps, True, tolerance)),
    )


def multiply_slices(
    V: FloatArray,
    new: FloatArray,
    entries: EntriesOfRows,
    F: FloatArray,
    forms: Forms,
    slopes: Sequence[Slopes],
    bounds: IntArray,
    *,
    has_barrier: bool,
    rounds: int,
    tolerance: float,
    epsilon: float,
    ridge: float,
) -> int:
    """Multiplicative updates of rows of V, written to ``new``: new entry = old entry · t.

    ridge = 0: t minimises the surrogate, which never raises the objective.  ridge > 0: the paper's
    ratio, literally, with ``ridge`` added to its divisor.  ``epsilon`` is added to fitted values.

    ``slopes`` are the downward slopes of at most two terms; ``forms.down`` is not used.
    ``has_barrier`` says whether any row of any slice has a barrier.  A row is finished at the
    update that moves it by at most ``tolerance`` of its sum.  Return the number of rows that are
    not finished.
    """
    check_factor("V", V)
    wide = V.shape[1]
    check("new", new, V.shape, write=True)
    check("F", F, (None, wide))
    check_apart("new", new, V=V, F=F)
    which, low, high = slices_of(bounds, len(V)), int(bounds[0]), int(bounds[-1])
    some = entries.rows(low, high)  # must live until the call returns
    given = some.cover(low, high, F)
    if rounds < 1:
        raise ValueError(f"rounds={rounds} must be positive")
    if len(slopes) > 2:
        raise ValueError(f"slopes must be those of at most two terms, not {len(slopes)}")
    two = (SlopesStruct * 2)(*(some.cover(low, high, wide) for some in slopes if some.values.size))
    return _call(
        "multiply",
        address(V),
        address(new),
        byref(which),
        byref(given),
        byref(FactorStruct(address(F), wide)),
        byref(forms.cover(len(V), wide)),
        two,
        byref(MultiplyingStruct(rounds, has_barrier, tolerance, epsilon, ridge)),
    )


def multiply_by_parts(
    V: FloatArray,
    new: FloatArray,
    surrogate: Surrogate,
    forms: Forms,
    bounds: IntArray,
    *,
    has_barrier: bool,
    ridge: float,
) -> None:
    """Update rows of V once, from known coefficients of the surrogate; write them to ``new``."""
    check_factor("V", V)
    check("new", new, V.shape, write=True)
    check_apart("new", new, V=V)
    form = forms.cover(len(V), V.shape[1])
    _call(
        "multiply_known",
        address(V),
        address(new),
        V.shape[1],
        byref(slices_of(bounds, len(V))),
        byref(surrogate.cover(len(V), form.r)),
        byref(form),
        byref(MultiplyingStruct(1, has_barrier, 0.0, EPSILON, ridge)),
    )


def surrogate_slices(
    V: FloatArray,
    entries: EntriesOfRows,
    F: FloatArray,
    epsilon: float,
    surrogate: Surrogate,
    bounds: IntArray,
    costs: FloatArray | None = None,
) -> None:
    """Write the coefficients of the surrogate of each row's entries to ``surrogate``.

    ``costs`` gets the costs of each slice's entries.
    """
    check_factor("V", V)
    check("F", F, (None, V.shape[1]))
    which, low, high = slices_of(bounds, len(V)), int(bounds[0]), int(bounds[-1])
    out = surrogate.cover(len(V), None, write=True)
    r = surrogate.c.shape[1]
    check_topics(r, V.shape[1])
    for name, array in zip(surrogate._fields, surrogate, strict=True):
        check_apart(name, array, V=V, F=F)
    if costs is not None:
        check("costs", costs, (which.count,), write=True)
    some = entries.rows(low, high)  # must live until the call returns
    _call(
        "surrogate",
        address(V),
        byref(which),
        byref(some.cover(low, high, F)),
        byref(FactorStruct(address(F), V.shape[1])),
        r,
        epsilon,
        byref(out),
        None if costs is None else address(costs),
    )


def value_slices(
    V: FloatArray,
    entries: EntriesOfRows,
    F: FloatArray,
    weights: FloatArray | None,
    bounds: IntArray,
    out: FloatArray,
) -> None:
    """Write the weighted cost of the entries of each slice to ``out``."""
    check_factor("V", V)
    check("F", F, (None, V.shape[1]))
    which, low, high = slices_of(bounds, len(V)), int(bounds[0]), int(bounds[-1])
    check("out", out, (which.count,), write=True)
    some = entries.rows(low, high)  # must live until the call returns
    _call(
        "costs",
        address(V),
        byref(which),
        byref(some.cover(low, high, F)),
        byref(FactorStruct(address(F), V.shape[1])),
        check_weights(weights, len(V)),
        address(out),
    )


def cross_slices(slopes: Slopes, out: FloatArray, bounds: IntArray) -> None:
    """Write rows of a sparse matrix times a factor, Σ_e values[e] · F[index_e], to those of out."""
    check_factor("F", slopes.F)
    wide = slopes.F.shape[1]
    check("out", out, (None, None), write=True)
    slices_of(bounds, len(out))
    check_topics(out.shape[1], wide)
    low, high = int(bounds[0]), int(bounds[-1])
    check_apart("out", out, F=slopes.F)
    cells = byref(slopes.cover(low, high, wide))
    _call("cross", cells, wide, low, high, out.shape[1], address(out))


def gram_slices(
    F: FloatArray, weights: FloatArray | None, bounds: IntArray, out: FloatArray
) -> None:
    """Write F' diag(weights) F over slice t to ``out[t]``; no weights stand for ones."""
    _sum_rows("gram", F, weights, bounds, out, 3)


def sum_slices(
    F: FloatArray, weights: FloatArray | None, bounds: IntArray, out: FloatArray
) -> None:
    """Write weights @ F over slice t to ``out[t]``; no weights stand for ones."""
    _sum_rows("sums", F, weights, bounds, out, 2)


def _sum_rows(
    name: str,
    F: FloatArray,
    weights: FloatArray | None,
    bounds: IntArray,
    out: FloatArray,
    ndim: int,
) -> None:
    check_factor("F", F)
    which, r = slices_of(bounds, len(F)), out.shape[-1]
    check("out", out, (which.count, *[r] * (ndim - 1)), write=True)
    check_topics(r, F.shape[1])
    check_apart("out", out, F=F)
    factor = byref(FactorStruct(address(F), F.shape[1]))
    _call(name, factor, byref(which), check_weights(weights, len(F)), r, address(out))


def inner_slices(
    F: FloatArray, other: FloatArray, weights: FloatArray | None, bounds: IntArray, out: FloatArray
) -> None:
    """Write Σ weights · F · other over slice t to ``out[t]``; ``other`` has no padding."""
    check_factor("F", F)
    check("other", other, (len(F), None))
    which, r = slices_of(bounds, len(F)), other.shape[1]
    check("out", out, (which.count,), write=True)
    check_topics(r, F.shape[1])
    factor, row_weights = (
        byref(FactorStruct(address(F), F.shape[1])),
        check_weights(weights, len(F)),
    )
    _call("inner", factor, byref(which), address(other), row_weights, r, address(out))


def _call(name: str, *arguments: Any) -> int:
    """Call a kernel; structs are passed by their address, and the interpreter is released."""
    result = int(getattr(LIBRARY.functions, f"cofactor_{name}")(*arguments))
    if result < 0:
        raise MemoryError(f"There is not enough memory for the kernel {name}.")
    return result
