"""What is said about labels before a fit."""

from collections import Counter

import pytest

from cofactor.cli._options import relabel_options
from cofactor.io.tables import InputError, label_advice
from cofactor.io.tables.label_advice import label_notes, marks, merges, probable_merges, refusal
from cofactor.io.tables.labels import (
    LabelCounts,
    as_label_columns,
    label_form,
    read_relabels,
    written_number,
)
from cofactor.targets.task import are_numbers, parse_labels


def counted(labels, several=False):
    counts = LabelCounts.begin(1, several)
    for label in labels:
        counts.add(((label,) if label else (),))
    return counts


def notes(counts):
    return [*map(str, label_notes(counts))]


SCORES = [str(80 + i % 21) for i in range(100)]


@pytest.mark.parametrize(
    ("labels", "form"),
    [
        (SCORES, "numbers"),  # never 21 classes
        ([str(i % 5 + 1) for i in range(50)], "classes"),  # stars
        ([str(i % 20) for i in range(100)], "classes"),  # codes that begin at 0
        ([str(i % 20 - 1) for i in range(100)], "classes"),  # codes, and -1
        ([f"{i % 20:03}" for i in range(100)], "classes"),  # codes with zeros in front
        ([f"{i % 15 * 10}" for i in range(100)], "numbers"),
        ([*SCORES, "unknown"], "classes"),
    ],
)
def test_whole_numbers(labels, form):
    assert label_form([Counter(labels)], False) == form


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (SCORES, "The labels are numbers, so fit predicts numbers; task='classes'"),
        ([str(i % 20) for i in range(100)], "from 0 to 19 and are read as 20 classes"),
        ([str(i % 5 + 1) for i in range(50)], "task='numbers' predicts numbers"),
        (["-1"] * 10 + ["0", "1", "2"] * 20, "If '-1' means not labelled, add unlabelled=['-1']"),
        (["-1.0"] * 10 + ["0.5", "1.5", "2"] * 20, "add unlabelled=['-1.0']"),
        (["x"] * 9, "All labels of the label column are"),
        ([""] * 9, "The label column has no label"),
        (["x"] * 9 + ["y"] * 9 + ["z" * 10**6], f"The label '{'z' * 59}…' has more than 200"),
        (["x"] * 9 + ["y"] * 9 + ["z"], "Fewer than 5 labels of 'z'"),
        (["x"] * 9 + ["y"] * 9 + ["z"], "min_labels=5 leaves them out"),
        (
            ["Sport"] * 9 + ["Sprot"] * 2 + ["y"] * 9,
            "'Sprot' (2) and 'Sport' (9); relabel={'Sprot': 'Sport'} merges them",
        ),
    ],
)
def test_notes(labels, said):
    assert said in " ".join(notes(counted(labels)))


@pytest.mark.parametrize("mark", ["k.A.", "#N/A", "keine Angabe", "N.A.", "未知", "--", "Unknown"])
def test_labels_that_mean_not_labelled(mark):
    assert marks(counted(["x", "y", mark] * 9)) == [mark]


def test_numbers_are_noticed_beside_labels_that_mean_nothing():
    said = notes(counted([*SCORES, *["n/a"] * 9]))
    assert said == [
        "If 'n/a' means not labelled, add unlabelled=['n/a']. The other labels are numbers, which "
        "fit then predicts."
    ]
    stars = notes(counted([*(str(i % 5 + 1) for i in range(50)), *["n/a"] * 9]))
    assert "from 1 to 5 and are read as 5 classes" in stars[0]
    assert stars[1] == "If 'n/a' means not labelled, add unlabelled=['n/a']."
    assert refusal(counted([*(str(3 * i) for i in range(60)), "7", "7", *["n/a"] * 9])) is None
    assert "dates" in refusal(counted([*(f"2024-05-{i:02}" for i in range(10, 30)), "n/a", "n/a"]))
    rest = counted(["a", "b", "n/a"] * 3).without(["n/a"])
    assert (rest.classes, rest.labelled, rest.documents) == ({"a": 3, "b": 3}, 6, 9)


@pytest.mark.parametrize(
    ("labels", "first", "value"),
    [
        (["4,5", "3,0", "2"], "4,5", "4.5"),
        (["$12", "$ 7.50"], "$12", "12"),
        (["1.200,50 €", "7 €"], "1.200,50 €", "1200.5"),
        (["80 %", "7.5%"], "80 %", "80"),
    ],
)
def test_numbers_as_people_write_them_are_numbers(labels, first, value):
    said = f"The labels are numbers, so fit predicts numbers; {first!r} is read as {value};"
    assert said in " ".join(notes(counted(labels * 9)))


