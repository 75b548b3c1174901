"""--id, --keep and --date: documents have one name in all outputs."""

import json
import shutil

import pytest

from cofactor import load_model
from cofactor.io.models import read_facts
from commands import answer, cofactor, make_rows, read_table, write_table
from spreadsheets import write_spreadsheet

COLUMNS = ("key", "body", "team", "when", "share")
TEXT = ("--text", "body", "--label", "team")
NAMED = ("--id", "key", "--keep", "share", "--date", "when")


def rows(n=90):
    return [
        [f"T-{i}", body, team, f"2024-{int(i) % 12 + 1:02}-03", str(int(i) / 4)]
        for i, body, team in make_rows(n)
    ]


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    folder = tmp_path_factory.mktemp("named")
    write_table(folder / "posts.csv", rows(), COLUMNS)
    cofactor(
        "fit",
        folder / "posts.csv",
        *TEXT,
        *NAMED,
        "-k",
        3,
        "--iterations",
        5,
        "-o",
        folder / "model",
    )
    return folder


def said(done):
    return " ".join(done.stderr.split())


def test_the_model_remembers_names_and_dates(named):
    noted = read_facts(named / "model")["notes"]["input"]
    assert (noted["id"], noted["keep"], noted["date"]) == ("key", ["share"], "when")
    assert noted["date_format"] == "ISO"
    assert noted["dates"] == {
        "format": "ISO",
        "first": "2024-01-03T00:00:00",
        "last": "2024-12-03T00:00:00",
        "known": 90,
    }


def test_exports_have_row_name_date_and_kept_columns(named, tmp_path):
    cofactor("export", named / "model", "-o", tmp_path / "tables")
    header, found = read_table(tmp_path / "tables" / "documents.csv")
    assert header[:8] == ["row", "id", "date", "share", "topic", "name", "share_2", "prediction"]
    for i, row in enumerate(found):
        assert row[:4] == [str(i + 2), f"T-{i}", f"2024-{i % 12 + 1:02}-03T00:00:00", str(i / 4)]


def test_without_the_table_documents_are_numbered_and_this_is_said(named, tmp_path):
    shutil.copytree(named / "model", tmp_path / "model")
    done = cofactor("export", tmp_path / "model", "-o", tmp_path / "tables")
    assert "documents are numbered from 0; name the table with --data" in said(done)
    header, found = read_table(tmp_path / "tables" / "documents.csv")
    assert (header[0], found[5][0]) == ("document", "5")


