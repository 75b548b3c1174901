"""Tables that are written hold no formula, and JSON lines keep every value."""

import csv
import gzip
import json
import os
from datetime import date
from xml.etree import ElementTree
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cofactor.io.atomic import replacing
from cofactor.io.json_text import to_json
from cofactor.io.tables import InputError, open_source, parquet, spreadsheet_writer
from cofactor.io.tables.writers import is_formula, make_writer, output_kind

FORMULAS = [
    "=1+1",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "  =1",
    "\tx",
    "＝1",
    "－x",
    "-",
    "- item",
    "+",
    "@",
    "=",
    "-1e",
    "--1",
    "+49 170 1",
    '=HYPERLINK("http://x")',
]
HARMLESS = ["", "a=1", "-1", "+1.5", "-.5", "1e-3", "-3%", "moon", "'=1", "<script>", "\nplain"]


@pytest.mark.parametrize("cell", FORMULAS)
def test_formulas_are_told(cell):
    assert is_formula(cell)
    assert not is_formula("'" + cell)


@pytest.mark.parametrize("cell", HARMLESS)
def test_numbers_and_words_are_left_alone(cell):
    assert not is_formula(cell)


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_cells_are_defused_and_read_back(tmp_path, kind):
    path = tmp_path / "out"
    with replacing(path) as file:
        writer = make_writer(file, kind, ["=head"], ["p"])
        for cell in FORMULAS + HARMLESS:
            writer.write([cell], [0.5])
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t" if kind == "tsv" else ","))
    assert rows[0] == ["'=head", "p"]
    assert [row[0] for row in rows[1:]] == [f"'{cell}" for cell in FORMULAS] + HARMLESS
    assert writer.defused == len(FORMULAS) + 1
    assert not any(is_formula(cell) for row in rows for cell in row)


def test_json_lines_keep_everything(tmp_path):
    with replacing(tmp_path / "a.jsonl.gz") as file:
        writer = make_writer(file, "jsonl", ["a"], ["b"])
        writer.write(["=1\u2028"], [float("nan")])
    with gzip.open(tmp_path / "a.jsonl.gz", "rt") as file:
        assert json.loads(file.read()) == {"a": "=1\u2028", "b": None}


def test_a_late_column_is_refused_in_a_table(tmp_path):
    with (
        pytest.raises(InputError, match="write JSON lines instead"),
        replacing(tmp_path / "a.csv") as file,
    ):
        make_writer(file, "csv", ["a"]).write(["1", "2"])
    assert not os.listdir(tmp_path)


def test_json_lines_refuse_a_column_that_is_there_twice(tmp_path):
    with pytest.raises(InputError, match="'a' twice"), replacing(tmp_path / "a.jsonl") as file:
        make_writer(file, "jsonl", ["a", "a"])


def test_the_name_says_the_format(tmp_path):
    names = {"a.csv": "csv", "a.TSV.gz": "tsv", "a.jsonl": "jsonl", "a.pq": "parquet"}
    names |= {"a.xlsx": "excel"}
    assert {name: output_kind(tmp_path / name) for name in names} == names
    for name in ("a.xls", "a.parquet.gz"):
        with pytest.raises(InputError, match=r"\.(xls|gz)'?, which is not written"):
            output_kind(tmp_path / name)


# ---- Parquet and Excel

CELLS = [
    ["=1+1", 3, 2.5, None, date(2024, 5, 17), True],
    ["@SUM(A1)", -4, float("nan"), "x", date(1999, 1, 1), False],
    ["a\x07b <c> & _x0041_ é\n'", 2**60, 1e300, "", None, None],
]
NAMES = ["text", "whole", "number", "gap", "day", "yes"]


def written(path, kind, rows=CELLS, names=NAMES, added=("labels",), like=None, further=("a",)):
    with replacing(path) as file, make_writer(file, kind, [*names], added, like=like) as writer:
        for row in rows:
            writer.write(row, [tuple(further)] if added else ())
    return path


def read_back(path):
    source = open_source(path)
    return source.columns, [cells for _, cells in source.rows]


def test_parquet_keeps_types_and_lists(tmp_path):
    path = written(tmp_path / "a.parquet", "parquet", further=["b", "c"])
    columns, rows = read_back(path)
    assert columns == [*NAMES, "labels"]
    for row, cells in zip(rows, CELLS, strict=True):
        assert [str(cell) for cell in row] == [str(cell) for cell in [*cells, ["b", "c"]]]


def test_parquet_keeps_the_types_of_its_source(tmp_path, monkeypatch):
    table = pa.table({"n": pa.array([None, 7], pa.int16()), "t": pa.array(["a", "b"])})
    pq.write_table(table, tmp_path / "in.parquet")
    monkeypatch.setattr(parquet, "WRITTEN_ROWS", 1)
    rows = [[None, "a"], [7, "b"]]
    out = written(
        tmp_path / "out.parquet", "parquet", rows, ["n", "t"], (), tmp_path / "in.parquet"
    )
    assert pq.read_schema(out).field("n").type == pa.int16()
    assert read_back(out)[1] == rows


