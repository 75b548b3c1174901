"""Turn the data that users pass into blocks of rows on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed
from distributed import Future

from cofactor._types import IntArray
from cofactor.distributed.watch import WatchedClient
from cofactor.outofcore import RowBlocks
from cofactor.outofcore.batches import (
    BlockFacts,
    RowsAndTargets,
    batch_names,
    check_batch,
    check_like,
    common_names,
    concatenated,
    digest_of,
    split_places,
    take_rows,
)
from cofactor.outofcore.sampling import (
    Known,
    Sample,
    SamplingPlan,
    ShownValues,
    choices,
    joined_sample,
    sample_block,
    shown_values,
)

NOTHING_SHOWN = shown_values(None)


@dataclass(frozen=True, eq=False)
class ClusterRows(RowBlocks):
    """Blocks whose rows are the results of tasks."""

    watched: Any = field(
        default=None, repr=False
    )  # a WatchedClient, which follows fields with defaults
    futures: Sequence[Future] = field(default=(), repr=False)

    def sample(
        self, cells: int, known: Known | None = None, *, numbers: bool = False
    ) -> tuple[Any, Any, Any]:
        """Return the sample that ``RowBlocks`` would return, taken where the rows are."""
        share, others = self.share(cells), self.other_targets or [None] * self.n_blocks
        blocks = list(zip(self.futures, others, strict=True))
        shown = self._collect(_shown, blocks) if share < 1.0 else [NOTHING_SHOWN] * len(blocks)
        chosen = choices(shown, share, known, numbers)
        tasks = [(*block, choice) for block, choice in zip(blocks, chosen, strict=True)]
        return joined_sample(self._collect(_sample, tasks), share)

    def take(self, places: IntArray) -> tuple[Any, Any]:
        """Return the rows at sorted ``places``, taken where they are, and their targets."""
        others = self.other_targets or [None] * self.n_blocks
        inside = split_places(places, self.bounds)
        tasks = list(zip(self.futures, others, inside, strict=True))
        return concatenated(self._collect(_take, tasks))

    def digests(self) -> list[str]:
        """Return the digests that ``RowBlocks`` would return, computed where the rows are."""
        others = self.other_targets or [None] * self.n_blocks
        return self._collect(_digest, list(zip(self.futures, others, strict=True)))

    def _collect(self, task: Any, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        submit = self.watched.client.submit
        return self.watched.collect([submit(task, *some, pure=False) for some in arguments])

    def __repr__(self) -> str:
        n, m = self.shape
        return f"ClusterRows({n} × {m}, {self.n_blocks} blocks)"


def as_rows(watched: WatchedClient, data: Any, y: Any) -> RowBlocks:
    """Return data as blocks of rows with their targets.

    Parameters
    ----------
    watched : WatchedClient
    data : RowBlocks, dask array, or list of delayed values or futures
    y : array of all rows, list with a part for each block, dask array, or None
    """
    if isinstance(data, RowBlocks):
        return data if y is None else data.with_targets(_whole_targets(data, y))
    blocks = _blocks(watched, data)
    targets = _target_parts(watched, y, len(blocks))
    rows = rows_on_cluster(watched, blocks, targets)
    if y is None or targets[0] is not None:
        return rows
    return rows.with_targets(y)


def _blocks(watched: WatchedClient, data: Any) -> list[Any]:
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
            f"data is a {type(data).__name__}, which is not blocks of rows; pass RowBlocks, a list "
            "of delayed values or futures, or a dask array."
        )
    if not data:
        raise ValueError("data has no block; pass at least one.")
    return _futures(watched, data)


def _futures(watched: WatchedClient, values: Sequence[Any]) -> list[Any]:
    """Let the cluster compute the values that are still delayed."""
    promised = [value for value in values if is_dask_collection(value)]
    computed = iter(watched.client.compute(promised) if promised else [])
    return [next(computed) if is_dask_collection(value) else value for value in values]


def _target_parts(watched: WatchedClient, y: Any, n_blocks: int) -> list[Any]:
    """Return y of each block if it comes in parts, else a list of None."""
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
    """Return y of all rows, given it as a whole or in parts."""
    if is_dask_collection(y):
        return y.compute()
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


def rows_on_cluster(
    watched: WatchedClient, blocks: Sequence[Any], targets: Sequence[Any]
) -> ClusterRows:
    """Return blocks that are results of tasks, checked where they are."""
    checked = [
        watched.client.submit(_checked, i, block, y, pure=False)
        for i, (block, y) in enumerate(zip(blocks, targets, strict=True))
    ]
    tasks = [watched.client.submit(_facts, block, pure=False) for block in checked]
    names = [
        watched.client.submit(_names, block, y, pure=False)
        for block, y in zip(blocks, targets, strict=True)
    ]
    facts, outlines = zip(*watched.collect(tasks), strict=True)
    for i, outline in enumerate(outlines):
        try:
            check_like(outlines[0], outline)
        except ValueError as error:
            raise ValueError(f"Block {i}: {error}") from None
    return ClusterRows(
        facts,
        int(outlines[0][0].shape[1]),
        watched=watched,
        futures=checked,
        target_names=reduce(common_names, watched.collect(names)),
    )


# ---- on the workers


def _checked(i: int, block: Any, y: Any) -> RowsAndTargets:
    if isinstance(block, tuple) and y is not None:
        raise ValueError(f"Block {i} has its own targets; leave y out, or pass blocks of X.")
    try:
        return check_batch(block if y is None else (block, y))
    except (TypeError, ValueError) as error:
        raise type(error)(f"Block {i}: {error}") from None


def _names(block: Any, y: Any) -> tuple[Any, ...] | None:
    return batch_names(block if y is None else (block, y))


def _facts(block: RowsAndTargets) -> tuple[BlockFacts, RowsAndTargets]:
    """Return the facts about a block, and a block like it without rows."""
    X, y = block
    return BlockFacts.of(X, y), (X[:0], None if y is None else y[:0])


def _shown(block: RowsAndTargets, y: Any) -> ShownValues:
    return shown_values(block[1] if y is None else y)


def _digest(block: RowsAndTargets, y: Any) -> str:
    return digest_of(block[0], block[1] if y is None else y)


def _take(block: RowsAndTargets, y: Any, places: IntArray) -> RowsAndTargets:
    return take_rows((block[0], block[1] if y is None else y), places)


def _sample(block: RowsAndTargets, y: Any, choice: SamplingPlan) -> Sample:
    return sample_block(block[0], block[1] if y is None else y, choice)
