"""Ways to lower an objective, one iteration at a time."""

from cofactor.solvers.base import Solver, State
from cofactor.solvers.blockwise import BlockDescent
from cofactor.solvers.coordinate import CoordinateDescent
from cofactor.solvers.multiplicative import MultiplicativeUpdates, PaperUpdates

__all__ = [
    "BlockDescent",
    "CoordinateDescent",
    "MultiplicativeUpdates",
    "PaperUpdates",
    "Solver",
    "State",
]
