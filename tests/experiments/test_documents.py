"""Stories and reviews from files: unknown cells, splits, and what is computed of them."""

import gzip
import json

import numpy as np
import pytest

from cofactor.experiments import Options, ratings, reuters


def write(folder, name, records, packed=False):
    text = "\n".join(json.dumps(record) for record in records) + "\n"
    file = folder / (f"{name}.gz" if packed else name)
    file.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return folder


def options(home, stop_words, **more):
    return Options(out=home / "out", data_home=home, stopwords=stop_words, **more)


def test_labels_become_cells():
    records = [
        {"text": "x", "labels": ["b", "a"]},
        {"text": "x", "labels": ["c"], "unknown": ["a", "nowhere"]},
        {"text": "x", "labels": None},
        {"text": "x", "labels": []},
    ]
    Y, names = reuters.targets(records)
    assert names == ["a", "b", "c"]
    unknown = np.nan
    expected = [[1, 1, 0], [unknown, 0, 1], [unknown] * 3, [0, 0, 0]]
    np.testing.assert_array_equal(Y, expected)


@pytest.mark.parametrize("packed", [False, True])
def test_stories_are_read_and_split_as_the_file_says(tmp_path, stop_words, packed):
    records = reuters.made_stories(0)
    home = write(tmp_path, "reuters.jsonl", records, packed)
    data = reuters.prepare(options(home, stop_words)).value
    known = [not np.isnan(row).all() for row in reuters.targets(records)[0]]
    test = sum(r["split"] == "test" and k for r, k in zip(records, known, strict=True))
    assert data.X_test.shape[0] == len(data.Y_test) == test
    assert data.X.shape[0] == sum(record["split"] == "train" for record in records)
    assert np.isnan(data.Y).mean() == pytest.approx(0.1, abs=0.04)


def test_without_split_the_seed_draws_one_in_five(tmp_path, stop_words):
    records = [{k: r[k] for k in ("text", "rating")} for r in ratings.made_reviews(0)]
    home = write(tmp_path, "ratings.jsonl", [{**r, "rating": r["rating"] or 3} for r in records])
    one, same, other = (
        ratings.prepare(options(home, stop_words, seed=seed)).value for seed in (0, 0, 1)
    )
    assert len(one.Y_test) == round(0.2 * len(records))
    assert one.digest == same.digest != other.digest


@pytest.mark.slow
def test_unknown_cells_do_not_count(stop_words, tmp_path):
    data = reuters.prepare(options(tmp_path, stop_words, quick=True)).value
    settings = {"model": reuters.WORDS, "trial": 0, "rank": 8, "seed": 0}
    before = reuters.trial(settings, data)
    hidden = np.isnan(data.Y_test)
    assert hidden.any()
    data.Y_test[hidden] = 0.0
    assert reuters.trial(settings, data)["micro-F1"] != before["micro-F1"]


def test_a_label_that_is_always_there_needs_no_classifier():
    X = np.eye(3)
    found = reuters._one_by_one(X, np.array([[1, 0], [1, 1], [np.nan, 0]]), X)
    np.testing.assert_array_equal(found[:, 0], 1)
    assert 0 < found[1, 1] < 1


def test_the_mean_explains_nothing(stop_words, tmp_path):
    data = ratings.prepare(options(tmp_path, stop_words, quick=True)).value
    settings = {"model": ratings.MEAN, "trial": 0, "rank": 5, "seed": 0}
    result = ratings.trial(settings, data)
    mean = np.nanmean(data.Y)
    expected = np.sqrt(np.mean((data.Y_test - mean) ** 2))
    assert result["RMSE"] == pytest.approx(expected)
    assert result["R²"] <= 0


def test_all_leaves_out_what_has_no_data(tmp_path, stop_words, monkeypatch):
    """Of `all`, experiments beyond the paper are left out; the paper's are not."""
    from types import SimpleNamespace

    from rich.console import Console

    from cofactor.experiments import reproduce

    done = []
    ready = SimpleNamespace(
        prepare=lambda options: SimpleNamespace(facts={}, notes=(), value=None),
        run=lambda run, data: done.append(run.name),
    )
    real = reproduce.import_module
    monkeypatch.setattr(
        reproduce,
        "import_module",
        lambda name: real(name) if name.endswith(("reuters", "ratings")) else ready,
    )
    write(tmp_path, "ratings.jsonl", [])
    (tmp_path / "ratings.jsonl").unlink()
    with (tmp_path / "log").open("w") as log:
        console = Console(file=log, width=400)
        names = ["synthetic", "newsgroups", "reuters", "ratings"]
        runs = reproduce.reproduce(names, options(tmp_path, stop_words), console)
    assert [run.name for run in runs] == done == ["synthetic", "newsgroups"]
    said = (tmp_path / "log").read_text()
    assert "reuters is left out: reuters.jsonl" in said
    assert "ratings is left out: ratings.jsonl" in said
