"""Batches that come one after the other: statistics are averaged over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cofactor._types import FactorName
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Advance, Objective
from cofactor.engine.solvers.base import State
from cofactor.engine.solvers.by_statistics import ByStatistics
from cofactor.engine.subproblem.statistics import Statistics
from cofactor.engine.threads import Threads

DECAY = 0.7
"""Batch t has the share t^−DECAY in the statistics: they forget, but less and less."""


@dataclass(frozen=True)
class Past:
    """What earlier batches left: statistics per sample, and how many samples there were."""

    statistics: Mapping[FactorName, Statistics] = field(default_factory=dict)
    samples: float = 0.0


def absorb(
    past: Past, objective: Objective, factors: Factors, solver: ByStatistics, threads: Threads,
    size: float,
) -> tuple[State, Past]:  # fmt: skip
    """Make one iteration on a batch of ``size`` samples, with the statistics of the past mixed in.

    Without a past it is an iteration of the solver.
    """
    advance = objective.advance(factors, None, threads, solver.epsilon)
    total = past.samples + size
    share = (size / total) ** DECAY
    mean, memory = {}, {}
    for name, statistics in advance.statistics.items():
        V = factors.get(name)
        if not past.statistics:
            mean[name], memory[name] = statistics.apart_from(V).times(1.0 / size), statistics
            continue
        new = statistics.apart_from(V).times(1.0 / size)
        mean[name] = past.statistics[name].mixed(new, share)
        memory[name] = mean[name].times(total).seen_from(V)
    value = objective.value_of(Advance(factors, advance.statistics, advance.prior), threads)
    state = solver.step(objective, State(factors, value, memory=memory), threads)
    return state, Past(mean, total)
