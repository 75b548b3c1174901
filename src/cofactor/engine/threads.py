"""A pool of threads over fixed slices of rows.

The slices do not depend on the number of threads, so results are bit-identical for any number.
While a pool is open, the linear algebra library has one thread (`one_blas_thread`): our products
are small, so its threads would only wait for cores that ours use.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ContextDecorator, suppress
from functools import cache
from itertools import chain, pairwise
from threading import Lock
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


class _OneBlasThread(ContextDecorator):
    """Limits the linear algebra library to one thread while somebody is inside.

    The limit holds for the whole process. So the last thread that leaves lifts it, and fits side by
    side do not change each other's last bits.
    """

    def __init__(self) -> None:
        self.limit: Any = None
        self.lock, self.inside, self.process = Lock(), 0, os.getpid()

    def __enter__(self) -> None:
        if self.process != os.getpid():  # those who were inside at the fork are not here
            self.lock, self.inside, self.process = Lock(), 0, os.getpid()
        with self.lock:
            if self.limit is None:  # not so after an interrupt between these lines
                self.limit = _libraries().limit(limits=1, user_api="blas")
            self.inside += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.inside = max(0, self.inside - 1)
            if not self.inside and self.limit is not None:
                self.limit.restore_original_limits()
                self.limit = None


_ONE_BLAS_THREAD = _OneBlasThread()


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401 - so that its library, which is not numpy's, is found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread() -> ContextDecorator:
    """Limit the linear algebra library to one thread, in a ``with`` statement or a function.

    More threads cost time in small products, and they could change the last bits.
    """
    return _ONE_BLAS_THREAD


class Threads:
    """Runs functions on ``n_jobs`` threads, and returns their results in order.

    The pool exists inside a ``with`` statement; without one, everything runs in the calling thread.
    A call inside a call uses the threads that are idle at that moment, if any.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.count = count_threads(n_jobs)
        self._pool: ThreadPoolExecutor | None = None
        self._idle, self._lock = 0, Lock()

    def __enter__(self) -> Threads:
        assert self._pool is None, "these threads are at work already"
        if self.count > 1:
            self._pool = ThreadPoolExecutor(self.count - 1, thread_name_prefix="cofactor")
            self._idle = self.count - 1
        _ONE_BLAS_THREAD.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._pool is not None:
                self._pool.shutdown(wait=True, cancel_futures=True)
                self._pool, self._idle = None, 0
        finally:
            _ONE_BLAS_THREAD.__exit__()

    def map(self, run: Callable[[S], T], items: Iterable[S]) -> list[T]:
        """Return ``run(item)`` for each item, in order.

        The calling thread begins with the last item, idle threads of the pool with the first. Of
        several errors, the one of the first item is raised, as with a single thread.
        """
        items = list(items)
        helpers = self._take(len(items) - 1)
        if self._pool is None or not helpers:
            return list(map(run, items))
        todo, done = deque(enumerate(items)), [Future[T]() for _ in items]
        own = chain([todo.pop()], iter(todo.pop, None))
        others = [self._pool.submit(self._help, run, todo, done) for _ in range(helpers)]
        try:
            _work(run, own, done)
        finally:
            todo.clear()
            # A helper that did not begin has lost its thread, as after a fork.
            self._give_back(sum(other.cancel() for other in others))
        return [task.result() for task in done]

    def _help(
        self, run: Callable[[S], T], todo: deque[tuple[int, S]], done: Sequence[Future[T]]
    ) -> None:
        try:
            _work(run, iter(todo.popleft, None), done)
        finally:
            self._give_back(1)

    def _take(self, wanted: int) -> int:
        """Reserve at most as many idle threads; return their number."""
        with self._lock:
            taken = min(max(wanted, 0), self._idle)
            self._idle -= taken
        return taken

    def _give_back(self, count: int) -> None:
        with self._lock:
            self._idle += count

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
        and takes all if no other is idle.

        ``out``, if given, has one row for each slice; ``run(part, rows)`` gets those of its slices.
        """
        if join and not self._idle:
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


def _work(
    run: Callable[[S], T], numbered: Iterable[tuple[int, S]], done: Sequence[Future[T]]
) -> None:
    """Run calls until none is left; note their results and errors."""
    with suppress(IndexError):  # of an empty deque
        for i, item in numbered:
            try:
                result = run(item)
            except BaseException as error:
                done[i].set_exception(error)
                if not isinstance(error, Exception):
                    raise
            else:
                done[i].set_result(result)


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