def test_reports_use_the_names(named, tmp_path):
    pytest.importorskip("altair")
    cofactor("report", named / "model", "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert '"number":"id"' in page  # the head of the column, which the page's script makes
    assert '<span class="muted" dir="ltr">id T-' in page  # typical documents
    assert "T-17" in page
    assert "Rows are those of the table" not in page
    assert "Shares of the documents in each quarter" in page  # by the dates of the fit


def test_predict_takes_the_name_of_the_fit_along(named, tmp_path):
    cofactor(
        "predict",
        named / "model",
        named / "posts.csv",
        "--keep",
        "share",
        "-o",
        tmp_path / "out.csv",
    )
    header, found = read_table(tmp_path / "out.csv")
    assert header[:3] == ["key", "share", "prediction"]
    assert found[7][:2] == ["T-7", "1.75"]


def test_check_names_rows_and_dates(named, tmp_path):
    table = rows(20)
    table[4][1] = ""
    table[9][0] = "T-3"
    table[11][3] = ""
    write_table(tmp_path / "a.csv", table, COLUMNS)
    found = answer("check", tmp_path / "a.csv", *TEXT, *NAMED)
    advice = " ".join(found["advice"])
    assert "1 document is empty (row 6 'T-4')" in advice
    assert "--id 'key' does not tell all documents apart: 'T-3' occur repeatedly" in advice
    assert "1 of 20 cells of --date 'when' are empty" in advice
    assert found["dates"]["known"] == 19
    assert "--id key --keep share --date when" in found["next"]
    assert "dates" in cofactor("check", tmp_path / "a.csv", *TEXT, *NAMED).stdout


def test_dates_in_three_formats_are_refused_and_nothing_is_written(tmp_path):
    table = rows(20)
    table[7][3], table[9][3] = "3.4.2024", "04/03/24"
    write_table(tmp_path / "a.csv", table, COLUMNS)
    for command in (["check"], ["fit", "-o", tmp_path / "m"], ["blocks", "-o", tmp_path / "m"]):
        done = cofactor(command[0], tmp_path / "a.csv", *TEXT, *NAMED, *command[1:], code=2)
        assert "row 9: the date '3.4.2024' in 'when' is not in the format of" in said(done)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("option", ["--id", "--keep", "--date"])
def test_columns_that_are_not_there(named, tmp_path, option):
    for command in (["check"], ["fit", "-o", tmp_path / "m"], ["blocks", "-o", tmp_path / "m"]):
        done = cofactor(command[0], named / "posts.csv", *TEXT, option, "wen", *command[1:], code=2)
        assert f"{option} 'wen' is not a column of" in said(done)
    assert not (tmp_path / "m").exists()


def test_two_columns_of_one_name(tmp_path):
    write_table(tmp_path / "a.csv", [["1", "moon", "x"]] * 3, ("id", "body", "body"))
    done = cofactor("fit", tmp_path / "a.csv", "--text", "body", "-o", tmp_path / "m", code=2)
    assert "--text 'body' names 2 columns of" in said(done)
    assert "rename all but one" in said(done)
    assert not (tmp_path / "m").exists()


@pytest.mark.slow
def test_blocks_remember_names(named, tmp_path):
    cofactor("blocks", named / "posts.csv", *TEXT, *NAMED, "-o", tmp_path / "blocks")
    cofactor("fit", tmp_path / "blocks", "-k", 3, "--iterations", 3, "-o", tmp_path / "m")
    cofactor("export", tmp_path / "m", "-o", tmp_path / "tables")
    header, found = read_table(tmp_path / "tables" / "documents.csv")
    assert (header[1], found[8][1]) == ("id", "T-8")


@pytest.mark.parametrize("name", ["posts.xlsx", "posts.json"])
def test_every_format_gives_the_same_model(named, tmp_path, name):
    cells = [[*row[:4], float(row[4])] for row in rows()]
    if name.endswith("xlsx"):
        pytest.importorskip("python_calamine")
        table = [[None if cell == "" else cell for cell in row] for row in cells]
        write_spreadsheet(tmp_path / name, {"Posts": [list(COLUMNS), *table]})
    else:
        (tmp_path / name).write_text(
            json.dumps([dict(zip(COLUMNS, row, strict=True)) for row in cells])
        )
    found = answer(
        "fit", tmp_path / name, *TEXT, *NAMED, "-k", 3, "--iterations", 5, "-o", tmp_path / "m"
    )
    assert found["fingerprint"] == load_model(named / "model").fingerprint_
    assert answer("verify", tmp_path / "m")["identical"]
    cofactor(
        "predict", tmp_path / "m", tmp_path / name, "--keep", "share", "-o", tmp_path / "out.csv"
    )
    cofactor(
        "predict",
        named / "model",
        named / "posts.csv",
        "--keep",
        "share",
        "-o",
        tmp_path / "own.csv",
    )
    mine, own = read_table(tmp_path / "out.csv"), read_table(tmp_path / "own.csv")
    assert mine[0] == own[0]
    assert [row[2:] for row in mine[1]] == [row[2:] for row in own[1]]


def test_spreadsheets_at_the_command_line(tmp_path):
    pytest.importorskip("python_calamine")
    table = [["body", "team"], *([body, team or None] for _, body, team in make_rows(30))]
    write_spreadsheet(tmp_path / "a.xlsx", {"Posts": table, "Empty": []})
    done = cofactor("check", tmp_path / "a.xlsx", *TEXT)
    assert "Note: Read the sheet 'Posts'; --sheet names another" in said(done)
    named = answer("check", tmp_path / "a.xlsx", *TEXT, "--sheet", "Posts")
    assert (named["rows"], named["format"]) == (30, "excel")
    assert "--sheet Posts" in named["next"]
    for sheet, reason in (
        ("Empty", "the sheet 'Empty' is empty"),
        ("Post", "Did you mean 'Posts'"),
    ):
        done = cofactor(
            "fit", tmp_path / "a.xlsx", *TEXT, "--sheet", sheet, "-o", tmp_path / "m", code=2
        )
        assert reason in said(done)
    assert not (tmp_path / "m").exists()
