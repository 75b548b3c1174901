"""The `cofactor` command; each subcommand has its own file.

Subcommands are imported when they are called, and they import numerical libraries when they need
them. So ``cofactor --help`` answers at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from cofactor._version import __version__
from cofactor.cli._command import ending_at_signals
from cofactor.io.errors import suggestion

__all__ = ["main"]

COMMANDS = {
    "check": "Check a table before fitting: labels, empty texts, duplicates.",
    "blocks": "Convert a table larger than memory to blocks that can be fitted.",
    "choose": "Compare numbers of topics, and recommend one.",
    "fit": "Find topics in documents, guided by the available labels.",
    "topics": "Show the topics of a model.",
    "predict": "Add prediction, confidence and topic to a table.",
    "suggest": "Show which texts to label next, or which labels look wrong.",
    "app": "Label texts and edit topics in a local web app.",
    "explain": "Show which words of a text support which topic and class.",
    "over-time": "Write the shares and words of topics in each period.",
    "update": "Learn from new documents without the old ones.",
    "report": "Write a report that opens in any browser.",
    "edit": "Rename, merge, drop, split, freeze, pin and ban topics.",
    "refit": "Fit again from the topics of a model; show what moved.",
    "compare": "Match the topics of two models; compare their accuracy.",
    "export": "Write a model as tables or for another program.",
    "verify": "Fit a model again and check that the result is the same.",
    "demo": "Find topics in docstrings and predict the subpackage of each.",
    "reproduce": "Repeat the paper's experiments and compare the results.",
    "doctor": "Show versions, threads, kernels and optional packages.",
}
"""The subcommands and the first lines of their help, in the usual order of use."""


class Commands(click.Group):
    """A group whose commands are imported when they are called."""

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        with ending_at_signals():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        with ending_at_signals():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"cofactor.cli.{name}"), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]):
        name = str(args[0])
        if name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(
                f"{name!r} is not a command. {suggestion(name, list(COMMANDS))}", ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Topics that explain the data and predict the labels.

    \b
    From a table with a half-empty label column to predictions and a report:
      cofactor check tickets.csv --text body --label team
      cofactor fit tickets.csv --text body --label team -k 13 -o model
      cofactor topics model
      cofactor predict model new.csv -o out.csv
      cofactor report model -o report.html

    \b
    To label texts in the browser, or sort texts that have no label yet:
      cofactor app complaints.csv --text body

    \b
    To change topics and go on from them:
      cofactor edit model --merge 2,5 --name 2=billing --drop 7 -o edited
      cofactor refit edited -o model2
    """
