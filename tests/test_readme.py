"""The README's examples run and print what it says."""

import csv
import doctest
import json
import re
import shlex
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from cofactor.cli import main
from commands import make_rows, read_table, write_table

README = Path(__file__).parents[1] / "README.md"
FOR_REPORTS = ("cofactor.report", "altair", "jinja2", "vl_convert")


def test_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where they write
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(README), module_relative=False, optionflags=flags)
    assert result.attempted >= 25
    assert result.failed == 0


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    """A folder with tickets.csv, half of it labelled, and new.csv, for the commands to run in."""
    folder = tmp_path_factory.mktemp("readme")
    write_table(folder / "tickets.csv", make_rows(120))
    write_table(folder / "new.csv", [row[:2] for row in make_rows(30, seed=1)], ("id", "body"))
    return folder


@pytest.fixture(scope="module")
def runs(tickets):
    """What each command of the README's shell block answered."""
    block = re.search(r"```shell\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]
    commands = [shlex.split(line) for line in block.splitlines() if line.strip()]
    assert [command[0] for command in commands] == ["cofactor"] * 5
    return {command[1]: run(tickets, command[1:]) for command in commands}


def run(folder, arguments):
    with chdir(folder):
        return CliRunner().invoke(main, arguments)


@pytest.mark.slow
def test_the_five_commands_run(runs):
    assert list(runs) == ["check", "fit", "topics", "predict", "report"]
    for verb in ("check", "fit", "topics", "predict"):
        assert runs[verb].exit_code == 0, runs[verb].stderr


def test_they_lead_from_labels_to_predictions(runs, tickets):
    assert "cofactor fit tickets.csv --text body --label team" in runs["check"].stdout
    assert "rocket" in runs["topics"].stdout
    header, rows = read_table(tickets / "predictions.csv")
    assert header == ["id", "body", "prediction", "confidence", "topic", "reason"]
    truth = [row[2] for row in make_rows(30, seed=1, every=1)]
    assert sum(row[2] == name for row, name in zip(rows, truth, strict=True)) >= 27
    made = json.loads((tickets / "predictions.csv.manifest.json").read_text())
    assert made["rows"] == 30


def test_the_report_is_written_or_says_what_is_missing(runs, tickets):
    if all(find_spec(name) for name in FOR_REPORTS):
        assert runs["report"].exit_code == 0, runs["report"].stderr
        assert (tickets / "report.html").stat().st_size > 10_000
    else:
        assert runs["report"].exit_code == 2
        assert "pip install 'cofactor[report]'" in runs["report"].stderr


@pytest.mark.slow
def test_the_commands_beyond_memory_run(tickets):
    blocks = re.findall(r"```shell\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    done = [run(tickets, shlex.split(line)[1:]) for line in blocks[1].splitlines()]
    assert [one.exit_code for one in done] == [0, 0, 0], [one.stderr for one in done]
    assert "rocket" in done[-1].stdout


def test_missing_labels_can_be_filled_in(runs, tickets):
    done = run(tickets, ["predict", "model", "tickets.csv", "-o", "filled.csv"])
    assert done.exit_code == 0, done.stderr
    with open(tickets / "filled.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    known = [row for row in rows if row["team"]]
    assert len(rows) == 120
    assert sum(row["team"] == row["prediction"] for row in known) / len(known) > 0.9
