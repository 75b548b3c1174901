"""The table in `cofactor.targets.missing`: Python, every kind of file, blocks and the app agree."""

import csv
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from cofactor.cli._options import TableOptions
from cofactor.cli._tables import read_table
from cofactor.cli.app import _read
from cofactor.targets.missing import is_missing
from cofactor.targets.reading import known_labels, known_values, readable
from cofactor.text.describe.predictions import infer_task
from cofactor.text.word_blocks import open_word_blocks
from commands import answer, cofactor, make_rows
from spreadsheets import write_spreadsheet

NAN = float("nan")
READ = ("--text", "body", "--label", "team")
SCORES = [-1, *range(80, 100)]

# cells of a column: the classes that they hold, or the number of numbers
CELLS = {
    "words": (["a", "b", "c"], ["a", "b", "c"]),
    "None": (["a", None, "b"], ["a", "b"]),
    "empty": (["a", "", "b"], ["a", "b"]),
    "white space": (["a", "  ", "b"], ["a", "b"]),
    "NA": (["a", "NA", "b"], ["NA", "a", "b"]),
    "the word nan": (["a", "nan", "b"], ["a", "b", "nan"]),
    "the word None": (["a", "None", "b"], ["None", "a", "b"]),
    "-1 among words": (["a", "-1", "b"], ["-1", "a", "b"]),
    "-1 among whole numbers": ([0, 1, -1, 2], ["0", "1", "2"]),
    "-1 beside None": ([0, 1, -1, None], ["0", "1"]),
    "-1 and 1": ([-1, 1], ["-1", "1"]),
    "-1, 1 and None": ([-1, 1, None], ["-1", "1"]),
    "-1 beside NaN": ([0.0, 1.0, -1.0, NAN], ["-1.0", "0.0", "1.0"]),
    "-1 among fractions": ([0.5, 1.5, -1.0], 3),
    "NaN among fractions": ([0.5, 1.5, NAN], 2),
    "-1 among many whole numbers": (SCORES, 21),
    "many whole numbers beside None": ([None, *SCORES], 21),
}


def answer_of(y):
    """Return the classes of y as text, or the number of known numbers."""
    if infer_task(y) == "numbers":
        return int(known_values(y).sum())
    return sorted({str(label) for label in known_labels(readable(y, "y"), None)[0].tolist()})


def as_csv(path, cells):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("body", "team"), *cells])


def as_json_lines(path, cells):
    path.write_text("".join(json.dumps({"body": b, "team": t}) + "\n" for b, t in cells))


def as_parquet(path, cells):
    pl.DataFrame(cells, schema=["body", "team"], orient="row").write_parquet(path)


def as_excel(path, cells):
    rows = [[body, None if _is_nan(team) else team] for body, team in cells]
    write_spreadsheet(path, {"posts": [["body", "team"], *rows]})


def _is_nan(cell):
    return isinstance(cell, float) and math.isnan(cell)


FILES = {"csv": as_csv, "jsonl": as_json_lines, "parquet": as_parquet, "xlsx": as_excel}


