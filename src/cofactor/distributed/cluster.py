"""Blocks on a cluster: one task for each worker and iteration, and recovery when a worker is lost.

The driver keeps the last checkpoint, and the features and targets of the iterations since. From
these, any set of workers can compute bit-identical samples of any later iteration.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cofactor._types import FloatArray
from cofactor.distributed import worker
from cofactor.distributed.checkpoints import CheckpointFolder
from cofactor.distributed.errors import ClusterError, Lost
from cofactor.distributed.watch import Watched
from cofactor.distributed.worker import FromMemory, FromStart, Origin, Part, Step
from cofactor.engine.blockwise import BlockwiseObjective, tree_of_sums
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import History, Hook
from cofactor.engine.objective import AdvanceResult, Improve, Objective
from cofactor.engine.threads import Threads
from cofactor.estimators.executors import Recipe
from cofactor.outofcore import RowBlocks

TRIES = 5
"""Number of losses without an iteration in between after which a fit gives up."""


@dataclass(frozen=True)
class Settings:
    """Settings of a fit on a cluster."""

    watched: Watched
    every: int
    folder: Callable[[Factors], CheckpointFolder] | None
    """From the start of a fit to its folder of checkpoints."""
    futures: Sequence[Any] = ()
    """Rows and targets of each block, if neither a folder nor the driver has them."""
    gather: bool = True


@dataclass(eq=False)
class RemoteSamples:
    """Samples that stay on the workers until they are needed as an array."""

    cluster: Cluster
    version: int
    _array: FloatArray | None = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        if self._array is None:
            self._array = self.cluster.gathered(self.version)
        return self._array if dtype is None else self._array.astype(dtype)


@dataclass(eq=False)
class Remote(BlockwiseObjective):
    """The objective for a solver: the outline is here, the samples are on the workers."""

    cluster: Cluster

    def advance(
        self, factors: Factors, improve: Improve | None, threads: Threads, epsilon: float
    ) -> AdvanceResult:
        """Let the workers improve their samples, and add up their statistics."""
        return self.cluster.advance(factors, improve, epsilon)


@dataclass(eq=False)
class Cluster:
    """An executor (see ``cofactor.estimators.executors``) on the workers of a cluster."""

    rows: RowBlocks
    recipe: Recipe
    settings: Settings
    hooks: Sequence[Hook] = ()
    history: History | None = None
    _fit: str = field(default_factory=lambda: uuid.uuid4().hex)
    _attempt: int = 0
    _shares: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _journal: list[Step] = field(default_factory=list)
    _losses: int = 0
    _base: int = 0
    _origin: Origin = field(init=False)
    _folder: CheckpointFolder | None = None

    def __post_init__(self) -> None:
        self.hooks = [Checkpointing(self)]
        self.watched = self.settings.watched

    # ---- the executor's interface

    def blocks(self, outline: Objective) -> Remote:
        return Remote(outline, self)

    def start(self, start: Factors) -> Factors:
        """Begin, or continue from the last checkpoint."""
        self._rank, self._dtype = start.rank, start.features.dtype
        self._folder = self.settings.folder(start) if self.settings.folder else None
        none = np.empty((0, start.rank), dtype=self._dtype)
        self._base, self._origin = 0, FromStart(start.replace("samples", none))
        saved = self._folder.newest() if self._folder else None
        if saved is not None:
            self._base, self._origin, self.history = saved.version, saved.origin, saved.history
            start = Factors(start.samples, saved.features, saved.targets)
        self._recover(self._base)
        samples: Any = RemoteSamples(self, self._base)
        return Factors(samples, start.features, start.targets)

    def advance(self, factors: Factors, improve: Improve | None, epsilon: float) -> AdvanceResult:
        version = _version(factors)
        step = Step(factors.features, factors.targets, improve, epsilon)
        sums = tree_of_sums()
        for nodes in self._surely(version, lambda: self._step(version, step)):
            for node, value in nodes.items():
                sums.put(node, value)
        if improve is not None:
            del self._journal[version - self._base :]
            self._journal.append(step)
            samples: Any = RemoteSamples(self, version + 1)
            factors = factors.replace("samples", samples)
        self._losses = 0
        total = sums.total()
        return AdvanceResult(factors, total.statistics, total.prior)

    def gathered(self, version: int) -> FloatArray:
        """Return the samples of all blocks; no rows if ``gather`` is False."""
        if not self.settings.gather:
            return np.empty((0, self._rank), dtype=self._dtype)
        out = np.empty((self.rows.shape[0], self._rank), dtype=self._dtype)
        ask = lambda: self._everywhere(worker.samples, version)  # noqa: E731
        for part in self._surely(version, ask):
            for i, S in part.items():
                out[self.rows.bounds[i] : self.rows.bounds[i + 1]] = S
        return out

    def checkpoint(self, factors: Factors, history: History) -> None:
        """Make these factors the state that a recovery starts from; let late workers join."""
        version = _version(factors)
        if self._folder is None:
            parts = self._surely(version, lambda: self._everywhere(worker.samples, version))
            self._origin = FromMemory({i: S for part in parts for i, S in part.items()})
        else:
            place = self._folder.place(version)
            self._folder.clean(version)
            ask = lambda: self._everywhere(worker.write_samples, version, place)  # noqa: E731
            files = {i: one for part in self._surely(version, ask) for i, one in part.items()}
            self._origin = self._folder.commit(factors, history, files)
        self._base, self._journal = version, []
        if self._shares != self._assign(self.watched.workers()):
            self._recover(version)

    def close(self) -> None:
        """Let the workers that can be reached forget the fit."""
        with suppress(Lost, ClusterError):
            here = [at for at in self._shares if at in self.watched.workers(patience=1.0)]
            self.watched.gather([self._submit(worker.end, at, self._fit) for at in here], here)

    # ---- tasks on the workers

    def _step(self, version: int, step: Step) -> list[Any]:
        sent = self.watched.send(step, next(iter(self._shares)))
        return self._everywhere(worker.advance, version, sent)

    def _everywhere(self, task: Callable[..., Any], version: int, *arguments: Any) -> list[Any]:
        attempt = self._fit, self._attempt
        futures = [
            self._submit(task, address, attempt, version, *arguments) for address in self._shares
        ]
        return self.watched.gather(futures, self._shares)

    def _submit(self, task: Callable[..., Any], address: str, *arguments: Any) -> Any:
        return self.watched.client.submit(
            task, *arguments, workers=[address], allow_other_workers=False, pure=False, retries=0
        )

    # ---- workers that come and go

    def _surely(self, version: int, ask: Callable[[], list[Any]]) -> list[Any]:
        """Return the answers of the workers; if some are lost, the others take over."""
        while True:
            try:
                return ask()
            except Lost as lost:
                self._count(lost)
                self._recover(version)

    def _recover(self, version: int) -> None:
        """Distribute all blocks again, and compute their samples up to a version."""
        while True:
            try:
                self._give_out()
                for k in range(self._base, version):
                    self._step(k, self._journal[k - self._base])
            except Lost as lost:
                self._count(lost)
            else:
                return

    def _count(self, lost: Lost) -> None:
        self._losses += 1
        for i, future in enumerate(self.settings.futures):
            if future.status == "cancelled":  # not "lost": that is computed again
                raise ClusterError(
                    f"Block {i} was lost with its worker, and nothing says how to make it again; "
                    f"pass delayed blocks or RowBlocks, and {self.watched.resume}."
                )
        if self._losses < TRIES:
            return
        needs = [worker.bytes_needed(self.rows, self._rank, i) for i in range(self.rows.n_blocks)]
        largest = int(np.argmax(needs))
        raise ClusterError(
            f"Workers were lost {TRIES} times in the same iteration ({lost}), which mostly means "
            f"that memory ran out: the largest block has {self.rows.facts[largest].rows:,} rows "
            f"and needs about {needs[largest]:,} bytes; make smaller blocks "
            f"or give workers more memory, and {self.watched.resume}."
        )

    def _assign(self, workers: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Give each worker neighbouring blocks of about the same number of cells.

        Neighbours, because the sums of neighbours become one before they are sent.
        """
        known = [address for address in self._shares if address in workers]
        order = [*known, *sorted(set(workers) - set(known))]
        ends = np.cumsum([fact.cells + 8 * fact.rows for fact in self.rows.facts])
        middle = ends - np.diff(ends, prepend=0) / 2
        owner = np.minimum((middle / ends[-1] * len(order)).astype(int), len(order) - 1)
        shares = {a: tuple(np.flatnonzero(owner == w).tolist()) for w, a in enumerate(order)}
        return {address: numbers for address, numbers in shares.items() if numbers}

    def _give_out(self) -> None:
        self._shares = self._assign(self.watched.some_workers())
        self._attempt += 1
        attempt = self._fit, self._attempt
        recipe = self.watched.send(self.recipe, next(iter(self._shares)))
        futures = []
        for address, numbers in self._shares.items():
            origin = self._origin.only(numbers)
            part = Part(numbers, self.rows.only(numbers), origin, self._base, self._rank)
            sent = self.watched.send(part, address)
            blocks = [self.settings.futures[i] for i in numbers] if self.settings.futures else []
            futures.append(self._submit(worker.begin, address, attempt, sent, recipe, blocks))
        self.watched.gather(futures, self._shares)


def _version(factors: Factors) -> int:
    samples: Any = factors.samples
    return int(samples.version)


@dataclass
class Checkpointing:
    """A hook of the loop that writes checkpoints."""

    cluster: Cluster

    def begin(self) -> None:
        """Do nothing."""

    def end(self, factors: Factors, history: History) -> bool:
        if len(history.objective) % self.cluster.settings.every == 0:
            self.cluster.checkpoint(factors, history)
        return False
