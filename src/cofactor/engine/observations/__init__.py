"""One matrix, however it is stored: which cells were observed, with what value and what weight.

All storages speak through ``Observations``: cells are *listed* row by row in a ``Layout``; cells
not listed are either observed zeros (dense, sparse) or missing (masked).  Weights stay structured:
per row, per column, and per listed cell only where they must.
"""

from cofactor.engine.observations.base import Layout, Observations
from cofactor.engine.observations.storages import dense, masked, observe, sparse

__all__ = ["Layout", "Observations", "dense", "masked", "observe", "sparse"]
