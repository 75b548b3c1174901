"""The paper's experiments, run again with the public estimators: `cofactor reproduce`.

Each experiment is a function of a `Run`, which computes trials once and keeps them, and writes
tables, figures and, when all is done, a manifest.
"""

from cofactor.experiments.options import EXPERIMENTS, BadInput, Options

__all__ = ["EXPERIMENTS", "BadInput", "Options"]
