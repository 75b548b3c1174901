"""Wait for a cluster without hanging: every wait checks which workers are still there.

The errors of a cluster and its workers are here, too.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from distributed import Future
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

POLL_SECONDS = 0.25
"""Time between two checks of the workers."""
MAX_SILENCE = 45.0
"""Seconds to wait for a sign of life of the scheduler, of any worker or of a task."""
GONE_ERRORS = (
    KilledWorker,
    CommClosedError,
    asyncio.CancelledError,
    concurrent.futures.CancelledError,
)


class ClusterError(RuntimeError):
    """The fit on the cluster cannot continue; the message says why and how to resume.

    Examples
    --------
    >>> from cofactor.distributed import ClusterError
    >>> issubclass(ClusterError, RuntimeError)
    True
    """


class OutOfMemory(MemoryError):
    """A worker does not have enough memory for its blocks.

    Examples
    --------
    >>> from cofactor.distributed import OutOfMemory
    >>> issubclass(OutOfMemory, MemoryError)
    True
    """


class Lost(Exception):
    """A worker, or the blocks and samples that it held, are gone."""


@dataclass(eq=False)
class WatchedClient:
    """A client whose calls end: with a result, with ``Lost``, or with ``ClusterError``."""

    client: Any  # distributed.Client, whose attributes are optional to a type checker
    resume: str = "call fit again"
    """How the user continues after the cluster is gone; part of messages."""

    def workers(self, patience: float = MAX_SILENCE) -> list[str]:
        """Return the addresses of the workers."""
        deadline = time.monotonic() + patience
        while True:
            try:
                if self.client.status in ("closed", "closing"):
                    break
                ask = self.client.scheduler.ncores
                return list(self.client.sync(ask, workers=None, callback_timeout=5.0))
            except (OSError, TimeoutError, AttributeError):
                if time.monotonic() > deadline:
                    break
                time.sleep(POLL_SECONDS)
        raise self._vanished()

    def _vanished(self) -> ClusterError:
        return ClusterError(f"The cluster can no longer be reached; start one and {self.resume}.")

    def some_workers(self) -> list[str]:
        """Wait until there is a worker."""
        deadline = time.monotonic() + MAX_SILENCE
        while not (found := self.workers()):
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"The cluster has had no worker for {MAX_SILENCE:.0f} seconds; start some and "
                    f"{self.resume}."
                )
            time.sleep(POLL_SECONDS)
        return found

    def send(self, value: Any, worker: str) -> Future:
        """Send a value to a worker, from which other workers fetch it."""
        try:
            return self._wait(
                lambda: self.client.scatter(
                    [value], workers=[worker], hash=False, asynchronous=True
                ),
                [worker],
            )[0]
        except (OSError, TimeoutError) as error:
            raise Lost(str(error)) from error
        except (ValueError, KeyError) as error:  # depends on whether the scheduler knew already
            raise Lost(f"worker {worker} is gone") from error

    def gather(
        self, futures: Sequence[Future], workers: Collection[str] = (), pinned: bool = True
    ) -> list[Any]:
        """Return the results of tasks on some workers; the loss of one of these is an error."""
        stalled = _Stalled(self, futures) if pinned else None

        def ask() -> Any:
            return self.client.gather(list(futures), errors="skip", asynchronous=True)

        found = self._wait(ask, workers, stalled)
        if len(found) < len(futures):
            self._raise(futures)
        return found

    def collect(self, futures: Sequence[Future]) -> list[Any]:
        """Return the results of tasks that any worker may run, and run again."""
        try:
            return self.gather(futures, pinned=False)
        except Lost as lost:
            raise ClusterError(
                f"Blocks were lost while they were looked at ({lost}); {self.resume}."
            ) from lost

    @staticmethod
    def _raise(futures: Sequence[Future]) -> None:
        """Raise the error of a task; its own error takes precedence over the loss of a worker."""
        errors = [f.exception(timeout=MAX_SILENCE) for f in futures if f.status == "error"]
        for error in errors:
            if not isinstance(error, (Lost, *GONE_ERRORS)):
                raise error
        raise Lost(str(errors[0]) if errors else "a task was cancelled")

    def _wait(
        self, ask: Callable[[], Any], workers: Collection[str], stalled: _Stalled | None = None
    ) -> Any:
        async def asked() -> Any:
            return await ask()

        waiting = asyncio.run_coroutine_threadsafe(asked(), self.client.loop.asyncio_loop)
        try:
            while not self._done(waiting):
                here = self.workers() if workers else self.some_workers()
                if missing := set(workers) - set(here):
                    raise Lost(f"{len(missing)} of {len(workers)} workers are gone")
                if stalled is not None:
                    stalled.check()
            return waiting.result()
        except GONE_ERRORS as error:
            raise Lost(str(error) or type(error).__name__) from error
        except AttributeError as error:  # a closed client has no scheduler
            if self.client.scheduler is not None:
                raise
            raise self._vanished() from error
        finally:
            waiting.cancel()

    @staticmethod
    def _done(waiting: concurrent.futures.Future[Any]) -> bool:
        return bool(concurrent.futures.wait([waiting], timeout=POLL_SECONDS).done)


class _Stalled:
    """Notices tasks that no worker has begun although their workers are there."""

    def __init__(self, watched: WatchedClient, futures: Sequence[Future]) -> None:
        self.watched, self.futures = watched, futures
        self.seen = self.looked = time.monotonic()

    def check(self) -> None:
        now = time.monotonic()
        if now - self.looked < 5.0:
            return
        self.looked = now
        client = self.watched.client
        try:
            busy = client.sync(client.scheduler.processing, workers=None, callback_timeout=5.0)
        except (OSError, TimeoutError):
            return
        working = {key for keys in busy.values() for key in keys}
        if all(future.done() or future.key in working for future in self.futures):
            self.seen = now
        if now - self.seen > MAX_SILENCE:
            raise ClusterError(
                f"A worker has not begun its task for {MAX_SILENCE:.0f} seconds; workers pause "
                "when their memory is nearly full, so make smaller blocks or give them more "
                f"memory, and {self.watched.resume}."
            )
