"""Tables that are written hold no formula, and JSON lines keep every value."""

import csv
import gzip
import json
import os

import pytest

from cofactor.io.atomic import replacing
from cofactor.io.json_text import to_json
from cofactor.io.tables import InputError
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
    names = {"a.csv": "csv", "a.TSV.gz": "tsv", "a.jsonl": "jsonl"}
    assert {name: output_kind(tmp_path / name) for name in names} == names
    with pytest.raises(InputError, match=r"'\.xlsx', which is not written"):
        output_kind(tmp_path / "a.xlsx")


def test_json_has_no_nan_and_is_ascii():
    assert to_json({1: [float("inf"), (2.5, "é")]}) == '{"1": [null, [2.5, "\\u00e9"]]}'
