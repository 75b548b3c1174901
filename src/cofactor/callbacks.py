"""Callbacks for fits, in scikit-learn's callback protocol.

>>> from cofactor import NMF
>>> from cofactor.callbacks import ProgressBar
>>> model = NMF(5).set_callbacks(ProgressBar())
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from cofactor.engine.factors import Factors
from cofactor.engine.fitting import History
from cofactor.io import npy
from cofactor.io.atomic import check_place, write_whole
from cofactor.io.untrusted import failing_as, open_plain, require

__all__ = ["Checkpoint", "CheckpointError", "EarlyStop", "ProgressBar"]


class CheckpointError(ValueError):
    """A checkpoint cannot be used; the message says which, and why.

    Examples
    --------
    >>> from cofactor.callbacks import Checkpoint, CheckpointError
    >>> try:
    ...     start = Checkpoint.load("no such file.npz")
    ... except CheckpointError as error:
    ...     print(error)
    'no such file.npz' is not a whole checkpoint: the file is missing.
    """


def _is_iteration(context: Any) -> bool:
    """Return whether a task is an iteration of our loop, not a whole fit or another estimator's."""
    return hasattr(context, "objective")


class _Callback:
    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing when a fit begins."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing when a fit ends."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing when an iteration begins."""

    def on_texts_encoded(self, done: int, total: int) -> None:
        """Do nothing when an encoder has encoded some texts, before a topic model is fitted."""


class StopOnEvent(_Callback):
    """End a fit as Ctrl-C does, but in any thread: when an event is set.

    Parameters
    ----------
    event : threading.Event
        Checked before each iteration.
    """

    def __init__(self, event: Event) -> None:
        self.event = event

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Raise KeyboardInterrupt if the event is set."""
        if self.event.is_set():
            raise KeyboardInterrupt

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Do nothing."""


class ReportIterations(_Callback):
    """Call a function with the number of each finished iteration: 1, 2, ...

    Parameters
    ----------
    report : callable
        Takes the number.
    encoded : callable, optional
        Takes the numbers of texts that an encoder has encoded, and of all texts.
    """

    def __init__(
        self,
        report: Callable[[int], object],
        encoded: Callable[[int, int], object] = lambda done, total: None,
    ) -> None:
        self.report = report
        self.encoded = encoded

    def on_texts_encoded(self, done: int, total: int) -> None:
        """Report the number of encoded texts."""
        self.encoded(done, total)

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Report the number of the finished iteration."""
        if _is_iteration(context):
            self.report(context.task_id + 1)


