"""The command `app`: what it hands to the server, and what it refuses before."""

import builtins
import json
import os
import shlex
import socket
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from cofactor.cli.app import _default_folder
from commands import cofactor, make_rows, read_table, write_table

pytest.importorskip("uvicorn", reason="needs the extra cofactor[app]")


@pytest.fixture
def sessions(monkeypatch):
    """The sessions that would be served; nobody listens."""
    import cofactor.app.routes as routes

    found = []

    def serve(session, listening, host, ready):
        listening.close()
        found.append(session)
        ready("http://address")
        session.refitter.wait(30)
        session.close()

    monkeypatch.setattr(routes, "serve", serve)
    return found


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_table(tmp_path / "posts.csv", make_rows(60))


def run(*arguments, **options):
    return cofactor("app", *arguments, "--port", "0", "--no-open", **options)


def test_a_model_is_made_and_continued(table, sessions):
    said = run(table, "--text", "body", "--label", "team", "-k", "4").stderr
    assert "Open http://address" in said
    assert "Stopped. The model is in posts-model." in said  # nothing was decided
    first = sessions[0]
    assert first.folder.name == "posts-model"
    assert first.class_names == ["food", "space", "sport"]
    assert first.table.label_column == "team"
    manifest = json.loads((table.parent / "posts-model" / "manifest.json").read_text("utf-8"))
    assert manifest["notes"]["input"]["path"] == "../posts.csv"
    cofactor("topics", "posts-model")
    first.decide("label", "me", 9, labels=["food"])
    first.edit("me", "rename", {"topic": 0, "name": "kept"})
    said = run(table, "--text", "body", "--label", "team", "-k", "9").stderr
    assert "The decisions are in posts-model.decisions.jsonl, the model is in posts-model." in said
    again = sessions[1]
    assert again.now.model.topic_names_[0] == "kept"
    assert again.table.label_of(9, again.reviewed) == (("food",), "reviewed")


def test_the_last_line_names_the_command_that_comes_next(table, sessions):
    without = run(table, "--text", "body", "-k", "4", "--model", "plain").stderr
    assert without.splitlines()[-1].endswith("Next: cofactor topics plain")
    said = run(table, "--text", "body", "--label", "team", "-k", "4").stderr
    _, command, *arguments = shlex.split(said.rpartition("Next: ")[2])
    assert command == "predict"
    cofactor(command, *arguments)
    header, rows = read_table("posts-predicted.csv")
    assert "prediction" in header
    assert len(rows) == 60


def test_the_token_is_not_on_the_command_line_of_the_browser(table, sessions, monkeypatch):
    opened = []

    def browse(address):
        door = Path(unquote(urlsplit(address).path))
        opened.append((address, door, door.stat().st_mode & 0o777, door.read_text()))
        return len(opened) > 1

    monkeypatch.setattr("webbrowser.open", browse)
    options = [table, "--text", "body", "-k", "3", "--port", "0"]
    assert "No browser was found" in cofactor("app", *options).stderr
    assert "No browser was found" not in cofactor("app", *options).stderr
    for address, door, mode, page in opened:
        assert address.startswith("file://")
        assert door.parent == table.parent
        assert door.name.startswith("posts-model-open-")
        assert (mode, page.count("url=http://address")) == (0o600, 1)
        assert not door.exists()


def test_doors_of_killed_runs_are_removed(table, sessions, monkeypatch):
    old, new, other = (
        table.parent / f"posts-model-open-{name}.html" for name in ("aaaaaaaa", "bbbbbbbb", "notes")
    )
    for path in (old, new, other):
        path.write_text("x")
        if path != new:
            os.utime(path, (0, 0))
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    cofactor("app", table, "--text", "body", "-k", "3", "--port", "0")
    assert [path.exists() for path in (old, new, other)] == [False, True, True]


def test_a_table_without_labels_gets_a_column(table, sessions):
    run(table, "--text", "body", "--label", "subject", "--model", "m", "-k", "3")
    assert sessions[0].table.label_column == "subject"
    assert sessions[0].class_names == []
    run(table, "--text", "body", "--model", "m2", "-k", "3", "--several")
    assert (sessions[1].table.label_column, sessions[1].table.several) == ("label", True)


def test_classes_and_people_are_named_at_the_start(table, sessions):
    options = ["--classes", "billing,sport: goals and leagues", "--annotator", "Ada"]
    run(table, "--text", "body", "--model", "m", "-k", "3", *options, "--overlap", "0.1")
    assert sessions[0].class_names == ["billing", "sport"]
    assert (sessions[0].annotator, sessions[0].overlap) == ("Ada", 0.1)
    run(table, "--text", "body", "--model", "m", "-k", "3", *options)
    assert sessions[1].class_names == ["billing", "sport"]


