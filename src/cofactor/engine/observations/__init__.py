"""One matrix, however it is stored: observed cells with values and weights.

All storages become ``Observations``.  Cells are *listed* row by row in a ``Layout``; cells that are
not listed are either observed zeros (dense, sparse) or missing (masked).  Weights are kept for rows
and columns, and for single cells only where necessary.
"""

from cofactor.engine.observations.base import Layout, Observations
from cofactor.engine.observations.storages import dense, masked, observe, sparse

__all__ = ["Layout", "Observations", "dense", "masked", "observe", "sparse"]
