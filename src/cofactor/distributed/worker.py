"""Tasks on a worker: one takes blocks over, one makes an iteration, two hand out samples.

A worker keeps its blocks, results that it would otherwise compute again in each iteration, and the
samples of the last two iterations. Every attempt of a fit has a separate state, so a task of a
failed attempt that is still running cannot change the state of the next one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from distributed import get_worker

from cofactor._types import FloatArray
from cofactor.distributed.watch import Lost, OutOfMemory
from cofactor.engine.blockwise import Sums, tree_of_sums
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Improve
from cofactor.engine.threads import Threads
from cofactor.estimators.executors import LocalExecutor, Recipe
from cofactor.outofcore import RowBlocks

Attempt = tuple[str, int]
"""A fit, and the number of times that its blocks were distributed."""
Samples = Mapping[int, FloatArray]
"""Samples of some blocks."""


class Origin(Protocol):
    """The source of the samples of a block when a worker takes it over."""

    def samples(self, here: LocalExecutor, i: int) -> FloatArray: ...

    def only(self, numbers: Sequence[int]) -> Origin:
        """Return the part that a worker with these blocks needs."""
        ...


@dataclass(frozen=True)
class FromStart:
    """Samples are computed from the start of the fit."""

    start: Factors

    def samples(self, here: LocalExecutor, i: int) -> FloatArray:
        return here.settled(i, self.start)

    def only(self, numbers: Sequence[int]) -> FromStart:
        return self


@dataclass(frozen=True)
class FromMemory:
    """Samples come from the memory of the driver."""

    kept: Samples

    def samples(self, here: LocalExecutor, i: int) -> FloatArray:
        return self.kept[i]

    def only(self, numbers: Sequence[int]) -> FromMemory:
        return FromMemory({i: self.kept[i] for i in numbers})


@dataclass(frozen=True)
class Part:
    """The blocks of one worker, and the source of their samples."""

    numbers: tuple[int, ...]
    rows: RowBlocks
    origin: Origin
    version: int
    rank: int


@dataclass(frozen=True)
class Step:
    """The input of one iteration, the same for all workers."""

    features: FloatArray
    targets: FloatArray | None
    improve: Improve | None
    epsilon: float


@dataclass
class WorkerState:
    """The state of one attempt on one worker."""

    part: Part
    here: LocalExecutor
    samples: dict[int, Samples] = field(default_factory=dict)
    """Samples by version, which is the number of iterations made."""

    def at(self, version: int) -> Samples:
        if version not in self.samples:
            raise Lost(f"the samples of iteration {version} are not here")
        return self.samples[version]


def begin(attempt: Attempt, part: Part, recipe: Recipe, blocks: Sequence[Any]) -> None:
    """Take blocks over; ``blocks`` are their rows and targets where no folder has them."""
    rows = part.rows
    if blocks:
        rows = replace(rows, held=dict(zip(part.numbers, blocks, strict=True)))
    check_memory(part)
    before = _forget(*attempt)
    with Threads(_threads()) as threads:
        here = LocalExecutor(rows, recipe, threads)
        if before is not None:  # these depend only on the blocks
            here = replace(
                here, targets_on_disk=before.here.targets_on_disk, constants=before.here.constants
            )
        samples = {}
        for i in part.numbers:
            with memory_for(part, i):
                samples[i] = part.origin.samples(here, i)
    _states()[attempt] = WorkerState(part, here, {part.version: samples})


def advance(attempt: Attempt, version: int, step: Step) -> dict[tuple[int, int], Sums]:
    """Improve the samples of a version; return the sums over the blocks of this worker."""
    state = _state(attempt)
    old, new, sums = state.at(version), {}, tree_of_sums()
    with Threads(_threads()) as threads:
        here = replace(state.here, threads=threads)
        for i in state.part.numbers:
            with memory_for(state.part, i):
                local = Factors(old[i], step.features, step.targets)
                part = here.load(i).advance(local, step.improve, threads, step.epsilon)
            new[i] = part.factors.compact().samples
            sums.put((0, i), Sums(part.statistics, part.prior))
    if step.improve is not None:
        state.samples = {version: old, version + 1: new}
    return sums.nodes


def samples(attempt: Attempt, version: int) -> dict[int, FloatArray]:
    """Return the samples of a version."""
    return dict(_state(attempt).at(version))


def write_samples(attempt: Attempt, version: int, place: Any) -> dict[int, dict[str, Any]]:
    """Write the samples of each block to a place; return size and digest of the files."""
    return {i: place.write(i, S) for i, S in _state(attempt).at(version).items()}


def end(fit: str) -> None:
    """Forget a fit."""
    _forget(fit)


def bytes_needed(rows: RowBlocks, rank: int, i: int) -> int:
    """Estimate the bytes that work on block i takes, without the samples of the other blocks.

    Cells are stored by rows and by columns, and a divergence may need another copy of each.
    """
    fact = rows.facts[i]
    cell = np.dtype(fact.dtype).itemsize + 4
    return 4 * cell * fact.cells + 8 * rank * (3 * fact.rows + 4 * rows.width)


def check_memory(part: Part) -> None:
    """Refuse blocks that do not fit in memory, before the worker is killed for them."""
    needs = {i: bytes_needed(part.rows, part.rank, i) for i in part.numbers}
    largest = max(needs, key=lambda i: needs[i])
    limit = get_worker().memory_manager.memory_limit
    if limit and needs[largest] > limit:
        raise OutOfMemory(out_of_memory(part, largest, f" and it may use {limit:,}"))


class memory_for:
    """Turn a MemoryError into one that names the block."""

    def __init__(self, part: Part, i: int) -> None:
        self.part, self.i = part, i

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, MemoryError) and not isinstance(error, OutOfMemory):
            raise OutOfMemory(out_of_memory(self.part, self.i)) from None


def out_of_memory(part: Part, i: int, limit: str = "") -> str:
    need = bytes_needed(part.rows, part.rank, i)
    return (
        f"Worker {get_worker().address} ran out of memory at block {i}: its "
        f"{part.rows.facts[i].rows:,} rows need about {need:,} bytes{limit}; make smaller blocks "
        "(RowBlocks.write(..., rows=...), or rechunk), or give workers more memory."
    )


def _states() -> dict[Attempt, WorkerState]:
    return vars(get_worker()).setdefault("_cofactor_fits", {})


def _state(attempt: Attempt) -> WorkerState:
    if attempt not in _states():
        raise Lost(f"{get_worker().address} does not know this fit")
    return _states()[attempt]


def _forget(fit: str, attempt: float = np.inf) -> WorkerState | None:
    """Remove the states of earlier attempts and return the last one."""
    old = sorted(key for key in _states() if key[0] == fit and key[1] < attempt)
    removed = [_states().pop(key) for key in old]
    return removed[-1] if removed else None


def _threads() -> int:
    return max(1, int(get_worker().state.nthreads))
