"""Errors of a cluster and its workers."""


class ClusterError(RuntimeError):
    """The fit on the cluster cannot continue; the message says why and how to resume.

    Examples
    --------
    >>> from cofactor.distributed import ClusterError
    >>> issubclass(ClusterError, RuntimeError)
    True
    """


class OutOfMemory(MemoryError):
    """A worker does not have enough memory for its blocks.

    Examples
    --------
    >>> from cofactor.distributed import OutOfMemory
    >>> issubclass(OutOfMemory, MemoryError)
    True
    """


class Lost(Exception):
    """A worker, or the blocks and samples that it held, are gone."""
