"""The option --cluster: fits on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from cofactor.cli._shared.command import BadInput, needing_extra


@contextmanager
def fitting_on(cluster: str | None) -> Iterator[None]:
    """Fit the estimators of topic models on a cluster, if one is named."""
    if cluster is None:
        yield
        return
    with needing_extra():
        from cofactor.distributed import ClusterError
        from cofactor.distributed.connection import connected, fit_matrix
    from cofactor.text.fitting import fitted_by

    try:
        with connected(cluster) as client, fitted_by(partial(fit_matrix, client)):
            yield
    except ClusterError as error:
        raise BadInput(f"--cluster {cluster}: {error}") from error
