"""Trials are computed once, whoever asks, and never half."""

import json
import warnings
from types import SimpleNamespace

import pytest

from cofactor.estimators.base import FitInterruptedWarning
from cofactor.experiments.trials import TrialStore

calls = []


def square(settings, shared):
    calls.append(settings["x"])
    if settings["x"] == 13:
        raise ValueError("thirteen")
    if settings["x"] == 14:
        warnings.warn("Interrupted", FitInterruptedWarning, stacklevel=1)
    return {"value": settings["x"] ** 2 + getattr(shared, "add", 0), "third": settings["x"] / 3}


def run(folder, numbers, shared=None, jobs=1):
    calls.clear()
    return TrialStore(folder, jobs).run(square, [{"x": x} for x in numbers], shared)


def test_results_come_in_order_and_are_not_computed_twice(tmp_path):
    first = run(tmp_path, [3, 1, 2])
    assert [r["value"] for r in first.results] == [9, 1, 4]
    assert first.found == 0
    again = run(tmp_path, [2, 5, 3])
    assert [r["value"] for r in again.results] == [4, 25, 9]
    assert again.found == 2
    assert calls == [5]
    assert again.results[2] == first.results[0]  # to the last bit


def test_a_fit_that_was_interrupted_is_no_trial(tmp_path):
    """Ctrl-C leaves an estimator with the last complete iteration; its scores must not be kept."""
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, [3, 14, 5])
    assert calls == [3, 14]
    assert run(tmp_path, [3, 5]).found == 1


@pytest.mark.subprocess
def test_processes_agree_with_one(tmp_path):
    one, two = run(tmp_path / "one", range(5)), run(tmp_path / "two", range(5), jobs=2)
    assert one.results == two.results
    assert calls == []  # in this process


def test_other_data_are_other_trials(tmp_path):
    run(tmp_path, [1], SimpleNamespace(digest="a"))
    other = run(tmp_path, [1], SimpleNamespace(digest="b", add=10))
    assert other.found == 0
    assert other.results[0]["value"] == 11


def test_a_failure_keeps_what_is_done(tmp_path):
    with pytest.raises(ValueError, match="thirteen"):
        run(tmp_path, [1, 2, 13, 4])
    assert run(tmp_path, [1, 2]).found == 2


@pytest.mark.parametrize("spoil", ["", "{", "[]", '{"result": {}}', '{"identity": 1}'])
def test_a_spoiled_file_is_computed_again(tmp_path, spoil):
    run(tmp_path, [6])
    (file,) = tmp_path.iterdir()
    file.write_text(spoil)
    assert run(tmp_path, [6]).results[0]["value"] == 36
    assert calls == [6]
    assert json.loads(file.read_text())["result"]["value"] == 36


def test_progress_counts_every_trial(tmp_path):
    ticks = []
    for _ in range(2):
        TrialStore(tmp_path).run(square, [{"x": 1}, {"x": 2}], None, lambda: ticks.append(1))
    assert len(ticks) == 4
