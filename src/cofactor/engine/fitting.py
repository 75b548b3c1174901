"""The loop that minimises an objective until a rule, a callback or the user stops it.

A ``Solver`` makes the iterations; see ``solvers/``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from cofactor.engine.factors import Factors
from cofactor.engine.objective import Improve, ObjectiveLike, Value
from cofactor.engine.stopping import Stop, StoppingRule
from cofactor.engine.threads import Threads
from cofactor.errors import Parameter


@dataclass(frozen=True)
class State:
    """The state of a fit after an iteration: factors, their objective, the solver's memory."""

    factors: Factors
    value: Value
    optimal: bool = False
    """Whether no further step can lower the objective."""
    memory: Any = None


class Solver(Protocol):
    """A method that lowers an objective, one iteration at a time.  It never changes a state."""

    @property
    def improve(self) -> Improve:
        """The update of one factor."""
        ...

    def start(self, objective: Any, factors: Factors, threads: Threads) -> State:
        """Evaluate the start."""
        ...

    def step(self, objective: Any, state: State, threads: Threads) -> State:
        """Update every free factor once."""
        ...


@dataclass
class History:
    """The objective and its terms after each iteration; ``terms`` are without their weights."""

    objective: list[float] = field(default_factory=list)
    terms: dict[str, list[float]] = field(default_factory=dict)

    def record(self, value: Value) -> None:
        self.objective.append(value.total)
        for name, part in value.terms.items():
            self.terms.setdefault(name, []).append(part)


@dataclass(frozen=True)
class Fit:
    """The result: factors, their history, and the reason why the loop ended."""

    factors: Factors
    history: History
    stop: Stop
    interrupted: bool = False

    @property
    def n_iter(self) -> int:
        return len(self.history.objective)


class Hook(Protocol):
    """An observer, called before and after each iteration; ``end`` returns True to stop."""

    def begin(self) -> None: ...

    def end(self, factors: Factors, history: History) -> bool: ...


def minimise(
    objective: ObjectiveLike,
    factors: Factors,
    solver: Solver,
    *,
    max_iter: int,
    rules: Sequence[StoppingRule] = (),
    hooks: Sequence[Hook] = (),
    threads: Threads,
    history: History | None = None,
) -> Fit:
    """Run ``solver`` until a rule or a hook stops it, for at most ``max_iter`` iterations.

    Iterations in a given ``history`` count.  An interruption (Ctrl-C) ends the loop with the
    factors of the last complete iteration; before the first one, KeyboardInterrupt passes through.
    """
    history = history or History(terms={term.name: [] for term in objective.terms})
    factors = replace(factors)  # a new object without padded copies: the caller may change its own
    state = solver.start(objective, factors, threads)
    stop = _check(rules, history) if history.objective else None
    try:
        while stop is None and len(history.objective) < max_iter:
            for hook in hooks:
                hook.begin()
            new = solver.step(objective, state, threads)
            if not math.isfinite(new.value.total):
                return Fit(state.factors.compact(), history, _not_finite(history))
            state = new
            history.record(state.value)
            stop = _check_all(state, history, rules, hooks)
    except KeyboardInterrupt:
        if not history.objective:  # there is nothing to keep
            raise
        return Fit(state.factors.compact(), history, _interrupted(history), interrupted=True)
    return Fit(state.factors.compact(), history, stop or _exhausted(max_iter, bool(rules)))


def _check_all(
    state: State, history: History, rules: Sequence[StoppingRule], hooks: Sequence[Hook]
) -> Stop | None:
    count = len(history.objective)
    factors = state.factors.compact() if hooks else state.factors
    asked = [hook.end(factors, history) for hook in hooks]
    if any(asked):
        return Stop(f"A callback stopped the fit after {count} iterations.")
    if state.optimal:
        return Stop(f"Solved after {count} iterations: no row can improve further.", converged=True)
    return _check(rules, history)


def _check(rules: Sequence[StoppingRule], history: History) -> Stop | None:
    stops = (rule.check(history.objective) for rule in rules)
    return next((stop for stop in stops if stop is not None), None)


def _exhausted(max_iter: int, has_rules: bool) -> Stop:
    if not has_rules:
        return Stop(f"Completed all {max_iter} iterations (tol=0 disables early stopping).")
    count = "1 iteration" if max_iter == 1 else f"{max_iter:,} iterations"
    reason = f"Stopped after {count}, before the fit converged"
    return Stop(reason, (("raise ", Parameter("max_iter")), Parameter("tol")), worrying=True)


def _interrupted(history: History) -> Stop:
    count = len(history.objective)
    return Stop(
        f"Interrupted: the factors are those of iteration {count}, the last complete one.",
        worrying=True,
    )


def _not_finite(history: History) -> Stop:
    return Stop(
        f"Stopped after {len(history.objective)} iterations: "
        "the objective of the next one was not finite.",
        worrying=True,
    )
