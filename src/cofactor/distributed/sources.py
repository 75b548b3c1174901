"""What users pass as data, as blocks of rows on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed
from distributed import Future

from cofactor.distributed.watch import Watched
from cofactor.outofcore import RowBlocks
from cofactor.outofcore.batches import Batch, check_batch, check_like
from cofactor.outofcore.folders import (
    MOST_FIRSTS,
    BlockFacts,
    extreme_rows,
    known_rows,
    new_values,
)
from cofactor.outofcore.sampling import joined_sample, sample_block, share_of


@dataclass(frozen=True, eq=False)
class ClusterRows(RowBlocks):
    """Blocks whose rows are the results of tasks."""

    watched: Any = field(default=None, repr=False)  # Watched, which follows fields with defaults
    futures: Sequence[Future] = field(default=(), repr=False)

    def sample(self, cells: int) -> tuple[Any, Any, Any]:
        """Return the sample that ``RowBlocks`` would, taken where the rows are."""
        share = share_of(self, cells)
        others = self.other_targets or [None] * self.n_blocks
        tasks = [
            self.watched.client.submit(_sample, future, y, fact.firsts, share, pure=False)
            for future, y, fact in zip(self.futures, others, self.facts, strict=True)
        ]
        return joined_sample(self.watched.collect(tasks), share)

    def __repr__(self) -> str:
        n, m = self.shape
        return f"ClusterRows({n} × {m}, {self.n_blocks} blocks)"


def as_rows(watched: Watched, data: Any, y: Any) -> RowBlocks:
    """Return data as blocks of rows with their targets.

    Parameters
    ----------
    watched : Watched
    data : RowBlocks, dask array, or list of delayed values or futures
    y : array of all rows, list with a part for each block, dask array, or None
    """
    if isinstance(data, RowBlocks):
        return data if y is None else data.with_targets(_whole_targets(data, y))
    blocks = _blocks(watched, data)
    targets = _target_parts(watched, y, len(blocks))
    rows = _on_cluster(watched, blocks, targets)
    if y is None or targets[0] is not None:
        return rows
    return rows.with_targets(y)


def _blocks(watched: Watched, data: Any) -> list[Any]:
    """Return a future for each block."""
    if isinstance(data, da.Array):
        if data.ndim != 2:
            raise ValueError(f"data has {data.ndim} dimensions; pass a dask array of rows.")
        whole = data if data.numblocks[1] == 1 else data.rechunk({1: -1})
        data = whole.to_delayed().ravel().tolist()
    if not isinstance(data, list | tuple) or not all(
        isinstance(block, Delayed | Future) for block in data
    ):
        raise TypeError(
            f"data is a {type(data).__name__}, which is no blocks of rows; pass RowBlocks, a list "
            "of delayed values or futures, or a dask array."
        )
    if not data:
        raise ValueError("data has no block; pass at least one.")
    return _futures(watched, data)


def _futures(watched: Watched, values: Sequence[Any]) -> list[Any]:
    """Let the cluster compute what is only promised so far."""
    promised = [value for value in values if is_dask_collection(value)]
    computed = iter(watched.client.compute(promised) if promised else [])
    return [next(computed) if is_dask_collection(value) else value for value in values]


def _target_parts(watched: Watched, y: Any, n_blocks: int) -> list[Any]:
    """Return y of each block where it comes in parts, else Nones."""
    if isinstance(y, da.Array):
        whole = y if y.ndim == 1 or y.numblocks[1] == 1 else y.rechunk({1: -1})
        y = whole.to_delayed().ravel().tolist()
    if not _in_parts(y):
        return [None] * n_blocks
    if len(y) != n_blocks:
        raise ValueError(
            f"y has {len(y)} parts, but data has {n_blocks} blocks; pass one part for each block."
        )
    return _futures(watched, y)


def _in_parts(y: Any) -> bool:
    return isinstance(y, list | tuple) and any(
        isinstance(part, Delayed | Future | np.ndarray) for part in y
    )


def _whole_targets(rows: RowBlocks, y: Any) -> Any:
    """Return y of all rows, given it or its parts in memory."""
    if not _in_parts(y):
        return y
    sizes = [len(part) for part in y]
    wanted = [fact.rows for fact in rows.facts]
    if sizes != wanted:
        raise ValueError(
            f"y has parts of {sizes[:5]} rows (the first five), but the blocks have {wanted[:5]}; "
            "pass one part for each block, or one array."
        )
    return np.concatenate(y)


def _on_cluster(watched: Watched, blocks: Sequence[Any], targets: Sequence[Any]) -> ClusterRows:
    checked = [
        watched.client.submit(_checked, i, block, y, pure=False)
        for i, (block, y) in enumerate(zip(blocks, targets, strict=True))
    ]
    seen = [watched.client.submit(_facts, block, pure=False) for block in checked]
    found = watched.collect(seen)
    known: dict[Any, None] = {}
    facts = []
    for i, (fact, shown, outline) in enumerate(found):
        try:
            check_like(found[0][2], outline)
        except ValueError as error:
            raise ValueError(f"Block {i}: {error}") from None
        facts.append(_first_seen(fact, shown, known))
    width = int(found[0][2][0].shape[1])
    return ClusterRows(facts, width, watched=watched, futures=checked)


def _first_seen(fact: BlockFacts, shown: Shown, known: dict[Any, None]) -> BlockFacts:
    """Leave out rows that show a label which an earlier block has."""
    new = [row for row, label in shown.labels if label not in known]
    if shown.numbers:  # as many as one process would take
        new = new[: max(MOST_FIRSTS - len(known), 0)]
    rows = {*new}
    known.update(dict.fromkeys(label for row, label in shown.labels if row in rows))
    return replace(fact, firsts=tuple(sorted({*shown.extremes, *new})))


# ---- on the workers


def _checked(i: int, block: Any, y: Any) -> Batch:
    if isinstance(block, tuple) and y is not None:
        raise ValueError(f"Block {i} has targets of its own; leave y out, or pass blocks of X.")
    try:
        return check_batch(block if y is None else (block, y))
    except (TypeError, ValueError) as error:
        raise type(error)(f"Block {i}: {error}") from None


class Shown(NamedTuple):
    """Rows that show the labels of a block first, and its lowest and highest numbers."""

    labels: list[tuple[int, Any]]
    extremes: list[int]
    numbers: bool


def _facts(block: Batch) -> tuple[BlockFacts, Shown, Batch]:
    """Return what is known of a block, what it shows, and a block like it without rows."""
    X, y = block
    fact = BlockFacts.of(X, y, {})
    if y is None:
        return fact, Shown([], [], False), (X[:0], None)
    seen: dict[Any, None] = {}
    known = known_rows(y)
    rows = list(new_values(y, known, seen))
    labels = list(zip(rows, seen, strict=True))
    return fact, Shown(labels, extreme_rows(y, known), y.dtype.kind in "iuf"), (X[:0], y[:0])


def _sample(block: Batch, y: Any, firsts: Sequence[int], share: float) -> Any:
    return sample_block(block[0], block[1] if y is None else y, firsts, share)
