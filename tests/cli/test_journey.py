"""check, fit, topics, predict, explain, compare, verify: the numbers they give."""

import csv
import gzip
import json
from contextlib import contextmanager

import numpy as np
import pytest

from cofactor import load_model
from cofactor.io.models import read_facts
from commands import WORDS, answer, cofactor, make_rows, read_table, write_table


def test_check_counts_and_leads_to_fit(home):
    found = answer("check", home / "posts.csv", "--text", "body", "--label", "team")
    assert found["rows"] == 90
    assert found["labelled"] == sum(bool(row[2]) for row in make_rows())
    assert found["classes"] == {"space": 16, "food": 16, "sport": 16}
    assert found["encoding"] == "ascii"
    assert found["columns"] == ["id", "body", "team"]
    assert found["next"].startswith("cofactor fit ")
    assert found["next"].endswith("--text body --label team -k 10 -o model")


def test_fit_equals_python(home, model):
    from cofactor import TopicModel
    from cofactor.text import WordVectorizer

    loaded, rows = load_model(model), make_rows()
    ours = TopicModel(6, task="classes", vectorizer=WordVectorizer(), random_state=0)
    ours.fit([row[1] for row in rows], [row[2] for row in rows])
    assert np.array_equal(loaded.estimator_.components_, ours.estimator_.components_)
    assert loaded.fingerprint_ == ours.fingerprint_


def test_the_manifest_remembers_the_table(model):
    noted = read_facts(model)["notes"]
    assert noted["input"]["path"] == "../posts.csv"
    assert (noted["input"]["text"], noted["input"]["label"]) == ("body", "team")
    assert (noted["input"]["rows"], noted["input"]["labelled"]) == (90, 48)
    assert len(noted["input"]["sha256"]) == 64
    assert noted["command"][0] == "cofactor"


def test_fit_tells_what_it_did(home, tmp_path):
    found = answer("fit", home / "posts.csv", "--text", "body", "-k", 2, "-o", tmp_path / "m",
                   "--seed", 3, "--iterations", 5)  # fmt: skip
    assert (found["topics"], found["classes"], found["seed"]) == (2, [], 3)
    assert found["input"]["task"] == "topics"
    assert found["iterations"] <= 5
    assert load_model(tmp_path / "m").n_components == 2


def test_options_reach_the_model(home, tmp_path):
    stop = tmp_path / "stop.txt"
    stop.write_text("goal\npuck\n")
    cofactor("fit", home / "posts.csv", "--text", "body", "--label", "team", "-k", 4,
             "-o", tmp_path / "m", "--seed-words", "kitchen=oven,Butter", "--supervision", 2.5,
             "--stop-words", stop, "--jobs", 1)  # fmt: skip
    found = load_model(tmp_path / "m")
    assert found.seeds == {"kitchen": ["oven", "Butter"]}
    assert found.supervision == 2.5
    assert not {"goal", "puck"} & set(found.vectorizer_.words_)
    assert "kitchen" in found.topic_names_


def test_unlabelled_values_are_no_class(home, tmp_path):
    rows = [[i, body, team or "NA"] for i, body, team in make_rows()]
    path = write_table(tmp_path / "a.csv", rows)
    found = answer("fit", path, "--text", "body", "--label", "team", "--unlabelled", "NA",
                   "-o", tmp_path / "m", "-k", 3)  # fmt: skip
    assert found["classes"] == ["food", "space", "sport"]
    assert answer("verify", tmp_path / "m")["identical"]


def test_numbers_are_predicted_where_labels_are_fractions(tmp_path):
    rows = [[i, body, f"{3.5 if 'orbit' in body else 0.5}"] for i, body, _ in make_rows()]
    path = write_table(tmp_path / "a.csv", rows)
    cofactor("fit", path, "--text", "body", "--label", "team", "-o", tmp_path / "m", "-k", 3)
    cofactor("predict", tmp_path / "m", path, "-o", tmp_path / "out.csv")
    _, out = read_table(tmp_path / "out.csv")
    assert all(row[4] == "" and float(row[3]) == pytest.approx(2, abs=3) for row in out)
    assert "team" in cofactor("topics", tmp_path / "m").stdout
    assert answer("verify", tmp_path / "m")["identical"]