def test_numbers_are_classes_here(tmp_path, sessions):
    rows = [[i, body, str(int(i) % 3)] for i, body, _ in make_rows(30)]
    table = write_table(tmp_path / "stars.csv", rows)
    run(table, "--text", "body", "--label", "team", "-k", "3", "--model", tmp_path / "m")
    assert sessions[0].class_names == ["0", "1", "2"]
    assert list(sessions[0].now.model.target_names_) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--label", "team", "--label", "id"], "give --label once"),
        (["--model", "other"], "holds no model"),
        (["--host", "0.0.0.0"], "name one of them"),
        (["--text", "bodi"], "body"),
        (["--overlap", "0.1"], "needs --annotator"),
        (["--annotator", "  "], "must be a name"),
    ],
)
def test_bad_options_are_refused(table, sessions, options, sentence):
    (table.parent / "other").mkdir()
    (table.parent / "other" / "file").write_text("x")
    given = {"--text": "body"} if "--text" not in options else {}
    words = [word for pair in given.items() for word in pair]
    assert sentence in run(table, *words, *options, code=2).stderr
    assert sessions == []


def test_other_addresses_are_warned_of(table, sessions, monkeypatch):
    import cofactor.app.routes as routes

    monkeypatch.setattr(routes, "open_socket", lambda host, port: socket.socket())
    said = run(table, "--text", "body", "-k", "3", "--host", "192.0.2.7").stderr
    assert "anyone who can reach 192.0.2.7" in said
    assert "not encrypted" in said


def test_a_missing_extra_is_named(table, monkeypatch):
    known = builtins.__import__

    def without(name, *arguments, **options):
        if name.partition(".")[0] in ("uvicorn", "starlette"):
            raise ImportError(f"No module named {name!r}", name=name)
        return known(name, *arguments, **options)

    for name in ("cofactor.app.routes", "cofactor.app.security"):
        monkeypatch.delitem(__import__("sys").modules, name, raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    assert "pip install 'cofactor[app]'" in run(table, "--text", "body", code=2).stderr


def test_labels_of_another_program_come_in_and_go_out(table, sessions):
    bodies = [row.split(",")[1] for row in table.read_text().splitlines()[1:]]
    cats = [{"text": text, "cats": {"a": i % 2, "b": 1 - i % 2}} for i, text in enumerate(bodies)]
    path = table.with_name("cats.jsonl")
    path.write_text("".join(json.dumps(one) + "\n" for one in cats[:40]))
    (rules := table.with_name("rules.md")).write_text("# Rules")
    asked = (table, "--text", "body", "--keep", "id", "-k", "4", "--guidelines", rules)
    said = run(*asked, "--import", path).stderr
    assert "Took over 40 labels from" in said
    session = sessions[0]
    assert session.counts()["classes"] == {"b": 20, "a": 20}
    assert session.guidelines[0]["kind"] == "heading"
    assert [*session.table.columns] == ["id"]
    cofactor("export", "posts-model", "--to", "spacy", "-o", "out.jsonl")
    out = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [(one["text"], one["cats"]["a"]) for one in out] == [
        (one["text"], one["cats"]["a"]) for one in cats[:40]
    ]
    assert "was taken over before" in run(*asked, "--import", path).stderr


def test_names_of_classes_suggest_from_the_first_text(table, sessions):
    run(table, "--text", "body", "-k", "4", "--classes", "space: rocket orbit,food: oven recipe")
    assert sessions[0].class_names == ["space", "food"]
    assert {*sessions[0].now.model.target_names_} == {"space", "food"}


def test_names_that_no_text_has_are_noted(table, sessions):
    said = run(table, "--text", "body", "-k", "4", "--classes", "qqqq,zzzz").stderr
    assert "The names suggest nothing before the first labels." in said
    assert sessions[0].class_names == ["qqqq", "zzzz"]


@pytest.mark.parametrize(
    ("table", "folder"),
    [
        ("posts.v2.csv", "posts-model"),
        ("data/*.csv", "data-model"),
        ("data/posts-*.csv", "posts-model"),
        ("2024/[ab]?.parquet", "2024-model"),
        ("s3://bucket/*.csv", "bucket-model"),
        (".hidden.csv", "here-model"),
        ("a[1].csv", "a[1]-model"),
    ],
)
def test_models_are_named_after_their_tables(tmp_path, monkeypatch, table, folder):
    (here := tmp_path / "here").mkdir()
    (here / "a[1].csv").touch()
    monkeypatch.chdir(here)
    assert _default_folder(Path(table)) == Path(folder)