def test_few_whole_numbers_with_a_unit_are_classes_unless_the_task_says_otherwise():
    assert notes(counted(["7/10", "10/10"] * 9)) == [
        "Labels like '7/10' are read as 2 classes; task='numbers' predicts numbers."
    ]


PRICES = [f"{i},{i % 7}0" for i in range(1, 40)]


@pytest.mark.parametrize(
    ("others", "examples"),
    [
        (["on request", "free"], "like '1,10', '2,20', '3,30', and others are not, like 'on"),
        (["20.75 $"], "written in different ways, like '1,10', '20.75 $'"),
    ],
)
def test_a_column_of_which_only_some_labels_are_numbers_is_refused(others, examples):
    assert examples in refusal(counted([*PRICES, *others]))


def test_classes_beside_a_few_numbers_are_classes():
    assert refusal(counted(["1", "2", "3", "a", "b"] * 9)) is None
    assert refusal(counted([*(f"{i}" for i in range(12)), *"abcdefghijklmn"] * 9)) is None


def test_names_with_digits_are_not_numbers():
    for labels in (["1", "2"], ["4.5", "3"], ["3a", "4,5"], ["v1.2", "v1,3"], ["1-2"], ["1.2.3"]):
        assert written_number(labels) is None


def test_short_names_that_may_be_misspelt_are_asked_about():
    labels = ["Hockey"] * 40 + ["Hokey"] * 3 + ["Cars"] * 30 + ["Rare"] * 3
    assert merges(counted(labels)) == {}
    said = " ".join(notes(counted(labels)))
    assert "misspelt: 'Hokey' for 'Hockey'; if so, relabel={'Hokey': 'Hockey'} merges them" in said
    assert "'Rare' for" not in said


def test_minus_is_a_class_beside_plus():
    assert marks(counted(["+", "-"] * 9)) == []
    assert marks(counted(["x", "y", "-"] * 9)) == ["-"]


@pytest.mark.parametrize(
    "labels", [["0", "1"] * 20, ["a"] * 9 + ["b"] * 9, ["-5", "-1"] * 9 + ["2", "7"] * 9]
)
def test_usual_labels_are_not_commented(labels):
    assert not [one for one in notes(counted(labels)) if "whole numbers" not in one]


def test_a_misspelt_class_is_not_asked_for_more_labels():
    said = notes(counted(["Sport"] * 9 + ["Sprot"] * 2 + ["food"] * 9))
    assert not any("Fewer than" in one for one in said)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([f"2024-{i % 12 + 1:02}-01" for i in range(60)], "labels are dates, like '2024-01-01'"),
        ([str(1000 + i) for i in range(30)], "look like row numbers or ids ('1000', …)"),
        ([str(3 * i) for i in range(30)], "row numbers or ids"),
        ([str(7919 * i % 900_000 + 100_000) for i in range(1, 40)], "row numbers or ids"),
        ([f"T-{i}A" for i in range(1000, 1030)], "row numbers or ids"),
        (
            [f"a text of its own {chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(60)],
            "60 classes for 60 labels: is this the column of the labels?",
        ),
    ],
)
def test_what_is_not_a_label_is_refused(labels, said):
    assert said in (refusal(counted(labels)) or "")


@pytest.mark.parametrize(
    "labels",
    [
        SCORES,
        [str((i * 1237) % 3001 + 15) for i in range(60)],  # prices: distinct, but no numbering
        [f"{i / 7:.3f}" for i in range(60)],
        ["a", "b"] * 9,
        [str(i) for i in range(10)],
        [f"version {i}" for i in range(25)],
    ],
)
def test_what_may_be_a_label_is_not(labels):
    assert refusal(counted(labels)) is None


def test_many_merges_go_to_a_file():
    labels = [f"{name}{end}" for name in "abcdefghij" for end in ["x class", "X Class"]] * 9
    assert len(merges(counted(labels))) == 10
    said = " ".join(notes(counted(labels)))
    assert "and 2 more" in said
    assert "and name it with relabel_file" in said


