"""Texts on a cluster: workers read, count and vectorise their parts; the driver chooses the words.

The procedure is `cofactor.text.text_parts.fit_parts`. Every step is a task that the scheduler runs
again if its worker is lost, from the part's source on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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
from cofactor.text.text_parts import as_part, fit_parts, part_size


@dataclass(frozen=True)
class ClusterParts:
    """Parts of a corpus that workers hold; see `cofactor.text.text_parts.TextParts`."""

    watched: WatchedClient
    parts: Sequence[Future]

    def each(self, task: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Return ``task(part, …)`` of each part."""
        given = zip(self.parts, *arguments, strict=True)
        return self.watched.collect([self._submit(task, *some) for some in given])

    def total(self, task: Callable[..., Any], shared: Any, add: Callable[[Any, Any], Any]) -> Any:
        """Return the sum of ``task(part, shared)`` over a binary tree of the parts."""
        once = self._submit(_itself, shared)
        level = [self._submit(task, part, once) for part in self.parts]
        while len(level) > 1:
            pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
            level = [self._submit(add, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return self.watched.collect(level)[0]

    def rows(self, task: Callable[..., RowsAndTargets], shared: Any) -> RowBlocks:
        """Return the blocks ``task(part, shared)``, which stay on the workers."""
        once = self._submit(_itself, shared)
        blocks = [self._submit(task, part, once) for part in self.parts]
        return rows_on_cluster(self.watched, blocks, [None] * len(blocks))

    def _submit(self, task: Callable[..., Any], *arguments: Any) -> Future:
        return self.watched.client.submit(task, *arguments, pure=False)


def _itself(value: Any) -> Any:
    return value


def fit_texts(client: Client, documents: Any, y: Any, model: TopicModel) -> TopicModel:
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
    watched = WatchedClient(client, "call fit again")
    parts = _read(watched, documents, y)
    sizes = watched.collect([client.submit(part_size, part, pure=False) for part in parts])
    filled = [part for part, size in zip(parts, sizes, strict=True) if size]
    fitted = fit_parts(model, ClusterParts(watched, filled), fit=partial(fit_matrix, client))
    return model.set_fitted(fitted)


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
