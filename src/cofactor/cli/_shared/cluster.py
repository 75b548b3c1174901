"""The option --cluster: fits on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from cofactor.cli._shared.command import BadInput, needing_extra


@contextmanager
def fit_function(cluster: str | None) -> Iterator[Callable[..., Any] | None]:
    """Yield the function that fits estimators on a cluster; None if none is named."""
    if cluster is None:
        yield None
        return
    with needing_extra("--cluster", "dask"):
        from cofactor.distributed import ClusterError
        from cofactor.distributed.connection import connected, fit_matrix

    try:
        with connected(cluster) as client:
            yield partial(fit_matrix, client)
    except ClusterError as error:
        raise BadInput(f"--cluster {cluster}: {error}") from error
