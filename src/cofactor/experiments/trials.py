"""Compute trials in parallel and store them, so that an interrupted run can continue.

A trial is a function of its settings (plain JSON values) and of data that all trials share. Its
result is JSON too, stored in a file whose name is a hash of everything the result depends on:
function, settings, data and versions.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from cofactor._versions import versions
from cofactor.estimators.base import FitInterruptedWarning
from cofactor.experiments.paper import MODELS
from cofactor.io.atomic import write_whole
from cofactor.io.json_text import from_json_file, to_json_file

TrialSettings = dict[str, Any]
TrialResult = dict[str, Any]
Function = Callable[[TrialSettings, Any], TrialResult]
Estimator = TypeVar("Estimator")


@dataclass(frozen=True)
class TrialResults:
    """The results of trials, in the order of their settings.

    ``found`` is how many were already stored; ``seconds`` is the processor time of all of them.
    """

    results: list[TrialResult]
    found: int
    seconds: float


class TrialStore:
    """A folder of finished trials.

    Parameters
    ----------
    folder : Path
        Folder for the results; created if it does not exist.
    jobs : int
        Number of parallel processes; the results do not depend on it.
    """

    def __init__(self, folder: Path, jobs: int = 1) -> None:
        self.folder, self.jobs = folder, jobs

    def run(
        self,
        function: Function,
        settings: Sequence[TrialSettings],
        shared: Any = None,
        advance: Callable[[], None] = lambda: None,
    ) -> TrialResults:
        """Return the result of every trial; compute those that are not stored yet.

        Parameters
        ----------
        function : callable
            Takes settings and ``shared`` and returns a result. Must be defined at the top level of
            a module.
        settings : sequence of dict
            One for each trial.
        shared : object, optional
            Data for all trials, identified by its ``digest``.
        advance : callable
            Called after each trial.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        identities = [_identity(function, each, getattr(shared, "digest", "")) for each in settings]
        kept = {i: old for i, one in enumerate(identities) if (old := self._read(one))}
        for _ in kept:
            advance()
        found = len(kept)
        missing = {i: settings[i] for i in range(len(settings)) if i not in kept}
        for i, result, seconds in self._compute(function, missing, shared):
            kept[i] = self._write(identities[i], result, seconds)
            advance()
        records = [kept[i] for i in range(len(settings))]
        return TrialResults(
            [r["result"] for r in records], found, sum(r["seconds"] for r in records)
        )

    def _path(self, identity: TrialSettings) -> Path:
        text = json.dumps(identity, sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"

    def _read(self, identity: TrialSettings) -> TrialResult | None:
        try:
            path = self._path(identity)
            record = from_json_file(path.read_bytes(), path.name)
        except (OSError, ValueError):
            return None
        whole = isinstance(record, dict) and {"result", "seconds"} <= set(record)
        return record if whole and record.get("identity") == identity else None

    def _write(self, identity: TrialSettings, result: TrialResult, seconds: float) -> TrialResult:
        record = {"identity": identity, "result": result, "seconds": round(seconds, 3)}
        path, data = self._path(identity), to_json_file(record)
        write_whole(path, data)
        read: TrialResult = from_json_file(
            data, path.name
        )  # makes fresh and stored results identical
        return read

    def _compute(
        self, function: Function, missing: dict[int, TrialSettings], shared: Any
    ) -> Iterator[tuple[int, TrialResult, float]]:
        if self.jobs == 1 or len(missing) < 2:
            for i, settings in missing.items():
                yield i, *_timed(function, settings, shared)
            return
        pool = ProcessPoolExecutor(
            min(self.jobs, len(missing)),
            mp_context=multiprocessing.get_context("spawn"),  # fork is not safe with threads
            initializer=_receive,
            initargs=(function, shared),
        )
        try:
            futures = {pool.submit(_work, settings): i for i, settings in missing.items()}
            for future in as_completed(futures):
                yield futures[future], *future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def seed_of(settings: TrialSettings) -> int:
    """Return the seed of a trial as one number."""
    return int(np.random.SeedSequence([settings["seed"], settings["trial"]]).generate_state(1)[0])


def make_model(estimator: type[Estimator], settings: TrialSettings, **changes: Any) -> Estimator:
    """Return an estimator with the losses, rank and seed of a trial, otherwise with defaults.

    The head uses topics alone, because the paper is about what topics predict.
    """
    data_loss, target_loss = MODELS[settings["model"]]
    losses = {"data_loss": data_loss, "target_loss": target_loss}
    options = {**losses, "head": "refit", "random_state": seed_of(settings), **changes}
    make: Any = estimator
    model: Estimator = make(settings["rank"], **options)
    return model


def _identity(function: Function, settings: TrialSettings, digest: str) -> TrialSettings:
    name = f"{function.__module__}.{function.__qualname__}"
    identity = {"function": name, "settings": settings, "data": digest, "versions": versions()}
    read: TrialSettings = json.loads(json.dumps(identity))
    return read


def _timed(function: Function, settings: TrialSettings, shared: Any) -> tuple[TrialResult, float]:
    """Run a trial with single-threaded linear algebra, so that rounding is always the same."""
    start = time.process_time()  # excludes other processes
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the paper's fits stop early
        warnings.simplefilter("error", FitInterruptedWarning)
        try:
            result = function(settings, shared)
        except FitInterruptedWarning:  # half a fit is not a result
            raise KeyboardInterrupt from None
    return result, time.process_time() - start


_worker: tuple[Function, Any]


def _receive(function: Function, shared: Any) -> None:
    """Keep the function and the data that all trials of a process share."""
    global _worker
    _worker = function, shared
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """End this process when its parent is killed; otherwise it would wait forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(settings: TrialSettings) -> tuple[TrialResult, float]:
    function, shared = _worker
    return _timed(function, settings, shared)