def test_topics_are_sorted_and_speak_for_their_classes(model):
    found = answer("topics", model, "--words", 4)
    shares = [row["share"] for row in found["topics"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)
    for row in found["topics"]:
        assert len(row["words"]) == 4
        assert sum(word in WORDS[row["label"]] for word in row["words"]) >= 2
    assert [row["label"] for row in found["classes"]] == ["food", "space", "sport"]


def test_fit_tells_its_iterations(home, tmp_path, monkeypatch):
    told = []

    @contextmanager
    def announce(sentence):
        yield told.append

    monkeypatch.setattr("cofactor.cli.fit.announce", announce)
    cofactor("fit", home / "posts.csv", "--text", "body", "-k", 2, "-o", tmp_path / "m")
    n = load_model(tmp_path / "m").n_iter_
    assert told == [f"iteration {i}" for i in range(1, n + 1)]


def test_predict_adds_three_columns(home, model, tmp_path):
    cofactor("predict", model, home / "new.csv", "-o", tmp_path / "out.csv")
    header, rows = read_table(tmp_path / "out.csv")
    _, new = read_table(home / "new.csv")
    assert header == ["id", "body", "prediction", "confidence", "topic"]
    assert [row[:2] for row in rows] == new
    said = load_model(model).documents([row[1] for row in new])
    assert [row[2] for row in rows] == said.column("prediction")
    assert [float(row[3]) for row in rows] == pytest.approx(said.column("confidence"), rel=1e-4)
    assert max(len(row[3]) for row in rows) <= len("0.12345")
    assert [row[4] for row in rows] == said.column("name")
    right = [row[2] == list(WORDS)[i % 3] for i, row in enumerate(rows)]
    assert np.mean(right) > 0.9


def test_predictions_come_with_a_manifest(home, model, tmp_path):
    cofactor("predict", model, home / "new.csv", "-o", tmp_path / "out.csv")
    made = json.loads((tmp_path / "out.csv.manifest.json").read_text())
    assert made["model"]["digest"] == read_facts(model)["digest"]
    assert made["rows"] == 30
    assert made["input"]["text"] == "body"


@pytest.mark.parametrize("name", ["out.tsv", "out.jsonl", "out.csv.gz", "out.jsonl.gz"])
def test_predict_writes_the_format_that_the_name_asks_for(home, model, tmp_path, name):
    cofactor("predict", model, home / "new.csv", "-o", tmp_path / name)
    data = (tmp_path / name).read_bytes()
    text = (gzip.decompress(data) if name.endswith("gz") else data).decode()
    first = text.splitlines()[1]
    if "jsonl" in name:
        assert list(json.loads(first)) == ["id", "body", "prediction", "confidence", "topic"]
    else:
        assert len(first.split("\t" if "tsv" in name else ",")) >= 5


def test_predict_without_output_prints_the_table_alone(home, model):
    done = cofactor("predict", model, home / "new.csv")
    assert done.stdout.splitlines()[0] == "id,body,prediction,confidence,topic"
    assert len(done.stdout.splitlines()) == 31
    lines = cofactor("predict", model, home / "new.csv", "--json").stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [str(i) for i in range(30)]


def test_predict_keeps_columns_that_have_its_names(home, model, tmp_path):
    path = write_table(tmp_path / "a.csv", [["orbit", "mine"]], ("body", "prediction"))
    done = cofactor("predict", model, path, "-o", tmp_path / "out.csv")
    header, rows = read_table(tmp_path / "out.csv")
    assert header == ["body", "prediction", "prediction_2", "confidence", "topic"]
    assert rows[0][1:3] == ["mine", "space"]
    assert "prediction_2" in done.stderr


def test_batches_do_not_change_predictions(home, model, tmp_path, monkeypatch):
    cofactor("predict", model, home / "new.csv", "-o", tmp_path / "whole.csv")
    import cofactor.cli.predict as module

    monkeypatch.setattr(module, "BATCH", 7)
    cofactor("predict", model, home / "new.csv", "-o", tmp_path / "parts.csv")
    assert (tmp_path / "whole.csv").read_bytes() == (tmp_path / "parts.csv").read_bytes()


def test_predict_reads_folders(model, tmp_path):
    (tmp_path / "in" / "x").mkdir(parents=True)
    (tmp_path / "in" / "x" / "one.txt").write_text("rocket moon")
    cofactor("predict", model, tmp_path / "in", "-o", tmp_path / "out.csv")
    header, rows = read_table(tmp_path / "out.csv")
    assert header == ["file", "text", "label", "prediction", "confidence", "topic"]
    assert rows[0][:4] == ["x/one.txt", "rocket moon", "x", "space"]


def test_explanations_add_up(model):
    found = answer("explain", model, "rocket to the goal with butter qqqq")
    for c, (score, base) in enumerate(zip(found["scores"], found["base"], strict=True)):
        total = base["value"] + sum(word["classes"][c] for word in found["words"])
        assert total == pytest.approx(score["value"], abs=1e-9)
    assert found["unknown"] == ["qqqq"]
    best = max(found["scores"], key=lambda score: score["value"])
    assert found["prediction"] == best["class"]
    assert found["confidence"] == pytest.approx(best["value"])
    assert cofactor("explain", model, "-", input="rocket moon").stdout.startswith(
        "Prediction: space"
    )


def test_a_model_compared_with_itself(home, model):
    found = answer("compare", model, model, "--data", home / "posts.csv")
    assert [row["first"] for row in found["topics"]] == [row["second"] for row in found["topics"]]
    assert all(row["similarity"] == pytest.approx(1) for row in found["topics"])
    assert all(row["out"] == row["into"] == [] for row in found["topics"])
    assert found["accuracy"]["difference"] == 0
    assert found["accuracy"]["low"] < 0 < found["accuracy"]["high"]
    assert found["accuracy"]["documents"] == 48


def test_topics_left_over_are_listed(home, model, tmp_path):
    cofactor("fit", home / "posts.csv", "--text", "body", "-k", 3, "-o", tmp_path / "small")
    found = answer("compare", model, tmp_path / "small")
    assert found["accuracy"] is None
    assert sum(row["second"] is None for row in found["topics"]) == 3
    assert "Only in A" in cofactor("compare", model, tmp_path / "small").stdout
    cofactor("compare", model, tmp_path / "small", "--data", home / "posts.csv", code=2)


def test_verify_repeats_the_fit_to_the_bit(model):
    found = answer("verify", model)
    assert found["identical"]
    assert found["equal"]
    assert found["same_data"]
    assert found["same_predictions"] == 1
    assert "Verified." in cofactor("verify", model).stdout


def test_verify_notices_other_data(home, model, tmp_path):
    rows = make_rows()
    rows[0][1] = "butter butter"
    path = write_table(tmp_path / "other.csv", rows)
    found = answer("verify", model, "--data", path, code=1)
    assert not found["same_data"]
    assert "Not verified" in cofactor("verify", model, "--data", path, code=1).stdout


def test_verify_without_the_table_asks_for_it(home, tmp_path):
    path = write_table(tmp_path / "a.csv", make_rows(30))
    cofactor("fit", path, "--text", "body", "-o", tmp_path / "m", "-k", 2)
    path.unlink()
    assert "--data" in cofactor("verify", tmp_path / "m", code=2).stderr


def test_a_model_and_its_table_may_move_together(home, tmp_path):
    (tmp_path / "old").mkdir()
    path = write_table(tmp_path / "old" / "a.csv", make_rows(30))
    cofactor("fit", path, "--text", "body", "-o", tmp_path / "old" / "m", "-k", 2)
    (tmp_path / "old").rename(tmp_path / "new")
    assert answer("verify", tmp_path / "new" / "m")["identical"]


def test_export_writes_tables(model, tmp_path):
    found = answer("export", model, "-o", tmp_path / "tables")
    assert len(found["files"]) == 4
    loaded = load_model(model)
    header, rows = read_table(tmp_path / "tables" / "documents.csv")
    strengths = np.array([row[6:] for row in rows], dtype=float)
    assert np.array_equal(strengths, loaded.document_topics_)
    _, topics = read_table(tmp_path / "tables" / "topics.csv")
    assert [row[1] for row in topics] == loaded.topic_names_
    made = json.loads((tmp_path / "tables" / "manifest.json").read_text())
    assert made["model"]["digest"] == read_facts(model)["digest"]
    assert header[0] == "document"


def test_export_to_anndata_or_say_what_is_missing(model, tmp_path):
    path = tmp_path / "m.h5ad"
    try:
        import anndata
    except ImportError:
        done = cofactor("export", model, "--to", "anndata", "-o", path, code=2)
        assert "pip install anndata" in done.stderr
        return
    cofactor("export", model, "--to", "anndata", "-o", path)
    table, loaded = anndata.read_h5ad(path), load_model(model)
    assert np.array_equal(table.obsm["X_topics"], loaded.document_topics_)
    assert np.array_equal(table.varm["topics"].T, loaded.estimator_.components_)
    assert table.shape == (90, len(loaded.vectorizer_.words_))


def test_export_to_topicwizard_writes_what_its_script_reads(model, tmp_path, monkeypatch):
    import runpy
    import sys
    from types import SimpleNamespace

    cofactor("export", model, "--to", "topicwizard", "-o", tmp_path / "w")
    seen = {}
    monkeypatch.setitem(sys.modules, "topicwizard", SimpleNamespace(visualize=seen.update))
    monkeypatch.setattr(sys.modules["topicwizard"], "visualize", lambda **given: seen.update(given))
    runpy.run_path(str(tmp_path / "w" / "show.py"))
    data, loaded = seen["topic_data"], load_model(model)
    assert data["corpus"] == [row[1] for row in make_rows()]
    assert np.array_equal(data["topic_term_matrix"], loaded.estimator_.components_)
    assert np.allclose(data["document_topic_matrix"], loaded.document_topics_)
    assert data["document_term_matrix"].shape == (90, len(data["vocab"]))
    assert seen["group_labels"].shape == (90,)  # pandas 3 refuses lists


def test_doctor_finds_everything_well():
    found = answer("doctor")
    assert found["kernels"]["error"] is None
    assert found["packages"]["numpy"] == np.__version__
    assert "export --to anndata" in found["extras"]
    assert "kernels" in cofactor("doctor").stdout


def test_a_model_without_labels_answers_everything(home, tmp_path):
    model = tmp_path / "m"
    cofactor("fit", home / "posts.csv", "--text", "body", "-k", 3, "-o", model)
    assert "Class" not in cofactor("topics", model).stdout
    assert "Prediction" not in cofactor("explain", model, "rocket moon").stdout
    assert answer("explain", model, "rocket moon")["prediction"] is None
    cofactor("predict", model, home / "new.csv", "-o", tmp_path / "out.csv")
    _, rows = read_table(tmp_path / "out.csv")
    assert all(row[2] == row[3] == "" and row[4] for row in rows)
    cofactor("export", model, "-o", tmp_path / "tables")
    cofactor("export", model, "--to", "topicwizard", "-o", tmp_path / "w")
    assert answer("verify", model)["same_predictions"] is None


def test_a_model_made_in_python_needs_the_column_named(home, tmp_path):
    from cofactor import TopicModel

    texts = [row[1] for row in make_rows()]
    TopicModel(2, random_state=0).fit(texts).save(tmp_path / "m")
    done = cofactor("predict", tmp_path / "m", home / "new.csv", code=2)
    assert "--text is missing" in done.stderr
    cofactor("predict", tmp_path / "m", home / "new.csv", "--text", "body")
    assert answer("verify", tmp_path / "m", "--data", home / "new.csv", "--text", "body", code=1)


def test_several_labels_and_numbers_a_document(home, tmp_path):
    from cofactor import TopicModel

    rows = make_rows(every=1)
    texts = [row[1] for row in rows]
    both = np.array([[row[2] == "space", row[2] != "food"] for row in rows], dtype=float)
    TopicModel(3, random_state=0).fit(texts, both).save(tmp_path / "m")
    done = cofactor("predict", tmp_path / "m", home / "new.csv", "--text", "body")
    _, *out = csv.reader(done.stdout.splitlines())
    assert {row[2] for row in out} <= {"", "0", "1", "0; 1"}
    assert out[0][2] == "0; 1"
    assert cofactor("explain", tmp_path / "m", "rocket moon").exit_code == 0
    assert cofactor("topics", tmp_path / "m").exit_code == 0


def test_an_empty_document_gets_no_topic(model, tmp_path):
    path = write_table(tmp_path / "a.csv", [["1", ""], ["2", "qqq"]], ("id", "body"))
    cofactor("predict", model, path, "-o", tmp_path / "out.csv")
    _, rows = read_table(tmp_path / "out.csv")
    assert [row[4] for row in rows] == ["", ""]
    assert cofactor("explain", model, "qqq").exit_code == 0


def test_how_the_table_was_opened_is_remembered(tmp_path):
    rows = [f'{i}#"{body} Привет мир\n' for i, body, _ in make_rows(40)]
    path = tmp_path / "a.csv"
    path.write_bytes("".join(["id#body\n", *rows]).encode("koi8-r"))
    how = ["--encoding", "koi8-r", "--separator", "#", "--no-quotes"]
    next_command = answer("check", path, "--text", "body", *how)["next"]
    assert "--encoding koi8-r --separator '#' --no-quotes" in next_command
    cofactor("fit", path, "--text", "body", "-k", 3, "-o", tmp_path / "m", *how)
    assert answer("verify", tmp_path / "m")["identical"]
    assert answer("verify", tmp_path / "m", "--data", path)["identical"]
    assert "привет" in load_model(tmp_path / "m").vectorizer_.words_
    assert "Привет мир" in cofactor("predict", tmp_path / "m", path).stdout


@pytest.fixture
def written(monkeypatch):
    """What the report was asked to show; nothing is drawn."""
    import sys
    from types import SimpleNamespace

    seen = {}

    def write_report(model, path, **given):
        seen.update(given, topics=len(model.topic_names_))
        path.write_text("<html>")

    stand_in = SimpleNamespace(write_report=write_report)
    monkeypatch.setitem(sys.modules, "cofactor.report", stand_in)
    return seen


def test_report_shows_the_documents_of_the_fit(model, tmp_path, written):
    found = answer("report", model, "-o", tmp_path / "r.html", "--no-text")
    assert found["bytes"] == 6
    assert written["documents"] == [row[1] for row in make_rows()]
    assert written["labels"] == [row[2] for row in make_rows()]
    assert written["rows"] == list(range(2, 92))  # the header is row 1, as for check
    assert (written["text"], written["source"], written["topics"]) == (False, "posts.csv", 6)


def test_report_without_the_table_has_no_documents(tmp_path, written):
    path = write_table(tmp_path / "a.csv", make_rows(30))
    cofactor("fit", path, "--text", "body", "-o", tmp_path / "m", "-k", 2)
    path.unlink()
    done = cofactor("report", tmp_path / "m", "-o", tmp_path / "r.html")
    assert "--data" in done.stderr
    assert written["documents"] is written["labels"] is None


def test_report_tests_with_labels_that_the_fit_has_not_seen(tmp_path, written):
    names = list(WORDS)
    rows = [[*row, names[i % 3]] for i, row in enumerate(make_rows())]
    path = write_table(tmp_path / "a.csv", rows, ("id", "body", "team", "truth"))
    cofactor("fit", path, "--text", "body", "--label", "team", "-o", tmp_path / "m", "-k", 3)
    cofactor("report", tmp_path / "m", "-o", tmp_path / "r.html", "--truth", "truth")
    assert written["labels"] == [row[2] for row in rows]
    assert written["truth"] == [row[3] for row in rows]
    done = cofactor("report", tmp_path / "m", "--truth", "team", code=2)
    assert "is what the model was fitted on" in " ".join(done.stderr.split())
    done = cofactor("report", tmp_path / "m", "--truth", "turth", code=2)
    assert "--truth 'turth' is not a column" in done.stderr
    assert "Did you mean 'truth'?" in done.stderr
    done = cofactor("report", tmp_path / "m", "--truth", "truth", "--truth", "id", code=2)
    assert "--truth names 2 columns" in done.stderr


@pytest.mark.parametrize("columns", [("id", "body", "team"), ("id", "body", "answer")])
def test_report_tests_on_another_table(home, model, tmp_path, written, columns):
    rows = [[i, body, list(WORDS)[int(i) % 3]] for i, body, _ in make_rows(30, seed=2)]
    path = write_table(tmp_path / "a.csv", rows, columns)
    cofactor("report", model, "--data", path, "--truth", columns[2], "-o", tmp_path / "r.html")
    assert written["truth"] == [row[2] for row in rows]
    assert written["labels"] is None
    assert written["documents"] == [row[1] for row in rows]


def test_truth_needs_predictions_and_documents(home, tmp_path):
    path = write_table(tmp_path / "a.csv", make_rows(30))
    cofactor("fit", path, "--text", "body", "-o", tmp_path / "m", "-k", 2)
    done = cofactor("report", tmp_path / "m", "--truth", "team", code=2)
    assert "fitted without labels" in done.stderr
    cofactor("fit", path, "--text", "body", "--label", "team", "-o", tmp_path / "m", "-k", 2)
    path.unlink()
    done = cofactor("report", tmp_path / "m", "--truth", "other", code=2)
    assert "name it with --data" in done.stderr


def test_the_card_tells_warnings_and_where_the_model_came_from(home, tmp_path):
    done = cofactor("fit", home / "posts.csv", "--text", "body", "--label", "team", "-k", 3, "-o",
                    tmp_path / "m", "--iterations", 1, "--seed-words", "x=moon,zzz")  # fmt: skip
    card = (tmp_path / "m" / "README.md").read_text()
    assert "## Warnings of the fit" in card
    assert "- seeds\\['x'\\]: \\['zzz'\\] are ignored" in card
    assert "- Stopped after max\\_iter=1" in card
    assert "| input rows | 90 |" in card
    assert "| input label | team |" in card
    warned = read_facts(tmp_path / "m")["notes"]["warnings"]
    assert len(warned) == 2
    assert all(one in " ".join(done.stderr.split()) for one in warned)
    cofactor("fit", home / "posts.csv", "--text", "body", "-k", 2, "-o", tmp_path / "m")
    assert "## Warnings" not in (tmp_path / "m" / "README.md").read_text()
