"""What can go wrong beyond this machine."""


class ClusterError(RuntimeError):
    """The cluster cannot go on; the message says why and how to resume."""


class CheckpointError(ValueError):
    """A folder of checkpoints cannot be used."""


class OutOfMemory(MemoryError):
    """A worker has no room for its blocks."""


class Lost(Exception):
    """A worker, or what it held, is gone."""
