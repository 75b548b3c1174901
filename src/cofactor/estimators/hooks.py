"""The bridge from the loop of a fit to scikit-learn's callback protocol."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from cofactor.engine.factors import Factors
from cofactor.engine.fitting import History
from cofactor.estimators.fitted import Fitted

if TYPE_CHECKING:
    from cofactor.estimators.base import Factorization


class CallbackHook:
    """A hook of the loop that opens and closes one task of the protocol per iteration.

    Parameters
    ----------
    estimator : Factorization
        The estimator whose callbacks are called.
    state : callable
        Returns the state as if the fit had stopped with some factors and history.
    objective : callable
        Returns the last objective of a history in the user's units.
    X, y
        What the callbacks are shown.
    """

    def __init__(
        self,
        estimator: Factorization,
        state: Callable[[Factors, History], Fitted],
        objective: Callable[[History], float],
        X: Any = None,
        y: Any = None,
    ) -> None:
        self.state, self.objective = state, objective
        self.root = estimator._init_callback_context(max_subtasks=estimator.max_iter)
        self.arguments = {"estimator": estimator, "X": X, "y": y}
        self.root.call_on_fit_task_begin(**self.arguments)

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
        attributes = partial(self._attributes, factors, history)
        return bool(
            task.call_on_fit_task_end(**self.arguments, reconstruction_attributes=attributes)
        )

    def _attributes(self, factors: Factors, history: History) -> dict[str, Any]:
        """Return what a copy of the estimator needs to be the fitted one."""
        estimator = self.arguments["estimator"]
        names = ("n_features_in_", "feature_names_in_")
        own = {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
        return {"_fitted": self.state(factors, history), **own}