@pytest.fixture
def table(tmp_path):
    """A function that writes a table whose labels are some cells, repeated."""

    def write(ending, cells):
        bodies = [row[1] for row in make_rows(90)]
        path = tmp_path / f"posts.{ending}"
        pairs = zip(bodies, cells * 90, strict=False)
        FILES[ending](path, list(pairs)[: len(cells) * (90 // len(cells))])
        return path

    return write


def expected_of(name, ending=None):
    if ending == "xlsx" and name == "-1 beside NaN":  # whole numbers, for a spreadsheet
        return ["0", "1"]
    return CELLS[name][1]


@pytest.mark.parametrize("name", CELLS)
def test_python(name):
    cells, expected = CELLS[name]
    assert answer_of(cells) == expected
    assert answer_of(np.array(cells, dtype=object)) == expected
    assert answer_of(pl.Series(cells)) == expected
    nullable = "Int64" if all(is_missing(one) or isinstance(one, int) for one in cells) else None
    assert answer_of(pd.Series(cells, dtype=nullable)) == expected


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("ending", FILES)
def test_files(name, ending, table):
    path, expected = table(ending, CELLS[name][0]), expected_of(name, ending)
    found = answer("check", path, *READ)
    cells = len(CELLS[name][0])
    per_cycle = expected if isinstance(expected, int) else len(expected)
    assert found["labelled"] == found["rows"] // cells * per_cycle
    if isinstance(expected, int):
        assert found["labels_are"] == "numbers"
    else:
        assert sorted(found["classes"]) == expected
    noted = "which means unlabelled among whole numbers" in " ".join(found["advice"])
    assert noted == (-1 in CELLS[name][0] and expected in (["0", "1"], ["0", "1", "2"]))


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_blocks(name, ending, table, tmp_path):
    cofactor("blocks", table(ending, CELLS[name][0]), *READ, "-o", tmp_path / "blocks")
    rows = open_word_blocks(tmp_path / "blocks").rows
    y = np.concatenate([rows.targets(i) for i in range(rows.n_blocks)])
    expected = expected_of(name)
    if isinstance(expected, int):
        assert np.isfinite(y).sum() == len(y) // len(CELLS[name][0]) * expected
    else:
        assert sorted({label for label in y.tolist() if label is not None}) == expected


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("ending", FILES)
def test_app(name, ending, table):
    """The app labels classes, so −1 among many whole numbers is unlabelled."""
    corpus, _ = _read(table(ending, CELLS[name][0]), TableOptions("body", ("team",)), False)
    found = sorted({label for labels in corpus.given for label in labels})
    expected = expected_of(name, ending)
    if isinstance(expected, int):
        written = {str(one) for one in CELLS[name][0] if not is_missing(one)}
        expected = sorted(written - ({"-1"} if 80 in CELLS[name][0] else set()))
        found = [one.replace("-1", "-1.0") if one == "-1" else one for one in found]  # in a sheet
    assert found == expected


def test_nan_in_a_text_file_is_unlabelled_beside_numbers(tmp_path):
    for numbers, form in ((["0", "1", "-1"], "classes"), (["0.5", "1.5", "2"], "numbers")):
        as_csv(
            tmp_path / "a.csv",
            [(row[1], (*numbers, "nan")[i % 4]) for i, row in enumerate(make_rows(80))],
        )
        found = answer("check", tmp_path / "a.csv", *READ)
        assert found["labels_are"] == form
        assert found["labelled"] == (40 if form == "classes" else 60)
        assert "20 labels are 'nan', which means unlabelled among numbers" in " ".join(
            found["advice"]
        )


def test_a_class_that_is_called_minus_one_can_be_renamed(table):
    path = table("csv", [-1, 0, 1])
    found = answer("check", path, *READ, "--relabel", "-1=negative")
    assert sorted(found["classes"]) == ["0", "1", "negative"]
    found = answer("check", path, *READ, "--unlabelled", "0")
    assert sorted(found["classes"]) == ["-1", "1"]


def test_label_columns_of_zeros_and_ones(tmp_path):
    """−1 is an unknown cell, as in an indicator matrix of integers."""
    rows = [[row[1], i % 2, (1, -1, 0)[i % 3]] for i, row in enumerate(make_rows(90))]
    with open(tmp_path / "a.csv", "w", newline="") as file:
        csv.writer(file).writerows([("body", "sun", "moon"), *rows])
    found = answer(
        "check", tmp_path / "a.csv", "--text", "body", "--label", "sun", "--label", "moon"
    )
    assert found["labels_are"] == "columns"
    assert found["classes"] == {"sun": 45, "moon": 30}
    assert "30 labels are '-1'" in " ".join(found["advice"])


def test_cells_of_single_cell_data():
    """Clustering programs give −1 to cells outside all clusters."""
    from cofactor.sc.cells import read_labels

    obs = pd.DataFrame({"kind": [0, 1, -1, 0], "words": ["a", " ", "-1", None]})
    with pytest.warns(UserWarning, match=r"is -1 \(1\) are unlabelled"):
        assert read_labels(obs, "kind").tolist() == ["0", "1", None, "0"]
    assert read_labels(obs, "kind", unlabelled="-1").tolist() == ["0", "1", None, "0"]
    assert read_labels(obs, "words").tolist() == ["a", None, "-1", None]


@pytest.mark.parametrize("truth", [False, True])
def test_minus_one_is_unlabelled_in_every_column(truth, tmp_path):
    """Also in a column of test labels, and where no other label is left."""
    rows = [["moon rocket", "0"], ["goal puck", "1"], ["oven pan", "2"], ["rocket", "-1"]]
    table = tmp_path / "t.csv"
    lines = [f"{text},{label if truth else -1}" for text, label in rows]
    lines = [f"{line},{i % 3}" for i, line in enumerate(lines)]
    table.write_text("\n".join(["body,first,second", *lines]))
    if truth:
        asked = TableOptions(text="body", labels=("second",))
        found = read_table(table, asked, truth=("first",))
        assert found.truth == ["0", "1", "2", ""]
    else:
        asked = TableOptions(text="body", labels=("first",))
        found = read_table(table, asked, task="classes", may_lack=True)
        assert found.y is None
        assert found.facts["labelled"] == 0
