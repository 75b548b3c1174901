"""The paper's experiments, repeated with the public estimators: `cofactor reproduce`.

Each experiment is a module with two functions. ``prepare(options)`` reads its data; ``run(run,
data)`` computes trials and writes tables and figures with a `Run`, which stores finished trials and
at the end writes a manifest.
"""

from cofactor.experiments.options import EXPERIMENTS, Options

__all__ = ["EXPERIMENTS", "Options"]
