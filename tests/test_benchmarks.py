"""Parts of the benchmarks."""

import json
import math

import numpy as np
import pytest
from benchmarks import (
    choosing,
    compare_trees,
    data_sets,
    deployment,
    missing_cells,
    predictions,
    rivals,
    single_cell,
)
from benchmarks.data_sets import Folders
from benchmarks.nmf_fits import BelowTarget
from benchmarks.prediction_tables import Cell
from scipy import sparse as sp


def test_below_target():
    rule = BelowTarget(2.0)
    assert rule.check([3.0, 2.5]) is None
    assert rule.check([3.0, math.nan]) is None
    stop = rule.check([3.0, 2.0])
    assert stop.converged
    assert str(stop) == "Reached the target objective 2 after 2 iterations."


WINE = ["--part", "classes", "--sets", "wine", "--budgets", "2,all", "--draws", "1"]


def test_predictions_of_wine(tmp_path, capsys, monkeypatch):
    cache, output = tmp_path / "cache.json", tmp_path / "tables.md"
    assert predictions.main([*WINE, "--cache", str(cache), "--rivals-only"]) == 0
    found = json.loads(cache.read_text())
    assert len(found) == 2 * 8  # budgets, rivals
    accuracy = {key: scores["accuracy"] for key, scores in found.items()}
    assert accuracy["classes/wine/all/0/logistic regression"] > 0.9
    assert accuracy["classes/wine/2/0/linear SVM"] > 0.6
    capsys.readouterr()

    def refuse(*_):
        raise AssertionError("the result is in the cache")

    monkeypatch.setattr(rivals, "supervised", refuse)
    again = [*WINE, "--cache", str(cache), "--ours-only", "--output", str(output)]
    assert predictions.main(again) == 0
    text = capsys.readouterr().out
    assert output.read_text() in text
    lines = [line.split(" | ") for line in text.splitlines() if line.startswith("| wine")]
    assert [line[1].strip() for line in lines] == ["2", "all"]
    assert all(float(line[2]) > 60 for line in lines)  # our accuracy in percent
    assert json.loads(cache.read_text()) == found


def test_predictions_of_other_data_are_not_taken_from_the_cache():
    cell = Cell("classes", "wine", 2, 0)
    key = cell.key("EM naive Bayes")
    stale = {key: {"data": "other", "accuracy": 2.0, "seconds": 0.0}}
    outcome = predictions.measure(cell, Folders(), stale, "rivals")
    assert outcome.rivals["EM naive Bayes"]["accuracy"] <= 1


def test_a_set_that_is_not_found_is_skipped(capsys):
    options = ["--part", "classes", "--sets", "trec", "--budgets", "2", "--data", "nowhere"]
    assert predictions.main(options) == 0
    captured = capsys.readouterr()
    assert "Skipped trec: trec.jsonl.gz is not in nowhere (docs/benchmarks/data.md" in captured.err
    assert captured.err.count("Skipped") == 1


def test_calibration_error():
    P = np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    y = np.array([0, 1, 1, 1])
    # bins of 0.9 (half right), 0.8 (right) and 0.5 (wrong)
    assert math.isclose(predictions.calibration_error(P, y), (2 * 0.4 + 0.2 + 0.5) / 4)


def test_damped_biases():
    ratings = sp.csr_matrix([[5.0, 3.0], [4.0, 0.0]])
    cells = sp.coo_matrix([[0.0, 0.0], [0.0, 1.0]])
    # mean 4; columns (1 + 0) / (2 + 1) and −1 / (1 + 1); row (0 − 1/3) / (1 + 1)
    expected = 4 - 0.5 + (0 - 1 / 3) / 2
    assert math.isclose(rivals.damped_biases(ratings, cells, damping=1.0)[0], expected)


def test_labels_per_class():
    y = np.repeat([0, 1, 2], [5, 3, 1])
    shown = data_sets.per_class(y, 2, seed=0)
    assert np.bincount(shown[shown >= 0]).tolist() == [2, 2, 1]
    assert np.all((shown == y) | (shown == -1))


def test_thresholds_are_shrunk_towards_the_best_of_all_labels(monkeypatch):
    Y = np.column_stack([np.arange(400) % 2, np.arange(400) == 0]).astype(float)
    scores = np.column_stack(
        [np.where(Y[:, 0] > 0, 0.55, -1.05), np.where(Y[:, 1] > 0, 1.0, -3.05)]
    )
    frequent, rare = rivals.thresholds(scores, Y)
    assert -1.05 < frequent < 0.55
    assert -1.05 < rare < 0.55  # its one row would allow any above −3.05
    monkeypatch.setattr(rivals, "PRIOR_STRENGTH", 0.0)
    assert rivals.thresholds(scores, Y)[1] < -2.9


