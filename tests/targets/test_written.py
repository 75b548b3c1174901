"""Numbers as people write them: one style for a whole column."""

import pytest

from cofactor.targets.task import parse_labels
from cofactor.targets.written import number_style


@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        (["50,00", "7,5"], [50.0, 7.5]),
        (["$20.00", "$1,234.50"], [20.0, 1234.5]),
        (["1.234,50 €", "20 €"], [1234.5, 20]),
        (["€ 1.234", "€ 5,00"], [1234, 5.0]),
        (["1,234", "12,500", "800"], [1234, 12500, 800]),
        (["0,125", "1,250"], [0.125, 1.25]),
        (["1,23,456.5", "2"], [123456.5, 2]),
        (["1'234.50", "1’000"], [1234.5, 1000]),
        (["1 234,50", "1\u202f000", "5"], [1234.5, 1000, 5]),
        (["1.234.567", "2"], [1234567, 2]),
        (["-$5.00", "$-3,000", "−2"], [-5.0, -3000, -2]),
        (["USD 20.50", "30"], [20.5, 30]),
        (["1,5e", "x"], ["1,5e", "x"]),
    ],
)
def test_a_column_is_read_in_one_style(labels, numbers):
    assert parse_labels(labels) == numbers


@pytest.mark.parametrize(
    "labels",
    [
        ["1,5", "2.75"],
        ["$20", "20 €"],
        ["80 %", "0.8"],
        ["7/10", "3/4"],
        ["12:30"],
        ["2024.05.01"],
        ["1,2,3"],
        ["1,23,4"],
        [""],
        [],
    ],
)
def test_numbers_without_a_common_style_stay_texts(labels):
    assert number_style(labels) is None
