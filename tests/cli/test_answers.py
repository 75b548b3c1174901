"""predict --all-classes --topics --top --abstain --keep: cells against the model's own numbers."""

import json
from dataclasses import replace

import numpy as np
import pytest

from cofactor import load_model
from cofactor.io.models import read_facts
from commands import WORDS, answer, cofactor, make_rows, read_table, write_table


def predicted(model, table, *options, out):
    cofactor("predict", model, table, *options, "-o", out)
    header, rows = read_table(out)
    return [dict(zip(header, row, strict=True)) for row in rows]


def numbers(rows, *names):
    return np.array([[float(row[name]) for name in names] for row in rows])


def test_probabilities_topics_and_choices(home, model, tmp_path):
    options = ["--all-classes", "--topics", "--top", "2"]
    rows = predicted(model, home / "new.csv", *options, out=tmp_path / "out.csv")
    loaded = load_model(model)
    texts = [row["body"] for row in rows]
    P = loaded.predict_proba(texts)
    names = [f"probability_{name}" for name in loaded.target_names_]
    assert np.allclose(numbers(rows, *names), P, rtol=1e-4)
    order = np.argsort(-P, axis=1)
    for place in (1, 2):
        best = [loaded.target_names_[c] for c in order[:, place - 1]]
        assert [row[f"choice_{place}"] for row in rows] == best
        told = numbers(rows, f"choice_{place}_probability")[:, 0]
        assert np.allclose(told, np.sort(P, axis=1)[:, -place], rtol=1e-4)
    assert [row["choice_1"] for row in rows] == [row["prediction"] for row in rows]
    said = loaded.documents(texts)
    assert [int(row["topic_number"]) for row in rows] == said.column("topic")
    shares = numbers(rows, *(f"topic_{k}_share" for k in range(6)))
    assert np.allclose(shares.sum(axis=1), 1, atol=1e-4)
    assert np.array_equal(shares.argmax(axis=1), said.column("topic"))
    assert np.allclose(numbers(rows, "topic_share")[:, 0], shares.max(axis=1), rtol=1e-4)
    assert {row["reason"] for row in rows} == {""}


def test_top_is_at_most_the_number_of_classes(home, model, tmp_path):
    rows = predicted(model, home / "new.csv", "--top", "9", out=tmp_path / "out.csv")
    assert [name for name in rows[0] if name.startswith("choice")][-1] == "choice_3_probability"


def test_doubtful_predictions_are_left_out_with_a_reason(home, model, tmp_path):
    plain = predicted(model, home / "new.csv", out=tmp_path / "a.csv")
    sure = np.sort(numbers(plain, "confidence")[:, 0])[5:]
    middle = float(sure[(gap := np.diff(sure).argmax()) : gap + 2].mean())
    done = cofactor(
        "predict", model, home / "new.csv", "--abstain", middle, "-o", tmp_path / "b.csv"
    )
    header, cells = read_table(tmp_path / "b.csv")
    rows = [dict(zip(header, row, strict=True)) for row in cells]
    for before, row in zip(plain, rows, strict=True):
        left = float(before["confidence"]) < middle
        assert row["prediction"] == ("" if left else before["prediction"])
        assert row["reason"] == ("not sure enough" if left else "")
        assert row["confidence"] == before["confidence"]
    left = sum(row["reason"] != "" for row in rows)
    assert 0 < left < 30
    assert f"{left} rows have a prediction that --abstain leaves out" in done.stderr
    expected = load_model(model).expected_coverage(middle)
    assert f"{expected}, from 48 held-out labels" in done.stderr  # make_rows labels 48 of 90


def test_rows_without_a_known_word_have_no_numbers(model, tmp_path):
    table = write_table(tmp_path / "a.csv", [["qqq"], ["moon rocket"]], ("body",))
    options = ["--all-classes", "--topics", "--top", "2"]
    blank, full = predicted(model, table, *options, out=tmp_path / "out.csv")
    assert {value for name, value in blank.items() if name not in ("body", "reason")} == {""}
    assert blank["reason"] == "no known word"
    assert all(value for name, value in full.items() if name != "reason")


