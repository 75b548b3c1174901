"""Marker genes of types and topics.

A gene marks a type if it is more frequent there than in the type that comes next, and if this
cannot be chance among so many genes: Welch's test of roots of shares, at a level of 5 % for all
genes together. Genes are ranked by specificity. Types that are much alike may have no such gene. So
each type is also compared with the one type that is most like it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp
from scipy.special import stdtr

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.metrics import specificity
from cofactor.metrics.topics import top_places

MARKERS_PER_GROUP = 25
"""Maximum number of markers of a group."""
CHANCE = 0.05
"""Probability that chance makes some gene a marker of a type."""
NO_MARKER = "no clear marker"
"""What is shown for a type without markers."""


@dataclass(frozen=True)
class Marker:
    """A gene that marks a topic or a class.

    Parameters
    ----------
    group : str
        The class, or the number of the topic.
    rank : int
        1 for the most specific gene of the group.
    gene : str
    log2_ratio : float
        How specific the gene is, see `cofactor.metrics.specificity`.
    share : float or None
        Share of the cells of the class that have a count of the gene; None for topics.
    against : str
        The class that comes next, or the one most like this class; "" for topics.
    share_against : float or None
        Share of the cells of that class that have a count of the gene.

    Examples
    --------
    >>> from cofactor import sc
    >>> from cofactor.datasets import make_cells
    >>> adata = make_cells()
    >>> model = sc.fit(adata, labels="cell_type", n_topics=3)
    >>> first = model.markers["classes"][0]
    >>> first.group, first.rank, first.gene  # GENE0 to GENE9 mark this type
    ('B cell', 1, 'GENE7')
    >>> first.against, first.share > first.share_against
    ('monocyte', True)
    """

    group: str
    rank: int
    gene: str
    log2_ratio: float
    share: float | None = None
    against: str = ""
    share_against: float | None = None


class TypeSums(NamedTuple):
    """Sums over the cells of each type, for all genes; those of several chunks add.

    Parameters
    ----------
    cells : array (k,)
        Number of cells.
    counts, seen, roots, shares : array (k, m)
        Sums of counts, number of cells with a count, sums of roots of the gene's share in a cell,
        and of these shares.
    """

    cells: FloatArray
    counts: FloatArray
    seen: FloatArray
    roots: FloatArray
    shares: FloatArray

    @classmethod
    def of(cls, rows: sp.csr_array, types: IntArray, k: int) -> TypeSums:
        """Return the sums of some cells; the type of a cell that does not count is −1."""
        known = np.flatnonzero(types >= 0)
        ones = np.ones(len(known))
        member = sp.csr_array((ones, (types[known], known)), shape=(k, rows.shape[0]))
        totals = np.maximum(np.asarray(rows.sum(axis=1), dtype=np.float64).ravel(), 1.0)
        share = rows.data / np.repeat(totals, np.diff(rows.indptr))
        parts = rows.data, np.sign(rows.data), np.sqrt(share), share
        sums = [
            (member @ sp.csr_array((part, rows.indices, rows.indptr), rows.shape)).toarray()
            for part in parts
        ]
        return cls(np.bincount(types[known], minlength=k).astype(np.float64), *sums)

    def plus(self, other: TypeSums) -> TypeSums:
        """Return the sums of both."""
        return TypeSums(*(one + more for one, more in zip(self, other, strict=True)))

    @property
    def means(self) -> FloatArray:
        """Mean root of each gene's share in the cells of each type."""
        return self.roots / np.maximum(self.cells, 1.0)[:, None]

    def nearest(self) -> IntArray:
        """Return the type that is most like each type: the one with the nearest means."""
        means = self.means
        squares = (means**2).sum(axis=1)
        apart = squares[:, None] + squares - 2.0 * means @ means.T
        apart[:, self.cells == 0] = np.inf
        np.fill_diagonal(apart, np.inf)
        return np.asarray(apart.argmin(axis=1))

    def clear(self, c: int, rivals: IntArray) -> BoolArray:
        """Return which genes are more frequent in type c than in rivals (m,), not by chance."""
        genes, n = np.arange(len(rivals)), np.maximum(self.cells, 2.0)[:, None]
        means = self.means
        squares = np.maximum(self.shares / n - means**2, 0.0) / (n - 1.0)
        lead = means[c] - means[rivals, genes]
        error = np.sqrt(squares[c] + squares[rivals, genes])
        freedom = np.minimum(n[c, 0], n[rivals, 0]) - 1.0
        z = np.divide(lead, error, out=np.zeros_like(lead), where=error > 0)
        chance = stdtr(freedom, -np.where((error == 0) & (lead > 0), np.inf, z))
        return np.asarray((lead > 0) & (chance < CHANCE / len(genes)))


def type_markers(
    sums: TypeSums, names: Sequence[str], genes: np.ndarray
) -> dict[str, list[Marker]]:
    """Return the markers of types among all types, and against the type most like them."""
    k = len(names)
    found: dict[str, list[Marker]] = {"classes": [], "nearest": []}
    if k < 2:
        return found
    scores, near = specificity(sums.counts), sums.nearest()
    for c in range(k):
        others = np.where(np.arange(k)[:, None] == c, -1.0, sums.means)
        own = _Compared(sums, c, others.argmax(axis=0), scores[c])
        found["classes"] += own.markers(names, genes)
        pair = specificity(sums.counts[[c, near[c]]])[0]
        own = _Compared(sums, c, np.full(len(genes), near[c]), pair)
        found["nearest"] += own.markers(names, genes)
    return found


class _Compared(NamedTuple):
    """A type, the rival type of each gene, and the specificity of each gene."""

    sums: TypeSums
    c: int
    rivals: IntArray
    scores: FloatArray

    def markers(self, names: Sequence[str], genes: np.ndarray) -> list[Marker]:
        """Return the clear markers, the most specific first."""
        clear = self.sums.clear(self.c, self.rivals) & (self.scores > 0)
        places = np.flatnonzero(clear)
        seen = self.sums.seen / np.maximum(self.sums.cells, 1.0)[:, None]
        best = places[top_places(self.scores[places], MARKERS_PER_GROUP)]
        return [
            Marker(
                names[self.c],
                rank,
                str(genes[j]),
                float(self.scores[j]),
                float(seen[self.c, j]),
                names[self.rivals[j]],
                float(seen[self.rivals[j], j]),
            )
            for rank, j in enumerate(best, start=1)
        ]


def topic_markers(components: Any, use: FloatArray, kinds: Any, genes: np.ndarray) -> list[Marker]:
    """Return the markers of topics; those of one class (``kinds``) are not compared.

    ``use`` is the total of each topic in the cells.
    """
    A = np.asarray(components, dtype=np.float64)
    counts = A / np.maximum(A.sum(axis=1, keepdims=True), 1e-300) * use[:, None]
    return [
        Marker(str(k), rank, str(genes[j]), float(row[j]))
        for k, row in enumerate(specificity(counts, kinds))
        for rank, j in enumerate(top_places(row, MARKERS_PER_GROUP), start=1)
    ]
