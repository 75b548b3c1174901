"""Coordinate descent where the samples come in blocks."""

from __future__ import annotations

from dataclasses import dataclass

from cofactor.engine.factors import PaddedFactor
from cofactor.engine.solvers.by_statistics import ByStatistics
from cofactor.engine.subproblem.problem import Better, ColumnProblem, RowProblem
from cofactor.engine.threads import Threads


@dataclass(frozen=True)
class BlockDescent(ByStatistics):
    """Safe coordinate steps on the samples; statistics for the other factors.

    Of a quadratic problem the statistics are all there is to know, and the other factors make
    coordinate steps, too. Otherwise they make a multiplicative update, because coordinate steps
    would need every entry again and again. Neither raises the objective; nothing is extrapolated.
    """

    rounds: int = 1

    def improve(self, problem: RowProblem, S: PaddedFactor, threads: Threads) -> Better:
        sweeps = 2 if problem.logarithmic else 1
        return problem.descend(S, threads, rounds=self.rounds, sweeps=sweeps, tolerance=0.0)

    def renew(self, problem: ColumnProblem, V: PaddedFactor, threads: Threads) -> PaddedFactor:
        return problem.descend(V, threads) if problem.quadratic else problem.multiply(V, threads)
