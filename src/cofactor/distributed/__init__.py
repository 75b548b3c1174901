"""Fits on a Dask cluster: the same estimators, the same numbers, more machines.

Each worker holds blocks of rows and their part of S. In each iteration, one task per worker takes
the topics there and brings statistics back. The result is bit-identical no matter which worker
holds which block.
"""

try:
    from cofactor.callbacks import CheckpointError
    from cofactor.distributed.client import fit, predict, transform
    from cofactor.distributed.texts import fit_texts
    from cofactor.distributed.watch import ClusterError, OutOfMemory
except ModuleNotFoundError as error:
    if error.name not in ("dask", "distributed"):
        raise
    raise ModuleNotFoundError(
        "cofactor.distributed needs dask and distributed: pip install 'cofactor[dask]'.",
        name=error.name,
    ) from None

__all__ = [
    "CheckpointError",
    "ClusterError",
    "OutOfMemory",
    "fit",
    "fit_texts",
    "predict",
    "transform",
]
