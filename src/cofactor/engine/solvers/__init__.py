"""Ways to lower an objective, one iteration at a time."""

from cofactor.engine.solvers.base import Solver, State
from cofactor.engine.solvers.blockwise import BlockDescent
from cofactor.engine.solvers.coordinate import CoordinateDescent
from cofactor.engine.solvers.multiplicative import MultiplicativeUpdates, PaperUpdates

__all__ = [
    "BlockDescent",
    "CoordinateDescent",
    "MultiplicativeUpdates",
    "PaperUpdates",
    "Solver",
    "State",
]