def test_parquet_without_rows_and_with_mixed_cells(tmp_path, monkeypatch):
    assert read_back(written(tmp_path / "a.parquet", "parquet", []))[1] == []
    mixed = written(tmp_path / "b.parquet", "parquet", [["a"], [1]], ["x"], ())
    assert read_back(mixed)[1] == [["a"], ["1"]]
    monkeypatch.setattr(parquet, "WRITTEN_ROWS", 1)
    late = written(tmp_path / "late.parquet", "parquet", [[None], [1.5], ["a"]], ["x"], ())
    assert read_back(late)[1] == [[None], ["1.5"], ["a"]]
    empty = written(tmp_path / "empty.parquet", "parquet", [[None], [None]], ["x"], ())
    assert pq.read_schema(empty).field("x").type == pa.string()
    assert read_back(written(tmp_path / "c.parquet", "parquet", [[1], ["a"]], ["x"], ()))[1] == [
        ["1"],
        ["a"],
    ]
    late = written(tmp_path / "list.parquet", "parquet", [[None], [["a"]]], ["x"], ())
    assert read_back(late)[1] == [[None], [["a"]]]
    rows = [[1, [2]], [None, None], [3, []], [2.5, [4.5]], [4, ["b"]], [None, None]]
    wider = written(tmp_path / "d.parquet", "parquet", rows, ["x", "y"], ())
    assert pq.read_schema(wider).field("x").type == pa.float64()
    assert [row[0] for row in read_back(wider)[1]] == [1.0, None, 3.0, 2.5, 4.0, None]


def test_whole_numbers_that_floats_cannot_hold_become_texts(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "WRITTEN_ROWS", 1)
    for cells in ([2**60 + 1, 1.5], [1.5, 2**60 + 1]):
        path = written(tmp_path / "a.parquet", "parquet", [[cell] for cell in cells], ["x"], ())
        assert read_back(path)[1] == [[str(cell)] for cell in cells]


def test_an_empty_column_is_not_written_twice(tmp_path, monkeypatch):
    def again(*_):
        raise AssertionError("The file was written again.")

    monkeypatch.setattr(parquet, "WRITTEN_ROWS", 1)
    monkeypatch.setattr(parquet.ParquetWriter, "_write_again", again)
    path = written(tmp_path / "a.parquet", "parquet", [[1, None], [2, None]], ["x", "y"], ())
    assert read_back(path)[1] == [[1, None], [2, None]]


def test_excel_holds_texts_numbers_and_days_but_no_formula(tmp_path):
    path = written(tmp_path / "a.xlsx", "excel", further=["b", "c"])
    columns, rows = read_back(path)
    assert columns == [*NAMES, "labels"]
    assert rows[0][:2] == ["=1+1", 3]
    assert rows[0][4] == date(2024, 5, 17)
    assert [row[-1] for row in rows] == ["b; c"] * 3
    assert rows[2][0] == CELLS[2][0]
    assert rows[2][1] == str(2**60)
    with ZipFile(path) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in sheet
    assert written(tmp_path / "b.xlsx", "excel", further=["b", "c"]).read_bytes() == (
        path.read_bytes()
    )


def test_other_readers_find_the_styles_that_they_need(tmp_path):
    path = written(tmp_path / "a.xlsx", "excel", further=["b", "c"])
    with ZipFile(path) as archive:
        styles = ElementTree.fromstring(archive.read("xl/styles.xml"))
    names = [part.tag.split("}")[1] for part in styles]
    assert names == ["fonts", "fills", "borders", "cellStyleXfs", "cellXfs", "cellStyles"]
    assert [int(part.attrib["count"]) for part in styles] == [len(part) for part in styles]
    kinds = [part[0].attrib["patternType"] for part in styles[1]]
    assert kinds == ["none", "gray125"]  # what Excel expects; other readers refuse an empty fill


def test_what_excel_cannot_hold_is_refused(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="40,000 characters, but Excel holds 32,767"):
        written(tmp_path / "a.xlsx", "excel", [["a" * 40_000]], ["x"], ())
    monkeypatch.setattr(spreadsheet_writer, "MAX_ROWS", 3)
    with pytest.raises(InputError, match="no room for row 4"):
        written(tmp_path / "a.xlsx", "excel", [["a"]] * 3, ["x"], ())
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["csv", "excel"])
def test_several_labels_are_joined_by_one_separator(tmp_path, kind):
    rows = [[["a", "b"]], [["c"]], [["d;e", "f"]], [[1, 2]]]
    path = written(tmp_path / f"a.{'csv' if kind == 'csv' else 'xlsx'}", kind, rows, ["x"], ())
    assert [row[0] for row in read_back(path)[1]] == ["a; b", "c", '["d;e", "f"]', "[1, 2]"]


def test_json_has_no_nan_and_is_ascii():
    assert to_json({1: [float("inf"), (2.5, "é")]}) == '{"1": [null, [2.5, "\\u00e9"]]}'
