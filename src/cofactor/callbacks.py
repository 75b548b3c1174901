"""Callbacks: scikit-learn's protocol (1.9 and later) and three callbacks that speak it.

This is the only module that knows of the protocol.  With an older scikit-learn the same callbacks
work through the small stand-ins below, except that meta-estimators do not hand them on.

>>> from cofactor import NMF
>>> from cofactor.callbacks import ProgressBar
>>> model = NMF(5).set_callbacks(ProgressBar())
"""

from __future__ import annotations

import inspect
import os
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from cofactor.engine.factors import Factors
from cofactor.engine.fitting import History
from cofactor.io.atomic import place_of

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9

    class _Context:
        """As much of scikit-learn's context as the callbacks below need."""

        def __init__(self, estimator: Any, max_subtasks: int = 0, parent: _Context | None = None):
            self.callbacks = getattr(estimator, "_skl_callbacks", [])
            self.max_subtasks, self.parent, self.task_id, self._count = max_subtasks, parent, 0, 0
            self.estimator = estimator

        def subcontext(self, task_name: str) -> _Context:
            child = _Context(self.estimator, parent=self)
            child.task_id, self._count = self._count, self._count + 1
            return child

        def call_on_fit_task_begin(self, *, estimator: Any, **_: Any) -> None:
            for callback in self.callbacks:
                callback.on_fit_task_begin(estimator, self)

        def call_on_fit_task_end(
            self, *, estimator: Any, reconstruction_attributes: Any = None, **_: Any
        ) -> bool:
            from sklearn.base import clone

            fitted = None
            if reconstruction_attributes is not None and self.callbacks:
                fitted = clone(estimator)
                for name, value in reconstruction_attributes().items():
                    setattr(fitted, name, value)
            return any([self._end(c, estimator, fitted) for c in self.callbacks])  # noqa: C419

        def _end(self, callback: Any, estimator: Any, fitted: Any) -> bool:
            wanted = inspect.signature(callback.on_fit_task_end).parameters
            given = {"fitted_estimator": fitted} if "fitted_estimator" in wanted else {}
            return bool(callback.on_fit_task_end(estimator, self, **given))

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in for ``sklearn.callback.CallbackSupportMixin``."""

        def set_callbacks(self, *callbacks: Any) -> Any:
            """Set callbacks for the estimator; none removes them."""
            self._skl_callbacks = list(callbacks)
            return self

        def _init_callback_context(self, max_subtasks: int = 0) -> _Context:
            return _Context(self, max_subtasks)


__all__ = [
    "CallbackSupportMixin", "Checkpoint", "EarlyStop", "EndAt", "ProgressBar", "Telling", "bridge",
]  # fmt: skip

Attributes = Callable[[Factors, History], dict[str, Any]]


class _Bridge:
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
        self.given = {"estimator": estimator, "X": X, "y": y}
        root.call_on_fit_task_begin(**self.given)

    def begin(self) -> None:
        self.task = self.root.subcontext(task_name="iteration")
        self.task.call_on_fit_task_begin(**self.given)

    def end(self, factors: Factors, history: History) -> bool:
        self.task.objective = self.objective(history)
        return self._end(self.task, factors, history)

    def close(self, factors: Factors, history: History) -> None:
        """End the whole fit."""
        self._end(self.root, factors, history)

    def _end(self, task: Any, factors: Factors, history: History) -> bool:
        state = partial(self.attributes, factors, history)
        return bool(task.call_on_fit_task_end(**self.given, reconstruction_attributes=state))


def bridge(
    estimator: Any,
    max_iter: int,
    attributes: Attributes,
    objective: Callable[[History], float],
    X: Any = None,
    y: Any = None,
) -> list[_Bridge]:
    """Return the hook that serves the estimator's callbacks, or nothing if it has none.

    ``attributes`` gives the fitted attributes as if the fit had stopped now, ``objective`` the last
    objective, both in the user's units.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        return []
    root = estimator._init_callback_context(max_subtasks=max_iter)
    return [_Bridge(estimator, root, attributes, objective, X, y)]


def _is_iteration(context: Any) -> bool:
    """Whether a task is one iteration of ours, not a whole fit or the task of another estimator."""
    return hasattr(context, "objective")


class _Callback:
    def setup(self, estimator: Any, context: Any) -> None:
        """Begin a fit."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """End a fit."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Begin an iteration."""


