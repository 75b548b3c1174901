"""Labels that are misspelt, rare, numbers, ids or dates, at the command line."""

import json
import shlex

import pytest

from cofactor import load_model
from cofactor.io.models import read_facts
from commands import WORDS, answer, cofactor, make_rows, read_table, write_table

TEXT = ("--text", "body", "--label", "team")


@pytest.fixture
def messy(tmp_path):
    """The usual table, with some labels misspelt and one class that has a single label."""
    rows = make_rows(90, every=1)
    for i, team in ((3, "Space"), (10, "sprot"), (14, "foood"), (20, "weather")):
        rows[i][2] = team
    return write_table(tmp_path / "messy.csv", rows)


def said(done):
    return " ".join(done.stderr.split())


def test_check_proposes_merges_that_fit_takes(messy, tmp_path):
    found = answer("check", messy, *TEXT)
    assert found["merges"] == {"Space": "space", "sprot": "sport", "foood": "food"}
    assert found["suggested_topics"] == 12  # for four classes
    done = cofactor("fit", messy, *TEXT, "-k", 3, "--iterations", 3, "-o", tmp_path / "n")
    assert "Probably one class each: 'Space' (1) and 'space' (29)" in said(done)
    assert "-k 3 is less than the 7 classes, so several classes share a topic; -k 21" in said(done)
    words = found["next"].replace("-o model", f"-o {tmp_path / 'm'}").split()[1:]
    merged = answer(*words, "--min-labels", 5, "--iterations", 3)
    assert merged["classes"] == sorted(WORDS)
    assert merged["input"]["labelled"] == 89
    noted = read_facts(tmp_path / "m")["notes"]
    assert noted["input"]["unlabelled"] == ["weather"]
    assert "'weather' has fewer than 5 labels" in " ".join(noted["warnings"])


@pytest.mark.parametrize("mark", [",", ";", "/"])
def test_check_proposes_to_split_labels(tmp_path, mark):
    rows = [
        [i, body, mark.join(sorted({team, *("abcd"[: int(i) % 5])}))]
        for i, body, team in make_rows(90, every=1)
    ]
    path = write_table(tmp_path / "sets.csv", rows)
    found = answer("check", path, *TEXT)
    assert found["next"].startswith("cofactor check ")
    assert not any("Probably one class" in sentence for sentence in found["advice"])
    again = answer(*shlex.split(found["next"])[1:])
    assert set(again["classes"]) == {*WORDS, *"abcd"}
    assert again["next"].startswith("cofactor fit ")


@pytest.mark.parametrize("cell", ["2024/05/{:02}", "{},5", "{}/10", "A/{}", "food, {}"])
def test_check_does_not_split_other_labels(tmp_path, cell):
    rows = [[i, body, cell.format(int(i) % 9 + 11)] for i, body, _ in make_rows()]
    found = answer("check", write_table(tmp_path / "one.csv", rows), *TEXT)
    assert found["separator_to_try"] is None
    assert found["next"].startswith("cofactor fit ")


def test_later_commands_read_labels_in_the_same_way(messy, tmp_path):
    (tmp_path / "map.csv").write_text("old,new\nSpace,space\nsprot,sport\nfoood,food\n")
    fit = [*TEXT, "--relabel-file", tmp_path / "map.csv", "--min-labels", 5, "-k", 3]
    cofactor("fit", messy, *fit, "--iterations", 3, "-o", tmp_path / "m")
    assert answer("verify", tmp_path / "m")["identical"]
    assert answer("compare", tmp_path / "m", tmp_path / "m", "--data", messy)["accuracy"]


@pytest.mark.slow
def test_blocks_read_labels_as_tables_do(messy, tmp_path):
    merge = [
        *TEXT,
        "--relabel",
        "Space=space",
        "--relabel",
        "sprot=sport",
        "--relabel",
        "foood=food",
        "--min-labels",
        "5",
    ]
    written = cofactor("blocks", messy, *merge, "-o", tmp_path / "blocks")
    assert "'weather' has fewer than 5 labels" in said(written)
    found = answer("fit", tmp_path / "blocks", "-k", 3, "--iterations", 3, "-o", tmp_path / "m")
    assert (found["classes"], found["input"]["labelled"]) == (sorted(WORDS), 89)


def test_what_check_proposes_leads_to_the_right_classes(tmp_path):
    """More merges than a command can hold, and a mark for unlabelled rows."""
    rows = make_rows(90, every=1)
    for i, row in enumerate(rows):
        row[2] = [row[2], row[2].upper(), f"{row[2]}s", row[2].capitalize()][max(0, i - 74) % 4]
        row[2] = "NA" if i % 9 == 0 and i < 72 else row[2]
    table = write_table(tmp_path / "a.csv", rows)
    first = answer("check", table, *TEXT)
    assert len(first["merges"]) > 8
    words = first["next"].split()
    assert words[1] == "check"
    words[-1] = str(tmp_path / words[-1])
    second = answer(*words[1:])
    words = second["next"].replace("-o model", f"-o {tmp_path / 'm'}").split()
    assert words[1] == "fit"
    found = answer(*words[1:], "--iterations", 2)
    assert (found["classes"], found["input"]["labelled"]) == (sorted(WORDS), 82)


def test_many_merges_are_written_to_a_file(messy, tmp_path):
    done = answer("check", messy, *TEXT, "--write-relabels", tmp_path / "map.csv")
    header, rows = read_table(tmp_path / "map.csv")
    assert (header, dict(rows)) == (["old", "new"], done["merges"])
    assert f"--relabel-file {tmp_path / 'map.csv'} -k" in done["next"]


