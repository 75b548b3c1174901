"""Rows, lines and documents that are too long are refused before they fill the memory."""

import csv
import gzip
import tracemalloc

import pytest

from cofactor.io.tables import InputError, open_source
from cofactor.io.tables.decoding import batches

LONG = {
    "line.csv": (b"id,body\n1,one\n2," + b"word " * 300 + b"\n", "line 3"),
    "quoted.csv": (b'id,body\n1,one\n2,"' + b"word\n" * 300 + b'"\n', "row 3"),
    "cells.csv": (b'id,body\n1,one\n2,"' + b'\n","' * 300 + b'"\n', "row 3"),
    "header.csv": (b"word " * 300, "line 1"),
    "old_mac.csv": (b"id,body\r1,one\r2," + b"word " * 300 + b"\r", "line 3"),
    "line.jsonl": (b'{"body": "one"}\n{"body": "' + b"word " * 300 + b'"}\n', "line 2"),
    "open.jsonl": (b'{"body": "' + b"word " * 300, "line 1"),
}


def rows(path, **options):
    return [cells for _, cells in open_source(path, **options).rows]


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr("cofactor.io.tables.decoding.MAX_ROW_CHARACTERS", 1000)


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("chunk", [64, 2**20])
def test_a_row_that_is_too_long_is_refused(short, tmp_path, monkeypatch, name, packed, chunk):
    monkeypatch.setattr("cofactor.io.tables.decoding.CHUNK_BYTES", chunk)
    data, place = LONG[name]
    path = tmp_path / (name + ".gz" if packed else name)
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(InputError, match=rf"{place}\b.* has more than .* characters; "):
        rows(path)


@pytest.mark.parametrize("name", ["line.csv", "header.csv", "old_mac.csv"])
def test_a_long_line_is_refused_where_quotes_are_part_of_the_text(short, tmp_path, name):
    (tmp_path / name).write_bytes(LONG[name][0])
    with pytest.raises(InputError, match="has more than"):
        rows(tmp_path / name, no_quotes=True)


def test_rows_up_to_the_limit_are_read(short, tmp_path):
    table = [["1", "a" * 990], ["2", "b\n" * 400], ["3", "c"]] * 5
    with open(tmp_path / "a.csv", "w", newline="") as file:
        csv.writer(file).writerows([["id", "body"], *table])
    assert rows(tmp_path / "a.csv") == table


def test_a_document_that_is_too_long_is_refused(short, tmp_path):
    (tmp_path / "a.txt").write_text("word\n" * 200)
    assert len(rows(tmp_path)) == 1
    (tmp_path / "b.txt").write_text("word\n" * 201)
    with pytest.raises(InputError, match=r"b\.txt has more than"):
        rows(tmp_path)


CELLS = {
    "strings": ["a", "b" * 1001],
    "lists": [["a"], ["b" * 600, None, "b" * 600]],
    "lists of numbers": [[1], [1] * 1001],
    "lists of lists": [[], [["b" * 600], None, ["b" * 600]]],
    "structs": [{"x": "a", "y": None}, {"x": "b" * 600, "y": "c" * 600}],
    "bytes": [b"a", b"b" * 1001],
}


@pytest.fixture
def written(tmp_path):
    """A function that writes columns to a Parquet file and returns its path."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def write(**columns):
        parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
        return tmp_path / "a.parquet"

    return write


@pytest.mark.parametrize("case", CELLS)
def test_a_parquet_row_that_is_too_long_is_refused(short, written, case):
    path = written(body=[None, *CELLS[case]])
    with pytest.raises(InputError, match="row 4 has more than"):
        rows(path)


@pytest.mark.slow
def test_parquet_cells_are_measured_before_they_become_objects(written, monkeypatch):
    import pyarrow

    monkeypatch.setattr("cofactor.io.tables.decoding.MAX_ROW_CHARACTERS", 2**20)
    texts = [None, *["d" * 100_000] * 600]  # 60 MB as Python objects, but one entry in the file
    path = written(body=pyarrow.array(texts).dictionary_encode())
    tracemalloc.start()
    try:
        for i, (number, cells) in enumerate(open_source(path).rows):
            assert (number, cells) == (i + 2, [texts[i]])
        assert i == 600
        assert tracemalloc.get_traced_memory()[1] < 10e6
        path = written(body=pyarrow.array(["a", *["d" * 2**21] * 100]).dictionary_encode())
        tracemalloc.reset_peak()
        with pytest.raises(InputError, match="row 3 has more than"):
            rows(path)
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()


def test_parquet_cells_of_all_kinds_come_back(short, written):
    columns = {name: cells[:1] for name, cells in CELLS.items()} | {"n": [None], "f": [0.5]}
    assert rows(written(**columns)) == [[cells[0] for cells in columns.values()]]


def test_json_lines_are_not_read_far_ahead(short, tmp_path):
    lines = ['{"t": "' + "word " * 150 + '"}'] * 20 + ['{"t": "a", "new": 1}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    source = open_source(tmp_path / "a.jsonl")
    assert source.columns == ["t"]
    assert len(list(source.rows)) == 21
    assert source.columns == ["t", "new"]


def test_batches_are_bounded_in_number_and_in_characters(short):
    texts = ["a"] * 7 + ["b" * 600] * 4 + ["c"]
    found = list(batches(texts, len, 5))
    assert [len(batch) for batch in found] == [5, 4, 2, 1]
    assert [text for batch in found for text in batch] == texts


SCRIPT = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28))
from cofactor.io.tables import InputError, open_source
try:
    for _ in open_source(sys.argv[1]).rows:
        pass
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz"])
def test_a_small_file_with_one_huge_line_needs_little_memory(tmp_path, run_script, name):
    head = b'{"body": "' if "jsonl" in name else b"body\n"
    member = gzip.compress(b"word " * 2**22, 1)  # unpacks to 20 MB
    (tmp_path / name).write_bytes(gzip.compress(head) + 30 * member)
    assert "has more than 16,777,216 characters" in run_script(SCRIPT, tmp_path / name)
