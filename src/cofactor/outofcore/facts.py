"""Facts about a block that are known without reading it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scipy import sparse as sp


@dataclass(frozen=True)
class BlockFacts:
    """Size, dtype and largest value of a block, and what kind of targets it has."""

    rows: int
    cells: int
    dtype: str
    largest: float
    targets: str | None = None
    """``labels`` (on disk: codes of the folder's labels), ``numbers``, or None."""
    files: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """Size and digest of each file of the block; empty for a block in memory."""

    @classmethod
    def of(cls, X: sp.csr_array, y: Any) -> BlockFacts:
        """Return the facts about rows and their targets."""
        largest = float(X.data.max()) if X.nnz else 0.0
        return cls(X.shape[0], X.nnz, str(X.dtype), largest).with_targets(y)

    def with_targets(self, y: Any) -> BlockFacts:
        """Return the facts about the same rows with other targets."""
        return self if y is None else replace(self, targets=kind_of(y))


def kind_of(y: Any) -> str:
    """Return ``numbers`` or ``labels``."""
    return "numbers" if y.dtype.kind in "biuf" else "labels"
