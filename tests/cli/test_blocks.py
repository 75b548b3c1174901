"""Tables beyond memory: blocks of them, and models of the blocks."""

import csv
import errno
import gzip
import json
import os

import numpy as np
import pytest

from cofactor import RowBlocks, TopicModel, load_model
from cofactor.io import untrusted
from cofactor.io.models import read_facts
from cofactor.outofcore import RowBlocksError
from cofactor.targets.reading import labelled_mask
from cofactor.text import WordVectorizer
from cofactor.text.word_blocks import open_word_blocks, write_word_blocks
from commands import answer, cofactor, make_rows, process, read_table, write_table

READ = ("--text", "body", "--label", "team")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with posts.csv, its blocks (of a few rows each) and a model of them."""
    folder = tmp_path_factory.mktemp("blocks")
    write_table(folder / "posts.csv", make_rows(240))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cofactor.cli.blocks.DOCUMENTS_PER_UPDATE", 50)
        patch.setattr("cofactor.outofcore.rowblocks.BLOCK_CELLS", 600)
        cofactor("blocks", folder / "posts.csv", *READ, "-o", folder / "blocks")
    cofactor("fit", folder / "blocks", "-k", 6, "-o", folder / "model")
    return folder


def files_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}


# ---- blocks


@pytest.mark.slow
def test_blocks_hold_the_matrix_of_the_table(place):
    rows = make_rows(240)
    vectorizer = WordVectorizer()
    X = vectorizer.fit_transform([row[1] for row in rows])
    found = open_word_blocks(place / "blocks")
    assert found.rows.n_blocks == 3
    assert found.vectorizer.words_.tolist() == vectorizer.words_.tolist()
    np.testing.assert_array_equal(found.vectorizer.idf_, vectorizer.idf_)
    assert found.vectorizer.get_params() == vectorizer.get_params()
    assert (found.rows.take(np.arange(240))[0] != X).nnz == 0
    y = np.concatenate([found.rows.block(i).y for i in range(found.rows.n_blocks)])
    assert y.tolist() == [row[2] or None for row in rows]


def test_blocks_and_check_suggest_the_same_number_of_topics(place, tmp_path):
    checked = cofactor("check", place / "posts.csv", *READ).stdout.split(" -k ")[1].split()[0]
    said = cofactor("blocks", place / "posts.csv", *READ, "-o", tmp_path / "blocks").stderr
    assert said.split(" -k ")[1].split()[0] == checked


def test_what_is_noted(place):
    facts = open_word_blocks(place / "blocks").facts
    assert facts["path"] == "../posts.csv"
    assert (facts["text"], facts["label"], facts["labels_are"]) == ("body", "team", "classes")
    assert (facts["rows"], facts["labelled"]) == (240, sum(bool(r[2]) for r in make_rows(240)))
    assert len(facts["sha256"]) == 64


@pytest.mark.parametrize("form", ["tsv", "jsonl", "csv.gz", "parquet", "folder"])
def test_every_format_gives_the_same_blocks(place, tmp_path, form):
    rows, path = make_rows(240), tmp_path / f"posts.{form}"
    if form == "tsv":
        with open(path, "w", newline="") as file:
            csv.writer(file, delimiter="\t").writerows([("id", "body", "team"), *rows])
    elif form == "jsonl":
        path.write_text(
            "".join(json.dumps({"body": b, "team": t or None}) + "\n" for _, b, t in rows)
        )
    elif form == "csv.gz":
        path.write_bytes(gzip.compress((place / "posts.csv").read_bytes()))
    elif form == "parquet":
        pa = pytest.importorskip("pyarrow")
        table = pa.table({"body": [r[1] for r in rows], "team": [r[2] for r in rows]})
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        for number, body, team in rows:
            (path / team).mkdir(parents=True, exist_ok=True)
            (path / team / f"{int(number):03d}.txt").write_text(body)
    cofactor("blocks", path, *(() if form == "folder" else READ), "-o", tmp_path / "b")
    found, whole = open_word_blocks(tmp_path / "b"), open_word_blocks(place / "blocks")
    assert found.vectorizer.words_.tolist() == whole.vectorizer.words_.tolist()
    X, expected = (one.rows.take(np.arange(240))[0].toarray() for one in (found, whole))
    if form == "folder":  # in the order of the files' names
        X, expected = np.sort(X, axis=0), np.sort(expected, axis=0)
    np.testing.assert_array_equal(X, expected)
    targets = [found.rows.targets(i) for i in range(found.rows.n_blocks)]
    assert sum(int(labelled_mask(y).sum()) for y in targets) == whole.facts["labelled"]


def test_blocks_tell_what_they_are(place, tmp_path):
    found = answer("blocks", place / "posts.csv", *READ, "-o", tmp_path / "b")
    rows = RowBlocks.open(tmp_path / "b")
    assert (found["rows"], found["words"]) == rows.shape == (240, 30)
    assert (found["cells"], found["files"]) == (rows.nnz, rows.n_blocks)
    assert found["input"]["task"] == "classes"


# ---- models of blocks


def test_a_model_of_blocks_is_nearly_that_of_the_table(place, tmp_path):
    cofactor("fit", place / "posts.csv", *READ, "-k", 6, "-o", tmp_path / "m")
    whole, blocks = load_model(tmp_path / "m"), load_model(place / "model")
    texts, truth = zip(*((row[1], row[2]) for row in make_rows(90, seed=5, every=1)), strict=True)
    assert whole.score(texts, truth) > 0.95
    assert blocks.score(texts, truth) > whole.score(texts, truth) - 0.03
    assert blocks.fingerprint_ == whole.fingerprint_
    assert blocks.vectorizer_.words_.tolist() == whole.vectorizer_.words_.tolist()
    assert len(blocks.documents()) == 240
    np.testing.assert_array_equal(blocks.topic_labels_.sum(0), whole.topic_labels_.sum(0))
    ends = [model.estimator_.history_["objective"][-1] for model in (whole, blocks)]
    assert ends[1] == pytest.approx(ends[0], rel=0.05)


@pytest.mark.slow
def test_other_commands_work_from_it(place, tmp_path):
    model = place / "model"
    assert {row["label"] for row in answer("topics", model)["topics"]} == {"food", "space", "sport"}
    assert answer("explain", model, "rocket orbit")["prediction"] == "space"
    new = write_table(tmp_path / "new.csv", [row[:2] for row in make_rows(30, 1)], ("id", "body"))
    cofactor("predict", model, new, "-o", tmp_path / "out.csv")
    said = [row[2] for row in read_table(tmp_path / "out.csv")[1]]
    assert np.mean([a == row[2] for a, row in zip(said, make_rows(30, 1, 1), strict=True)]) > 0.9
    noted = read_facts(model)["notes"]["input"]
    assert (noted["path"], noted["blocks"]) == ("../posts.csv", "../blocks")
    assert answer("verify", model)["identical"]


@pytest.mark.slow
def test_a_large_table_is_described_by_some_of_its_rows(place, tmp_path, monkeypatch):
    monkeypatch.setattr("cofactor.text.word_blocks.MAX_DESCRIBED", 80)
    cofactor("blocks", place / "posts.csv", *READ, "-o", tmp_path / "b")
    cofactor("fit", tmp_path / "b", "-k", 4, "-o", tmp_path / "m")
    model, kept = load_model(tmp_path / "m"), np.linspace(0, 239, 80).round().astype(int)
    texts = [make_rows(240)[i][1] for i in kept]
    np.testing.assert_array_equal(model.document_topics_, model.transform(texts))
    assert len(model.estimator_.representation_) == 80
    assert model.fitted.corpus.n_documents == 240
    assert "| samples | 240 |" in (tmp_path / "m" / "README.md").read_text()
    if all(map(has, ("altair", "vl_convert", "jinja2"))):  # those rows are read for a report
        said = cofactor("report", tmp_path / "m", "-o", tmp_path / "r.html")
        assert "no longer exist" not in said.stderr
        page = " ".join((tmp_path / "r.html").read_text().split())
        assert "of the fit’s 240" in page
        assert "The fit read 240 documents; this page shows 80 of them, evenly spaced." in page
        assert "too few labels" not in page
        assert "expected<" in page
        assert "logistic regression" not in page  # which would learn from the 80 labels only


def has(name):
    from importlib.util import find_spec

    return find_spec(name) is not None


@pytest.mark.slow
def test_seeds_and_tasks_over_blocks(place, tmp_path):
    cofactor(
        "fit", place / "blocks", "-k", 4, "-o", tmp_path / "m", "--seed-words", "sky=crater,nasa"
    )
    model = load_model(tmp_path / "m")
    sky = model.topics()[model.topic_names_.index("sky")]
    assert sky.label == "space"
    assert {"crater", "nasa"} <= set(sky.words[:4])
    cofactor(
        "fit",
        place / "blocks",
        "-k",
        3,
        "-o",
        tmp_path / "t",
        "--task",
        "topics",
        "--seed-words",
        "kitchen=oven,butter",
    )
    model = load_model(tmp_path / "t")
    assert model.target_names_ == []
    assert {"oven", "butter"} <= set(model.topics()[model.topic_names_.index("kitchen")].words[:4])
    done = cofactor("fit", place / "blocks", "-o", tmp_path / "n", "--task", "numbers", code=2)
    assert "the blocks, which hold classes" in done.stderr


def several(tmp_path, columns, cells):
    rows = [[i, body, *cells(int(i), team)] for i, body, team in make_rows(180, every=1)]
    return write_table(tmp_path / "a.csv", rows, ("id", "body", *columns))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sets", "columns", "numbers", "one number"])
def test_other_labels(tmp_path, kind, monkeypatch):
    monkeypatch.setattr("cofactor.cli.blocks.DOCUMENTS_PER_UPDATE", 40)
    known = {
        "sets": ("tags",),
        "columns": ("sky", "oven"),
        "numbers": ("u", "v"),
        "one number": ("u",),
    }[kind]

    def cells(i, team):
        if 40 <= i < 80:  # a batch that says nothing
            return [""] * len(known)
        number = 1.5 + (team == "space")
        return {
            "sets": [f"{team};odd" if i % 2 else team],
            "columns": [int(team == "space"), int(team == "food")],
            "numbers": [number, 9.25 - number],
            "one number": [number],
        }[kind]

    path = several(tmp_path, known, cells)
    options = [part for name in known for part in ("--label", name)]
    options += ["--label-separator", ";"] if kind == "sets" else []
    cofactor("blocks", path, "--text", "body", *options, "-o", tmp_path / "b")
    cofactor("fit", tmp_path / "b", "-k", 5, "-o", tmp_path / "m")
    cofactor("fit", path, "--text", "body", *options, "-k", 5, "-o", tmp_path / "w")
    model, whole = load_model(tmp_path / "m"), load_model(tmp_path / "w")
    assert model.target_names_ == whole.target_names_
    assert model.fingerprint_ == whole.fingerprint_
    for name in ("m", "w"):
        cofactor("predict", tmp_path / name, path, "-o", tmp_path / f"{name}.csv")
    (header, ours), (expected, theirs) = (read_table(tmp_path / f"{n}.csv") for n in "mw")
    assert header == expected
    place = len(known) + 2
    if "number" in kind:
        gap = [float(a[place]) - float(b[place]) for a, b in zip(ours, theirs, strict=True)]
        assert np.abs(gap).mean() < 0.1
    else:
        subjects = [
            [set(row[place].split(";")) - {"odd"} for row in rows] for rows in (ours, theirs)
        ]
        assert np.mean([a == b for a, b in zip(*subjects, strict=True)]) > 0.95  # odd is a coin


def test_names_of_labels_of_older_blocks_are_in_their_notes(tmp_path):
    texts = ["puck goal", "moon orbit", "goal moon", "puck orbit"]
    notes = {"targets": ["sport", "space"], "fingerprint": "", "facts": {}}
    batch = texts, np.array([[1.0, 0], [0, 1], [1, 1], [1, 1]])
    write_word_blocks(tmp_path / "b", WordVectorizer().fit(texts), [batch], lambda: notes)
    assert RowBlocks.open(tmp_path / "b").target_names is None
    blocks, model = open_word_blocks(tmp_path / "b"), TopicModel(2, task="classes", random_state=0)
    model.fit(blocks)
    assert model.target_names_ == model.classes_.tolist() == ["sport", "space"]
    noted = json.loads((tmp_path / "b" / "notes.json").read_text())
    replace_notes(tmp_path / "b", {**noted, "targets": ["sport", "space", "other"]})
    with pytest.raises(RowBlocksError, match="names has 3 entries"):
        open_word_blocks(tmp_path / "b")


# ---- refusals


def test_wrong_columns_and_empty_vocabularies(place, tmp_path):
    out = tmp_path / "b"
    done = cofactor("blocks", place / "posts.csv", "--text", "bdy", "-o", out, code=2)
    assert "Did you mean 'body'?" in done.stderr
    done = cofactor(
        "blocks", place / "posts.csv", "--text", "body", "--label", "x", "-o", out, code=2
    )
    assert "--label 'x' is not a column" in done.stderr
    bare = write_table(tmp_path / "bare.csv", [["1", "the of"], ["2", "12 and"]], ("id", "body"))
    done = cofactor("blocks", bare, "--text", "body", "-o", out, code=2)
    assert "No words are left of the 2 documents" in done.stderr
    empty = write_table(tmp_path / "empty.csv", [], ("id", "body"))
    assert "no rows" in cofactor("blocks", empty, "--text", "body", "-o", out, code=2).stderr
    assert not out.exists()
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_a_pipe_cannot_be_read_twice(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    done = process("blocks", pipe, "--text", "body", "-o", tmp_path / "b", timeout=60)
    assert done.returncode == 2
    assert b"is a pipe" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_folders_that_are_there(place, tmp_path):
    out = tmp_path / "b"
    out.mkdir()  # an empty one is as good as none
    command = ("blocks", place / "posts.csv", *READ, "-o", out)
    cofactor(*command)
    before = files_of(out)
    assert "--overwrite" in cofactor(*command, code=2).stderr
    assert files_of(out) == before
    cofactor(*command, "--overwrite", "--stop-words", "none")
    assert open_word_blocks(out).vectorizer.stop_words is None
    (out / "00000" / "values.npy").write_bytes(b"damaged")
    cofactor(*command, "--overwrite")
    assert open_word_blocks(out).rows.shape[0] == 240
    (out / "mine.txt").write_text("precious")
    assert "mine.txt" in cofactor(*command, "--overwrite", code=2).stderr
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("precious")
    done = cofactor("blocks", place / "posts.csv", *READ, "-o", other, "--overwrite", code=2)
    assert "other files and no blocks" in done.stderr
    assert (other / "mine.txt").read_text() == (out / "mine.txt").read_text() == "precious"


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left"), OSError("99 requested and 0 written")]
)
def test_a_full_disk_keeps_what_was_there(place, tmp_path, monkeypatch, error):
    def full(*given, **options):
        raise error

    out = tmp_path / "b"
    command = ("blocks", place / "posts.csv", *READ, "-o", out, "--overwrite")
    cofactor(*command)
    before = files_of(out)
    monkeypatch.setattr("cofactor.outofcore.folder_writer.np.save", full)
    assert f"There is no room for {out}." in cofactor(*command, code=1).stderr
    assert files_of(out) == before
    assert os.listdir(tmp_path) == ["b"]


@pytest.mark.parametrize("name", ["a.csv", "?.csv"])
def test_a_table_that_changes_in_between(place, tmp_path, monkeypatch, name):
    path = write_table(tmp_path / "a.csv", make_rows(60))
    learn = WordVectorizer.fit

    def change(self, documents, y=None):
        learn(self, documents)
        write_table(path, make_rows(60, seed=1))
        return self

    monkeypatch.setattr(WordVectorizer, "fit", change)
    done = cofactor("blocks", tmp_path / name, *READ, "-o", tmp_path / "b", code=2)
    assert "changed while it was read" in done.stderr
    assert not (tmp_path / "b").exists()


def test_options_that_the_blocks_settled(place, tmp_path):
    for option in (("--text", "body"), ("--stop-words", "none"), ("--no-quotes",)):
        done = cofactor("fit", place / "blocks", *option, "-o", tmp_path / "m", code=2)
        assert f"{option[0]} was decided when" in done.stderr


def replace_notes(folder, notes):
    """Change the notes of blocks, and make the manifest agree."""
    data = json.dumps(notes).encode()
    (folder / "notes.json").write_bytes(data)
    manifest = json.loads((folder / "blocks.json").read_text())
    manifest["notes"] = untrusted.file_facts(data)
    (folder / "blocks.json").write_text(json.dumps(untrusted.with_digest(manifest)))


def test_blocks_of_other_making(tmp_path, place):
    RowBlocks.write(tmp_path / "b", [np.eye(4)])
    done = cofactor("fit", tmp_path / "b", "-o", tmp_path / "m", code=2)
    assert "blocks without words" in done.stderr
    cofactor("blocks", place / "posts.csv", *READ, "-o", tmp_path / "c")
    notes = json.loads((tmp_path / "c" / "notes.json").read_text())
    for change in (
        {"vectorizer": {**notes["vectorizer"], "words": notes["vectorizer"]["words"][1:]}},
        {"vectorizer": {**notes["vectorizer"], "parameters": {"ngram_range": 7}}},
        {"facts": None},
        {"targets": 5},
    ):
        replace_notes(tmp_path / "c", {**notes, **change})
        done = cofactor("fit", tmp_path / "c", "-o", tmp_path / "m", code=2)
        assert "damaged" in done.stderr
        assert not (tmp_path / "m").exists()


def test_blocks_are_no_table(place):
    for command in ("check", "blocks"):
        options = ("-o", place / "again") if command == "blocks" else ()
        assert "holds blocks, not" in cofactor(command, place / "blocks", *options, code=2).stderr


def test_verify_says_that_blocks_are_gone(place, tmp_path):
    cofactor("blocks", place / "posts.csv", *READ, "-o", tmp_path / "b")
    cofactor("fit", tmp_path / "b", "-k", 3, "-o", tmp_path / "m", "--iterations", 3)
    (tmp_path / "b").rename(tmp_path / "elsewhere")
    assert "no longer exist" in cofactor("verify", tmp_path / "m", code=2).stderr
