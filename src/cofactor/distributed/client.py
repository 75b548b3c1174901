"""What a client of a cluster calls: connect, fit, transform and predict."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any

import dask.array as da
import joblib
import numpy as np
from dask.delayed import Delayed, delayed
from distributed import Client, Future, LocalCluster

from cofactor.distributed.checkpoints import CheckpointFolder
from cofactor.distributed.cluster import Cluster, ClusterSettings
from cofactor.distributed.cluster_rows import as_rows
from cofactor.distributed.watch import ClusterError, WatchedClient
from cofactor.engine.factors import Factors
from cofactor.outofcore import RowBlocks
from cofactor.outofcore.rowblocks import N_BLOCKS, usual_blocks
from cofactor.text import TopicModel

LOOPBACK = "127.0.0.1"
"""A local cluster listens on this interface only: anyone who reaches it could run code."""

FREE_TO_CHANGE = ("max_iter", "tol", "n_jobs", "random_state", "init")
"""Parameters that a resumed fit may change, or that determine the start."""


# ---- connection


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
                "dask scheduler prints, such as tcp://10.0.0.1:8786, or local."
            ) from error
        yield stack.enter_context(client)


def _start_workers() -> LocalCluster:
    """Start a scheduler and workers that other machines cannot reach, their web pages included."""
    page = f"{LOOPBACK}:0"
    return LocalCluster(
        n_workers=min(os.cpu_count() or 1, N_BLOCKS),
        threads_per_worker=1,
        processes=True,
        host=LOOPBACK,
        dashboard_address=page,
        worker_dashboard_address=page,
        silence_logs=logging.CRITICAL,
    )


# ---- fit


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
        Fitted and returned. Workers use as many threads as Dask gave them; ``n_jobs`` is ignored.
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
    watched = WatchedClient(client, resume)
    rows = as_rows(watched, data, y)
    settings = ClusterSettings(
        watched,
        int(checkpoint_every),
        None if folder is None else partial(_checkpoints, folder, estimator, rows),
        getattr(rows, "futures", ()),
        gather_samples,
    )
    return _fit(estimator, rows, settings)


def _fit(estimator: Any, rows: RowBlocks, settings: ClusterSettings) -> Any:
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
    same = {name: v for name, v in sorted(parameters.items()) if name not in FREE_TO_CHANGE}
    outline = [asdict(fact) for fact in rows.facts], rows.width, rows.digests()
    begin = start.features, start.targets
    fingerprint = str(joblib.hash((type(estimator).__name__, same, outline, begin)))
    shapes = start.replace("samples", np.empty((0, start.rank)))  # the other factors matter
    return CheckpointFolder(path, fingerprint, shapes, [fact.rows for fact in rows.facts])


def fit_matrix(
    client: Any, estimator: Any, X: Any, y: Any, *, checkpoint: Path | None = None
) -> Any:
    """Fit an estimator on a cluster; ``X`` is a matrix in this process, or RowBlocks."""
    if isinstance(X, RowBlocks):
        return fit(client, X, y, estimator, checkpoint=checkpoint)
    return fit(client, usual_blocks(X, y), None, estimator, checkpoint=checkpoint)


# ---- predictions for dask collections: block by block, on the workers that hold the blocks


def transform(estimator: Any, data: Any) -> Any:
    """Represent samples in terms of the topics.

    Parameters
    ----------
    estimator : fitted estimator
    data : dask array, or list of delayed values or futures
        Chunks or blocks of rows, dense or sparse.

    Returns
    -------
    dask array, or list of delayed values or futures
        The result of ``estimator.transform`` for each block; nothing is computed yet.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from cofactor import NMF, distributed
    >>> X = np.outer(np.arange(1.0, 7.0), [1.0, 0.0, 2.0])
    >>> model = NMF(1, random_state=0).fit(X)
    >>> S = distributed.transform(model, da.from_array(X, chunks=(3, 3)))
    >>> S.shape, bool(np.array_equal(S.compute(), model.transform(X)))
    ((6, 1), True)
    """
    return _mapped(estimator, "transform", data)


def predict(estimator: Any, data: Any, *, text: str | None = None) -> Any:
    """Predict classes or numbers, block by block.

    Parameters
    ----------
    estimator : fitted estimator or TopicModel
    data : dask array, or list of delayed values or futures
        As for ``transform``. For a TopicModel: a dask dataframe.
    text : str, optional
        The column of the dataframe that holds the texts.

    Returns
    -------
    dask array, list of delayed values or futures, or dask dataframe
        The result of ``estimator.predict`` for each block; for a TopicModel the rows of the
        dataframe with those of ``model.annotate`` beside them. Only the first row of a dataframe
        is computed yet, which shows the columns.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from cofactor import SSNMFClassifier, distributed
    >>> X = np.eye(2).repeat(3, axis=0)
    >>> model = SSNMFClassifier(2, random_state=0).fit(X, ["a", "", "", "b", "", ""])
    >>> distributed.predict(model, da.from_array(X, chunks=(3, 2))).compute().tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    """
    if isinstance(estimator, TopicModel):
        return _annotated(estimator, data, text)
    return _mapped(estimator, "predict", data)


def _annotated(model: TopicModel, data: Any, text: str | None) -> Any:
    if not hasattr(data, "map_partitions") or not hasattr(data, "columns"):
        raise TypeError(
            f"data is a {type(data).__name__}; pass a dask dataframe with a column of texts, or "
            "call model.annotate(data)."
        )
    small = delayed(model.forget_documents(), pure=True)
    meta = model.annotate(data.head(1, npartitions=-1), text=text).iloc[:0]
    return data.map_partitions(_annotate, small, text, meta=meta)


def _annotate(frame: Any, model: TopicModel, text: str | None) -> Any:
    return model.annotate(frame, text=text)


def _mapped(estimator: Any, method: str, data: Any) -> Any:
    model = delayed(_light(estimator), pure=True)
    if isinstance(data, da.Array):
        return _over_chunks(estimator, model, method, data)
    if not isinstance(data, list | tuple) or not all(
        isinstance(block, Delayed | Future) for block in data
    ):
        raise TypeError(
            f"data is a {type(data).__name__}; pass a dask array or a list of delayed values or "
            f"futures, or call estimator.{method}(data)."
        )
    return [_over_block(model, method, block) for block in data]


def _over_chunks(estimator: Any, model: Any, method: str, data: Any) -> Any:
    whole = data if data.numblocks[1] == 1 else data.rechunk({1: -1})
    known = whole.dtype if whole.dtype == np.float32 else np.float64
    one = np.asarray(getattr(estimator, method)(np.ones((1, whole.shape[1]), dtype=known)))
    chunks = (whole.chunks[0], *((size,) for size in one.shape[1:]))
    return da.map_blocks(
        _apply,
        whole,
        model=model,
        method=method,
        dtype=one.dtype,
        chunks=chunks,
        drop_axis=[] if one.ndim == 2 else [1],
        meta=one[:0],
    )


def _over_block(model: Any, method: str, block: Any) -> Any:
    if isinstance(block, Future):
        client = block.client
        return client.submit(_apply, block, client.compute(model), method, pure=False)
    return delayed(_apply)(block, model, method)


def _apply(block: Any, model: Any, method: str) -> Any:
    X = block[0] if isinstance(block, tuple) else block
    return np.asarray(getattr(model, method)(X))


def _light(estimator: Any) -> Any:
    """Return a copy without the training samples, which predictions do not need."""
    fitted = estimator.completed()
    return estimator.with_fitted(replace(fitted, representation=fitted.representation[:0]))
