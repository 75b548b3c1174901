"""Variable genes: those that vary more between cells than other genes with the same mean.

Genes that every cell expresses strongly have most of the counts but do not distinguish types of
cells. They would outweigh the few labels, so a fit leaves them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor._types import FloatArray, IntArray
from cofactor.io.errors import InputError, suggestion

MAX_FITTED_GENES, MIN_FITTED_GENES = 2000, 200
"""By default a fit uses a third of the genes, within these bounds."""
MIN_CELLS_PER_GENE = 3
"""Genes that fewer cells express are left out."""
MAX_BINS, MIN_GENES_PER_BIN = 20, 100
"""Bins of genes with similar means."""


@dataclass(eq=False)
class GeneSums:
    """Sums over cells that are scaled to the same total; chunks can be added.

    Parameters
    ----------
    cells : int
        Number of cells with a count.
    first, second, chance, seen : array (n_genes,)
        Sums of scaled counts, of their squares, and of their Poisson variance; number of cells
        with a count of the gene.
    """

    cells: int
    first: FloatArray
    second: FloatArray
    chance: FloatArray
    seen: FloatArray

    @classmethod
    def none(cls, genes: int) -> GeneSums:
        return cls(0, *(np.zeros(genes) for _ in range(4)))

    def add(self, rows: sp.csr_array) -> None:
        """Add some cells."""
        totals = np.asarray(rows.sum(axis=1), dtype=np.float64).ravel()
        scale = np.repeat(1.0 / np.maximum(totals, 1.0), np.diff(rows.indptr))
        m, x = rows.shape[1], rows.data.astype(np.float64)
        self.cells += int(np.count_nonzero(totals))
        for sums, terms in (
            (self.first, x * scale),
            (self.second, (x * scale) ** 2),
            (self.chance, x * scale**2),
            (self.seen, (x > 0).astype(float)),
        ):
            sums += np.bincount(rows.indices, terms, minlength=m)

    def dispersion(self) -> FloatArray:
        """Return the squared coefficient of variation beyond Poisson noise; NaN if unseen."""
        n = max(self.cells, 1)
        mean = self.first / n
        beyond = self.second / n - mean**2 - self.chance / n
        known = self.seen >= MIN_CELLS_PER_GENE
        return np.where(known, beyond / np.where(known, mean, 1.0) ** 2, np.nan)


def usual_number(genes: int) -> int:
    """Return the default number of genes of a fit.

    Examples
    --------
    >>> [usual_number(genes) for genes in (150, 450, 3_000, 30_000)]
    [150, 200, 1000, 2000]
    """
    return min(genes, MAX_FITTED_GENES, max(MIN_FITTED_GENES, genes // 3))


def variable_genes(sums: GeneSums, number: int) -> IntArray:
    """Return the columns of the ``number`` most variable genes, in order.

    Genes are compared with genes of similar means, because how the variance of counts grows with
    the mean differs between experiments.
    """
    dispersion = sums.dispersion()
    known = np.flatnonzero(~np.isnan(dispersion))
    by_mean = known[np.argsort(sums.first[known], kind="stable")]
    score = np.full(len(dispersion), -np.inf)
    n_bins = max(1, min(MAX_BINS, len(by_mean) // MIN_GENES_PER_BIN))
    for places in np.array_split(by_mean, n_bins):
        logs = np.log(np.maximum(dispersion[places], 1e-3))
        score[places] = logs - np.median(logs)
    chosen = np.argsort(-score, kind="stable")[:number]
    return np.sort(chosen[np.isfinite(score[chosen])])


def masked_genes(mask: Any, var: Any) -> IntArray:
    """Return the columns selected by a boolean column of var or a boolean array."""
    place = "mask_var"
    if isinstance(mask, str):
        if mask not in var:
            known = suggestion(mask, [str(name) for name in var.columns])
            raise InputError(f"mask_var={mask!r} is not a column of var. {known}")
        place, mask = f"var[{mask!r}]", var[mask]
    chosen = _flags(mask)
    if chosen.dtype != np.bool_ or chosen.shape != (len(var),):
        raise InputError(
            f"{place}, which chooses the genes, has dtype {chosen.dtype} and shape {chosen.shape}; "
            f"make it True or False for each of the {len(var):,} genes, without missing values."
        )
    if not chosen.any():
        raise InputError(f"{place} is False for every gene; choose some.")
    return np.flatnonzero(chosen)


def _flags(values: Any) -> np.ndarray:
    """Return values as an array, of dtype bool if all values are."""
    found = np.asarray(values)
    if found.dtype == object and all(isinstance(value, bool | np.bool_) for value in found.flat):
        return found.astype(bool)
    return found
