"""Refuse numbers that are no counts, and say what they seem to be."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor.errors import Clause, Parameter, ParameterError
from cofactor.io.errors import InputError

LARGEST_LOG = 20.0
"""log1p of normalised counts is smaller than this."""
EQUAL = 0.02
"""Coefficient of variation of totals that are equal up to rounding."""


def check_counts(rows: sp.csr_array, place: str, elsewhere: tuple[str, ...] = ()) -> None:
    """Refuse rows with values that are not whole and nonnegative.

    Parameters
    ----------
    rows : csr_array
        Some cells.
    place : str
        How the message calls the matrix.
    elsewhere : tuple of str
        Layers that may hold the counts.
    """
    values = rows.data
    if not len(values):
        return
    if not np.isfinite(values).all():
        raise InputError(f"{place} has values that are not finite; pass raw counts.")
    if values.min() < 0:
        raise ParameterError(
            f"{place} has negative values, the smallest is {values.min():.3g}, as scaled data have;"
            " the model needs raw counts",
            _remedy(elsewhere),
        )
    fractions = values[values != np.floor(values)]
    if len(fractions):
        what = _kind(rows)
        raise ParameterError(
            f"{place} holds {what}, such as {fractions[0]:.4g}, not raw counts; the model scales "
            "for the depth of cells by itself",
            _remedy(elsewhere),
        )


def _kind(rows: sp.csr_array) -> str:
    """Say what fractions seem to be: normalised counts, their logarithms, or neither."""
    if rows.data.max() < LARGEST_LOG and _equal_totals(rows.expm1()):
        return "log-normalised values"
    return "normalised values" if _equal_totals(rows) else "fractions"


def _equal_totals(rows: Any) -> bool:
    totals = np.asarray(rows.sum(axis=1)).ravel()
    totals = totals[totals > 0]
    return len(totals) > 1 and float(totals.std()) < EQUAL * float(totals.mean())


def _remedy(elsewhere: tuple[str, ...]) -> Clause:
    if not elsewhere:
        return (
            "Keep a copy before you normalise: adata.layers['counts'] = adata.X.copy(), then pass "
            "layer='counts'; round corrected counts first."
        )
    if elsewhere == ("adata.raw",):
        return (
            "If adata.raw holds them: adata.layers['counts'] = adata.raw[:, adata.var_names].X, "
            "then pass layer='counts'."
        )
    named = [part for o in elsewhere for part in (" or ", _place(o))]
    return "Try ", *named[1:], "; round corrected counts first"


def _place(layer: str) -> str | Parameter:
    return "X (no layer)" if layer == "X" else Parameter("layer", layer)
