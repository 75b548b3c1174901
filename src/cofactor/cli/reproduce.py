"""`cofactor reproduce`: repeats the paper's experiments."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from cofactor.cli._command import BadInput, Command, end_interrupted
from cofactor.cli._options import COUNT, FOLDER, options
from cofactor.cli._terminal import emit, note, open_console
from cofactor.experiments.options import EXPERIMENTS, SOLVERS, Options

SYNTHETIC_ONLY = ("draws", "solver", "iterations", "updates")


@click.command(cls=Command)
@click.argument("experiment", type=click.Choice([*EXPERIMENTS, "all"]), default="all")
@click.option(
    "--out",
    type=FOLDER,
    required=True,
    help="Folder for tables, figures, trials and manifest. A second run continues an unfinished "
    "one.",
)
@click.option(
    "--trials", type=COUNT, help="Number of trials of each model.  [default: as in the paper]"
)
@click.option(
    "--data-home",
    type=FOLDER,
    envvar="COFACTOR_DATA_HOME",
    help="Folder that holds the data.  [default: COFACTOR_DATA_HOME, else scikit-learn's]",
)
@click.option(
    "--stopwords",
    type=FOLDER,
    help="File of English stop words, one on each line.  [default: NLTK's]",
)
@click.option("--quick", is_flag=True, help="Use small made-up data, to see that everything works.")
@options("seed")
@click.option(
    "--jobs",
    type=COUNT,
    help="Number of parallel processes; results do not depend on it.  [default: number of cores]",
)
@click.option(
    "--draws", type=COUNT, default=1, help="synthetic: number of draws of factors and noise."
)
@click.option(
    "--solver", type=click.Choice(SOLVERS), default="auto", help="synthetic: solver of all fits."
)
@click.option(
    "--iterations",
    type=COUNT,
    help="synthetic: number of iterations of all fits.  [default: until they converge]",
)
@click.option(
    "--updates",
    type=COUNT,
    help="synthetic: compare with this number of multiplicative updates from the same starts.",
)
@options("as_json")
@click.pass_context
def reproduce(
    context: click.Context, /, experiment: str, jobs: int | None, as_json: bool, **settings: Any
) -> None:
    """Repeat the paper's experiments and compare the results.

    Writes tables (Markdown, CSV, JSON) with the paper's numbers beside ours, figures, and at the
    end a manifest. A run that was interrupted continues with the trials that it has finished.

    \b
    synthetic   section 3.1: four noise models, four losses
    newsgroups  section 3.2 and appendix; needs 20news-bydate_py3.pkz
    reuters     multi-label news; needs reuters.jsonl in --data-home
    ratings     ratings from reviews; needs ratings.jsonl in --data-home
    all         all four; the last two only if their data exist
    """
    if experiment not in ("synthetic", "all"):
        _refuse_unused(context)
    names = list(EXPERIMENTS) if experiment == "all" else [experiment]
    _run(names, Options(jobs=jobs or os.cpu_count() or 1, **settings), as_json)


def _refuse_unused(context: click.Context) -> None:
    """Refuse options that would have no effect."""
    for name in SYNTHETIC_ONLY:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise BadInput(
                f"--{name} is for the synthetic experiment; leave it out, or run synthetic or all."
            )


def _run(names: list[str], options: Options, as_json: bool) -> None:
    from cofactor.experiments.reproduce import reproduce

    try:
        runs = reproduce(names, options, open_console(stderr=True))
    except KeyboardInterrupt:
        note("Interrupted; run the same command again to continue.")
        end_interrupted(True)
        return
    if as_json:
        emit([_summary(run) for run in runs])
        return
    for run in runs:
        for table in run.headlines:
            click.echo(table.markdown())
        click.echo(f"{run.name}: all tables and figures are in {run.folder / 'report.md'}\n")


def _summary(run: Any) -> dict[str, Any]:
    tables = [json.loads(table.json()) for table in run.headlines]
    return {"experiment": run.name, "folder": str(run.folder), "tables": tables}
