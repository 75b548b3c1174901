"""Connects to a Dask cluster by its name: the address of a scheduler, or "local"."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from distributed import Client, LocalCluster

from cofactor.distributed.errors import ClusterError
from cofactor.distributed.fitting import fit
from cofactor.outofcore import RowBlocks

BLOCKS = 16
"""Number of blocks a matrix is cut into; constant, so the result does not depend on the workers."""

LOOPBACK = "127.0.0.1"
"""A local cluster listens on this interface only: anyone who reaches it could run code."""


@contextmanager
def connected(cluster: str) -> Iterator[Any]:
    """Yield a client of the scheduler at the address ``cluster``.

    "local" starts a scheduler and one worker process for each core of this machine.
    """
    with ExitStack() as stack:
        where: Any = stack.enter_context(_start_workers()) if cluster == "local" else cluster
        try:
            client = Client(where, timeout=20, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"No scheduler answers at {cluster!r} ({error}); give the address that "
                "dask-scheduler prints, such as tcp://10.0.0.1:8786, or local."
            ) from error
        yield stack.enter_context(client)


def _start_workers() -> LocalCluster:
    """Start a scheduler and workers that other machines cannot reach, their web pages included."""
    page = f"{LOOPBACK}:0"
    return LocalCluster(
        n_workers=min(os.cpu_count() or 1, BLOCKS),
        threads_per_worker=1,
        processes=True,
        host=LOOPBACK,
        dashboard_address=page,
        worker_dashboard_address=page,
        silence_logs=logging.CRITICAL,
    )


def fit_matrix(client: Any, estimator: Any, X: Any, y: Any) -> Any:
    """Fit an estimator on a cluster; ``X`` is a matrix in this process, or RowBlocks."""
    if isinstance(X, RowBlocks):
        return fit(client, X, y, estimator)
    rows = RowBlocks.split(X, y, rows=max(1, -(-X.shape[0] // BLOCKS)))
    return fit(client, rows, None, estimator)
