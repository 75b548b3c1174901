"""Runs experiments one after another."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from rich.console import Console

from cofactor.experiments.options import MissingData, Options
from cofactor.experiments.prepared import Prepared
from cofactor.experiments.run import Run, check_out

REQUIRED = ("synthetic", "newsgroups")
"""The experiments of the paper; it is always an error if their data are missing."""


def reproduce(names: Sequence[str], options: Options, console: Console) -> list[Run]:
    """Run experiments and return their runs.

    If several are named, those that the paper does not have are left out if their data are missing.

    Parameters
    ----------
    names : sequence of str
        Keys of ``EXPERIMENTS``.
    options : Options
        Settings of all of them.
    console : Console
        Shows progress and notes.
    """
    check_out(options.out)
    modules = {name: import_module(f"cofactor.experiments.{name}") for name in names}
    prepared = {}
    for name, module in modules.items():  # refuses bad input before any work is done
        try:
            prepared[name] = module.prepare(options)
        except MissingData as error:
            if len(names) == 1 or name in REQUIRED:
                raise
            console.print(f"{name} is left out: {error}")
    return [_run(name, modules[name], data, options, console) for name, data in prepared.items()]


def _run(name: str, module: Any, data: Prepared, options: Options, console: Console) -> Run:
    run = Run(name, options, console, data.facts)
    for note in data.notes:
        run.note(note)
    module.run(run, data.value)
    run.finish()
    return run
