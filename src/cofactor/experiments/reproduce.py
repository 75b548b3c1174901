"""Run experiments one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from rich.console import Console

from cofactor.experiments.options import EXPERIMENTS, Options
from cofactor.experiments.run import Run, check_out


def reproduce(names: Sequence[str], options: Options, console: Console) -> list[Run]:
    """Run the named experiments and return what they wrote.

    Parameters
    ----------
    names : sequence of str
        Keys of ``EXPERIMENTS``.
    options : Options
        Settings of all of them.
    console : Console
        Where progress and remarks go.
    """
    check_out(options.out)
    unknown = set(names) - set(EXPERIMENTS)
    if unknown:
        raise ValueError(f"unknown experiments: {sorted(unknown)}; known: {list(EXPERIMENTS)}")
    finished = []
    for name in names:
        run = Run(name, options, console)
        import_module(f"cofactor.experiments.{name}").run(run)
        run.finish()
        finished.append(run)
    return finished