def test_cells_that_are_missing(capsys):
    assert missing_cells.main(["--sets", "dense", "--ranks", "3", "--seeds", "1"]) == 0
    text = capsys.readouterr().out
    assert "best of the three in every line" in text
    lines = [line.split("|") for line in text.splitlines() if line.startswith("| dense")]
    assert [line[2].strip() for line in lines] == ["KL", "Fr"]
    assert all(0.8 < float(line[6]) < float(line[4]) for line in lines)


def test_made_documents_have_their_topics_and_few_labels():
    made = choosing.documents(choosing.Kind(words=200), 4, seed=0)
    strengths = np.linalg.svd(made.X.toarray() / made.X.sum(axis=1)[:, None], compute_uv=False)
    steps = -np.diff(strengths)
    assert steps[3] > 4 * steps[4:].max()  # the fifth and later ones are noise
    known = [label for label in made.y if label is not None]
    assert 0.05 < len(known) / len(made.y) < 0.15
    assert set(known) == {0, 1}
    assert choosing.grid(20) == list(range(16, 27))


def test_single_cells_of_nine_types_with_five_labels_each(monkeypatch):
    monkeypatch.setitem(single_cell.MADE, "small", single_cell.Setting(cells=900, genes=900))
    cells = single_cell.draw(single_cell.MADE["small"], 0).cells
    labels = single_cell.some_labels(cells.types, 5, 0)
    assert sum(label is not None for label in labels) == 45
    score = single_cell.measure(cells, single_cell.Rivals.of(cells), 5, 0)
    best = max(value for name, value in score.balanced.items() if name != "ours")
    assert len(score.balanced) == 8
    assert score.balanced["ours"] > max(best, 80.0)
    assert score.error < 0.1
    assert single_cell.precision("small", 5, 0)[0] >= 0.9


def test_housekeeping_genes_of_made_cells_have_most_of_the_counts():
    data = single_cell.draw(single_cell.Setting(cells=300), 0)
    X, types = data.cells.X.toarray(), data.cells.types
    totals, genes = X.sum(axis=1), np.sort(X.sum(axis=0))
    assert totals.max() > 7 * totals.min()
    assert genes[-60:].sum() > genes.sum() / 2
    assert len(set().union(*data.markers.values())) == 180
    marked = [int(gene) for gene in data.markers["type A"]]
    own, other = (
        X[types == name][:, marked].mean() / totals[types == name].mean()
        for name in ("type A", "type F")
    )
    assert own > 4 * other


def test_calibration_error_compares_confidence_with_accuracy():
    confidence, right = np.repeat([0.95, 0.55], 10), np.repeat([1.0, 0.0], 10)
    assert single_cell.calibration_error(confidence, right) == pytest.approx(0.3)


def test_processes_that_predict(tmp_path):
    texts = tmp_path / "texts.json"
    texts.write_text(json.dumps(["one text"] * 3))
    alone = deployment.Subject("alone", None, "", "")
    load = "type('Model', (), {'predict': staticmethod(len)})()"
    model = deployment.Subject("a model", texts, "import string", load)
    imported, peak = deployment.run_process(alone, texts, "cpu")
    assert 0 <= imported < 1
    assert 1e6 < peak < 1e9
    measured = deployment.run_process(model, texts, "wall")
    assert len(measured) == 6
    assert deployment.line(alone, [0.5, 2e7]) == ["alone", "500 ms", "", "", "", "", "20.0 MB", ""]
    cells = deployment.line(model, [0.1, 0.2, 0.3, 5.0, 0.4, 2e7])
    assert cells[4] == "100 ms"  # one of fifty texts
    assert deployment.size_on_disk(tmp_path) == deployment.size_on_disk(texts) == 36


def test_figures_of_two_versions():
    assert compare_trees.compare("fit", 1.04, 1.0, limit=5.0).passed
    slower = compare_trees.compare("fit", 1.06, 1.0, limit=5.0)
    assert not slower.passed
    assert slower.cells()[1:5] == ("1.06 s", "1 s", "+6.0 %", "≤ +5 %")
    assert compare_trees.compare(compare_trees.MEMORY, 2e8, 4e8, 5.0).cells()[1] == "200 MB"
