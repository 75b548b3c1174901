"""`cofactor demo`: topics and predictions from texts that every installation has."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from cofactor.cli._shared.browser import open_page
from cofactor.cli._shared.command import (
    COUNT,
    OUTPUT_FILE,
    SEED,
    Command,
    json_option,
    needing_extra,
)
from cofactor.cli._shared.terminal import announce, emit, open_console
from cofactor.cli.demo.demonstration import Demonstration, Topic, demonstrate

LEGEND = """\
Corpus: the topic's share of all texts. Class: the class it speaks for most.
Link: the probability of that class for a text of this topic alone."""


def _check_share(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if 0 < value <= 1:
        return value
    raise click.BadParameter(
        f"{value:g} is not a share of the documents; give a number above 0 and up to 1, like 0.1."
    )


@click.command(cls=Command)
@click.option("--topics", "-k", type=COUNT, default=24, help="Number of topics.")
@click.option(
    "--labels",
    type=float,
    default=0.1,
    metavar="SHARE",
    callback=_check_share,
    help="Share of the documents whose label is known, above 0 and up to 1.",
)
@click.option(
    "--seed",
    type=SEED,
    default=0,
    help="Random seed: chooses the labelled documents and the start of the fit.",
)
@click.option("--report", type=OUTPUT_FILE, metavar="FILE", help="Also write a report.")
@click.option("--open", "open_it", is_flag=True, help="Write a report and open it in the browser.")
@json_option
def demo(
    topics: int, labels: float, seed: int, report: Path | None, open_it: bool, as_json: bool
) -> None:
    """Find topics in docstrings and predict the subpackage of each.

    The texts are the docstrings of the installed numpy, scipy and scikit-learn, so nothing is
    downloaded. Only some show their label, the subpackage; the others test the predictions.
    """
    if sys.flags.optimize > 1:
        raise click.ClickException(
            "Python runs with -OO, which drops docstrings; run it without -OO."
        )
    report = report or (Path("demo", "report.html") if open_it else None)
    with needing_extra("The demo", "report"):
        result = demonstrate(topics, labels, seed, announce, report)
    if as_json:
        emit(asdict(result))
    else:
        _show(result, open_console())
    if open_it and report is not None:
        open_page(report)


def _show(result: Demonstration, console: Console) -> None:
    console.print(_introduction(result))
    console.print("\nTopics, the largest first", style="bold")
    console.print(_topic_table(result.topics, console.width))
    console.print(LEGEND, style="dim")
    if result.accuracy:
        console.print("\nAccuracy on labels that the methods have not seen", style="bold")
        console.print(_accuracy_table(result.accuracy))
        console.print(result.how, style="dim")
    else:
        console.print("\nThere are too few labels to test the predictions.")
    console.print(_closing(result))


def _introduction(result: Demonstration) -> str:
    return (
        f"\n{result.documents:,} docstrings from {len(result.classes)} subpackages of numpy, scipy "
        f"and scikit-learn.\nThe subpackage is the label; {result.labelled:,} documents "
        f"({result.labelled / result.documents:.0%}) show it to the model."
    )


def _topic_table(topics: list[Topic], width: int) -> Table:
    """Lay out the topics with as many of their words as fit on a line."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("Corpus", justify="right", no_wrap=True)
    table.add_column("Class", style="cyan", no_wrap=True)
    table.add_column("Link", justify="right", no_wrap=True)
    table.add_column("Words", overflow="fold")
    longest = max(len(topic.label) for topic in topics)
    room = max(20, width - longest - len("CorpusLink") - 3 * 2)
    for topic in topics:
        table.add_row(
            f"{topic.corpus_share:.1%}",
            topic.label,
            f"{topic.label_share:.0%}",
            textwrap.shorten(" ".join(topic.words), room, placeholder=""),
        )
    return table


def _accuracy_table(accuracy: dict[str, float]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column()
    best = max(accuracy.values())
    for name, value in accuracy.items():
        table.add_row(f"{value:.1%}", name, style="bold" if value == best else "")
    return table


def _closing(result: Demonstration) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    report = f"The report is in {result.report}.\n" if result.report else ""
    return (
        f"\n{report}Made by {versions} from tf-idf weights of {result.words:,} words, with seed "
        f"{result.seed}. {result.stop_reason or f'The fit took {result.iterations} iterations.'}\n"
        "Next, try fewer labels: cofactor demo --labels 0.02"
    )