def test_rare_classes():
    counts = counted(["a"] * 9 + ["b"] * 4 + ["c"])
    assert counts.rarer_than(5, "classes") == ["b", "c"]
    assert counts.rarer_than(0, "numbers") == []
    with pytest.raises(InputError, match="min_labels=10 leaves no class: the largest has 9"):
        counts.rarer_than(10, "classes")
    with pytest.raises(InputError, match="min_labels=5 needs classes, but the table has numbers"):
        counts.rarer_than(5, "numbers")


def test_labels_are_renamed_before_they_are_dropped():
    labels = as_label_columns("a", ["none"], ";", {"x": "y", "z": "none"})
    assert labels.read([" x;y; z;w"]) == ("y", "w")
    assert as_label_columns("a", ["none", "w"], ";", {"x": "y"}).read(["x;w"]) == ("y",)


def test_relabels_are_read_back(tmp_path):
    names = {"a b": "c", "ü": "d e"}
    given = relabel_options(names)
    assert read_relabels(given[1::2]) == names
    file = tmp_path / "map.csv"
    file.write_text('old,new\n"a=b",c\nd,c\n')
    assert read_relabels(["c=e"], file) == {"c": "e", "a=b": "e", "d": "e"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["a"], "must be the old and the new name, like Sprot=Sport"),
        (["a="], "for labels that mean not labelled use unlabelled"),
        (["a=b=c"], "name it with relabel_file"),
        (["a=b", "a=c"], "renames 'a' to 'c', but it is renamed to 'b' before"),
        (["a=b", "b=c", "c=a"], "leads in a circle: 'a' to 'b' to 'c' to 'a'"),
    ],
)
def test_relabels_that_can_be_meant_in_two_ways(given, said):
    with pytest.raises(InputError) as caught:
        read_relabels(given)
    assert said in str(caught.value)


def test_map_files_that_cannot_be_used(tmp_path):
    file = tmp_path / "map.csv"
    file.write_text("Sprot,Sport\nx,y\n")
    with pytest.raises(InputError, match="its first line must be old,new"):
        read_relabels([], file)
    file.write_text("old,new\nx,\n")
    with pytest.raises(InputError, match=r"map.csv, row 2 needs an old and a new name"):
        read_relabels([], file)


def test_numbers_and_words_do_not_mix():
    assert not are_numbers(parse_labels(["0.5", "x"]))
    assert are_numbers(parse_labels(["0.5", "nan"]))


# ---------------------------------------------------------------- names in several spellings


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
        {"cs.GT": 392, "cs.GL": 7, "cs.LG": 900, "math.AG": 500, "math.AC": 3, "stat.AP": 1},
        {"hep-th": 900, "hep-ph": 2, "physics.bio-ph": 400, "physics.ao-ph": 2},
        {"USD": 100, "UDS": 1, "ISBN": 90, "ISNB": 1, "grade A": 99, "grade B": 1},
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
    monkeypatch.setattr(label_advice, "MAX_COMPARED_CLASSES", 3)
    counts = {"Billing": 30, "Biling": 1, "Space": 9, "billing": 2, "Other": 5}
    assert probable_merges(counts) == {"billing": "Billing"}


def test_the_work_is_bounded_by_the_lengths_of_names():
    many = {f"{chr(97 + i // 26 % 26)}{chr(97 + i % 26)}{'x' * 80}{i}": 9 for i in range(600)}
    long = {"b" * 70: 40, "b" * 69: 1}
    assert probable_merges(long) == {"b" * 69: "b" * 70}
    assert probable_merges(many | long) == {}
    text = "word " * 60
    assert probable_merges({text: 40, f"{text[:-3]}x": 1}) == {}  # texts are not misspelt names
    long = "x" * 10**6
    counts = {long: 40, f"{long[1:]}y": 1, "Billing": 30, "Biling": 1}
    assert probable_merges(counts) == {"Biling": "Billing"}
    assert label_advice.typing_errors(long, f"y{long}") == 9


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
        assert label_advice.OSA.distance(a, b) == slow(a, b), (a, b)


def test_a_fit_says_that_cells_hold_several_labels():
    joined = counted(["a", "b", "c", "a;b", "b;c", "a;c", "a;b;c"] * 3)
    said = [*map(str, label_notes(joined, fitted=True))]
    assert any("'a;b' hold several labels, add label_separator=';'" in one for one in said)
    alone = counted(["toys; games", "books"] * 3)
    assert not any("several labels" in str(one) for one in label_notes(alone, fitted=True))
