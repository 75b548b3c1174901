"""Spreadsheets: what is read, what is said, and what is refused."""

from contextlib import suppress
from datetime import date
from zipfile import ZipFile

import numpy as np
import pytest

from cofactor.io.tables import InputError, open_source, read_documents
from cofactor.io.tables.spreadsheets import cell_name
from spreadsheets import Raw, day, formula, write_spreadsheet

pytest.importorskip("python_calamine")

HEADER = ["id", "body", "team"]
ROWS = [HEADER, [1, "the moon", "space"], None, [2.5, "a goal", None]]


def book(tmp_path, rows=ROWS, **options):
    sheets = rows if isinstance(rows, dict) else {"Posts": rows}
    return write_spreadsheet(tmp_path / "a.xlsx", sheets, **options)


def test_cells_and_rows_are_those_that_the_program_shows(tmp_path):
    source = open_source(book(tmp_path))
    assert (source.kind, source.columns, source.notes) == ("excel", HEADER, [])
    assert list(source.rows) == [(2, [1, "the moon", "space"]), (4, [2.5, "a goal", None])]
    assert len(source.facts()["sha256"]) == 64


def test_documents_of_a_spreadsheet(tmp_path):
    found = read_documents(open_source(book(tmp_path)), "body", "team", further={"id": "id"})
    assert (found.texts, found.labels, found.rows) == (
        ["the moon", "a goal"],
        ["space", ""],
        [2, 4],
    )
    assert found.further == {"id": [1, 2.5]}


def test_a_table_may_begin_below_and_to_the_right(tmp_path):
    rows = [None, [None, "body", "n"], [None, "x", 3]]
    source = open_source(book(tmp_path, rows))
    assert source.columns == ["body", "n"]
    assert list(source.rows) == [(3, ["x", 3])]


def test_dates_are_dates(tmp_path):
    source = open_source(book(tmp_path, [["body", "when"], ["x", day(45293)]]))
    assert next(source.rows) == (2, ["x", date(2024, 1, 2)])
    source = open_source(tmp_path / "a.xlsx")
    assert read_documents(source, "body", "when").labels == ["2024-01-02"]


def test_the_sheet_is_chosen_and_said(tmp_path):
    path = book(tmp_path, {"Old": [["x"]], "Posts": ROWS, "More": [["y"], [1]]}, hidden=["Old"])
    source = open_source(path)
    assert source.columns == HEADER
    (note,) = source.notes
    assert str(note) == "Read the sheet 'Posts'; sheet names another of the 3 sheets."
    named = open_source(path, sheet="More")
    assert (named.columns, named.notes) == (["y"], [])


@pytest.mark.parametrize(
    ("rows", "options", "sheet", "said"),
    [
        (ROWS, {}, "Post", r"sheet='Post' is not a sheet of .*a\.xlsx\. Did you mean 'Posts'\?"),
        (
            {"A": [], "B": ROWS},
            {},
            None,
            r"the sheet 'A' is empty; name another with sheet\. There are 'B'\.",
        ),
        ({"A": []}, {}, None, r"the sheet 'A' is empty; it is the only sheet: fill it in"),
        (
            ROWS,
            {"merged": ["C2:C4"]},
            None,
            r"row 2: the cells C2:C4 of the sheet 'Posts' are merged.*; unmerge them and fill in",
        ),
        (
            [HEADER, [1, formula('A2&"x"'), "y"]],
            {},
            None,
            r"the cell B2 holds a formula without a saved value.*save it, or replace formulas",
        ),
        ([HEADER, [1, formula("A2", ""), "y"]], {}, None, "the cell B2 holds a formula without"),
    ],
)
def test_what_would_be_read_wrong_is_refused(tmp_path, rows, options, sheet, said):
    path = book(tmp_path, rows, **options)
    with pytest.raises(InputError, match=said):
        open_source(path, sheet=sheet)


def test_saved_values_of_formulas_are_read_and_said(tmp_path):
    rows = [
        HEADER,
        [1, formula('"a"&"b"', "ab", ' t="str"'), formula('""', "", ' t="str"')],
        [2, "x", Raw(' t="e"><v>#N/A</v>')],
    ]
    source = open_source(book(tmp_path, rows))
    assert list(source.rows) == [(2, [1, "ab", None]), (3, [2, "x", None])]
    assert source.notes == [
        "2 cells hold formulas; the values that were saved are read.",
        "1 cell holds errors like #N/A, which are read as empty.",
    ]


def test_damaged_and_large_files(tmp_path, monkeypatch):
    (tmp_path / "b.xlsx").write_bytes(b"PK")
    with pytest.raises(InputError, match="cannot be read as a spreadsheet"):
        open_source(tmp_path / "b.xlsx")
    (tmp_path / "c.csv").write_text("a\n")
    with pytest.raises(InputError, match="sheet='x' needs a spreadsheet"):
        open_source(tmp_path / "c.csv", sheet="x")
    monkeypatch.setattr("cofactor.io.tables.spreadsheets.MAX_UNPACKED_BYTES", 100)
    with pytest.raises(InputError, match="unpacks to more than 100 bytes"):
        open_source(book(tmp_path))


def test_a_cell_far_away_is_refused_before_room_is_made(tmp_path):
    """calamine would hold 17 billion empty cells."""
    path = book(tmp_path)
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    far = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    parts[sheet] = parts[sheet].replace(b"</sheetData>", far)
    with ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(InputError, match="as far as row 1,048,576 and column 16,384"):
        open_source(path)


@pytest.mark.parametrize("seed", range(30))
def test_damaged_parts_give_one_sentence(tmp_path, seed):
    random, path = np.random.default_rng(seed), book(tmp_path)
    data = bytearray(path.read_bytes())
    for place in random.integers(len(data), size=3):
        data[place] = random.integers(256)
    path.write_bytes(bytes(data))
    with suppress(InputError):
        list(open_source(path).rows)


def test_names_of_cells():
    assert [cell_name(0, c) for c in (0, 25, 26, 701, 702)] == ["A1", "Z1", "AA1", "ZZ1", "AAA1"]
