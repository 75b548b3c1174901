"""Texts on a cluster: workers read, count and vectorise their parts; the driver chooses the words.

The procedure is `cofactor.text.text_parts.fit_parts`. Every step is a task that the scheduler runs
again if its worker is lost, from the part's source on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

from dask.base import is_dask_collection
from dask.delayed import Delayed
from distributed import Client, Future, default_client

from cofactor.distributed.client import fit_matrix
from cofactor.distributed.cluster_rows import rows_on_cluster
from cofactor.distributed.watch import WatchedClient
from cofactor.outofcore import RowBlocks
from cofactor.outofcore.batches import RowsAndTargets
from cofactor.text import TopicModel
from cofactor.text.documents import refuse_given
from cofactor.text.kept_parts import KEPT_TASKS, remembered
from cofactor.text.text_parts import as_part, fit_parts


@dataclass(frozen=True)
class ClusterParts:
    """Parts of a corpus that workers hold; see `cofactor.text.text_parts.CorpusParts`.

    Parameters
    ----------
    watched : WatchedClient
    parts : sequence of Future, or of small values that are sent to the workers
    keep : path, optional
        A folder that all workers see, in which they keep what they have counted and vectorised.
    """

    watched: WatchedClient
    parts: Sequence[Any]
    keep: Path | None = None

    def map(self, task: Callable[..., Any], shared: Any) -> ClusterParts:
        """Return the parts ``task(part, shared)``, which stay on the workers."""
        once = self._submit(_itself, shared)
        return replace(self, parts=[self._submit(task, part, once) for part in self.parts])

    def only(self, kept: Sequence[bool]) -> ClusterParts:
        """Return some of the parts."""
        return replace(self, parts=[*compress(self.parts, kept)])

    def each(self, task: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Return ``task(part, …)`` of each part."""
        given = zip(self.parts, *arguments, strict=True)
        return self.watched.collect([self._submit(task, *some) for some in given])

    def values(self) -> list[Any]:
        """Return the parts themselves."""
        return self.watched.collect([*self.parts])

    def total(self, task: Callable[..., Any], shared: Any, add: Callable[[Any, Any], Any]) -> Any:
        """Return the sum of ``task(part, shared)`` over a binary tree of the parts."""
        level = self.map(self._remembered(task), shared).parts
        while len(level) > 1:
            pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
            level = [self._submit(add, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return self.watched.collect(level)[0]

    def rows(self, task: Callable[..., RowsAndTargets], shared: Any) -> RowBlocks:
        """Return the blocks ``task(part, shared)``, which stay on the workers; end the parts."""
        blocks = self.map(self._remembered(task), shared).parts
        found = rows_on_cluster(self.watched, blocks, [None] * len(blocks))
        for part in self.parts:
            part.release()  # if a block is lost, the scheduler computes its part again
        return found

    def _remembered(self, task: Callable[..., Any]) -> Callable[..., Any]:
        if self.keep is None or task not in KEPT_TASKS:
            return task
        return partial(remembered, self.keep, task)

    def _submit(self, task: Callable[..., Any], *arguments: Any) -> Future:
        return self.watched.client.submit(task, *arguments, pure=False)


def _itself(value: Any) -> Any:
    return value


def fit_texts(
    client: Client,
    documents: Any,
    y: Any,
    model: TopicModel,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
) -> TopicModel:
    """Fit a topic model to documents on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    documents : dask Series, bag, or list of delayed values or futures
        Texts in parts. Each part becomes a block of rows.
    y : dask Series, bag, list of delayed values or futures, or None
        Labels or numbers in the same parts.
    model : TopicModel
        Fitted and returned.
    checkpoint : path, optional
        A folder on storage that this process and all workers share. If the fit is stopped at any
        stage, the same call goes on with what was counted, vectorised and fitted before.

    Returns
    -------
    TopicModel
        Bit-identical to the model that one process makes of the same parts.

    Examples
    --------
    >>> from dask import bag
    >>> from distributed import Client
    >>> from cofactor import TopicModel
    >>> from cofactor.distributed import fit_texts
    >>> texts = ["the orbit of the moon", "a rocket to the moon", "puck and goal", "a late goal"]
    >>> model = TopicModel(2, task="topics", random_state=0)
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     model = fit_texts(client, bag.from_sequence(texts, npartitions=2), None, model)
    >>> sorted(topic.words[0] for topic in model.topics(1))
    ['goal', 'moon']
    """
    cluster = TextCluster.of(client, checkpoint)
    parts = cluster.parts(_read(cluster.watched, documents, y))
    return model.set_fitted(fit_parts(model, parts, fit=cluster.fit_matrix))


@dataclass(frozen=True)
class TextCluster:
    """A cluster that holds parts of a corpus and fits estimators.

    With a folder ``checkpoint``, a fit that was stopped goes on where it was.
    """

    watched: WatchedClient
    checkpoint: Path | None = None

    @classmethod
    def of(cls, client: Client, checkpoint: str | os.PathLike[str] | None = None) -> TextCluster:
        """Return the cluster of a client."""
        folder = None if checkpoint is None else Path(checkpoint).absolute()
        again = "" if folder is None else f" with checkpoint={os.fspath(folder)!r}"
        return cls(WatchedClient(client, f"call fit again{again}"), folder)

    def parts(self, parts: Sequence[Any]) -> ClusterParts:
        """Return parts on this cluster: futures, or small values that are sent to the workers."""
        keep = None if self.checkpoint is None else self.checkpoint / "parts"
        return ClusterParts(self.watched, parts, keep)

    def fit_matrix(self, estimator: Any, X: Any, y: Any, **weights: Any) -> Any:
        """Fit an estimator; ``X`` is a matrix in this process, or RowBlocks."""
        refuse_given("a cluster", **weights)
        return fit_matrix(self.watched.client, estimator, X, y, checkpoint=self.checkpoint)


def fit_collection(model: TopicModel, documents: Any, y: Any) -> TopicModel:
    """Fit a topic model to a dask collection on the cluster of the default client."""
    try:
        client = default_client()
    except ValueError:
        raise ValueError(
            "documents is a dask collection, but there is no cluster; create a client first: "
            "client = distributed.Client(...)."
        ) from None
    return fit_texts(client, documents, y, model)


def _read(watched: WatchedClient, documents: Any, y: Any) -> list[Future]:
    """Return a future of each part."""
    texts = _delayed(documents, "documents")
    labels = [None] * len(texts) if y is None else _delayed(y, "y")
    if len(labels) != len(texts):
        raise ValueError(
            f"y has {len(labels)} parts, but documents have {len(texts)}; pass one part for each."
        )
    submit = watched.client.submit
    pairs = zip(_futures(watched, texts), _futures(watched, labels), strict=True)
    return [submit(as_part, *pair, pure=False) for pair in pairs]


def _futures(watched: WatchedClient, values: Sequence[Any]) -> list[Any]:
    return [watched.client.compute(v) if is_dask_collection(v) else v for v in values]


def _delayed(values: Any, name: str) -> list[Any]:
    """Return the parts of a collection as delayed values or futures."""
    if hasattr(values, "to_delayed"):
        return list(values.to_delayed())
    good = isinstance(values, list | tuple) and values
    if not good or not all(isinstance(part, Delayed | Future) for part in values):
        raise TypeError(
            f"{name} is a {type(values).__name__}; pass a column of a dask dataframe, a bag, or a "
            "list of delayed lists."
        )
    return list(values)