class ProgressBar(_Callback):
    """A progress bar on standard error with the objective of the last iteration.

    While the encoder of a topic model runs, it shows the number of encoded texts.

    Examples
    --------
    >>> from cofactor import NMF
    >>> from cofactor.callbacks import ProgressBar
    >>> model = NMF(2, random_state=0).set_callbacks(ProgressBar())
    """

    def setup(self, estimator: Any, context: Any) -> None:
        """Forget the bar of an earlier fit."""
        self._bar: Any = None

    def _open(self, name: str, total: int | None) -> None:
        from rich import progress as bars
        from rich.console import Console

        columns = bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeElapsedColumn()
        described = bars.TextColumn("{task.description}")
        last = bars.TextColumn("{task.fields[last]}")
        self._bar = bars.Progress(described, *columns, last, console=Console(stderr=True))
        self._bar.start()
        self._task = self._bar.add_task(name, total=total, last="")

    def on_texts_encoded(self, done: int, total: int) -> None:
        """Show the number of encoded texts."""
        if getattr(self, "_bar", None) is None:
            self._open("encode", total)
        self._bar.update(self._task, completed=done)
        if done == total:
            self._close()

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Advance the bar."""
        if not _is_iteration(context):
            return
        if getattr(self, "_bar", None) is None:
            self._open("fit", None if context.parent is None else context.parent.max_subtasks)
        self._bar.update(self._task, advance=1, last=f"objective {context.objective:.6g}")

    def teardown(self, estimator: Any, context: Any) -> None:
        """Close the bar."""
        self._close()

    def _close(self) -> None:
        if getattr(self, "_bar", None) is not None:
            self._bar.stop()
            self._bar = None


class Checkpoint(_Callback):
    """Write the factors to ``path`` (an .npz file) every few iterations, in one step.

    Parameters
    ----------
    path : str or path
        The file; its folder must exist.
    every : int
        Number of iterations between two checkpoints. A fit with fewer iterations writes none.

    Examples
    --------
    >>> import tempfile
    >>> from cofactor import NMF
    >>> from cofactor.callbacks import Checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     watch = Checkpoint(f"{folder}/fit.npz", every=1)
    ...     model = NMF(1, random_state=0).set_callbacks(watch).fit([[1.0, 2.0], [2.0, 4.0]])
    ...     Checkpoint.load(f"{folder}/fit.npz").samples.shape
    (2, 1)
    """

    def __init__(self, path: str | os.PathLike[str], every: int = 10) -> None:
        if every < 1:
            raise ValueError(f"every={every!r} must be a positive number of iterations.")
        self.path, self.every = Path(path), every

    def setup(self, estimator: Any, context: Any) -> None:
        """Raise an error at once if the file cannot be written."""
        check_place(self.path)

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> None:
        """Write a checkpoint after every ``every`` iterations."""
        if _is_iteration(context) and fitted_estimator.n_iter_ % self.every == 0:
            self._write(fitted_estimator)

    def _write(self, fitted: Any) -> None:
        arrays = {"samples": fitted.representation_, "features": fitted.components_.T}
        if getattr(fitted, "target_components_", None) is not None:
            arrays["targets"] = fitted.target_components_.T
        arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        write_whole(self.path, npy.pack(arrays, comment=_digest(arrays)))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Factors:
        """Read a checkpoint; pass the result as ``init`` to continue from there.

        A fit that starts from given factors does not guess the targets of unlabelled samples.

        Raises
        ------
        CheckpointError
            If the file is not a whole checkpoint.

        Examples
        --------
        >>> import tempfile
        >>> from cofactor import NMF
        >>> from cofactor.callbacks import Checkpoint
        >>> X = [[1.0, 2.0], [2.0, 4.0]]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     watch = Checkpoint(f"{folder}/fit.npz", every=1)
        ...     model = NMF(1, random_state=0).set_callbacks(watch).fit(X)
        ...     again = NMF(1, init=Checkpoint.load(f"{folder}/fit.npz")).fit(X)
        >>> again.n_iter_ <= model.n_iter_
        True
        """
        name = os.fspath(path)
        with failing_as(CheckpointError, f"{name!r} is not a whole checkpoint: "):
            with open(open_plain(Path(os.path.realpath(path)), "the file"), "rb") as file:
                arrays, comment = npy.unpack(
                    file, "the file", ("samples", "features"), ("targets",)
                )
            require(comment in (b"", _digest(arrays)), "the file was changed after writing")
            for one, array in arrays.items():
                npy.check_factor(array, one)
            kinds = {(array.shape[1], array.dtype) for array in arrays.values()}
            require(len(kinds) == 1, "its arrays differ in rank or dtype")
            return Factors(**{one: np.array(array) for one, array in arrays.items()})


def _digest(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the digest that a checkpoint keeps as the comment of its archive."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return b"sha256:" + digest.hexdigest().encode()


class EarlyStop(_Callback):
    """Stop when a score of the fitted estimator has not improved for ``patience`` iterations.

    Parameters
    ----------
    score : callable
        Takes the estimator as it stands after an iteration and returns a number; larger is better.
    patience : int
        Number of iterations without improvement after which the fit stops.

    Examples
    --------
    >>> from cofactor import NMF
    >>> from cofactor.callbacks import EarlyStop
    >>> flat = EarlyStop(lambda model: 0.0, patience=3)  # a score that never improves
    >>> X = [[1.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 3.0]]
    >>> NMF(2, tol=0, random_state=0).set_callbacks(flat).fit(X).n_iter_
    4
    """

    def __init__(self, score: Callable[[Any], float], patience: int = 5) -> None:
        if patience < 1:
            raise ValueError(f"patience={patience!r} must be a positive number of iterations.")
        self.score, self.patience = score, patience

    def setup(self, estimator: Any, context: Any) -> None:
        """Forget the scores of an earlier fit."""
        self.best, self.waited = -np.inf, 0

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> bool:
        """Score the iteration; return True to stop."""
        if not _is_iteration(context):
            return False
        score = float(self.score(fitted_estimator))
        self.waited = (
            0 if score > getattr(self, "best", -np.inf) else getattr(self, "waited", 0) + 1
        )
        self.best = max(score, getattr(self, "best", -np.inf))
        return self.waited >= self.patience


class CallbackHook:
    """The bridge from the loop of a fit to the protocol: one task per iteration.

    Parameters
    ----------
    estimator : object
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
        estimator: Any,
        state: Callable[[Factors, History], Any],
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
        return self._end(self.task, partial(self.state, factors, history))

    def close(self, fitted: Any) -> None:
        """Close the task of the whole fit, which ended with this state."""
        self._end(self.root, lambda: fitted)

    def _end(self, task: Any, state: Callable[[], Any]) -> bool:
        return bool(
            task.call_on_fit_task_end(
                **self.arguments,
                # computed only if a callback asks for a fitted copy of the estimator
                reconstruction_attributes=lambda: {"_fitted": state()},
            )
        )
