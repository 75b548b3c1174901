"""Fits on a Dask cluster: the same estimators, the same numbers, more machines.

>>> from cofactor import SSNMFClassifier, distributed  # doctest: +SKIP
>>> model = distributed.fit(
...     client, blocks, None, SSNMFClassifier(20, solver="mu")
... )  # doctest: +SKIP

Workers hold blocks of rows and their part of S; topics travel to them and statistics come back, one
task for each worker and iteration. Sums do not depend on who has which block, so neither do the
bits of the result.
"""

try:
    from cofactor.distributed.errors import CheckpointError, ClusterError, OutOfMemory
    from cofactor.distributed.fitting import fit
    from cofactor.distributed.predictions import predict, transform
except ModuleNotFoundError as error:
    if error.name not in ("dask", "distributed"):
        raise
    raise ModuleNotFoundError(
        "cofactor.distributed needs dask and distributed: pip install 'cofactor[dask]'.",
        name=error.name,
    ) from None

__all__ = ["CheckpointError", "ClusterError", "OutOfMemory", "fit", "predict", "transform"]
