"""What a survey of a table counts, and the advice it gives."""

import pytest

from cofactor.io.tables.survey import advise, survey


def the_survey(tmp_path, text, label="team", unlabelled=()):
    from cofactor.io.tables import open_source

    (tmp_path / "a.csv").write_text(text)
    return survey(open_source(tmp_path / "a.csv"), "body", label, unlabelled)


def test_a_survey_counts(tmp_path):
    found = the_survey(tmp_path, "body,team\na,x\n  ,x\na ,y\nb,\na,x\n,\n")
    assert (found.rows, found.labelled, dict(found.classes)) == (6, 4, {"x": 3, "y": 1})
    assert (found.empty.count, found.empty.rows) == (2, [3, 7])
    assert (found.duplicates.count, found.duplicates.rows) == (2, [4, 6])
    assert (found.conflicts.count, found.conflicts.rows) == (1, [4])


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("x,x,x", "All labels of the label column are"),
        ("x,y,NA", "add unlabelled=['NA']"),
        ("Sport,sport,x", "'sport' (1) and 'Sport' (1); relabel={'sport': 'Sport'} merges them"),
        ("1.5,2,3", "The labels are numbers"),
        (",,", "The label column has no label"),
        ("x,x,y", "Fewer than 5 labels of 'x', 'y'"),
    ],
)
def test_a_survey_advises(tmp_path, labels, said):
    rows = "".join(f"text{i},{label}\n" for i, label in enumerate(labels.split(",")))
    found = the_survey(tmp_path, "body,team\n" + rows)
    assert said in " ".join(map(str, advise(found, "team")))


@pytest.mark.parametrize(("text", "doubted"), [("T-{:05}", True), ("7{}", True), ("moon", False)])
def test_ids_are_no_texts(tmp_path, text, doubted):
    rows = "".join(f"{text.format(i)},x\n" for i in range(9))
    said = " ".join(map(str, advise(the_survey(tmp_path, "body,team\n" + rows), "team")))
    assert ("9 documents are without a word: is this the column of the texts?" in said) == doubted
