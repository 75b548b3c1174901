"""Labels in tables: one or several a cell, one or several columns."""

from collections import Counter

import pytest

from cofactor.io.tables import InputError, open_source, read_documents
from cofactor.io.tables.labels import (
    as_label_columns,
    join_columns,
    label_form,
    likely_separator,
    one_cell,
    read_switch,
)
from cofactor.io.tables.survey import advise, as_facts, survey
from cofactor.targets.task import are_numbers, parse_labels


def table(tmp_path, text, name="a.csv"):
    (tmp_path / name).write_text(text)
    return open_source(tmp_path / name)


def test_a_cell_is_split_tidied_and_freed_of_what_means_unlabelled(tmp_path):
    source = table(tmp_path, 'body,tags\na,x; y ;x\nb,\nc,NA\nd,"; ;NA;z"\n')
    found = read_documents(source, "body", "tags", ["NA"], ";")
    assert found.label_cells == [(("x", "y"),), ((),), ((),), (("z",),)]
    assert [join_columns(cells) for cells in found.label_cells] == [("x", "y"), None, None, ("z",)]
    assert found.labels == ["x", "", "", "z"]


def test_labels_of_several_columns_go_together(tmp_path):
    source = table(tmp_path, "body,one,two\na,x,y\nb,,y\nc,x,x\nd,,\n")
    found = read_documents(source, "body", ["one", "two"])
    assert [join_columns(cells) for cells in found.label_cells] == [
        ("x", "y"),
        ("y",),
        ("x",),
        None,
    ]


def test_lists_in_json_lines_are_several_labels(tmp_path):
    lines = '{"body": "a", "tags": ["x", "y"]}\n{"body": "b", "tags": []}\n{"body": "c"}\n'
    found = read_documents(table(tmp_path, lines, "a.jsonl"), "body", "tags")
    assert found.label_cells == [(("x", "y"),), ((),), ((),)]
    with pytest.raises(InputError, match="row 1: 'tags' holds a dict"):
        read_documents(table(tmp_path, '{"body": "a", "tags": [{}]}\n', "b.jsonl"), "body", "tags")


@pytest.mark.parametrize(
    ("columns", "sets", "form"),
    [
        ([""], False, "none"),
        (["a b"], False, "classes"),
        (["0 1"], False, "classes"),
        (["0.5 2"], False, "numbers"),
        (["0.5 2 x"], False, "classes"),
        (["0.5 nan"], False, "numbers"),
        (["1 nan"], False, "classes"),
        (["0.5", "2"], False, "numbers"),
        (["0 1", "1"], False, "columns"),
        (["True False", "false"], False, "columns"),
        (["0 1", "2"], False, "sets"),
        (["a", "b"], False, "sets"),
        (["a"], True, "sets"),
    ],
)
def test_forms(columns, sets, form):
    assert label_form([Counter(column.split()) for column in columns], sets) == form


def test_one_word_makes_a_column_no_numbers_whatever_the_order():
    assert not are_numbers(parse_labels(["0.5", "x"]))
    assert not are_numbers(parse_labels(["x", "0.5"]))


def test_switches():
    assert [read_switch(cell) for cell in (("1",), ("TRUE",), ("0",), ("false",))] == [1, 1, 0, 0]
    assert read_switch(()) != read_switch(())


@pytest.mark.parametrize(
    ("labels", "mark"),
    [
        (["a;b", "a"], ";"),
        (["a;b", "a;c"], ";"),
        (["a|b", "b|c", "d"], "|"),
        (["a, b", "b"], ","),
        (["n/a", "x"], None),
        (["a;", "a"], None),
        (["a;b", "c"], None),
    ],
)
def test_separators_are_suspected_where_parts_recur(labels, mark):
    assert likely_separator(Counter(labels)) == mark


def test_a_column_named_twice():
    with pytest.raises(InputError, match="label='a' is given twice"):
        as_label_columns(("a", "a"))


def test_cells_of_predictions():
    assert one_cell(("a", "b"), ";") == "a;b"
    assert one_cell(("a", "b")) == "a; b"
    assert one_cell(()) == ""
    assert one_cell("a", ";") == "a"
    assert one_cell(None) is None


def test_a_survey_of_sets(tmp_path):
    text = "body,tags\na,x;y\na,y;x\nb,x\nc,\n"
    found = survey(table(tmp_path, text), "body", "tags", (), ";")
    assert (found.form, found.labelled, dict(found.classes)) == ("sets", 3, {"x": 3, "y": 2})
    assert found.conflicts.count == 1
    assert "several labels at once, 1.7 of them" in " ".join(map(str, advise(found, "tags")))
    plain = survey(table(tmp_path, text), "body", "tags")
    said = " ".join(map(str, advise(plain, "tags")))
    assert "'x;y' hold several labels, add label_separator=';'" in said


def test_a_survey_of_columns_and_of_numbers(tmp_path):
    text = "body,r,p,v\na,1,0,0.5\nb,0,,2\nc,1,1,\n"
    found = survey(table(tmp_path, text), "body", ["r", "p"])
    assert (found.form, dict(found.classes)) == ("columns", {"r": 2, "p": 1})
    assert "yes (1) or no (0)" in " ".join(map(str, advise(found, ["r", "p"])))
    facts = as_facts(survey(table(tmp_path, text), "body", "v"), "v")
    assert (facts["labels_are"], facts["classes"], facts["range"]) == ("numbers", {}, [0.5, 2.0])
