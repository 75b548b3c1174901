"""The report's tables over time: the rows of the library, what is drawn, what is refused."""

from datetime import date

import pytest

from cofactor.report.page_content import prepare
from cofactor.report.period_tables import CHANCE, most_changed

DATES = [date(2024, 1 + i // 20 + (i >= 60), 2) for i in range(120)]  # April is empty


def test_rows_are_those_of_the_library(model, corpus, some):
    found = prepare(model, corpus[0], some, dates=DATES, every="month").over_time
    table = model.over_time(corpus[0], DATES, n_words=6)
    assert found["periods"] == [
        {"period": f"2024-0{m}", "documents": 0 if m == 4 else 20} for m in range(1, 8)
    ]
    assert (found["every"], found["empty"], found["notes"]) == ("month", 1, [CHANCE])
    assert len(found["rows"]) == len(table)
    for row, own in zip(found["rows"], table, strict=True):
        assert (row["period"], row["topic"]) == (own.period, own.topic)
        assert row["share"] == (own.share and pytest.approx(own.share, rel=1e-3, abs=1e-9))
        assert row["rising"] == ", ".join(own.rising)


def test_the_period_suits_the_dates(model, corpus, some):
    found = prepare(model, corpus[0], some, dates=[None, *DATES[1:]]).over_time
    assert (found["every"], len(found["periods"])) == ("quarter", 3)
    assert found["notes"][1:] == ["1 of 120 documents have no date and are in no period."]


def test_lines_are_those_that_changed_most():
    def rows(name, *shares, documents=100):
        return [
            {"kind": "class", "class": name, "topic": None, "share": share, "documents": documents}
            for share in shares
        ]

    table = [
        *rows("large", 0.5, 0.55),
        *rows("risen", 0.05, 0.2),
        *rows("same", 0.3, 0.3),
        *rows("lost", None, 0.2),
        *rows("few", 0, 0.2, documents=5),
    ]
    assert most_changed(table, "class")[0] == "risen"
    assert len(most_changed(table, "class")) == 3
    assert "few" not in most_changed(table, "class")  # 0 and 1 of 5 documents are not a change
    assert most_changed(table, "topic") == []


def test_dates_need_documents_and_must_be_readable(model, corpus):
    with pytest.raises(ValueError, match="dates need their documents"):
        prepare(model, dates=DATES)
    with pytest.raises(ValueError, match="every='month' needs dates"):
        prepare(model, corpus[0], every="month")
    with pytest.raises(ValueError, match="every='moon' is not a period"):
        prepare(model, corpus[0], dates=DATES, every="moon")
    with pytest.raises(ValueError, match=r"dates\[3\] is 'soon'"):
        prepare(model, corpus[0], dates=[*map(str, DATES[:3]), "soon", *DATES[4:]])
