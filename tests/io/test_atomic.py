"""Files appear whole or not at all, and no cell of them is a formula."""

import csv
import gzip
import json
import os
import subprocess
import sys
import time

import pytest

from cofactor.io.atomic import (
    is_formula,
    make_writer,
    output_kind,
    place_of,
    replacing,
    to_json,
)
from cofactor.io.tables import InputError
from cofactor.io.tables.survey import advise, survey

FORMULAS = [
    "=1+1", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "\tx",
    "＝1", "－x", "-", "- item", "+", "@", "=", "-1e", "--1", "+49 170 1", "=HYPERLINK(\"http://x\")",
]  # fmt: skip
HARMLESS = ["", "a=1", "-1", "+1.5", "-.5", "1e-3", "-3%", "moon", "'=1", "<script>", "\nplain"]


@pytest.mark.parametrize("cell", FORMULAS)
def test_formulas_are_told(cell):
    assert is_formula(cell)
    assert not is_formula("'" + cell)


@pytest.mark.parametrize("cell", HARMLESS)
def test_numbers_and_words_are_left_alone(cell):
    assert not is_formula(cell)


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_cells_are_defused_and_read_back(tmp_path, kind):
    path = tmp_path / "out"
    with replacing(path) as file:
        writer = make_writer(file, kind, ["=head"], ["p"])
        for cell in FORMULAS + HARMLESS:
            writer.write([cell], [0.5])
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t" if kind == "tsv" else ","))
    assert rows[0] == ["'=head", "p"]
    assert [row[0] for row in rows[1:]] == [f"'{cell}" for cell in FORMULAS] + HARMLESS
    assert writer.defused == len(FORMULAS) + 1
    assert not any(is_formula(cell) for row in rows for cell in row)


def test_json_lines_keep_everything(tmp_path):
    with replacing(tmp_path / "a.jsonl.gz") as file:
        writer = make_writer(file, "jsonl", ["a"], ["b"])
        writer.write(["=1\u2028"], [float("nan")])
    with gzip.open(tmp_path / "a.jsonl.gz", "rt") as file:
        assert json.loads(file.read()) == {"a": "=1\u2028", "b": None}


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def fail(error):
        with replacing(path) as file:
            file.write(b"half")
            raise error

    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            fail(error)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_permissions_stay_and_links_are_followed(tmp_path):
    path, link = tmp_path / "a.csv", tmp_path / "link.csv"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_folder_is_not_replaced(tmp_path):
    with pytest.raises(IsADirectoryError), replacing(tmp_path):
        pass


def test_a_late_column_is_refused_in_a_table(tmp_path):
    with pytest.raises(InputError, match=r"-o out\.jsonl"), replacing(tmp_path / "a.csv") as file:
        make_writer(file, "csv", ["a"]).write(["1", "2"])
    assert not os.listdir(tmp_path)


def test_json_lines_refuse_a_column_that_is_there_twice(tmp_path):
    with pytest.raises(InputError, match="'a' twice"), replacing(tmp_path / "a.jsonl") as file:
        make_writer(file, "jsonl", ["a", "a"])


def test_the_name_says_the_format(tmp_path):
    names = {"a.csv": "csv", "a.TSV.gz": "tsv", "a.jsonl": "jsonl"}
    assert {name: output_kind(tmp_path / name) for name in names} == names
    with pytest.raises(InputError, match=r"'\.xlsx', which is not written"):
        output_kind(tmp_path / "a.xlsx")


def test_json_has_no_nan_and_is_ascii():
    assert to_json({1: [float("inf"), (2.5, "é")]}) == '{"1": [null, [2.5, "\\u00e9"]]}'


def the_survey(tmp_path, text, label="team", unlabelled=()):
    from cofactor.io.tables import open_source

    (tmp_path / "a.csv").write_text(text)
    return survey(open_source(tmp_path / "a.csv"), "body", label, unlabelled)


def test_a_survey_counts(tmp_path):
    found = the_survey(tmp_path, "body,team\na,x\n  ,x\na ,y\nb,\na,x\n,\n")
    assert (found.rows, found.labelled, dict(found.classes)) == (6, 4, {"x": 3, "y": 1})
    assert (found.empty, found.empty_rows) == (2, [3, 7])
    assert (found.duplicates, found.duplicate_rows) == (2, [4, 6])
    assert (found.conflicts, found.conflict_rows) == (1, [4])


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("x,x,x", "All labels are the same"),
        ("x,y,NA", "--unlabelled 'NA'"),
        ("Sport,sport,x", "'Sport', 'sport' differ only in case"),
        ("1.5,2,3", "The labels are numbers"),
        (",,", "No document is labelled"),
        ("x,x,y", "Fewer than 5 labels of 'x', 'y'"),
    ],
)
def test_a_survey_advises(tmp_path, labels, said):
    rows = "".join(f"text{i},{label}\n" for i, label in enumerate(labels.split(",")))
    found = the_survey(tmp_path, "body,team\n" + rows)
    assert said in " ".join(advise(found, "team"))


def test_a_path_is_replaced_when_the_block_ends_well(tmp_path):
    path = tmp_path / "a.h5ad"
    with place_of(path) as new:
        assert new.suffix == ".h5ad"
        assert new.parent == tmp_path
        new.write_bytes(b"one")
        assert not path.exists()
    assert path.read_bytes() == b"one"
    assert path.stat().st_mode & 0o777 == 0o666 & ~current_umask()
    with pytest.raises(ZeroDivisionError), place_of(path) as new:
        new.write_bytes(b"half" * (1 // 0))
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["a.h5ad"]


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def left_behind(folder, process, name="out.csv", host=None, age=0.0):
    """Write a temporary file as a killed process leaves it."""
    from cofactor.io import atomic

    path = folder / f".{name}.writing-{host or atomic._host()}-{process}-abcd1234.csv"
    path.write_text("half")
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_temporary_files_of_dead_processes_are_removed(tmp_path):
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          capture_output=True, check=True)  # fmt: skip
    dead = int(done.stdout)
    stale = [
        left_behind(tmp_path, dead),
        left_behind(tmp_path, os.getppid(), age=2 * 86400),
        left_behind(tmp_path, dead, host="0" * 8, age=2 * 86400),
    ]
    kept = [
        left_behind(tmp_path, os.getpid()),
        left_behind(tmp_path, dead, host="1" * 8),
        left_behind(tmp_path, dead, name="other.csv"),
        tmp_path / ".out.csv.abcd1234.csv",
        tmp_path / ".out.csv.writing-notes.csv",
    ]
    for path in kept[-2:]:
        path.write_text("mine")
        os.utime(path, (0, 0))
    link = left_behind(tmp_path, dead + 1)
    link.unlink()
    link.symlink_to(kept[-1])
    with replacing(tmp_path / "out.csv") as file:
        file.write(b"whole")
    assert not [path for path in stale if path.exists()]
    assert all(path.exists() for path in [*kept, link])
    assert (tmp_path / "out.csv").read_bytes() == b"whole"
