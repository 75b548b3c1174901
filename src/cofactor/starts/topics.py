"""The start of a fit that goes on from known topics."""

from __future__ import annotations

from dataclasses import replace

from cofactor.engine.factors import Factors
from cofactor.engine.fitting import minimise
from cofactor.engine.objective import Objective
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates
from cofactor.engine.stopping import RelativeDecrease
from cofactor.engine.threads import Threads
from cofactor.starts.random import settled_samples
from cofactor.starts.shared import settled

SETTLING = 10
"""Most iterations that the other factors take before the topics may move."""
ENOUGH = 1e-2
"""They take no more if one lowers the objective by less than this share of the decrease so far."""


def start_from_topics(objective: Objective, topics: Factors, threads: Threads) -> Factors:
    """Return a start with these topics, and with samples and targets that fit them.

    Samples settle on the data alone; then samples and targets settle together.  Without this the
    first iteration would fit the topics to samples that know nothing yet.
    """
    start = replace(topics, samples=settled_samples(objective, topics, threads))
    start = _settle(objective.only_samples(), start, threads)
    if len(objective.terms) > 1:
        start = _settle(replace(objective, free=("targets", "samples")), start, threads)
    return replace(start, samples=settled(start.samples))


def _settle(objective: Objective, start: Factors, threads: Threads) -> Factors:
    solver = CoordinateDescent() if objective.coordinate_descent else MultiplicativeUpdates()
    rules = [RelativeDecrease(ENOUGH)]
    fit = minimise(objective, start, solver, max_iter=SETTLING, rules=rules, threads=threads)
    return fit.factors.compact()
