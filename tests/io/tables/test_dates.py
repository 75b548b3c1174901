"""Columns of dates: one format, or a sentence with the row."""

from datetime import date, datetime

import pytest

from cofactor.io.tables import InputError
from cofactor.io.tables.dates import are_dates, read_dates


def read(*cells, **options):
    return read_dates("t.csv", "when", enumerate(cells, start=2), **options)


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["2024-12-31", "2024-04-03T12:30:00+01:00", ""], "ISO"),
        (["31.12.2024", "3.4.2024"], "%d.%m.%Y"),
        (["12/31/2024", "4/3/2024"], "%m/%d/%Y"),
        (["31/12/2024 18:05", "03/04/2024 12:30"], "%d/%m/%Y %H:%M"),
        (["December 31, 2024", "April 3, 2024"], "%B %d, %Y"),
        (["20241231", "20240403"], "%Y%m%d"),
    ],
)
def test_the_format_is_found(cells, form):
    found = read(*cells)
    assert found.format == form
    assert [value.date() for value in found.known] == [date(2024, 12, 31), date(2024, 4, 3)]
    assert len(found.values) == len(cells)


def test_dates_that_are_dates_already():
    found = read(date(2024, 4, 3), datetime(2024, 12, 31, 6), None)
    assert found.values == [datetime(2024, 4, 3), datetime(2024, 12, 31, 6), None]
    assert found.facts() == {
        "format": "ISO",
        "first": "2024-04-03T00:00:00",
        "last": "2024-12-31T06:00:00",
        "known": 2,
    }


def test_another_format_is_refused_with_its_row():
    with pytest.raises(InputError, match=r"row 4: the date '3\.4\.2024' in 'when'") as said:
        read("2024-12-31", "2024-12-30", "3.4.2024", "4/3/24")
    assert "in one format, best as 2024-12-31" in str(said.value)
    with pytest.raises(InputError, match="row 2: the date 'soon' in 'when' has no known format"):
        read("soon")
    with pytest.raises(InputError, match="row 3: the date '2024-01-01'"):
        read("31/12/2024", "2024-01-01", date_format="%d/%m/%Y")


def test_a_date_that_means_two_days_is_refused():
    with pytest.raises(InputError, match=r"row 3: the date '03/04/2024' .* in two ways") as said:
        read("05/05/2024", "03/04/2024")
    assert "add date_format='%d/%m/%Y' or date_format='%m/%d/%Y'" in str(said.value)
    assert read("03/04/2024", date_format="%m/%d/%Y").values == [datetime(2024, 3, 4)]
    assert read("05/05/2024").values == [datetime(2024, 5, 5)]


def test_labels_that_are_dates():
    assert are_dates(["2024-01-05"] * 9 + ["x"])
    assert not are_dates(["2024-01-05", "x"])
    assert not are_dates(["May", "June"])
    assert not are_dates(["1", "12", "2024"])
    assert not are_dates([])
