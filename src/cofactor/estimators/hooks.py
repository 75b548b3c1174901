"""The bridge from the loop of a fit to scikit-learn's callback protocol."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cofactor.engine.factors import Factors
from cofactor.engine.fitting import History

Attributes = Callable[[Factors, History], dict[str, Any]]


class CallbackHook:
    """A hook of the loop that opens and closes one task of the protocol per iteration."""

    def __init__(
        self,
        estimator: Any,
        root: Any,
        attributes: Attributes,
        objective: Callable[[History], float],
        X: Any,
        y: Any,
    ) -> None:
        self.root, self.attributes, self.objective = root, attributes, objective
        self.arguments = {"estimator": estimator, "X": X, "y": y}
        root.call_on_fit_task_begin(**self.arguments)

    def begin(self) -> None:
        """Open the task of an iteration."""
        self.task = self.root.subcontext(task_name="iteration")
        self.task.call_on_fit_task_begin(**self.arguments)

    def end(self, factors: Factors, history: History) -> bool:
        """Close the task of an iteration; return True if a callback wants to stop."""
        self.task.objective = self.objective(history)
        return self._end(self.task, factors, history)

    def close(self, factors: Factors, history: History) -> None:
        """Close the task of the whole fit."""
        self._end(self.root, factors, history)

    def _end(self, task: Any, factors: Factors, history: History) -> bool:
        state = partial(self.attributes, factors, history)
        return bool(task.call_on_fit_task_end(**self.arguments, reconstruction_attributes=state))


def bridge(
    estimator: Any,
    max_iter: int,
    attributes: Attributes,
    objective: Callable[[History], float],
    X: Any = None,
    y: Any = None,
) -> list[CallbackHook]:
    """Return the hook that serves the estimator's callbacks; an empty list if it has none.

    ``attributes`` gives the fitted attributes as if the fit had stopped now. ``objective`` gives
    the last objective. Both are in the user's units.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        return []
    root = estimator._init_callback_context(max_subtasks=max_iter)
    return [CallbackHook(estimator, root, attributes, objective, X, y)]
