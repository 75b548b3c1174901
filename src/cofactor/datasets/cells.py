"""Made-up counts of genes in cells, for examples."""

from __future__ import annotations

from typing import Any

import numpy as np

TYPES = ("B cell", "T cell", "monocyte")
N_GENES, N_HOUSEKEEPING, MARKERS_PER_TYPE = 300, 30, 10
LABELS_PER_TYPE = 8


def make_cells(n: int = 240, *, seed: int = 0) -> Any:
    """Make up counts of genes in cells of three types. Requires ``cofactor[sc]``.

    Each type has ten marker genes, GENE0 to GENE9 for the first one and so on. The last thirty
    genes are strongly expressed in every cell. Some cells are read seven times as deeply as others.

    Parameters
    ----------
    n : int, default=240
        Number of cells.
    seed : int, default=0
        Random seed.

    Returns
    -------
    AnnData
        Cells × 300 genes, counts in X. ``obs["cell_type"]`` has the type of the first 24 cells and
        None for the others; ``obs["truth"]`` has the type of each cell.

    Examples
    --------
    >>> from cofactor.datasets import make_cells
    >>> cells = make_cells()
    >>> cells.shape, cells.obs["truth"].tolist()[:4]
    ((240, 300), ['B cell', 'T cell', 'monocyte', 'B cell'])
    """
    from anndata import AnnData

    random, kind = np.random.default_rng(seed), np.arange(n) % len(TYPES)
    rates = np.full((len(TYPES), N_GENES), 0.5)
    rates[:, -N_HOUSEKEEPING:] = 20.0
    for c in range(len(TYPES)):
        rates[c, c * MARKERS_PER_TYPE : (c + 1) * MARKERS_PER_TYPE] = 4.0
    depth = np.exp(random.uniform(-1, 1, n))
    cells = AnnData(random.poisson(depth[:, None] * rates[kind]).astype(np.float32))
    cells.var_names = [f"GENE{j}" for j in range(N_GENES)]
    cells.obs["truth"] = np.array(TYPES, dtype=object)[kind]
    known = np.arange(n) < LABELS_PER_TYPE * len(TYPES)
    cells.obs["cell_type"] = np.where(known, cells.obs["truth"].astype(object), None)
    return cells