class EndAt(_Callback):
    """End a fit as Ctrl-C does, but in whatever thread it runs: when an event is set.

    Parameters
    ----------
    event : threading.Event
        Looked at before each iteration.
    """

    def __init__(self, event: Event) -> None:
        self.event = event

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """End the fit, if it is time."""
        if self.event.is_set():
            raise KeyboardInterrupt

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Go on."""


class Telling(_Callback):
    """Call a function with the number of each iteration that is done: 1, 2, ..."""

    def __init__(self, tell: Callable[[int], object]) -> None:
        self.tell = tell

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Tell it."""
        if _is_iteration(context):
            self.tell(context.task_id + 1)


class ProgressBar(_Callback):
    """A progress bar on standard error with the objective of the last iteration."""

    def setup(self, estimator: Any, context: Any) -> None:
        self._bar: Any = None

    def _open(self, context: Any) -> None:
        from rich import progress as bars
        from rich.console import Console

        columns = bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeElapsedColumn()
        objective = bars.TextColumn("objective {task.fields[objective]}")
        name = bars.TextColumn("{task.description}")
        self._bar = bars.Progress(name, *columns, objective, console=Console(stderr=True))
        self._bar.start()
        total = context.parent.max_subtasks if context.parent is not None else None
        self._task = self._bar.add_task("fit", total=total, objective="…")

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Advance the bar."""
        if not _is_iteration(context):
            return
        if getattr(self, "_bar", None) is None:
            self._open(context)
        self._bar.update(self._task, advance=1, objective=f"{context.objective:.6g}")

    def teardown(self, estimator: Any, context: Any) -> None:
        if getattr(self, "_bar", None) is not None:
            self._bar.stop()
            self._bar = None


class Checkpoint(_Callback):
    """Write the factors to ``path`` (an .npz file) every few iterations, atomically.

    Parameters
    ----------
    path : str or path
        Where to write.
    every : int
        Iterations between two checkpoints; a fit that ends before leaves none.
    """

    def __init__(self, path: str | os.PathLike[str], every: int = 10) -> None:
        if every < 1:
            raise ValueError(f"every={every!r} must be a positive number of iterations.")
        self.path, self.every = Path(path), every

    def setup(self, estimator: Any, context: Any) -> None:
        """See to it that there is a place to write to."""
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"path={os.fspath(self.path)!r} of the checkpoint is in a folder that does not "
                "exist; make it first."
            )

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> None:
        """Write, if it is time."""
        if _is_iteration(context) and fitted_estimator.n_iter_ % self.every == 0:
            self._write(fitted_estimator)

    def _write(self, fitted: Any) -> None:
        arrays = {"samples": fitted.representation_, "features": fitted.components_.T}
        if getattr(fitted, "target_components_", None) is not None:
            arrays["targets"] = fitted.target_components_.T
        with place_of(self.path) as new, open(new, "wb") as file:
            np.savez(file, **arrays)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Factors:
        """Read a checkpoint; pass it on as ``init`` to go on from there.

        A start of given factors does not guess the targets of unlabelled samples.
        """
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
                return Factors(arrays["samples"], arrays["features"], arrays.get("targets"))
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile, AttributeError) as error:
            raise ValueError(f"{os.fspath(path)!r} is not a whole checkpoint: {error}") from None


class EarlyStop(_Callback):
    """Stop when a score of the fitted estimator has not improved for ``patience`` iterations.

    Parameters
    ----------
    score : callable
        Takes the estimator as it stands after an iteration and returns a number; larger is better.
    patience : int
        Iterations without improvement that are put up with.
    """

    def __init__(self, score: Callable[[Any], float], patience: int = 5) -> None:
        if patience < 1:
            raise ValueError(f"patience={patience!r} must be a positive number of iterations.")
        self.score, self.patience = score, patience

    def setup(self, estimator: Any, context: Any) -> None:
        self.best, self.waited = -np.inf, 0

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> bool:
        """Score the iteration and say whether to stop."""
        if not _is_iteration(context):
            return False
        score = float(self.score(fitted_estimator))
        self.waited = (
            0 if score > getattr(self, "best", -np.inf) else getattr(self, "waited", 0) + 1
        )
        self.best = max(score, getattr(self, "best", -np.inf))
        return self.waited >= self.patience
