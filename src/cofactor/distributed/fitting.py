"""``fit``: the estimator's own fit, with the workers of a cluster in place of this process."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from distributed import Client

from cofactor.distributed.checkpoints import CheckpointFolder
from cofactor.distributed.cluster import Cluster, Settings
from cofactor.distributed.sources import as_rows
from cofactor.distributed.watch import Watched
from cofactor.engine.factors import Factors
from cofactor.outofcore import RowBlocks

NOT_THE_START = ("max_iter", "tol", "n_jobs", "random_state", "init")
"""Parameters that a resumed fit may change, or that determine the start."""


def fit(
    client: Client,
    data: Any,
    y: Any,
    estimator: Any,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 5,
    gather_samples: bool = True,
) -> Any:
    """Fit an estimator on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    data : RowBlocks, list of delayed values or futures, or dask array
        RowBlocks in a folder that the workers see at the same path; blocks of nonnegative rows,
        each X or (X, y); or a dask array with sparse or dense chunks of rows.
    y : array-like, list of parts, dask array or None
        Targets of all rows, or a part for each block; None where the data have their own, or the
        estimator needs none.
    estimator : NMF, SSNMFClassifier or SSNMFRegressor
        Fitted and returned. Workers use as many threads as Dask gave them, whatever ``n_jobs``.
    checkpoint : path, optional
        A folder on storage that this process and all workers share. If it has a checkpoint of the
        same fit, the fit continues from there. Without a folder, this process keeps S of the last
        checkpoint in memory.
    checkpoint_every : int, default=5
        Number of iterations between checkpoints. The loss of a worker costs at most this number of
        iterations. New workers get blocks at a checkpoint.
    gather_samples : bool, default=True
        Whether to collect S as ``representation_``; otherwise that has no rows.

    Returns
    -------
    estimator
        Bit-identical to the result of a fit in memory with the same blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> from cofactor import NMF, RowBlocks
    >>> from cofactor.distributed import fit
    >>> blocks = RowBlocks.split(np.outer(np.arange(1.0, 7.0), [1.0, 0.0, 2.0]), rows=3)
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     model = fit(client, blocks, None, NMF(1, solver="mu", random_state=0))
    >>> model.components_.shape
    (1, 3)
    """
    if not isinstance(checkpoint_every, Integral) or checkpoint_every < 1:
        raise ValueError(
            f"checkpoint_every={checkpoint_every!r} must be a positive number of iterations."
        )
    folder = None if checkpoint is None else Path(checkpoint).absolute()
    resume = "call fit again"
    if folder is not None:
        resume += f" with checkpoint={os.fspath(folder)!r} to continue from the last one"
    watched = Watched(client, resume)
    rows = as_rows(watched, data, y)
    settings = Settings(
        watched,
        int(checkpoint_every),
        None if folder is None else partial(_checkpoints, folder, estimator, rows),
        getattr(rows, "futures", ()),
        gather_samples,
    )
    return _fit(estimator, rows, settings)


def _fit(estimator: Any, rows: RowBlocks, settings: Settings) -> Any:
    started: list[Cluster] = []

    def executor(rows: RowBlocks, recipe: Any, threads: Any) -> Cluster:
        started.append(Cluster(rows, recipe, settings))
        return started[0]

    try:
        return estimator.fit(replace(rows, executor=executor))
    finally:
        for cluster in started:
            cluster.close()


def _checkpoints(path: Path, estimator: Any, rows: RowBlocks, start: Factors) -> CheckpointFolder:
    """Return the checkpoints of a fit, which is identified by its parameters, data and start."""
    parameters = estimator.get_params(deep=False)
    same = {name: v for name, v in sorted(parameters.items()) if name not in NOT_THE_START}
    facts = [replace(fact, files={}) for fact in rows.facts]
    outline = [asdict(fact) for fact in facts], rows.width, start.features, start.targets
    fingerprint = str(joblib.hash((type(estimator).__name__, same, outline)))
    shapes = start.replace("samples", np.empty((0, start.rank)))  # the other factors matter
    return CheckpointFolder(path, fingerprint, shapes, [fact.rows for fact in rows.facts])
