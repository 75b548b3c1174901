"""`cofactor reproduce`: the paper's experiments, run again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from cofactor.cli._shared.command import json_option
from cofactor.cli._shared.terminal import emit
from cofactor.experiments.options import EXPERIMENTS, SOLVERS, BadInput, Options

CONTEXT = {"help_option_names": ["-h", "--help"], "show_default": True}
SYNTHETIC_ONLY = ("draws", "solver", "iterations", "updates")


@click.command(context_settings=CONTEXT)
@click.argument("experiment", type=click.Choice([*EXPERIMENTS, "all"]), default="all")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder for tables, figures, trials and manifest. Run again to go on where it was.",
)
@click.option(
    "--trials",
    type=click.IntRange(1),
    help="Trials of each model.  [default: as many as the paper]",
)
@click.option(
    "--data-home",
    type=click.Path(path_type=Path),
    envvar="COFACTOR_DATA_HOME",
    help="Folder with the data.  [default: COFACTOR_DATA_HOME, else scikit-learn's]",
)
@click.option(
    "--stopwords",
    type=click.Path(path_type=Path),
    help="File of English stop words, one a line.  [default: NLTK's]",
)
@click.option("--quick", is_flag=True, help="Small made-up data: does it all work?")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    metavar="INTEGER",
    help="Decides what is drawn: data, splits and starts.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    help="Processes side by side; results do not depend on it.  [default: the cores]",
)
@click.option(
    "--draws", type=click.IntRange(1), default=1, help="synthetic: draws of factors and noise."
)
@click.option(
    "--solver", type=click.Choice(SOLVERS), default="auto", help="synthetic: solver of all fits."
)
@click.option(
    "--iterations",
    type=click.IntRange(1),
    help="synthetic: iterations of all fits.  [default: until they converge]",
)
@click.option(
    "--updates",
    type=click.IntRange(1),
    help="synthetic: also make so many multiplicative updates from the same starts, and compare.",
)
@json_option
@click.pass_context
def reproduce(
    context: click.Context,
    experiment: str,
    out: Path,
    trials: int | None,
    data_home: Path | None,
    stopwords: Path | None,
    quick: bool,
    seed: int,
    jobs: int | None,
    draws: int,
    solver: str,
    iterations: int | None,
    updates: int | None,
    as_json: bool,
) -> None:
    """Run the paper's experiments again and compare.

    Writes tables (Markdown, CSV, JSON) with the paper's figures beside ours, figures, and a
    manifest when all is done. What an interrupted run has finished is kept and used.

    \b
    synthetic   section 3.1: four noise models, four losses
    newsgroups  section 3.2 and appendix; needs 20news-bydate_py3.pkz
    reuters     multi-label news; needs reuters.jsonl in --data-home
    ratings     ratings from reviews; needs ratings.jsonl in --data-home
    all         these four; the last two only if their data are there
    """
    if experiment not in ("synthetic", "all"):
        _refuse_unused(context)
    options = Options(
        out=out, trials=trials, draws=draws, seed=seed, quick=quick, solver=solver,
        iterations=iterations, updates=updates, data_home=data_home, stopwords=stopwords,
        jobs=jobs or os.cpu_count() or 1,
    )  # fmt: skip
    names = list(EXPERIMENTS) if experiment == "all" else [experiment]
    _run(names, options, as_json)


def _refuse_unused(context: click.Context) -> None:
    """Options that would have no effect are errors."""
    for name in SYNTHETIC_ONLY:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"--{name} is for the synthetic experiment; leave it out, or run synthetic or all."
            )


def _run(names: list[str], options: Options, as_json: bool) -> None:
    from cofactor.experiments.reproduce import reproduce

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    try:
        runs = reproduce(names, options, console)
    except BadInput as error:
        raise click.UsageError(str(error)) from None
    if as_json:
        emit([_summary(run) for run in runs])
        return
    for run in runs:
        for table in run.headlines:
            click.echo(f"{table.markdown()}")
        click.echo(f"{run.name}: all tables and figures are in {run.folder / 'report.md'}\n")


def _summary(run: Any) -> dict[str, Any]:
    tables = [json.loads(table.json()) for table in run.headlines]
    return {"experiment": run.name, "folder": str(run.folder), "tables": tables}
