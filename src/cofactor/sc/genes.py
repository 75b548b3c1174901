"""Which genes a fit uses: those that the user names, or the most variable ones.

Genes that every cell expresses strongly have most of the counts but do not distinguish types of
cells. They would outweigh the few labels, so a fit leaves them out. A gene is variable if its
dispersion is large among genes of similar means. This is the rule "seurat" of scanpy's
``highly_variable_genes`` (Satija et al. 2015), except that small bins are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor._types import FloatArray, IntArray
from cofactor.errors import Parameter, ParameterError
from cofactor.io.errors import InputError, suggestion

MAX_FITTED_GENES, MIN_FITTED_GENES = 2000, 200
"""By default a fit uses a third of the genes, within these bounds."""
MAX_SHOWN = 5
"""Maximum number of unknown names in a message."""
MIN_CELLS_PER_GENE = 3
"""Genes that fewer cells express are left out."""
TOTAL = 1e4
"""Cells are scaled to this total, as scanpy's users do."""
BINS, MIN_GENES_PER_BIN = 20, 25
"""Bins of genes with similar means; smaller ones join the next lower one."""
SCANPY_COLUMN = "highly_variable"
"""The column of var in which scanpy marks variable genes."""


@dataclass(eq=False)
class GeneSums:
    """Sums over cells that are scaled to the same total; chunks can be added.

    Parameters
    ----------
    cells : int
        Number of cells with a count.
    first, second, seen : array (n_genes,)
        Sums of scaled counts and of their squares; number of cells with a count of the gene.
    """

    cells: int
    first: FloatArray
    second: FloatArray
    seen: FloatArray

    @classmethod
    def none(cls, genes: int) -> GeneSums:
        return cls(0, *(np.zeros(genes) for _ in range(3)))

    def add(self, rows: sp.csr_array) -> None:
        """Add some cells."""
        totals = np.asarray(rows.sum(axis=1), dtype=np.float64).ravel()
        scale = np.repeat(TOTAL / np.maximum(totals, 1.0), np.diff(rows.indptr))
        m, x = rows.shape[1], rows.data * scale
        self.cells += int(np.count_nonzero(totals))
        for sums, terms in ((self.first, x), (self.second, x**2), (self.seen, np.sign(x))):
            sums += np.bincount(rows.indices, terms, minlength=m)