@pytest.fixture(scope="module")
def tags(tmp_path_factory):
    """A model of many rare tags, most of which no document reaches."""
    folder = tmp_path_factory.mktemp("tags")
    rows = [
        [i, body, f"{list(WORDS)[int(i) % 3]};tag{int(i) % 17}"] for i, body, _ in make_rows(87)
    ]
    table = write_table(folder / "posts.csv", rows)
    write_table(
        folder / "new.csv", [[word] for words in WORDS.values() for word in words], ["body"]
    )
    cofactor(
        "fit",
        table,
        "--text",
        "body",
        "--label",
        "team",
        "--label-separator",
        ";",
        "-k",
        4,
        "--iterations",
        5,
        "-o",
        folder / "model",
    )
    return folder


def test_no_row_of_several_labels_is_empty(tags, tmp_path):
    """Every row has a label; where none reaches its threshold, the nearest one, marked."""
    loaded = load_model(tags / "model")
    head = loaded.estimator_.pooled_head
    high = replace(head, thresholds=head.thresholds + np.ptp(loaded.document_scores_) / 2)
    loaded.estimator_.amend(head=high)  # so that some rows have no label
    notes = read_facts(tags / "model")["notes"]
    loaded.save(tmp_path / "model", notes=notes)
    done = cofactor("predict", tmp_path / "model", tags / "new.csv", "-o", tmp_path / "out.csv")
    header, cells = read_table(tmp_path / "out.csv")
    rows = [dict(zip(header, row, strict=True)) for row in cells]
    texts = [row["body"] for row in rows]
    scores = loaded.estimator_.scores(loaded.vectorizer_.transform(texts))
    leads = scores - loaded.estimator_.pooled_head.thresholds
    P = loaded.predict_proba(texts)
    below = 0
    for d, row in enumerate(rows):
        reached = [
            name for name, lead in zip(loaded.target_names_, leads[d], strict=True) if lead >= 0
        ]
        if reached:
            assert (row["prediction"].split(";"), row["reason"]) == (reached, "")
            continue
        below += 1
        best = int(leads[d].argmax())
        assert row["prediction"] == loaded.target_names_[best]
        assert row["reason"] == "below its threshold"
        assert float(row["confidence"]) == pytest.approx(P[d, best], rel=1e-4)
    assert below > 1
    assert f"{below} rows have no label that reaches its threshold; the nearest" in done.stderr


def test_abstaining_from_labels(tags, tmp_path):
    rows = predicted(tags / "model", tags / "new.csv", "--abstain", 1, out=tmp_path / "out.csv")
    assert {(row["prediction"], row["reason"]) for row in rows} == {("", "not sure enough")}


def test_kept_columns_and_names(home, model, tmp_path):
    rows = predicted(model, home / "new.csv", "--keep", "id", out=tmp_path / "a.csv")
    assert [*rows[0]] == ["row", "id", "prediction", "confidence", "topic", "reason", "unlike"]
    assert [row["row"] for row in rows] == [str(i + 2) for i in range(30)]
    rows = predicted(
        model, home / "new.csv", "--id", "id", "--keep", "body", out=tmp_path / "b.csv"
    )
    assert [*rows[0]][:3] == ["id", "body", "prediction"]
    done = cofactor("predict", model, home / "new.csv", "--keep", "idd", code=2)
    assert "--keep 'idd' is not a column" in done.stderr
    done = cofactor("predict", model, home / "new.csv", "--id", "x", code=2)
    assert "--id 'x' is not a column" in done.stderr


def test_options_that_need_classes(home, tmp_path):
    cofactor(
        "fit",
        home / "posts.csv",
        "--text",
        "body",
        "-k",
        2,
        "--iterations",
        2,
        "-o",
        tmp_path / "m",
    )
    for option in (["--all-classes"], ["--top", "2"], ["--abstain", "0.5"]):
        done = cofactor("predict", tmp_path / "m", home / "new.csv", *option, code=2)
        assert f"{option[0]} needs a model that predicts classes, but this one has no labels" in (
            " ".join(done.stderr.split())
        )
    lines = cofactor("predict", tmp_path / "m", home / "new.csv", "--topics", "--json").stdout
    assert json.loads(lines.splitlines()[0])["topic_number"] in (0, 1)


def test_new_columns_never_collide(model, tmp_path):
    table = write_table(tmp_path / "a.csv", [["moon", "x", "y"]], ("body", "choice_1", "reason"))
    found = answer("predict", model, table, "--top", "1", "-o", tmp_path / "out.csv")
    assert found["added"] == [
        "prediction",
        "confidence",
        "topic",
        "reason_2",
        "unlike",
        "choice_1_2",
        "choice_1_probability",
    ]
