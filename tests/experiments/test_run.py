"""Output folders, tables and stop words."""

import json
import subprocess
import sys

import pytest

from cofactor.experiments.tables import ResultTable, as_cell, best, mean_and_sd
from cofactor.experiments.words import STOP_WORDS_FILE, find_stop_words, read_stop_words


def test_help_is_quick():
    code = (
        "import sys; from click.testing import CliRunner; from cofactor.cli import main; "
        "r = CliRunner().invoke(main, ['reproduce', '--help']); assert r.exit_code == 0, r.output; "
        "print(sorted({'numpy', 'sklearn', 'numba', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_new_run_begins_by_removing_the_manifest_and_the_old_files(finished, reproduce):
    from rich.console import Console

    from cofactor.experiments import Options
    from cofactor.experiments.run import Run

    folder = finished / "ratings"
    (folder / "my notes.txt").write_text("mine")
    Run("ratings", Options(out=finished), Console(stderr=True))
    left = {path.name for path in folder.rglob("*") if path.is_file()}
    assert "manifest.json" not in left
    assert "scores.md" not in left
    assert "my notes.txt" in left
    assert list((folder / "trials").iterdir())


def test_a_finished_run_is_not_computed_again(finished, common_arguments, reproduce):
    reproduce("ratings", *common_arguments, "--out", finished)
    manifest = json.loads((finished / "ratings" / "manifest.json").read_text())
    assert [each["found"] == each["trials"] > 0 for each in manifest["trials"]] == [True]


def test_without_plotting_libraries_tables_are_written_and_a_sentence_says_so(
    finished, common_arguments, reproduce, monkeypatch
):
    for name in ("matplotlib", "altair"):
        monkeypatch.setitem(sys.modules, name, None)
    arguments = ("newsgroups", *common_arguments)
    result = reproduce(*arguments, "--out", finished, "--jobs", "1")
    assert "pip install 'cofactor[plot]'" in result.stderr
    assert "pip install 'cofactor[report]'" in result.stderr
    manifest = json.loads((finished / "newsgroups" / "manifest.json").read_text())
    assert not any("figures" in name for name in manifest["files"])
    assert len(manifest["notes"]) == 2


def test_table_forms():
    table = ResultTable(
        "t",
        "Title",
        ["a|b", "x"],
        [["p|q", 0.123456], ["r", None]],
        digits=2,
        bold=frozenset({(0, 1)}),
        note="Note.",
    )
    assert table.markdown() == (
        "**Title**\n\n| a\\|b | x |\n| --- | ---: |\n| p\\|q | **0.12** |\n| r |  |\n\nNote.\n"
    )
    assert table.csv() == "a|b,x\np|q,0.123456\nr,\n"
    assert json.loads(table.json())["rows"] == [
        {"a|b": "p|q", "x": 0.123456},
        {"a|b": "r", "x": None},
    ]
    with pytest.raises(ValueError, match="not all different"):
        ResultTable("t", "", ["a", "a"], [])


def test_small_helpers():
    assert best([3.0, None, 1.0, 1.0], largest=False) == {2, 3}
    assert best([3.0, None, 1.0], largest=True) == {0}
    assert best([None], largest=True) == set()
    assert mean_and_sd([1.0, 3.0]) == (2.0, pytest.approx(2**0.5))
    assert mean_and_sd([1.0]) == (1.0, None)
    assert [as_cell(v) for v in (1, float("nan"), float("inf"))] == [1.0, None, None]


def test_stop_words_come_from_the_file_then_the_data_folder(tmp_path):
    given, kept = tmp_path / "given.txt", tmp_path / STOP_WORDS_FILE
    given.write_text("The\n\n of \nof\n")
    kept.write_text("the\nand\n")
    assert read_stop_words(given) == ("the", "of")
    assert find_stop_words(given, tmp_path).source == "given.txt"
    assert find_stop_words(None, tmp_path).words == ("the", "and")


def test_without_nltk_a_sentence_says_which_words_were_used(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)
    monkeypatch.setitem(sys.modules, "nltk.corpus", None)
    stop = find_stop_words(None, tmp_path)
    assert stop.source == "scikit-learn"
    assert "the" in stop.words
    assert "--stopwords FILE" in stop.note


def test_an_interrupted_run_says_how_to_continue(monkeypatch, reproduce, tmp_path):
    from cofactor.experiments import synthetic

    def interrupted(run, data):
        raise KeyboardInterrupt

    monkeypatch.setattr(synthetic, "run", interrupted)
    done = reproduce("synthetic", "--quick", "--out", tmp_path / "out", code=130)
    assert "run the same command again to continue" in done.stderr