def test_an_old_name_that_does_not_occur_is_said(messy, tmp_path):
    merge = ["--relabel", "Space=space", "--relabel", "sporrt=sport"]
    done = cofactor("fit", messy, *TEXT, *merge, "-k", 3, "--iterations", 2, "-o", tmp_path / "m")
    assert "--relabel renames 'sporrt', but no label has such a name. Did you mean 'sport'?" in (
        said(done)
    )
    found = answer("check", messy, *TEXT, *merge)
    assert "--relabel renames 'sporrt', but" in " ".join(found["advice"])
    fine = cofactor(
        "fit", messy, *TEXT, *merge[:2], "-k", 3, "--iterations", 2, "-o", tmp_path / "m"
    )
    assert "--relabel renames" not in said(fine)


def test_columns_of_whole_numbers_are_said_to_be_combined(tmp_path):
    rows = [[i, body, int(i) % 5 + 1, int(i) % 3 + 2] for i, body, _ in make_rows(60)]
    table = write_table(tmp_path / "a.csv", rows, ("id", "body", "team", "mood"))
    found = answer("check", table, *TEXT, "--label", "mood")
    assert "--task numbers predicts each column" in " ".join(found["advice"])


def test_ratings_are_numbers(tmp_path):
    rows = [[i, body, str(80 + int(i) % 21)] for i, body, _ in make_rows(100)]
    table = write_table(tmp_path / "a.csv", rows)
    done = cofactor("fit", table, *TEXT, "-k", 3, "--iterations", 2, "-o", tmp_path / "m")
    assert "The labels are numbers, so fit predicts numbers; --task classes" in said(done)
    assert read_facts(tmp_path / "m")["notes"]["input"]["task"] == "numbers"
    found = answer("check", table, *TEXT)
    assert (found["labels_are"], found["range"]) == ("numbers", [80, 100])
    whole = answer(
        "fit", table, *TEXT, "--task", "classes", "-k", 3, "--iterations", 2, "-o", tmp_path / "n"
    )
    assert len(whole["classes"]) == 21


def test_columns_of_numbers_have_units_of_their_own(tmp_path):
    rows = [[i, body, f"{int(i) % 7},50 €", f"{int(i) % 90} %"] for i, body, _ in make_rows(100)]
    table = write_table(tmp_path / "a.csv", rows, ("id", "body", "price", "rate"))
    read = ("--text", "body", "--label", "price", "--label", "rate")
    assert answer("check", table, *read)["labels_are"] == "numbers"
    answer("fit", table, *read, "-k", 3, "--iterations", 2, "-o", tmp_path / "m")
    assert load_model(tmp_path / "m").target_names_ == ["price", "rate"]


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (lambda i: f"2024-01-{i % 28 + 1:02}", "The labels are dates, like '2024-01-01'"),
        (lambda i: str(5000 + i), "look like row numbers or ids ('5000', …)"),
    ],
)
def test_dates_and_ids_are_no_labels(tmp_path, label, reason):
    rows = [[i, body, label(int(i))] for i, body, _ in make_rows()]
    table = write_table(tmp_path / "a.csv", rows)
    done = cofactor("fit", table, *TEXT, "-o", tmp_path / "m", code=2)
    assert reason in said(done)
    assert "Name the right column with --label, or insist with --task" in said(done)
    assert not (tmp_path / "m").exists()
    found = answer("check", table, *TEXT)
    assert reason in " ".join(found["advice"])
    assert "--label" not in found["next"]


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (lambda i: "", "The label column has no label"),
        (lambda i: "x" if i % 2 else "", "All labels of the label column are 'x'"),
        (lambda i: ["-1", "0", "1", "2"][i % 4], "labels are '-1', which means unlabelled"),
        (lambda i: ["NA", "a", "b"][i % 3], "add --unlabelled 'NA'"),
    ],
)
def test_fit_says_what_check_says(tmp_path, label, reason):
    rows = [[i, body, label(int(i))] for i, body, _ in make_rows()]
    table = write_table(tmp_path / "a.csv", rows)
    done = cofactor("fit", table, *TEXT, "-k", 3, "--iterations", 2, "-o", tmp_path / "m")
    assert reason in said(done)
    assert reason in " ".join(read_facts(tmp_path / "m")["notes"]["warnings"])
    assert reason in " ".join(answer("check", table, *TEXT)["advice"])


def test_the_texts_are_no_labels_of_themselves(tmp_path):
    table = write_table(tmp_path / "a.csv", make_rows())
    for command in (["check"], ["fit", "-o", tmp_path / "m"], ["blocks", "-o", tmp_path / "m"]):
        done = cofactor(
            command[0], table, "--text", "body", "--label", "body", *command[1:], code=2
        )
        assert "--label 'body' is the column of the texts, too" in said(done)
    assert not (tmp_path / "m").exists()


def test_min_labels_of_sets(tmp_path):
    rows = [
        [i, body, "a;b" if int(i) % 2 else ("a" if int(i) else "rare;a")]
        for i, body, _ in make_rows(40)
    ]
    table = write_table(tmp_path / "a.csv", rows)
    options = [*TEXT, "--label-separator", ";", "--min-labels", "3"]
    found = answer("check", table, *options)
    assert (found["classes"], found["rare"], found["labelled"]) == (
        {"a": 40, "b": 20},
        ["rare"],
        40,
    )
    cofactor("fit", table, *options, "-k", 3, "--iterations", 2, "-o", tmp_path / "m")
    assert load_model(tmp_path / "m").target_names_ == ["a", "b"]


def test_messages_are_one_json_value(messy):
    done = cofactor("check", messy, *TEXT, "--json")
    assert json.loads(done.stdout)["advice"]
