"""Options that commands share: declared once, and gathered into one argument."""

import click
import pytest
from click.testing import CliRunner

from cofactor.cli import COMMANDS, main
from cofactor.cli import _options as opt
from cofactor.cli._options import TableOptions


@click.command()
@opt.add("seed", opt.reading("text", "id"), opt.WORDS)
@opt.option("-n --size number N|all", "Size.")
@opt.repeated("--mark MARK", "Mark.  [default: none]")
def command(**given):
    for name, value in given.items():
        click.echo(f"{name}: {value}")


def run(*arguments):
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    return dict(line.split(": ", 1) for line in done.output.splitlines())


def test_groups_arrive_as_one_argument():
    given = run("--seed", "3", "--text", "body", "--separator", "tab", "-n", "7", "--mark", "a")
    assert set(given) == {"seed", "number", "mark", "words", "asked"}
    assert (given["seed"], given["number"], given["mark"]) == ("3", "7", "('a',)")
    assert given["asked"] == str(TableOptions(text="body", opening={"separator": "\t"}))


def test_help_shows_names_of_values_and_defaults():
    text = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    assert "-n, --size N|all Size." in text
    assert "--mark MARK Mark. May be repeated. [default: none]" in text
    assert "--id COLUMN Column that names the documents. [default: that of the fit]" in text


def test_given_options_replace_those_of_the_fit():
    noted = TableOptions(
        text="body",
        labels=("team",),
        date="day",
        date_format="%d/%m/%Y",
        relabel=opt.Relabels({"a": "b"}),
        opening={"sheet": "one"},
    )
    found = TableOptions(text="text", relabel=opt.Relabels({"c": "d"})).over(noted)
    assert (found.text, found.labels, found.date) == ("text", ("team",), "day")
    assert (found.date_format, found.opening) == ("%d/%m/%Y", {})
    assert found.relabel == {"a": "b", "c": "d"}
    assert TableOptions(date="sent").over(noted).date_format is None
    assert TableOptions.noted(noted.facts()) == noted


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_shows_the_first_line_of_their_help(name):
    context = click.Context(main)
    help_text = main.get_command(context, name).help
    assert help_text.splitlines()[0] == COMMANDS[name]
