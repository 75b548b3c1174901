"""From the name of a cluster to a client."""

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
"""Blocks of a matrix; a constant, so that the number of workers does not change the result."""


@contextmanager
def connected(cluster: str) -> Iterator[Any]:
    """Yield a client of the scheduler at an address, or of a process for each core: "local"."""
    with ExitStack() as stack:
        if cluster == "local":
            workers = LocalCluster(
                n_workers=min(os.cpu_count() or 1, BLOCKS), threads_per_worker=1, processes=True,
                dashboard_address=":0", silence_logs=logging.CRITICAL,
            )  # fmt: skip
            where: Any = stack.enter_context(workers)
        else:
            where = cluster
        try:
            client = Client(where, timeout=20, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"No scheduler answers at {cluster!r} ({error}); give the address that "
                "dask-scheduler prints, such as tcp://10.0.0.1:8786, or local."
            ) from error
        yield stack.enter_context(client)


def fit_matrix(client: Any, estimator: Any, X: Any, y: Any) -> Any:
    """Fit an estimator to a matrix of this process, or to blocks, on a cluster."""
    if isinstance(X, RowBlocks):
        return fit(client, X, y, estimator)
    rows = RowBlocks.split(X, y, rows=max(1, -(-X.shape[0] // BLOCKS)))
    return fit(client, rows, None, estimator)
