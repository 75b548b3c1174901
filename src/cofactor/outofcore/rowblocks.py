"""``RowBlocks``: data in blocks of rows, as the estimators take it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from cofactor._types import FloatArray, IntArray
from cofactor.engine.kernels import Places
from cofactor.engine.observations import Layout, Observations, both_ways, compressed_layout
from cofactor.outofcore.batches import (
    BlockFacts,
    check_batch,
    check_targets,
    concatenated,
    digest_of,
    joined,
    split_places,
    take_rows,
)
from cofactor.outofcore.folder_reader import BlockFolder, RowBlocksError, read_folder
from cofactor.outofcore.folder_writer import writing_folder
from cofactor.outofcore.sampling import Known, choices, joined_sample, sample_block, shown_values
from cofactor.targets.reading import column_names

BLOCK_CELLS = 1 << 21
"""Default number of stored cells of a block: about 50 MB, by rows and by columns."""

N_BLOCKS = 16
"""Number of blocks a matrix is cut into; constant, so the result does not depend on the workers."""

__all__ = ["Block", "RowBlocks", "RowBlocksError"]


def usual_blocks(X: Any, y: Any) -> RowBlocks:
    """Cut a matrix and its targets into the blocks that a fit on a cluster takes."""
    return RowBlocks.split(X, y, rows=max(1, -(-X.shape[0] // N_BLOCKS)))


class Block(NamedTuple):
    """Rows of the data with their targets."""

    X: Observations
    y: Any


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """Sparse data in blocks of rows, with or without targets.

    Make one with ``RowBlocks.write`` (a folder, from any iterable of batches), ``RowBlocks.open``
    (such a folder) or ``RowBlocks.split`` (an array in memory), and pass it as X to ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from cofactor import NMF, RowBlocks
    >>> X = np.random.default_rng(0).poisson(1.0, (60, 8)).astype(float)
    >>> blocks = RowBlocks.split(X, rows=20)
    >>> blocks
    RowBlocks(60 × 8, 3 blocks, in memory)
    >>> NMF(2, solver="mu", random_state=0).fit(blocks).components_.shape
    (2, 8)
    """

    facts: Sequence[BlockFacts]
    width: int
    folder: BlockFolder | None = None
    held: Sequence[tuple[Any, Any]] | Mapping[int, tuple[Any, Any]] = field(default=(), repr=False)
    other_targets: Any = field(default=None, repr=False)
    executor: Callable[..., Any] | None = field(default=None, repr=False)
    """Makes the executor that works on the blocks in a fit; None: this process."""
    target_names: tuple[Any, ...] | None = field(default=None, repr=False)
    """Names of the columns of the targets; None without names."""
    _turned: dict[int, Layout] = field(default_factory=dict, init=False, repr=False)

    # ---- making

    @classmethod
    def write(
        cls,
        folder: str | os.PathLike[str],
        batches: Iterable[Any],
        *,
        rows: int | None = None,
        overwrite: bool = False,
        notes: Callable[[], Any] | None = None,
    ) -> RowBlocks:
        """Write batches of rows to a folder.

        Parameters
        ----------
        folder : path
            A new folder; it appears when everything is written, or not at all.
        batches : iterable
            Sparse or dense matrices of nonnegative numbers, or pairs (X, y) of such a matrix and
            its targets, all of the same width.
        rows : int, optional
            Number of rows of a block; by default blocks have about two million stored cells.
        overwrite : bool, default=False
            Replace an older folder of blocks.
        notes : callable, optional
            Called after the last batch; returns a value in JSON to keep with the blocks.

        Returns
        -------
        RowBlocks

        Examples
        --------
        >>> import numpy as np, tempfile
        >>> from cofactor import RowBlocks
        >>> X = np.arange(12.0).reshape(6, 2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     RowBlocks.write(f"{folder}/blocks", [X[:4], X[4:]], rows=3).shape
        (6, 2)
        """
        if rows is not None and rows < 1:
            raise ValueError(f"rows={rows!r} must be a positive number of rows.")
        with writing_folder(Path(folder), overwrite) as writer:
            for X, y in joined(map(check_batch, writer.naming(batches)), rows, BLOCK_CELLS):
                writer.add(X, y)
            if notes is not None:
                writer.note(notes())
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> RowBlocks:
        """Open a folder of blocks.

        Sizes and headers of all files are checked now, digests and contents of a block when it is
        first read.

        Examples
        --------
        >>> import numpy as np, tempfile
        >>> from cofactor import RowBlocks
        >>> X = np.arange(12.0).reshape(6, 2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = RowBlocks.write(f"{folder}/blocks", [X])
        ...     RowBlocks.open(f"{folder}/blocks").n_blocks
        1
        """
        found = read_folder(Path(folder))
        return cls(found.facts, found.width, found, target_names=found.target_names)

    @classmethod
    def split(cls, X: Any, y: Any = None, *, rows: int) -> RowBlocks:
        """Split an array in memory into blocks of ``rows`` rows.

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import RowBlocks
        >>> RowBlocks.split(np.eye(6), rows=4).n_blocks
        2
        """
        if rows < 1:
            raise ValueError(f"rows={rows!r} must be a positive number of rows.")
        matrix, targets = check_batch(X if y is None else (X, y))
        held = list(joined([(matrix, targets)], rows, BLOCK_CELLS))
        facts = [BlockFacts.of(part, some) for part, some in held]
        return cls(facts, int(matrix.shape[1]), None, held, target_names=column_names(y))

    def with_targets(self, y: Any) -> RowBlocks:
        """Return the same rows with other targets, one for each row.

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import RowBlocks, SSNMFClassifier
        >>> blocks = RowBlocks.split(np.eye(2).repeat(3, axis=0), rows=3)
        >>> labelled = blocks.with_targets(["a", "", "", "b", "", ""])
        >>> SSNMFClassifier(2, random_state=0).fit(labelled).predict(blocks).tolist()
        ['a', 'a', 'a', 'b', 'b', 'b']
        """
        names, y = column_names(y), check_targets(y)
        if len(y) != self.shape[0]:
            raise ValueError(
                f"y has {len(y)} rows, but X has {self.shape[0]}; pass one target row for each "
                "row of X, with unlabelled rows marked."
            )
        parts = [y[low:high] for low, high in zip(self.bounds[:-1], self.bounds[1:], strict=True)]
        facts = [f.with_targets(part) for f, part in zip(self.facts, parts, strict=True)]
        return replace(self, facts=facts, other_targets=parts, target_names=names)

    def named(self, names: Sequence[str]) -> RowBlocks:
        """Return the same blocks with names for the columns of their targets."""
        shape = np.shape(self.targets(0))
        if shape[1:] != (len(names),):
            raise ValueError(f"names has {len(names)} entries, but targets have shape {shape}.")
        return replace(self, target_names=tuple(names))

    def only(self, numbers: Collection[int]) -> RowBlocks:
        """Return the same blocks with the rows and targets of only some of them, to be sent."""
        held = {i: self.held[i] for i in numbers} if self.held else {}
        others = None if self.other_targets is None else {i: self.other_targets[i] for i in numbers}
        return RowBlocks(self.facts, self.width, self.folder, held, others)

    # ---- reading

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return int(self.bounds[-1]), self.width

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.facts)

    @cached_property
    def bounds(self) -> IntArray:
        """Rows at which blocks begin, and the number of rows at the end."""
        return np.cumsum([0, *(fact.rows for fact in self.facts)]).astype(np.int64)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored numbers."""
        return np.dtype(self.facts[0].dtype)

    @property
    def largest(self) -> float:
        return max(fact.largest for fact in self.facts)

    @property
    def nnz(self) -> int:
        """Number of stored cells."""
        return sum(fact.cells for fact in self.facts)

    @property
    def notes(self) -> Any:
        """What was kept with the blocks when they were written; None if nothing was."""
        return None if self.folder is None else self.folder.notes()

    def block(self, i: int) -> Block:
        """Return block i; one on disk is mapped, not read, once it has been checked."""
        if self.folder is None:
            X = self.held[i][0]
            if i not in self._turned:
                self._turned[i] = compressed_layout(X.tocsc())
            observations = _both_ways(X.shape, compressed_layout(X), self._turned[i])
        else:
            arrays, shape = self.folder.arrays(i), (self.facts[i].rows, self.width)
            observations = _both_ways(shape, _layout(arrays, ""), _layout(arrays, "across-"))
        return Block(observations, self.targets(i))

    def targets(self, i: int) -> Any:
        """Return the targets of block i; None without targets."""
        if self.other_targets is not None:
            return self.other_targets[i]
        return self.held[i][1] if self.folder is None else self.folder.targets(i)

    def digests(self) -> list[str]:
        """Return a digest of the cells and targets of each block; ``facts`` has those of files."""
        every = range(self.n_blocks)
        cells = [self.held[i][0] if self.folder is None else None for i in every]
        return [digest_of(cells[i], self.targets(i)) for i in every]

    def sample(
        self, cells: int, known: Known | None = None, *, numbers: bool = False
    ) -> tuple[Any, Any, FloatArray | None]:
        """Return some of the rows in memory.

        Parameters
        ----------
        cells : int
            Number of stored cells that the rows should have, more or less.
        known : callable, optional
            From y to a mask of the samples with a known target: the rule of the estimator. Without
            one, targets do not matter to the choice.
        numbers : bool, default=False
            Whether targets are numbers. A sample shows every class, but not every number.

        Returns
        -------
        tuple
            Rows, targets, and the number of rows of the data that each stands for (None if all
            rows are there).
        """
        share, every = self.share(cells), range(self.n_blocks)
        shown = [shown_values(self.targets(i) if share < 1.0 else None) for i in every]
        parts = []
        for i, choice in zip(every, choices(shown, share, known, numbers), strict=True):
            X, y = self.block(i)
            parts.append(sample_block(X.layout.as_csr(self.shape[1]), y, choice))
        return joined_sample(parts, share)

    def take(self, places: IntArray) -> tuple[sp.csr_array, Any]:
        """Return the rows at sorted ``places`` in memory, and their targets (None without)."""
        blocks = (self.block(i) for i in range(self.n_blocks))
        inside = split_places(places, self.bounds)
        parts = (
            take_rows((X.layout.as_csr(self.shape[1]), y), some)
            for (X, y), some in zip(blocks, inside, strict=True)
        )
        return concatenated([*parts])

    def share(self, cells: int) -> float:
        """Return the share of the rows that has about ``cells`` stored cells."""
        return min(1.0, cells / max(self.nnz, 1))

    def __repr__(self) -> str:
        n, m = self.shape
        where = "in memory" if self.folder is None else f"in {os.fspath(self.folder.path)!r}"
        blocks = "1 block" if self.n_blocks == 1 else f"{self.n_blocks} blocks"
        return f"RowBlocks({n} × {m}, {blocks}, {where})"


def _layout(arrays: dict[str, Any], prefix: str) -> Layout:
    values, indices, start = (arrays[prefix + name] for name in ("values", "indices", "start"))
    return Layout(values, Places(indices, start, start[:-1]))


def _both_ways(shape: tuple[int, int], by_rows: Layout, across: Layout) -> Observations:
    turned = Observations((shape[1], shape[0]), across, zeros=True)
    return both_ways(Observations(shape, by_rows, zeros=True), turned)
