"""The only loop: minimise an objective with a solver until a rule, a hook or the user says stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from cofactor.engine.factors import Factors
from cofactor.engine.objective import Goal, Value
from cofactor.engine.solvers.base import Solver, State
from cofactor.engine.stopping import Stop, StoppingRule
from cofactor.engine.threads import Threads


@dataclass
class History:
    """The objective and its parts after each iteration; ``data`` and ``target`` are without λ."""

    objective: list[float] = field(default_factory=list)
    terms: dict[str, list[float]] = field(default_factory=dict)

    def record(self, value: Value) -> None:
        self.objective.append(value.total)
        for name, part in value.terms.items():
            self.terms.setdefault(name, []).append(part)


@dataclass(frozen=True)
class Fit:
    """What came out: factors, their history, and one sentence on why the loop ended."""

    factors: Factors
    history: History
    stop: Stop
    interrupted: bool = False

    @property
    def n_iter(self) -> int:
        return len(self.history.objective)


class Hook(Protocol):
    """Something that watches the iterations; ``end`` returns True to stop them."""

    def begin(self) -> None: ...

    def end(self, factors: Factors, history: History) -> bool: ...


def minimise(
    objective: Goal,
    factors: Factors,
    solver: Solver,
    *,
    max_iter: int,
    rules: Sequence[StoppingRule] = (),
    hooks: Sequence[Hook] = (),
    threads: Threads,
    history: History | None = None,
) -> Fit:
    """Run ``solver`` for at most ``max_iter`` iterations, those of a given ``history`` included.

    An interruption (Ctrl-C) ends the loop with the factors of the last complete iteration.
    """
    history = history or History(terms={term.name: [] for term in objective.terms})
    factors = replace(factors)  # whoever keeps the given ones may change them
    state = solver.start(objective, factors, threads)
    stop = _ruling(history, rules) if history.objective else None
    try:
        while stop is None and len(history.objective) < max_iter:
            for hook in hooks:
                hook.begin()
            new = solver.step(objective, state, threads)
            if not math.isfinite(new.value.total):
                return Fit(state.factors.compact(), history, _not_finite(history))
            state = new
            history.record(state.value)
            stop = _verdict(state, history, rules, hooks)
    except KeyboardInterrupt:
        return Fit(state.factors.compact(), history, _interrupted(history), interrupted=True)
    return Fit(state.factors.compact(), history, stop or _exhausted(max_iter, bool(rules)))


def _verdict(
    state: State, history: History, rules: Sequence[StoppingRule], hooks: Sequence[Hook]
) -> Stop | None:
    count = len(history.objective)
    factors = state.factors.compact() if hooks else state.factors
    asked = [hook.end(factors, history) for hook in hooks]
    if any(asked):
        return Stop(f"Stopped after {count} iterations, as a callback asked.")
    if state.optimal:
        return Stop(f"Solved after {count} iterations: no row can be improved.", converged=True)
    return _ruling(history, rules)


def _ruling(history: History, rules: Sequence[StoppingRule]) -> Stop | None:
    verdicts = (rule.check(history.objective) for rule in rules)
    return next((verdict for verdict in verdicts if verdict is not None), None)


def _exhausted(max_iter: int, ruled: bool) -> Stop:
    if not ruled:
        return Stop(f"Made the {max_iter} iterations asked for; no rule was to stop them earlier.")
    return Stop(
        f"Stopped after max_iter={max_iter} iterations before reaching tol; "
        "raise max_iter or tol to converge.",
        worrying=True,
    )


def _interrupted(history: History) -> Stop:
    count = len(history.objective)
    which = f"those of iteration {count}, the last complete one" if count else "those of the start"
    return Stop(f"Interrupted: the factors are {which}.", worrying=True)


def _not_finite(history: History) -> Stop:
    return Stop(
        f"Stopped after {len(history.objective)} iterations: "
        "the next one gave an objective that is not finite.",
        worrying=True,
    )
