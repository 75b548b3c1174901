"""The commands and examples of the README and of the first pages do what they say."""

import csv
import doctest
import json
import re
import runpy
import shlex
import tomllib
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from cofactor.cli import main
from cofactor.datasets import make_tickets
from commands import read_table

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
FOR_REPORTS = ("cofactor.report", "altair", "jinja2", "vl_convert")
COLUMNS = ["id", "body", "created", "prediction", "confidence", "topic", "reason", "unlike"]


def test_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where they write
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(README), module_relative=False, optionflags=flags)
    assert result.attempted == 5  # more are on the pages of the guide: tests/docs/test_pages.py
    assert result.failed == 0


def test_the_commands_of_make_are_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.findall(r"^    make (\w+)", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert named == ["demo", "test", "docs"]
    assert all(re.search(rf"^{name}:.* ## ", makefile, re.MULTILINE) for name in named)


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md"]
)
def test_links_to_files_of_the_repository_resolve(name):
    inside = [target for target in links_of(name) if not target.startswith("http")]
    assert inside
    assert [target for target in inside if not (ROOT / target).exists()] == []


def links_of(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text)


def test_published_links_have_whole_addresses():
    """The package index shows the README, too."""
    made = runpy.run_path(str(ROOT / ".ci" / "addresses.py"))
    text = README.read_text(encoding="utf-8")
    published = made["absolute"](text, "https://example.org/o/n")
    links = re.findall(r"\]\(([^)]+)\)", published)
    assert all(link.startswith("https://") for link in links)
    assert "https://example.org/o/n/raw/main/docs/app.png" in links
    assert "https://example.org/o/n/tree/main/examples" in links
    assert "https://example.org/o/n/blob/main/docs/faq.md" in links
    project = made["with_urls"](
        (ROOT / "pyproject.toml").read_text(encoding="utf-8"), "https://x.org"
    )
    assert tomllib.loads(project)["project"]["urls"]["Issues"] == "https://x.org/issues"


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    return tmp_path_factory.mktemp("five_minutes")


def commands_of(page):
    """Return the commands of the first shell block of a page."""
    block = re.search(r"```shell\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    commands = [shlex.split(line) for line in block[1].splitlines() if line.strip()]
    assert {command[0] for command in commands} == {"cofactor"}
    return [command[1:] for command in commands]


@pytest.fixture(scope="module")
def runs(tickets):
    """What each command of five minutes answered."""
    return {words[0]: run(tickets, words) for words in commands_of("docs/five_minutes.md")}


def run(folder, arguments):
    with chdir(folder):
        return CliRunner().invoke(main, arguments)


@pytest.mark.slow
def test_the_five_commands_run(runs):
    assert list(runs) == ["demo", "check", "fit", "topics", "predict", "report"]
    for verb in ("demo", "check", "fit", "topics", "predict"):
        assert runs[verb].exit_code == 0, runs[verb].stderr


def test_they_lead_from_labels_to_predictions(runs, tickets):
    assert "cofactor fit tickets.csv --text body --label team" in runs["check"].stdout
    assert "hockey" in runs["topics"].stdout
    check_predictions(tickets)
    made = json.loads((tickets / "predictions.csv.manifest.json").read_text())
    assert made["rows"] == 30


def check_predictions(folder):
    header, rows = read_table(folder / "predictions.csv")
    assert header == COLUMNS
    truth = [row["team"] for row in make_tickets(30, seed=1, every=1)]
    assert sum(row[3] == name for row, name in zip(rows, truth, strict=True)) >= 27


@pytest.mark.slow
def test_the_commands_of_the_readme_do_the_same(tmp_path):
    done = {words[0]: run(tmp_path, words) for words in commands_of("README.md")}
    assert list(done) == ["demo", "fit", "predict", "report"]
    assert [done[verb].exit_code for verb in ("demo", "fit", "predict")] == [0, 0, 0]
    check_predictions(tmp_path)
    check_report(done["report"], tmp_path)


def test_the_report_is_written_or_says_what_is_missing(runs, tickets):
    check_report(runs["report"], tickets)


def check_report(answered, folder):
    if all(find_spec(name) for name in FOR_REPORTS):
        assert answered.exit_code == 0, answered.stderr
        assert (folder / "report.html").stat().st_size > 10_000
    else:
        assert answered.exit_code == 2
        assert "pip install 'cofactor[report]'" in answered.stderr


def test_missing_labels_can_be_filled_in(runs, tickets):
    done = run(tickets, ["predict", "model", "tickets.csv", "-o", "filled.csv"])
    assert done.exit_code == 0, done.stderr
    with open(tickets / "filled.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    known = [row for row in rows if row["team"]]
    assert len(rows) == 240
    assert sum(row["team"] == row["prediction"] for row in known) / len(known) > 0.9
