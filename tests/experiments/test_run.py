"""Runs: output folders, what an earlier run left, missing data, interruption."""

import json
import subprocess
import sys
from types import SimpleNamespace

from rich.console import Console

from cofactor.experiments import Options, run


def test_help_is_quick():
    code = (
        "import sys; from click.testing import CliRunner; from cofactor.cli import main; "
        "r = CliRunner().invoke(main, ['reproduce', '--help']); assert r.exit_code == 0, r.output; "
        "print(sorted({'numpy', 'sklearn', 'numba', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_new_run_begins_by_removing_the_manifest_and_the_old_files(finished, reproduce):
    folder = finished / "ratings"
    (folder / "my notes.txt").write_text("mine")
    run.Run("ratings", Options(out=finished), Console(stderr=True))
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


def test_an_interrupted_run_says_how_to_continue(monkeypatch, reproduce, tmp_path):
    from cofactor.experiments import synthetic

    def interrupted(run, data):
        raise KeyboardInterrupt

    monkeypatch.setattr(synthetic, "run", interrupted)
    done = reproduce("synthetic", "--quick", "--out", tmp_path / "out", code=130)
    assert "run the same command again to continue" in done.stderr


def test_all_leaves_out_what_has_no_data(tmp_path, stop_words, monkeypatch):
    """Of `all`, experiments beyond the paper are left out; the paper's are not."""
    done = []
    ready = SimpleNamespace(
        prepare=lambda options: SimpleNamespace(facts={}, notes=(), value=None),
        run=lambda run, data: done.append(run.name),
    )
    real = run.import_module
    monkeypatch.setattr(
        run,
        "import_module",
        lambda name: real(name) if name.endswith(("reuters", "ratings")) else ready,
    )
    with (tmp_path / "log").open("w") as log:
        console = Console(file=log, width=400)
        names = ["synthetic", "newsgroups", "reuters", "ratings"]
        options = Options(out=tmp_path / "out", data_home=tmp_path, stopwords=stop_words)
        runs = run.reproduce(names, options, console)
    assert [each.name for each in runs] == done == ["synthetic", "newsgroups"]
    said = (tmp_path / "log").read_text()
    assert "reuters is left out: reuters.jsonl" in said
    assert "ratings is left out: ratings.jsonl" in said
