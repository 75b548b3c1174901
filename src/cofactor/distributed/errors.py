"""Errors of a cluster and its workers."""


class ClusterError(RuntimeError):
    """The fit on the cluster cannot continue; the message says why and how to resume."""


class OutOfMemory(MemoryError):
    """A worker has no room for its blocks."""


class Lost(Exception):
    """A worker, or what it held, is gone."""
