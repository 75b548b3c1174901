"""--encoder: models fitted with a static encoder, from the command line."""

import pytest

from cofactor import load_model
from commands import WORDS, answer, cofactor, read_table
from static_models import subject_vectors, write_static


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder") / "static"
    return write_static(folder, subject_vectors(WORDS.values()))


@pytest.fixture(scope="module")
def fitted(home, static, tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder") / "model"
    given = ("fit", home / "posts.csv", "--text", "body", "--label", "team", "-k", 6)
    cofactor(*given, "--encoder", static, "-o", folder)
    return folder


def test_the_model_finds_its_encoder(fitted, static):
    model = load_model(fitted)
    assert model.encoder == static
    assert model.fitted.encoder.width == 6
    assert model.estimator_.pooled_head.side_weights.shape == (6, 3)


def test_a_relative_folder_is_found_from_other_places(home, static, tmp_path, monkeypatch):
    monkeypatch.chdir(static)
    given = ("fit", home / "posts.csv", "--text", "body", "--label", "team", "-k", 6)
    cofactor(*given, "--encoder", ".", "-o", tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    assert load_model(tmp_path / "model").encoder == static


def test_other_commands_use_it(fitted, home, tmp_path):
    table = home / "posts.csv"
    cofactor("predict", fitted, table, "-o", tmp_path / "found.csv")
    header, rows = read_table(tmp_path / "found.csv")
    assert len(rows) == 90
    known = [row for row in rows if row[header.index("team")]]
    right = [row[header.index("prediction")] == row[header.index("team")] for row in known]
    assert sum(right) > 0.95 * len(right)
    assert answer("explain", fitted, "rocket to the moon")["prediction"] == "space"
    assert answer("verify", fitted)["equal"]
    cofactor("suggest", fitted, table, "-n", 3)
    cofactor("refit", fitted, table, "-o", tmp_path / "again")
    assert load_model(tmp_path / "again").fitted.encoder is not None


def test_encoders_that_cannot_be_used_are_one_sentence(home, tmp_path):
    pytest.importorskip("model2vec")
    given = ("fit", home / "posts.csv", "--text", "body", "-o", tmp_path / "m")
    done = cofactor(*given, "--label", "team", "--encoder", "nothing", code=2)
    assert "Error: --encoder 'nothing' is neither a folder nor a known name" in done.stderr
    assert not (tmp_path / "m").exists()


def test_update_refuses_models_with_an_encoder(fitted, home, tmp_path):
    done = cofactor("update", fitted, home / "posts.csv", "-o", tmp_path / "m", code=2)
    assert "--encoder cannot be used with update" in done.stderr
