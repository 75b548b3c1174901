"""Trials: computed once, side by side, and kept, so that an interrupted run goes on where it was.

A trial is a function of its settings (plain JSON values) and of data that all trials share. Its
result is JSON too and is written when it is there, under a name that depends on everything that the
result depends on: function, settings, data, versions.
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
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from cofactor._versions import versions
from cofactor.io.atomic import write_whole

Settings = dict[str, Any]
Result = dict[str, Any]
Function = Callable[[Settings, Any], Result]


@dataclass(frozen=True)
class Outcome:
    """Results in the order of their settings, and what it took to have them."""

    results: list[Result]
    found: int
    seconds: float


class Trials:
    """A folder of finished trials.

    Parameters
    ----------
    folder : Path
        Where results are kept; made if need be.
    jobs : int
        Processes that work side by side; the results do not depend on it.
    """

    def __init__(self, folder: Path, jobs: int = 1) -> None:
        self.folder, self.jobs = folder, jobs

    def run(
        self,
        function: Function,
        settings: Sequence[Settings],
        shared: Any = None,
        advance: Callable[[], None] = lambda: None,
    ) -> Outcome:
        """Return the result of every trial, computing those that are not there yet.

        Parameters
        ----------
        function : callable
            Takes settings and ``shared`` and returns a result; a function of a module.
        settings : sequence of dict
            One for each trial.
        shared : object, optional
            Data for all trials, with a ``digest`` that tells them from other data.
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
        return Outcome([r["result"] for r in records], found, sum(r["seconds"] for r in records))

    def _path(self, identity: Settings) -> Path:
        text = json.dumps(identity, sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"

    def _read(self, identity: Settings) -> Result | None:
        try:
            record = json.loads(self._path(identity).read_text())
        except (OSError, ValueError):
            return None
        whole = isinstance(record, dict) and {"result", "seconds"} <= set(record)
        return record if whole and record.get("identity") == identity else None

    def _write(self, identity: Settings, result: Result, seconds: float) -> Result:
        record = {"identity": identity, "result": result, "seconds": round(seconds, 3)}
        text = json.dumps(record, allow_nan=False)
        write_whole(self._path(identity), f"{text}\n".encode())
        read: Result = json.loads(text)  # fresh and kept results are then alike to the last bit
        return read

    def _compute(
        self, function: Function, missing: dict[int, Settings], shared: Any
    ) -> Iterator[tuple[int, Result, float]]:
        if self.jobs == 1 or len(missing) < 2:
            for i, settings in missing.items():
                yield i, *_timed(function, settings, shared)
        else:
            yield from self._side_by_side(function, missing, shared)

    def _side_by_side(
        self, function: Function, missing: dict[int, Settings], shared: Any
    ) -> Iterator[tuple[int, Result, float]]:
        pool = ProcessPoolExecutor(
            min(self.jobs, len(missing)),
            mp_context=multiprocessing.get_context("spawn"),  # forks do not get along with threads
            initializer=_receive,
            initargs=(function, shared),
        )
        try:
            futures = {pool.submit(_work, settings): i for i, settings in missing.items()}
            for future in as_completed(futures):
                yield futures[future], *future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def seed_of(settings: Settings) -> int:
    """Return the seed of a trial for estimators that take one number."""
    return int(np.random.SeedSequence([settings["seed"], settings["trial"]]).generate_state(1)[0])


def _identity(function: Function, settings: Settings, digest: str) -> Settings:
    name = f"{function.__module__}.{function.__qualname__}"
    identity = {"function": name, "settings": settings, "data": digest, "versions": versions()}
    read: Settings = json.loads(json.dumps(identity))
    return read


def _timed(function: Function, settings: Settings, shared: Any) -> tuple[Result, float]:
    """Call a trial on one thread of the linear algebra, which could round otherwise by machine."""
    start = time.process_time()  # what others do on the machine does not count
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the paper's fits stop early
        result = function(settings, shared)
    return result, time.process_time() - start


_work_on: tuple[Function, Any]


def _receive(function: Function, shared: Any) -> None:
    """Get what all trials of a process share."""
    global _work_on
    _work_on = function, shared
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """End this process if the one that started it is killed; else it would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(settings: Settings) -> tuple[Result, float]:
    function, shared = _work_on
    return _timed(function, settings, shared)
