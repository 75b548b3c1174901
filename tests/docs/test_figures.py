"""Numbers on pages agree with the tables that benchmarks and experiments wrote.

Each number stands on one page, and other pages include it. The text says "about", because a number
changes a little with every run; the test fails where it is off by more than its tolerance, and says
what was measured. The tables of the reproduction are those of its files, digit by digit.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def table(name):
    """Return the rows of all tables of a file of results, as dictionaries by their first cell."""
    rows, head = [], []
    for line in (RESULTS / f"{name}.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip(" *") for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            head = []
        elif not head:
            head = cells
        elif not set(line) <= set("| -"):
            rows.append(dict(zip(head, cells, strict=False)))
    return rows


def number(text):
    return float(re.findall(r"[-+]?[\d.]+", text)[0])


def times(what, rank):
    (row,) = [one for one in table("quick") if what in one["what"] and f"r = {rank}" in one["what"]]
    return number(row["figure"])


def cells(name, **wanted):
    """Return the rows of the table of classes that have these cells."""
    rows = [row for row in table("predictions") if row.get("set") == name]
    asked = {key.replace("_", " "): value for key, value in wanted.items()}
    return [row for row in rows if all(row[key] == value for key, value in asked.items())]


def behind(name, labels):
    (row,) = cells(name, labels_per_class=labels)
    return -number(row["distance"])


def share_within_a_point():
    rows = [row for row in table("predictions") if "labels per class" in row and "ECE" in row]
    rows = [row for row in rows if row["set"] not in ("indian_pines", "made_cells")]
    assert len(rows) == 60
    return sum(number(row["distance"]) >= -1 for row in rows) / len(rows)


def headline(method, column):
    (line,) = re.findall(rf"\| {method} \|(.+)\|", (ROOT / "README.md").read_text(encoding="utf-8"))
    return number(line.split("|")[column].strip(" *"))


def scaling(what):
    """Return a row of the first table that has it: that of the quiet machine."""
    return next(one for one in table("scaling") if what in one["what"])


SAME_START = "objective of scikit-learn's mu after 200 iterations"
OWN_START = "to where scikit-learn stops, each from its own default start, kullback"
OWN_START_F = "of where scikit-learn stops, each from its own default start, frobenius"
EQUAL = "against scikit-learn's at equal objective"
OWN_TIME = "scikit-learn's own time to it"
INDEX = "docs/benchmarks/index.md"
MEMORY = "docs/guide/beyond_memory.md"
FIGURES = {
    "fast": (INDEX, r"about (\d+) times as fast", [(SAME_START, 13), (OWN_START, 13), (EQUAL, 13)]),
    "fast at rank 50": (
        INDEX,
        r"rank 50: ([\d.]+) times",
        [(SAME_START, 50), (OWN_START, 50), (EQUAL, 50), (OWN_TIME, 50), (OWN_START_F, 50)],
    ),
    "Frobenius": (INDEX, r"about (\d\.\d) times", [(OWN_TIME, 13), (OWN_START_F, 13)]),
}


@pytest.mark.parametrize("what", FIGURES)
def test_speed(what):
    page, pattern, wanted = FIGURES[what]
    said = [float(found) for found in re.findall(pattern, read(page))]
    measured = [times(*one) for one in wanted]
    assert said == pytest.approx(measured, rel=0.2)


def read(page):
    """Return the text of a page with single spaces."""
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


def test_predictions():
    assert "In about four of five cells" in read(INDEX)
    assert share_within_a_point() == pytest.approx(4 / 5, abs=0.07)
    said = (
        r"(\d+) points on Reuters news, (\d+) on digits, (\d+) on 20 Newsgroups and (\d+) on TREC"
    )
    (found,) = re.findall(said, read(INDEX))
    measured = [behind(name, "1") for name in ("reuters_r8", "digits", "newsgroups20", "trec")]
    assert list(map(float, found)) == pytest.approx(measured, abs=1.5)
    (pines,) = re.findall(r"regression is about (\d) point ahead", read(INDEX))
    assert float(pines) == pytest.approx(behind("indian_pines", "all"), abs=1)


def test_answers_to_questions():
    (ours, theirs) = re.findall(r"about (\d+) %", read("docs/faq.md"))
    measured = headline("cofactor", 2), headline("logistic regression", 2)
    assert (float(ours), float(theirs)) == pytest.approx(measured, abs=1)
    (seconds,) = re.findall(r"posts take about (\d+) seconds", read("docs/faq.md"))
    fit = re.findall(r"fit ([\d.]+) s", table("journey")[0]["remark"])[0]
    assert float(seconds) == pytest.approx(float(fit), abs=1)
    (both,) = re.findall(r"take about (\d+) seconds together", read(INDEX))
    assert float(both) == pytest.approx(number(table("journey")[0]["ours"]), abs=2)


def test_growth():
    text = read(MEMORY)
    said = re.findall(r"nonzeros cost about ([\d.]+) times|threads are about ([\d.]+) times", text)
    disk, threads = (float("".join(one)) for one in said)
    assert disk == pytest.approx(number(scaling("limited to 700 MB")["figure"]), rel=0.15)
    assert threads == pytest.approx(number(scaling("two threads")["figure"]), rel=0.15)
    assert "(about 82 % both)" in text
    assert number(scaling("accuracy of a stream")["ours"]) == pytest.approx(82, abs=1)


def test_compared_with_bertopic():
    names = {
        "20 Newsgroups": "newsgroups20",
        "Reuters R8": "reuters_r8",
        "search snippets": "searchsnippets",
        "docstrings": "docstrings",
    }
    page = (ROOT / "docs/coming_from/bertopic.md").read_text(encoding="utf-8")
    for title, name in names.items():
        ours, theirs = (
            next(row for row in table("bertopic") if (row["set"], row["method"]) == (name, method))
            for method in ("cofactor", "BERTopic")
        )
        (line,) = re.findall(rf"\| {title} \| (.+) \|", page)
        said = [float(one) for one in re.findall(r"-?[\d.]+", line.replace("−", "-"))]
        columns = [("NPMI", ours), ("NPMI", theirs), ("diversity", ours), ("diversity", theirs)]
        columns += [("outliers", theirs), ("unseen outliers", theirs)]
        columns += [("seconds", ours), ("seconds", theirs)]
        assert said == pytest.approx([number(row[key]) for key, row in columns], abs=0.0051)


MEANING = "docs/guide/meaning.md"
ENGLISH_SETS = {
    "questions": "trec",
    "search snippets": "searchsnippets",
    "20 Newsgroups \\(20\\)": "newsgroups20",
    "20 Newsgroups \\(5, ": "newsgroups5",
    "docstrings": "docstrings",
    "Reuters R8": "reuters_r8",
    "text messages": "sms_spam",
}


@pytest.mark.parametrize("title", ENGLISH_SETS)
def test_vectors_beside_words(title):
    page = (ROOT / MEANING).read_text(encoding="utf-8")
    (line,) = re.findall(rf"\| {title}.*? \| (.+) \|", page)
    rows = [row for row in table("encoders") if row.get("set") == ENGLISH_SETS[title]]
    rows = [row for row in rows if row["labels per class"] in ("1", "2", "5", "20")]
    for cell, row in zip(line.split("|"), rows, strict=True):
        measured = [number(row[way]) for way in ("words", "wordllama", "MiniLM")]
        assert list(map(float, cell.split("→"))) == pytest.approx(measured, abs=0.51)


def test_gains_of_vectors():
    gains = [row for row in table("encoders") if "set" not in row]
    found = re.findall(
        r"static vectors bring ([\d., and]+) points.*?MiniLM ([\d., and]+)", read(MEANING)
    )
    for said, way in zip(found[0], ("wordllama", "MiniLM"), strict=True):
        measured = [
            number(row[way]) for row in gains if row["labels per class"] in ("1", "2", "5", "20")
        ]
        assert [float(one) for one in re.findall(r"\d+\.\d", said)] == pytest.approx(
            measured, abs=0.051
        )


def test_names_of_classes():
    titles = {
        "20 Newsgroups, five groups, subject and text": "newsgroups, subject and text",
        "20 Newsgroups, five groups, text only": "newsgroups, text only",
        "search snippets, eight domains": "search snippets",
        "Reuters R8, eight subjects": "Reuters R8",
    }
    page = (ROOT / "docs/guide/class_names.md").read_text(encoding="utf-8")
    for title, name in titles.items():
        (line,) = re.findall(rf"\| {title} \| (.+) \|", page)
        rows = [row for row in table("class_names") if row["set"] == name]
        said = [float(cell.strip(" *")) for cell in line.split("|")]
        assert said == pytest.approx([number(row["accuracy"]) for row in rows], abs=0.51)


CELLS = "docs/guide/single_cells.md"
RIVALS = ["all genes", "variable", "standardised", "axes", "SVM", "neighbours", "spreading"]


@pytest.mark.parametrize("name", ["baron_h1", "kang_pbmc", "cite_cbmc"])
def test_cells(name):
    rows = [row for row in table("single_cell") if row.get("set") == name]
    best = [max(number(row[rival]) for rival in RIVALS) for row in rows]
    page = (ROOT / CELLS).read_text(encoding="utf-8")
    for line, measured in (("best rival", best), ("ours", [number(row["ours"]) for row in rows])):
        (found,) = re.findall(rf"\| {name}: .*\n?.*\| {line} \| (.+) \|", page)
        assert [number(cell) for cell in found.split("|")] == measured


def test_cells_of_another_study():
    (ours,) = re.findall(r"balanced accuracy is ([\d./ ]+) %", read(CELLS))
    (theirs,) = re.findall(r"regression on all genes has ([\d./ ]+) %", read(CELLS))
    rows = [row for row in table("single_cell") if "regression" in row]
    assert [number(row["ours"]) for row in rows] == [float(one) for one in ours.split("/")]
    assert [number(row["regression"]) for row in rows] == [float(one) for one in theirs.split("/")]


def test_what_no_class_explains():
    rows = {row["set"]: row for row in table("unlike") if row["hidden"] == "mean"}
    page = (ROOT / CELLS).read_text(encoding="utf-8")
    for name in ("baron_h1", "kang_pbmc", "cite_cbmc"):
        (line,) = re.findall(rf"\| {name} \(.+?\) \| (.+) \|", page)
        *areas, found, false = line.split("|")
        own = [row for row in table("unlike") if row["set"] == name and row["hidden"] != "mean"]
        worst, rarest = (min(number(row[key]) for row in own) for key in ("unlike", "found"))
        said = [number(cell.split(",")[-1]) for cell in areas]
        assert said == [number(rows[name]["unlike"]), number(rows[name]["confidence"]), worst]
        assert [float(x) for x in re.findall(r"(\d+) %", found + false)] == [
            number(rows[name]["found"]),
            rarest,
            number(rows[name]["false"]),
        ]
    choosing = "docs/guide/choosing.md"
    (said,) = re.findall(
        r"in (\d+) % .+ on Reuters R8, and (\d+) % .+: (\d+) and (\d+) %", read(choosing)
    )
    texts = rows["reuters_r8"], rows["newsgroups5"]
    measured = [100 * number(row[key]) for key in ("unlike", "confidence") for row in texts]
    assert list(map(float, said)) == pytest.approx(measured)
    (trec,) = re.findall(r"\(TREC: (\d+) %\)", read(choosing))
    assert float(trec) == pytest.approx(100 * number(rows["trec"]["unlike"]))
    assert all(2 <= number(row["false"]) <= 3 for row in texts)
    assert "Two or three in a hundred texts of known classes are marked" in read(choosing)


def numbers(page, heading):
    """Return the numbers, bold or not, in each row of the table of a page with this heading."""
    tables = re.findall(r"(?:^\|.*\n)+", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.M)
    (lines,) = [one.splitlines() for one in tables if heading in one.splitlines()[0]]
    found = [re.findall(r"\**\d+\.?\d*\**", line) for line in lines[2:]]
    return [row for row in found if row]


def relative_errors():
    rows = numbers("reproduction/synthetic/relative_error.md", "1: paper")
    return [row[:4] + row[9:10] + row[4:6] + row[11:] + row[6:8] for row in rows]


def clustering_scores():
    files = "reproduction/newsgroups/clustering.md", "reproduction/newsgroups/clustering_scaled.md"
    plain, scaled = (numbers(file, "model") for file in files)
    return [left + right for left, right in zip(plain, scaled, strict=True)]


REPRODUCED = {
    "1: paper": relative_errors,
    "wins by": lambda: numbers("reproduction/synthetic/wins.md", "maximum likelihood"),
    "exact inference": lambda: numbers("reproduction/newsgroups/accuracy.md", "model"),
    "equal mass": clustering_scores,
}


@pytest.mark.parametrize("heading", REPRODUCED)
def test_tables_of_the_reproduction(heading):
    assert numbers("reproduction.md", heading) == REPRODUCED[heading]()
