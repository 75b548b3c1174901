"""The surrogate of a term's entries, and the multiplicative update from known coefficients.

Written in t = new entry / old entry, the surrogate

    q·t²/2 + (u − v)·t − c·log t + e/t

lies above the objective and touches it at t = 1.  Each term adds to the coefficients.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from cofactor.engine import kernels
from cofactor.engine.factors import PaddedFactor
from cofactor.engine.kernels import Entries, Forms, Surrogate
from cofactor.engine.subproblem.terms import BoundTerm
from cofactor.engine.threads import Threads, even_slices


def surrogate_of(
    term: BoundTerm, V: PaddedFactor, threads: Threads, epsilon: float, *, costs: bool
) -> tuple[Surrogate, float]:
    """Return the coefficients of a term's entries at V, and with ``costs`` also their cost."""
    side, shape = term.side, V.array.shape
    entries, d, none = side.entries, side.divergence, no_surrogate(shape[1])
    if entries is None:
        return none, 0.0
    squares = d.square and not side.observations.zeros
    used = zip((d.log, squares, d.inverse, d.concave), none, strict=True)
    found = Surrogate(*(np.empty(shape) if use else empty for use, empty in used))
    noted = np.zeros(len(side.entry_bounds) - 1) if costs else None
    run = partial(kernels.surrogate_slices, V.wide, entries, term.F, epsilon, found)
    threads.over(side.entry_bounds, run, noted, join=isinstance(entries, Entries))
    return found, 0.0 if noted is None else float(noted.sum())


def multiply_by_surrogate(
    V: PaddedFactor,
    surrogate: Surrogate,
    forms: Forms,
    has_barrier: bool,
    threads: Threads,
    ridge: float,
) -> PaddedFactor:
    """Make one multiplicative update from the coefficients of the entries at V."""
    new = V.empty_rows()
    run = partial(
        kernels.multiply_by_parts,
        V.wide,
        new,
        surrogate,
        forms,
        has_barrier=has_barrier,
        ridge=ridge,
    )
    threads.over(even_slices(len(new)), run, join=True)
    return PaddedFactor.from_padded(new, V.array)


@cache
def no_surrogate(r: int) -> Surrogate:
    """Return the coefficients of no entries, for r topics."""
    none = np.empty((0, r))
    return Surrogate(none, none, none, none)
