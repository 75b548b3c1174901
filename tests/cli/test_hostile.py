"""Hostile words, classes, names of topics and of files, through everything that the commands write.

The words come from a model of one's own: the vectorizer of `cofactor fit` knows letters only.
"""

import json
import os
import pty
import runpy
import subprocess
import sys
from types import SimpleNamespace

import pytest

from cofactor.io.tables.writers import is_formula
from commands import answer, cofactor, process, read_table, write_table
from hostile import HOSTILE, hostile_model


def writable(text):
    """What a table can hold: no half of a pair, no NUL."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "")


TEXTS = list(map(writable, HOSTILE))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A model with hostile words, and a table of such documents in a file of such a name."""
    folder = tmp_path_factory.mktemp("hostile")
    model, texts, labels = hostile_model(HOSTILE)
    model.save(folder / "model", notes={"warnings": HOSTILE, "command": ["cofactor", *HOSTILE]})
    pairs = zip(map(writable, texts), labels, strict=True)
    rows = [[TEXTS[i % len(TEXTS)], *pair] for i, pair in enumerate(pairs)]
    write_table(folder / "=1+1 <b>\x1b[31m\u202e.csv", rows, ("=id", "body", "\x1b[1mteam"))
    return folder


@pytest.fixture
def model(home):
    return home / "model"


@pytest.fixture
def table(home):
    return next(home.glob("*.csv"))


def harmless(text):
    for line in text.split("\n"):
        assert line.isprintable(), repr(line)


@pytest.mark.parametrize(
    "arguments",
    [
        ["topics", "{model}", "--words", "60"],
        ["explain", "{model}", "\n".join(TEXTS)],
        ["compare", "{model}", "{model}"],
        [
            "compare",
            "{model}",
            "{model}",
            "--data",
            "{table}",
            "--text",
            "body",
            "--label",
            "\x1b[1mteam",
        ],
        ["check", "{table}", "--text", "body", "--label", "\x1b[1mteam"],
        ["check", "{table}", "--text", "\x1b[2J"],
        ["check", "{table}\x1b[2J"],
        ["\x1b[2J"],
        ["predict", "{model}", "{table}", "--text", "\x1b[2J"],
        ["predict", "{model}", "{table}", "--text", "body", "-o", "{tmp}/\x1b[2J.csv"],
        [
            "fit",
            "{table}",
            "--text",
            "body",
            "--label",
            "\x1b[1mteam",
            "-k",
            "3",
            "-o",
            "{tmp}/\x1b[2Jm",
        ],
        ["export", "{model}", "-o", "{tmp}/\x1b[2J"],
        ["report", "{model}", "-o", "{tmp}/\x1b[2J.html", "--data", "{table}", "--text", "body"],
        ["verify", "{model}", "--data", "{table}", "--text", "body"],
        ["edit", "{model}", "--name", "0=\x1b[2Ja", "-o", "{tmp}/\x1b[2Je"],
        ["edit", "{model}", "--drop", "\x1b[2J", "-o", "{tmp}/e"],
        [
            "refit",
            "{model}",
            "{table}",
            "--text",
            "body",
            "--label",
            "\x1b[1mteam",
            "-o",
            "{tmp}/\x1b[2Jr",
        ],
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_no_control_character_reaches_the_terminal(model, table, tmp_path, arguments, as_json):
    names = {"model": model, "table": table, "tmp": tmp_path}
    given = [one.format(**names) if "{" in one and "\n" not in one else one for one in arguments]
    given += ["--json"] * as_json
    from click.testing import CliRunner

    from cofactor.cli import main

    done = CliRunner().invoke(main, [str(one) for one in given])
    assert done.exit_code in (0, 1, 2)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.stdout or done.stderr
    harmless(done.stdout)
    harmless(done.stderr)


def test_rows_printed_on_a_terminal_are_escaped_and_those_of_a_pipe_are_not(model, table):
    piped = process("predict", model, table, "--text", "body")
    assert b"\x1b" in piped.stdout
    main_end, terminal = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [
        sys.executable,
        "-m",
        "cofactor",
        "predict",
        str(model),
        str(table),
        "--text",
        "body",
    ]
    with subprocess.Popen(
        command, stdout=terminal, stderr=subprocess.DEVNULL, env=environment
    ) as run:
        os.close(terminal)
        shown = b""
        while chunk := _read(main_end):
            shown += chunk
        assert run.wait() == 0
    os.close(main_end)
    text = shown.decode().replace("\r\n", "\n")
    assert "\\x1b[31m" in text
    harmless(text)


def _read(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux ends a closed terminal so
        return b""


def test_no_cell_is_a_formula(model, table, tmp_path):
    cofactor("predict", model, table, "--text", "body", "-o", tmp_path / "out.csv")
    cofactor("export", model, "-o", tmp_path / "tables")
    seen = []
    for path in [tmp_path / "out.csv", *(tmp_path / "tables").glob("*.csv")]:
        header, rows = read_table(path)
        assert rows
        seen += [cell for row in [header, *rows] for cell in row]
    assert not [cell for cell in seen if is_formula(cell)]
    assert any(cell.startswith("'=cmd|") for cell in seen)
    assert "'=id" in seen


def test_words_come_back_as_they_are_in_json(model):
    found = answer("topics", model, "--words", 60)
    words = {word for topic in found["topics"] for word in topic["words"]}
    assert len(words & set(HOSTILE)) > 50
    told = answer("explain", model, "\n".join(TEXTS[:20]))
    assert {word["word"] for word in told["words"]} == set(TEXTS[:20])


def test_the_report_is_written_by_the_command(model, table, tmp_path):
    pytest.importorskip("altair")
    cofactor(
        "report",
        model,
        "--data",
        table,
        "--text",
        "body",
        "--label",
        "\x1b[1mteam",
        "-o",
        tmp_path / "r.html",
    )
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page
    assert page.count("<script") == 3
    assert "&lt;b&gt;" in page.split("</header>")[0]


def test_the_model_card_is_plain_text(model):
    card = (model / "README.md").read_text("utf-8")
    harmless(card)
    assert "<script>" not in card
    assert "\\<script\\>" in card


def test_the_export_for_topicwizard_holds_them_as_data(model, table, tmp_path, monkeypatch):
    cofactor(
        "export",
        model,
        "--to",
        "topicwizard",
        "--data",
        table,
        "--text",
        "body",
        "-o",
        tmp_path / "w",
    )
    seen = {}
    wizard = SimpleNamespace(visualize=lambda **given: seen.update(given))
    monkeypatch.setitem(sys.modules, "topicwizard", wizard)
    runpy.run_path(str(tmp_path / "w" / "show.py"))
    assert set(seen["topic_data"]["vocab"]) >= set(HOSTILE)
    assert all("alert" not in line for line in (tmp_path / "w" / "show.py").read_text().split("\n"))
    json.loads((tmp_path / "w" / "topics.json").read_text())
