"""What can go wrong beyond this machine."""


class ClusterError(RuntimeError):
    """The cluster cannot go on; the message says why and how to resume."""


class CheckpointError(ValueError):
    """A folder of checkpoints cannot be used."""


class OutOfMemory(MemoryError):
    """A worker has no room for its blocks."""


class Lost(Exception):  # noqa: N818  (an event that is dealt with, not an error)
    """A worker, or what it held, is gone."""
