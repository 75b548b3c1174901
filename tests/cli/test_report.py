"""report: what it is asked to show."""

from types import SimpleNamespace

import pytest

from commands import WORDS, answer, cofactor, make_rows, write_table


@pytest.fixture
def written(monkeypatch):
    """What the report was asked to show; nothing is drawn."""
    seen = {}

    def prepare(model, **given):
        seen.update(given, topics=len(model.topic_names_))
        return SimpleNamespace(evaluation=None)

    monkeypatch.setattr("cofactor.report.html.prepare", prepare)
    monkeypatch.setattr(
        "cofactor.report.html.write_page", lambda page, path: path.write_text("<html>")
    )
    return seen


def test_report_shows_the_documents_of_the_fit(model, tmp_path, written):
    found = answer("report", model, "-o", tmp_path / "r.html", "--no-text")
    assert found["bytes"] == 6
    assert written["documents"] == [row[1] for row in make_rows()]
    assert written["labels"] == [row[2] for row in make_rows()]
    assert written["rows"] == list(range(2, 92))  # the header is row 1, as for check
    assert (written["text"], written["source"], written["topics"]) == (False, "posts.csv", 6)


def test_report_has_the_title_and_opens(model, tmp_path, written, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: bool(opened.append(url)) or True)
    path = tmp_path / "a b.html"
    done = cofactor(
        "report", model, "-o", path, "--title", "Our posts", "--open", "--without-texts"
    )
    assert (written["title"], written["text"]) == ("Our posts", False)
    assert opened == [path.resolve().as_uri()]
    assert "browser" not in done.stderr
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    done = cofactor("report", model, "-o", path, "--open", "--force")
    assert "No browser was found" in done.stderr
    assert (written["title"], written["text"]) == (None, True)


def test_report_without_the_table_has_no_documents(tmp_path, written):
    path = write_table(tmp_path / "a.csv", make_rows(30))
    cofactor("fit", path, "--text", "body", "-o", tmp_path / "m", "-k", 2)
    path.unlink()
    done = cofactor("report", tmp_path / "m", "-o", tmp_path / "r.html")
    assert "--data" in done.stderr
    assert written["documents"] is written["labels"] is None


def test_report_tests_with_labels_that_the_fit_has_not_seen(tmp_path, written):
    names = list(WORDS)
    rows = [[*row, names[i % 3]] for i, row in enumerate(make_rows())]
    path = write_table(tmp_path / "a.csv", rows, ("id", "body", "team", "truth"))
    cofactor("fit", path, "--text", "body", "--label", "team", "-o", tmp_path / "m", "-k", 3)
    cofactor("report", tmp_path / "m", "-o", tmp_path / "r.html", "--truth", "truth")
    assert written["labels"] == [row[2] for row in rows]
    assert written["truth"] == [row[3] for row in rows]
    done = cofactor("report", tmp_path / "m", "--truth", "team", code=2)
    assert "is what the model was fitted on" in " ".join(done.stderr.split())
    done = cofactor("report", tmp_path / "m", "--truth", "turth", code=2)
    assert "--truth 'turth' is not a column" in done.stderr
    assert "Did you mean 'truth'? If it is in another table, name that with --data." in done.stderr
    done = cofactor("report", tmp_path / "m", "--truth", "truth", "--truth", "id", code=2)
    assert "--truth names 2 columns" in done.stderr


@pytest.mark.parametrize("columns", [("id", "body", "team"), ("id", "body", "answer")])
def test_report_tests_on_another_table(home, model, tmp_path, written, columns):
    rows = [[i, body, list(WORDS)[int(i) % 3]] for i, body, _ in make_rows(30, seed=2)]
    path = write_table(tmp_path / "a.csv", rows, columns)
    cofactor("report", model, "--data", path, "--truth", columns[2], "-o", tmp_path / "r.html")
    assert written["truth"] == [row[2] for row in rows]
    assert written["labels"] is None
    assert written["documents"] == [row[1] for row in rows]


def test_classes_by_their_names_are_tested_with_labels(home, tmp_path, written):
    about = tmp_path / "classes.txt"
    lines = (f"{name}: {' '.join(words[:3])}" for name, words in WORDS.items())
    about.write_text("\n".join(lines))
    given = ("--text", "body", "--classes", about, "-k", 4)
    answer("fit", home / "posts.csv", *given, "-o", tmp_path / "m")
    cofactor("report", tmp_path / "m", "--truth", "team", "-o", tmp_path / "r.html")
    assert written["labels"] is None
    assert written["truth"] == [row[2] for row in make_rows()]


def test_truth_needs_predictions_and_documents(home, tmp_path):
    path = write_table(tmp_path / "a.csv", make_rows(30))
    cofactor("fit", path, "--text", "body", "-o", tmp_path / "m", "-k", 2)
    done = cofactor("report", tmp_path / "m", "--truth", "team", code=2)
    assert "fitted without labels" in done.stderr
    cofactor("fit", path, "--text", "body", "--label", "team", "-o", tmp_path / "m", "-k", 2)
    path.unlink()
    done = cofactor("report", tmp_path / "m", "--truth", "other", code=2)
    assert "name it with --data" in done.stderr


def test_report_replaces_a_file_only_if_told_to(model, tmp_path, written):
    path = tmp_path / "r.html"
    path.write_text("mine")
    done = cofactor("report", model, "-o", path, code=2)
    assert "r.html exists; name another, or replace it with --force." in done.stderr
    assert path.read_text() == "mine"
    assert not written  # nothing was computed
    cofactor("report", model, "-o", path, "--force")
    assert path.read_text() == "<html>"


def test_report_tells_the_score_on_labels_that_the_fit_has_not_seen(model, tmp_path):
    rows = [[i, body, list(WORDS)[int(i) % 3]] for i, body, _ in make_rows(30, seed=2)]
    path = write_table(tmp_path / "a.csv", rows)
    given = ("report", model, "--data", path, "--truth", "team", "-o", tmp_path / "r.html")
    done = cofactor(*given)
    [line] = [line for line in done.stderr.splitlines() if line.startswith("Accuracy")]
    assert line.startswith("Accuracy 100.0 % (95 % interval ")
    assert line.endswith("; the report says how it was tested.")
    score = answer(*given, "--force")["score"]
    assert score["how"].startswith("Tested on 30 documents given for this report")
    assert (score["metric"], score["score"]) == ("accuracy", 1.0)
    assert 0.8 < score["low"] < score["high"] <= 1.0


def test_a_table_without_its_option_is_explained(home, model):
    done = cofactor("report", model, home / "new.csv", code=2)
    assert "Got unexpected extra argument" in done.stderr
    assert "Name a table with --data." in done.stderr
    done = cofactor("predict", model, home / "new.csv", "more", code=2)
    assert "--data" not in done.stderr
