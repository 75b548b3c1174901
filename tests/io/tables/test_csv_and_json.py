"""JSON files: an array of objects, or JSON lines under another name."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofactor.io.tables import InputError, open_source
from cofactor.io.tables.csv_and_json import _array_records


def opened(tmp_path, text, name="a.json"):
    (tmp_path / name).write_text(text)
    return open_source(tmp_path / name)


def test_an_array_is_a_table(tmp_path):
    source = opened(tmp_path, ' [ {"body": "a", "n": 1} ,\n{"body": null, "x": [1, 2]}\n] \n')
    assert (source.kind, source.columns, source.separator) == ("json", ["body", "n", "x"], None)
    assert list(source.rows) == [(1, ["a", 1, None]), (2, [None, None, [1, 2]])]


def test_json_lines_may_end_in_json(tmp_path):
    source = opened(tmp_path, '{"body": "a"}\n{"body": "b"}\n')
    assert source.kind == "jsonl"
    assert [cells for _, cells in source.rows] == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "holds an empty array"),
        ('[{"a": 1}, 3]', "row 2 of the array holds a int, not an object"),
        ('[{"a": 1} {"a": 2}]', r"row 1 of the array is not JSON \(a comma or \] is missing\)"),
        ('[{"a": 1},]', "row 2 of the array is not JSON"),
        ('[{"a": 1}, {"a": ', "row 2 of the array is not JSON"),
        ('[{"a": 1}] x', "there is more text after the array"),
        ('[{"a": 1}', "a comma or ] is missing"),
    ],
)
def test_what_is_no_table_is_said(tmp_path, text, said):
    with pytest.raises(InputError, match=said.replace("or ]", r"or \]").replace(r"\\", "\\")):
        list(opened(tmp_path, text).rows)


def test_a_long_row_is_refused_before_it_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("cofactor.io.tables.decoding.MAX_ROW_CHARACTERS", 100)
    endless = iter(['[{"a": "', *["x" * 50] * 10**6])
    with pytest.raises(InputError, match="row 1 has more than 100 characters"):
        list(_array_records("a.json", endless))
    assert next(endless)  # it was not read to its end


records = st.lists(
    st.dictionaries(st.text(max_size=3), st.one_of(st.text(max_size=5), st.integers()), max_size=3),
    min_size=1,
    max_size=6,
)


@given(records, st.integers(1, 9))
def test_the_cut_of_the_text_does_not_matter(rows, size):
    text = json.dumps(rows)
    parts = iter([text[i : i + size] for i in range(0, len(text), size)])
    assert [record for _, record in _array_records("a.json", parts)] == rows
