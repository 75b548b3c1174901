"""Tables: rows, columns, and how they look."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest

from cofactor.text import Table


@dataclass(frozen=True)
class Row:
    name: str
    value: Any


TABLE = Table([Row("a", 1.23456), Row("<b>", None), Row("c\nd", (1, 0.5))], Row)


def test_it_is_a_sequence_of_rows():
    assert len(TABLE) == 3
    assert TABLE[0] == Row("a", 1.23456)
    assert list(TABLE[1:]) == list(TABLE)[1:]
    assert Table(list(TABLE), Row) == TABLE
    assert TABLE[1:] != TABLE
    assert TABLE.columns == ["name", "value"]


def test_it_is_handed_on():
    assert TABLE.to_dict() == {"name": ["a", "<b>", "c\nd"], "value": [1.23456, None, (1, 0.5)]}
    assert TABLE.to_records()[0] == {"name": "a", "value": 1.23456}
    assert TABLE.to_pandas().equals(pd.DataFrame(TABLE.to_dict()))
    assert list(Table([], Row).to_pandas().columns) == ["name", "value"]


def test_how_it_looks():
    assert repr(TABLE).splitlines() == ["name  value", "a     1.23", "<b>", "c d   1 0.5"]
    shown = TABLE._repr_html_()
    assert ">&lt;b&gt;</td>" in shown
    assert "<b>" not in shown
    long = Table([Row("x" * 100, i) for i in range(60)], Row)
    assert repr(long).endswith("… and 10 more rows")
    assert max(map(len, repr(long).splitlines())) < 80
    assert "… and 10 more rows" in long._repr_html_()


def test_columns_in_html():
    """Numbers stand at the right, and a column without any value is left out."""
    shown = Table([Row("a", 1.5)], Row)._repr_html_()
    assert '<td style="text-align: left">a</td><td style="text-align: right">1.5</td>' in shown
    assert "value" not in Table([Row("a", None)], Row)._repr_html_()
    assert "value" in Table([], Row)._repr_html_()


def test_it_has_no_hash():
    with pytest.raises(TypeError):
        hash(TABLE)
