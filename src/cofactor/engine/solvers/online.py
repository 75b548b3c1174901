"""Iterations on batches that come one after the other; statistics are averaged over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cofactor._types import FactorName
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import State
from cofactor.engine.objective import AdvanceResult, Objective
from cofactor.engine.solvers.by_statistics import ByStatistics
from cofactor.engine.subproblem.statistics import Statistics
from cofactor.engine.threads import Threads

DECAY = 0.7
"""Batch t has the share t^−DECAY in the statistics, so each batch is forgotten more slowly."""


@dataclass(frozen=True)
class Past:
    """The statistics of earlier batches, per sample, and the number of their samples."""

    statistics: Mapping[FactorName, Statistics] = field(default_factory=dict)
    samples: float = 0.0


def absorb(
    past: Past,
    objective: Objective,
    factors: Factors,
    solver: ByStatistics,
    threads: Threads,
    size: float,
) -> tuple[State, Past]:
    """Make one iteration on a batch of ``size`` samples, from its statistics mixed with the past.

    For the first batch it is a plain iteration of the solver.
    """
    batch = objective.advance(factors, None, threads, solver.epsilon)
    total = past.samples + size
    share = (size / total) ** DECAY
    mean, memory = {}, {}
    for name, statistics in batch.statistics.items():
        V = factors.get(name)
        mean[name] = statistics.detached_from(V).times(1.0 / size)
        memory[name] = statistics
        if past.statistics:
            mean[name] = past.statistics[name].mixed(mean[name], share)
            memory[name] = mean[name].times(total).attached_to(V)
    value = objective.value_of(AdvanceResult(factors, batch.statistics, batch.prior), threads)
    state = solver.step(objective, State(factors, value, memory=memory), threads)
    return state, Past(mean, total)
