"""`cofactor reproduce`: repeats the paper's experiments."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from cofactor.cli import _options as opt
from cofactor.cli._command import BadInput, Command, end_interrupted, message_of
from cofactor.cli._terminal import emit, note, open_console
from cofactor.experiments import EXPERIMENTS, SOLVER_NAMES, Options

SYNTHETIC_ONLY = ("draws", "solver", "iterations", "updates")


@click.command(cls=Command)
@click.argument("experiment", type=click.Choice([*EXPERIMENTS, "all"]), default="all")
@opt.option(
    "--out",
    "Folder for tables, figures, trials and manifest. A second run continues an unfinished one.",
    type=opt.FOLDER,
    required=True,
)
@opt.option(
    "--trials", "Number of trials of each model.  [default: as in the paper]", type=opt.COUNT
)
@opt.option(
    "--data-home",
    "Folder that holds the data.  [default: COFACTOR_DATA_HOME, else scikit-learn's]",
    type=opt.FOLDER,
    envvar="COFACTOR_DATA_HOME",
)
@opt.option(
    "--stopwords",
    "File of English stop words, one on each line.  [default: NLTK's]",
    type=opt.FOLDER,
)
@opt.option("--quick", "Use small synthetic data, to check that everything works.", is_flag=True)
@opt.add("seed")
@opt.option(
    "--jobs",
    "Number of parallel processes; results do not depend on it.  [default: number of cores]",
    type=opt.COUNT,
)
@opt.option(
    "--draws", "synthetic: number of draws of factors and noise.", type=opt.COUNT, default=1
)
@opt.option(
    "--solver", "synthetic: solver of all fits.", type=click.Choice(SOLVER_NAMES), default="auto"
)
@opt.option(
    "--iterations",
    "synthetic: number of iterations of all fits.  [default: until they converge]",
    type=opt.COUNT,
)
@opt.option(
    "--updates",
    "synthetic: compare with this number of multiplicative updates from the same starts.",
    type=opt.COUNT,
)
@opt.add("as_json")
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
    from cofactor.experiments.run import reproduce

    try:
        runs = reproduce(names, options, open_console(stderr=True), message_of)
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
