"""Numbers or classes: one answer for targets in memory, the command line and the app."""

import numpy as np
import pytest

from cofactor.targets.task import MAX_CODES, are_numbers, have_fractions, parse_labels
from cofactor.text.describe.predictions import infer_task
from commands import answer, make_rows, write_table

COLUMNS = {
    "stars": (range(1, 6), "classes"),
    "as many codes as there may be": (range(1, MAX_CODES + 1), "classes"),
    "codes, and -1": (range(-1, MAX_CODES + 1), "classes"),
    "scores": (range(80, 101), "numbers"),
    "scores, and -1": ([-1, *range(80, 101)], "numbers"),
    "tens": (range(0, 150, 10), "numbers"),
    "classes from 0": (range(20), "classes"),
    "classes from 0, one without labels": ([*range(7), *range(8, 20)], "classes"),
    "classes from 0, every other without labels": (range(0, 40, 2), "numbers"),
    "whole floats": (map(float, range(80, 101)), "numbers"),
    "few whole floats": ([1.0, 2.0, 3.0], "classes"),
    "fractions": ([0.5, 1, 2], "numbers"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_memory_and_tables_agree(name, tmp_path):
    values, task = COLUMNS[name]
    values = list(values)
    rows = [[i, body, values[int(i) % len(values)]] for i, body, _ in make_rows(90)]
    table = write_table(tmp_path / "a.csv", rows)
    y = [row[2] for row in rows]
    assert infer_task(y) == infer_task(np.array(y)) == infer_task([*y, None]) == task
    assert answer("check", table, "--text", "body", "--label", "team")["labels_are"] == task
    assert infer_task([str(label) for label in y]) == "classes"  # text in memory is not a number


def test_values_that_are_not_numbers():
    assert not are_numbers([True, False])
    assert not are_numbers([0.5, "x"])
    assert not are_numbers([])
    assert not have_fractions([1.0, float("nan"), float("inf"), "0.5"])
    assert parse_labels(["1e400", "2"]) == [float("inf"), 2]
    assert parse_labels(["9" * 400, "2"])[1] == 2
