"""Tables of results in three formats."""

import json

import pytest

from cofactor.experiments.tables import ResultTable, as_cell, best, mean_and_sd


def test_table_forms():
    table = ResultTable(
        "t",
        "Title",
        ["a|b", "x"],
        [["p|q", 0.123456], ["r", None]],
        digits=2,
        bold=frozenset({(0, 1)}),
        note="Note.",
    )
    assert table.markdown() == (
        "**Title**\n\n| a\\|b | x |\n| --- | ---: |\n| p\\|q | **0.12** |\n| r |  |\n\nNote.\n"
    )
    assert table.csv() == "a|b,x\np|q,0.123456\nr,\n"
    assert json.loads(table.json())["rows"] == [
        {"a|b": "p|q", "x": 0.123456},
        {"a|b": "r", "x": None},
    ]
    with pytest.raises(ValueError, match="not all different"):
        ResultTable("t", "", ["a", "a"], [])


def test_small_helpers():
    assert best([3.0, None, 1.0, 1.0], largest=False) == {2, 3}
    assert best([3.0, None, 1.0], largest=True) == {0}
    assert best([None], largest=True) == set()
    assert mean_and_sd([1.0, 3.0]) == (2.0, pytest.approx(2**0.5))
    assert mean_and_sd([1.0]) == (1.0, None)
    assert [as_cell(v) for v in (1, float("nan"), float("inf"))] == [1.0, None, None]
