"""Ways to lower an objective, one iteration at a time.

coordinate.py      CoordinateDescent: safe coordinate steps with extrapolation; the default
multiplicative.py  MultiplicativeUpdates (monotone) and PaperUpdates (the paper's literal ratios)
by_statistics.py   ByStatistics: iterations for samples in blocks; BlockDescent
online.py          iterations on batches that come one after the other
"""

from cofactor.engine.solvers.by_statistics import BlockDescent
from cofactor.engine.solvers.coordinate import CoordinateDescent
from cofactor.engine.solvers.multiplicative import MultiplicativeUpdates, PaperUpdates

__all__ = ["BlockDescent", "CoordinateDescent", "MultiplicativeUpdates", "PaperUpdates"]
