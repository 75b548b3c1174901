"""--encoder: models fitted with a static encoder, from the command line."""

import re
from dataclasses import replace

import pytest

from cofactor import load_model, read_facts
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
    assert model.estimator_.pooled_head.vector_weights.shape == (6, 3)


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


COMMANDS = {
    "predict": ("TABLE",),
    "explain": ("rocket to the moon",),
    "suggest": ("TABLE", "-n", 3),
    "refit": ("TABLE", "-o", "OUT"),
    "update": ("TABLE", "-o", "OUT"),
    "verify": (),
    "edit": ("--name", "1=rockets", "-o", "OUT"),
    "export": ("-o", "OUT"),
    "topics": ("--json",),
    "report": ("-o", "OUT.html"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_take_an_encoder_that_has_moved(command, fitted, home, tmp_path):
    """The error of a command names the option with which it works."""
    moved = write_static(tmp_path / "moved", subject_vectors(WORDS.values()))
    lost = _with_encoder(fitted, tmp_path / "model", "owner/model")
    places = {"TABLE": home / "posts.csv", "OUT": tmp_path / "out", "OUT.html": tmp_path / "r.html"}
    given = [places.get(one, one) for one in COMMANDS[command]]
    done = cofactor(command, lost, *given, code=2)
    said = "nothing; pass it: load_model(path, encoder='owner/model'). Here: --encoder."
    assert said in " ".join(done.stderr.split())
    cofactor(command, lost, *given, "--encoder", moved)


def test_compare_takes_an_encoder_for_each_model(fitted, home, static, tmp_path):
    other = write_static(tmp_path / "other", subject_vectors(WORDS.values(), width=4))
    given = ("fit", home / "posts.csv", "--text", "body", "--label", "team", "-k", 6)
    cofactor(*given, "--encoder", other, "-o", tmp_path / "second")
    lost = _with_encoder(fitted, tmp_path / "a", "owner/a")
    second = _with_encoder(tmp_path / "second", tmp_path / "b", "owner/b")
    given = ("compare", lost, second, "--data", home / "posts.csv", "--encoder", static)
    said = " ".join(cofactor(*given, code=2).stderr.split())
    assert "is not that of the fit" in said
    assert "Here: --second-encoder." in said
    assert answer(*given, "--second-encoder", other)["accuracy"]["documents"] == 48


def test_compare_names_the_option_of_the_second_encoder(fitted, model, static):
    compare = ("compare", fitted, model)
    said = cofactor(*compare, "--second-encoder", static).stderr
    assert "Note: --second-encoder is not used" in said
    assert "is not used" not in cofactor(*compare, "--encoder", static).stderr


def _with_encoder(folder, path, name):
    """Save the model of a folder as if its encoder had another name."""
    model = load_model(folder)
    record = replace(model.fitted.encoder, name=name)
    model.set_fitted(replace(model.fitted, encoder=record)).save(
        path, notes=read_facts(folder)["notes"]
    )
    return path


def test_encoders_that_cannot_be_used_are_one_sentence(home, tmp_path):
    pytest.importorskip("model2vec")
    given = ("fit", home / "posts.csv", "--text", "body", "-o", tmp_path / "m")
    done = cofactor(*given, "--label", "team", "--encoder", "nothing", code=2)
    assert "Error: --encoder 'nothing' is neither a folder nor a known name" in done.stderr
    assert not (tmp_path / "m").exists()
    for name in ("./nofolder", "~/nofolder", "../nofolder", "/no/folder"):
        done = cofactor(*given, "--label", "team", "--encoder", name, code=2)
        assert f"--encoder {name!r}: there is no folder {name};" in done.stderr


def test_fit_says_that_topics_need_no_encoder(home, static, tmp_path):
    given = "fit", home / "posts.csv", "--text", "body", "--encoder", static, "-o", tmp_path / "m"
    said = "Note: --encoder is not used, because topics are made of words; name labels (--label)"
    assert said in cofactor(*given).stderr
    for more in (["--label", "team"], ["--classes", "moon,goal"]):
        assert "is not used" not in cofactor(*given, *more).stderr


def test_several_labels_and_numbers_refuse_an_encoder(static, tmp_path):
    lines = ["body,tags,hours"]
    lines += [f"moon rocket {i} goal,{'a' if i % 2 else 'a;b'},{i + 0.5}" for i in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    given = "fit", tmp_path / "t.csv", "--text", "body", "--encoder", static, "-o", tmp_path / "m"
    for more, what in (
        (["--label", "tags", "--label-separator", ";"], "several labels per document"),
        (["--label", "hours"], "numbers"),
    ):
        done = cofactor(*given, *more, code=2)
        said = (
            f"--encoder helps the pooled head to predict one class per document, but y holds {what}"
        )
        assert f"Error: {said}; leave it out." in done.stderr
        assert not (tmp_path / "m").exists()


def test_blocks_refuse_an_encoder(home, static, tmp_path):
    given = "blocks", home / "posts.csv", "--text", "body", "--label", "team"
    cofactor(*given, "-o", tmp_path / "blocks")
    given = "fit", tmp_path / "blocks", "--encoder", static, "-o", tmp_path / "m"
    said = "Error: --encoder cannot be used with WordBlocks, which does not keep vectors; fit all"
    assert said in cofactor(*given, code=2).stderr
    assert not (tmp_path / "m").exists()


def test_vectors_are_kept_in_a_cache(home, static, tmp_path):
    table, cache = home / "posts.csv", tmp_path / "cache"
    given = ("--text", "body", "--label", "team", "-k", 6, "--encoder", static)
    plain = answer("fit", table, *given, "-o", tmp_path / "a")
    kept = answer("fit", table, *given, "--encoder-cache", cache, "-o", tmp_path / "b")
    assert kept["fingerprint"] == plain["fingerprint"]
    files = {path: path.stat().st_mtime_ns for path in cache.glob("*/*.npz")}
    assert files
    assert load_model(tmp_path / "b").encoder == static
    for command in (("predict",), ("suggest", "-n", 3), ("refit", "-o", tmp_path / "c")):
        cofactor(command[0], tmp_path / "b", table, *command[1:], "--encoder-cache", cache)
    assert {path: path.stat().st_mtime_ns for path in files} == files
    next(iter(files)).write_bytes(b"damaged")
    done = cofactor("predict", tmp_path / "b", table, "--encoder-cache", cache, code=2)
    assert "The encoder cache" in done.stderr
    assert "delete its folder" in done.stderr


# ---- classes by their names


@pytest.mark.parametrize("way", ["list", "file", "words"])
def test_classes_by_their_names(home, static, tmp_path, way):
    given = {"list": "goal,recipe,rocket", "file": str(tmp_path / "names.txt")}
    (tmp_path / "names.txt").write_text("goal\n\nrecipe: sugar and butter\nrocket: the moon\n")
    encoder = [] if way == "words" else ["--encoder", static]
    fit = ("fit", home / "posts.csv", "--text", "body", "-k", 6, "-o", tmp_path / "model")
    cofactor(*fit, "--classes", given.get(way, given["list"]), *encoder)
    model = load_model(tmp_path / "model")
    assert model.target_names_ == ["goal", "recipe", "rocket"]
    found = model.predict(["penalty of the coach", "onion and cheese", "nasa telescope"])
    assert found.tolist() == ["goal", "recipe", "rocket"]


def test_fit_says_how_the_start_went(home, tmp_path):
    fit = ("fit", home / "posts.csv", "--text", "body", "-k", 6, "-o", tmp_path / "model")
    told = cofactor(*fit, "--classes", "goal,recipe,rocket").stderr
    assert "3 classes learned from their names" in told
    assert re.search(
        r"Names gave \d+ of 90 documents a first label; other words agree with names on", told
    )
    assert "Next: cofactor suggest" in told
    cofactor("suggest", tmp_path / "model", home / "posts.csv", "-n", 3)
    cofactor("refit", tmp_path / "model", home / "posts.csv", "-o", tmp_path / "again")
    found = answer(*fit, "--classes", "goal,recipe,rocket")["class_starts"]
    assert [row["label"] for row in found] == ["goal", "recipe", "rocket"]


def test_labels_and_names_together(home, tmp_path):
    fit = ("fit", home / "posts.csv", "--text", "body", "-k", 6, "-o", tmp_path / "model")
    names = ",".join(f"{name}: {' '.join(words[:3])}" for name, words in WORDS.items())
    found = answer(*fit, "--label", "team", "--classes", names)
    assert sorted(found["classes"]) == sorted(WORDS)
    assert found["input"]["labelled"] > 0
    assert found["expected_score"] is None
    told = cofactor(*fit, "--label", "team", "--classes", names).stderr
    assert (
        "not known: names of classes gave labels, so none were held out to test the model" in told
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--classes", "goal"], "names fewer than two classes"),
        (["--classes", "goal,goal"], "names 'goal' twice"),
        (["--classes", "goal,:x"], "has a class without a name"),
        (["--classes", "goal,,recipe"], "'goal,,recipe' has a class without a name; give each"),
        (["--classes", "goal,!!"], "'!!' has no words"),
        (["--classes", "goal,Goal"], "--classes names 'Goal' twice"),
        (["--classes", f"goal,{'q' * 400}"], "has no word of the texts"),
        (["--classes", "goal,qqq"], "--classes 'qqq' has no word of the texts: 'qqq'"),
        (
            ["--classes", "a,b", "--task", "numbers"],
            "--classes names classes, but --task 'numbers'",
        ),
    ],
)
def test_bad_classes_are_one_sentence(home, tmp_path, options, message):
    fit = ("fit", home / "posts.csv", "--text", "body", "-o", tmp_path / "m")
    assert message in cofactor(*fit, *options, code=2).stderr


def test_a_file_of_classes_is_named(home, tmp_path):
    fit = ("fit", home / "posts.csv", "--text", "body", "-o", tmp_path / "m", "--classes")
    (tmp_path / "classes.txt").write_text("space: orbit\n\n: goal\n")
    done = cofactor(*fit, tmp_path / "clases.txt", code=2)
    assert f"Did you mean {str(tmp_path / 'classes.txt')!r}?" in done.stderr
    done = cofactor(*fit, tmp_path / "classes.txt", code=2)
    assert "has a class without a name in line 3; give" in done.stderr
