"""A pool of threads over fixed slices of rows.

The slices do not depend on the number of threads, so results are bit-identical for any number.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from cofactor._types import FloatArray, IntArray

N_SLICES = 16
"""Number of slices in a pass.  It is a constant because sums over slices are part of the result."""

TASKS_PER_THREAD = 2
"""Where slices are joined; fast threads can then help a late one."""

S = TypeVar("S")
T = TypeVar("T")


def count_threads(n_jobs: int | None) -> int:
    """Read ``n_jobs`` as scikit-learn does: None is 1, -1 is every core, -2 all but one."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError(
            "n_jobs=0 runs nothing; use a positive number, -1 for all cores, or None for one."
        )
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


class Threads:
    """Runs functions on ``n_jobs`` threads, and returns their results in order.

    The pool exists inside a ``with`` statement; without one, everything runs in the calling thread.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.count = count_threads(n_jobs)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Threads:
        if self.count > 1:
            self._pool = ThreadPoolExecutor(self.count - 1, thread_name_prefix="cofactor")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def map(self, run: Callable[[S], T], items: Iterable[S]) -> list[T]:
        """Return ``run(item)`` for each item, in order.

        The calling thread does the last one, then what no thread of the pool has begun. So ``run``
        may call this again: at worst its own thread does everything. Of several errors, the one of
        the first item is raised, as with a single thread.
        """
        items = list(items)
        if self._pool is None or len(items) < 2:
            return list(map(run, items))
        *others, last = items
        tasks = [self._pool.submit(run, item) for item in others]
        try:
            tasks.append(_run_here(run, last))
            for i in reversed(range(len(others))):
                if tasks[i].cancel():
                    tasks[i] = _run_here(run, others[i])
            return [task.result() for task in tasks]
        finally:
            for task in tasks:
                task.cancel()

    def both(self, one: Callable[[], S], other: Callable[[], T]) -> tuple[S, T]:
        """Return the results of two calls; the longer one should be the second.

        The calling thread makes the second, and calls of threads in it find the pool free.
        """
        calls: list[Callable[[], Any]] = [one, other]
        first, second = self.map(lambda run: run(), calls)
        return first, second

    def over(
        self,
        bounds: IntArray,
        run: Callable[..., T],
        out: FloatArray | None = None,
        *,
        join: bool = False,
    ) -> list[T]:
        """Call ``run(part)`` for parts of the slices between consecutive ``bounds``.

        A part is the bounds of one slice.  ``join=True`` allows parts of several consecutive
        slices, where the result does not depend on them: each thread takes a few slices at once,
        and a single thread takes all.

        ``out``, if given, has one row for each slice; ``run(part, rows)`` gets those of its slices.
        """
        if join and self._pool is None:
            return [run(bounds) if out is None else run(bounds, out)]
        n = len(bounds) - 1
        count = max(1, min(n, TASKS_PER_THREAD * self.count)) if join else n
        cuts = [n * i // count for i in range(count + 1)]
        parts = [(bounds[low : high + 1], slice(low, high)) for low, high in pairwise(cuts)]
        if out is None:
            return self.map(lambda part: run(part[0]), parts)
        return self.map(lambda part: run(part[0], out[part[1]]), parts)

    def total(
        self,
        bounds: IntArray,
        shape: tuple[int, ...],
        run: Callable[[IntArray, FloatArray], object],
        *,
        join: bool = True,
    ) -> FloatArray:
        """Return the sum over slices of the arrays of ``shape`` that ``run(part, rows)`` writes."""
        out = np.empty((len(bounds) - 1, *shape))
        self.over(bounds, run, out, join=join)
        return np.asarray(np.add.reduce(out))


def _run_here(run: Callable[[S], T], item: S) -> Future[T]:
    """Run a call in this thread, and keep its result or error."""
    done: Future[T] = Future()
    try:
        done.set_result(run(item))
    except Exception as error:
        done.set_exception(error)
    return done


@cache
def even_slices(n: int, count: int = N_SLICES) -> IntArray:
    """Return the bounds of at most ``count`` slices of about the same number of rows."""
    return np.unique(np.linspace(0, n, min(count, max(n, 1)) + 1).astype(np.int64))


def balanced_slices(start: IntArray, count: int = N_SLICES) -> IntArray:
    """Return the bounds of slices of about the same work: cells plus a constant for each row.

    Cells of row i are those from ``start[i]`` to ``start[i + 1]``.
    """
    n = len(start) - 1
    work = (start - start[0]) + 8 * np.arange(n + 1)
    return np.unique(np.searchsorted(work, np.linspace(0, work[-1], count + 1)).clip(0, n))