def usual_number(genes: int) -> int:
    """Return the default number of genes of a fit.

    Examples
    --------
    >>> [usual_number(genes) for genes in (150, 450, 3_000, 30_000)]
    [150, 200, 1000, 2000]
    """
    return min(genes, MAX_FITTED_GENES, max(MIN_FITTED_GENES, genes // 3))


def variable_genes(batches: Sequence[GeneSums], number: int) -> IntArray:
    """Return the columns of the ``number`` most variable genes, in order.

    Genes are scored in each batch; the mean decides, so that a gene that only tells batches apart
    is not chosen. A gene that a batch lacks has score 0 there.
    """
    found = [_scores(sums) for sums in batches]
    weights = [sums.cells for sums in batches]
    score = np.average([np.nan_to_num(one) for one in found], axis=0, weights=weights)
    score[np.isnan(found).all(axis=0)] = -np.inf
    chosen = np.argsort(-score, kind="stable")[:number]
    return np.sort(chosen[np.isfinite(score[chosen])])


def _scores(sums: GeneSums) -> FloatArray:
    """Return how variable genes are: NaN if few cells have them.

    The logarithm of variance / mean is compared with that of genes of similar means, in units of
    their standard deviation.
    """
    n = max(sums.cells, 1)
    mean = sums.first / n
    variance = (sums.second / n - mean**2) * n / max(n - 1, 1)
    known = np.flatnonzero((sums.seen >= MIN_CELLS_PER_GENE) & (variance > 0))
    dispersion = np.log(variance[known] / mean[known])
    places = _bins(np.log1p(mean[known]))
    score = np.full(len(mean), np.nan)
    for place in np.unique(places):
        inside = places == place
        apart = dispersion[inside] - dispersion[inside].mean()
        spread = np.sqrt((apart**2).sum() / max(len(apart) - 1, 1))
        score[known[inside]] = apart / max(float(spread), 1e-12)
    return score


def _bins(values: FloatArray) -> IntArray:
    """Return the bin of each value; bins have equal widths, and small ones are joined."""
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    edges = np.linspace(values.min(), values.max(), BINS + 1)
    places = np.clip(np.searchsorted(edges, values) - 1, 0, BINS - 1)
    for place in range(BINS - 1, 0, -1):
        if np.count_nonzero(places == place) < MIN_GENES_PER_BIN:
            places[places == place] = place - 1
    if np.count_nonzero(places == 0) < MIN_GENES_PER_BIN and places.any():
        places[places == 0] = places[places > 0].min()
    return places


def named_genes(genes: Any, var: Any) -> IntArray:
    """Return the columns of the genes that the user names.

    ``genes`` is a column of var that holds True or False, a sequence of names of genes, or an array
    of True and False.
    """
    if isinstance(genes, str):
        if genes not in var:
            columns = [str(name) for name in var.columns]
            none = "var has no columns; pass a number of genes, their names, or a file of names."
            known = suggestion(genes, columns) if columns else none
            raise ParameterError((Parameter("genes", genes), " is not a column of var"), known)
        return _flagged(np.asarray(var[genes]), f"var[{genes!r}]", len(var))
    if isinstance(genes, Sequence | np.ndarray) or hasattr(genes, "__array__"):
        cells = np.asarray(genes)
        if not cells.size:
            raise ParameterError((Parameter("genes"), " is empty"), "name some genes")
        if cells.dtype.kind in "UOT" and all(isinstance(name, str) for name in cells.flat):
            return _columns_of(cells, var)
        return _flagged(cells, "genes", len(var))
    raise InputError(
        f"genes is {genes!r}; pass a number of genes, a list of their names, or the name of a "
        "column of var."
    )


def _columns_of(names: np.ndarray, var: Any) -> IntArray:
    """Return the columns of names of genes."""
    place = {str(name): j for j, name in enumerate(var.index)}
    missing = [str(name) for name in names.flat if str(name) not in place]
    if missing:
        such = ", ".join(map(repr, missing[:MAX_SHOWN]))
        number = f"{len(missing):,} of {names.size:,} names in "
        raise ParameterError(
            (number, Parameter("genes"), f" are not in var, such as {such}"),
            f"pass names like {str(var.index[0])!r}" if len(var) else "pass names of var_names",
        )
    return np.unique([place[str(name)] for name in names.flat])


def _flagged(cells: np.ndarray, place: str, genes: int) -> IntArray:
    """Return the columns at which an array of True and False is True."""
    if cells.dtype == object and all(isinstance(value, bool | np.bool_) for value in cells.flat):
        cells = cells.astype(bool)
    if cells.dtype != np.bool_ or cells.shape != (genes,):
        raise InputError(
            f"{place}, which chooses the genes, has dtype {cells.dtype} and shape {cells.shape}; "
            f"make it True or False for each of the {genes:,} genes, without missing values."
        )
    if not cells.any():
        raise InputError(f"{place} is False for every gene; choose some, or pass their number.")
    return np.flatnonzero(cells)


def batch_codes(obs: Any, batch_key: str | None) -> IntArray:
    """Return the number of the batch of each cell; 0 for all without ``batch_key``."""
    if batch_key is None:
        return np.zeros(len(obs), dtype=np.int64)
    if batch_key not in obs:
        known = suggestion(batch_key, [str(name) for name in obs.columns])
        raise ParameterError((Parameter("batch_key", batch_key), " is not a column of obs"), known)
    return np.unique(obs[batch_key].astype(str), return_inverse=True)[1]


def is_number(genes: Any) -> bool:
    """Return whether ``genes`` is a number of genes."""
    return isinstance(genes, Integral) and not isinstance(genes, bool)
