"""`cofactor over-time`: the table of the library, gaps and missing dates said, refusals."""

import json

import pytest

from cofactor import load_model
from commands import answer, cofactor, make_rows, read_table, write_table

COLUMNS = ("id", "body", "team", "when")
MONTHS = (1, 2, 3, 5, 6, 7)  # April has no documents


def dated(n=90):
    """Fifteen documents a month; one in ten has no date."""
    return [
        [
            *row,
            f"{int(row[0]) % 28 + 1}.{MONTHS[int(row[0]) // 15]}.2024" if int(row[0]) % 10 else "",
        ]
        for row in make_rows(n)
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dated")
    write_table(folder / "posts.csv", dated(), COLUMNS)
    cofactor(
        "fit",
        folder / "posts.csv",
        "--text",
        "body",
        "--label",
        "team",
        "--date",
        "when",
        "-k",
        4,
        "--iterations",
        5,
        "-o",
        folder / "model",
    )
    return folder


@pytest.mark.filterwarnings("ignore:9 of 90 documents have no date")
def test_it_writes_the_table_of_the_library(place, tmp_path):
    done = cofactor("over-time", place / "model", place / "posts.csv", "-o", tmp_path / "out.csv")
    assert "9 of 90 documents have no date" in done.stderr
    assert "there are no documents, and so no shares, in 2024-04." in done.stderr
    header, found = read_table(tmp_path / "out.csv")
    dates = [
        None if not row[3] else "-".join(reversed([part.zfill(2) for part in row[3].split(".")]))
        for row in dated()
    ]
    table = load_model(place / "model").over_time([row[1] for row in dated()], dates)
    assert header == table.columns
    assert len(found) == len(table) == 7 * (4 + 3)
    for cells, row in zip(found, table, strict=True):
        assert cells[:4] == [row.period, str(row.start), str(row.documents), row.kind]
        assert cells[5] == row.name
        assert cells[6] == ("" if row.share is None else repr(float(f"{row.share:.5g}")))
        assert cells[9] == ", ".join(row.words)


def test_other_periods_formats_and_json(place, tmp_path):
    told = answer(
        "over-time",
        place / "model",
        place / "posts.csv",
        "--date",
        "when",
        "--every",
        "quarter",
        "--words",
        2,
        "-o",
        tmp_path / "out.jsonl",
    )
    assert told["periods"] == {"2024-Q1": 40, "2024-Q2": 27, "2024-Q3": 14}
    assert (told["undated"], told["every"], told["rows"]) == (9, "quarter", 21)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(lines[0]["words"]) == 2
    assert lines[7]["start"] == "2024-04-01"


@pytest.mark.parametrize(
    ("options", "cell", "sentence"),
    [
        (("--date", "body"), None, "row 2: the date '"),
        (("--date", "day"), None, "--date 'day'"),
        (("--every", "decade"), None, "'decade' is not one of 'day', 'week'"),
        ((), "2024-01-05", "row 7: the date '2024-01-05' in 'when' is not in the format of"),
        (("--every", "day"), "1.1.0024", "gives 730,"),
        (("-o", "out.txt"), None, "ends in '.txt'"),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_written(
    place, tmp_path, monkeypatch, options, cell, sentence
):
    monkeypatch.chdir(tmp_path)
    rows = dated()
    rows[5][3] = cell or rows[5][3]
    write_table(tmp_path / "posts.csv", rows, COLUMNS)
    done = cofactor("over-time", place / "model", "posts.csv", *options, code=2)
    assert sentence in " ".join(done.stderr.split())
    assert [path.name for path in tmp_path.iterdir()] == ["posts.csv"]


def test_a_model_without_dates_asks_for_the_column(home, model):
    done = cofactor("over-time", model, home / "posts.csv", code=2)
    assert "--date is missing: name the column" in done.stderr


@pytest.mark.parametrize("option", [("over-time", "-o"), ("choose", "-o"), ("choose", "--figure")])
def test_files_are_replaced_only_if_told_to(place, tmp_path, option):
    command, name = option
    path = tmp_path / ("out.svg" if name == "--figure" else "out.csv")
    path.write_text("mine")
    model = [place / "model"] if command == "over-time" else []
    done = cofactor(command, *model, place / "posts.csv", "--text", "body", name, path, code=2)
    assert f"{path} exists; name another, or replace it with --force." in done.stderr
    assert path.read_text() == "mine"
