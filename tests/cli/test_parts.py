"""Tables in several files."""

import json
import shutil
from pathlib import Path

import pytest

from cofactor import load_model
from cofactor.io.tables import InputError, open_source
from cofactor.io.tables.file_parts import as_address, find_parts, names_parts, opened_part
from commands import answer, cofactor, make_rows, write_table

STEP = 16
RENAMED = ("--relabel", "a=A", "--unlabelled", "NA", "--min-labels", 2)
FIT = ("--text", "body", "--label", "team", "-k", 4)


def write_parts(folder, rows=None, ending="csv"):
    rows = make_rows() if rows is None else rows
    folder.mkdir(exist_ok=True)
    for place in range(0, len(rows), STEP):
        some, path = rows[place : place + STEP], folder / f"part-{place:03d}.{ending}"
        if ending == "jsonl":
            named = [dict(zip(("id", "body", "team"), row, strict=True)) for row in some]
            path.write_text("".join(json.dumps(row) + "\n" for row in named))
        elif ending == "parquet":
            pandas = pytest.importorskip("pandas")
            pytest.importorskip("pyarrow")
            pandas.DataFrame(some, columns=["id", "body", "team"]).to_parquet(path)
        else:
            write_table(path, some)
    return folder / f"*.{ending}"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A table in one file, in six, and a model of the six."""
    folder = tmp_path_factory.mktemp("parts")
    write_table(folder / "whole.csv", make_rows())
    pattern = write_parts(folder / "data")
    answer("fit", pattern, "-o", folder / "model", *FIT)
    return folder


def assert_same_fit(one, other):
    one, other = load_model(one), load_model(other)
    assert one.estimator_.components_.tobytes() == other.estimator_.components_.tobytes()
    assert one.fingerprint_ == other.fingerprint_
    assert one.target_names_ == other.target_names_
    assert one.documents() == other.documents()


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_every_format_gives_the_same_model(ending, corpus, tmp_path):
    pattern = write_parts(tmp_path / "data", ending=ending)
    answer("fit", pattern, "-o", tmp_path / "model", *FIT)
    assert_same_fit(corpus / "model", tmp_path / "model")


def test_other_storage(corpus):
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    for part in (corpus / "data").glob("*.csv"):
        files.pipe_file(f"/bucket/{part.name}", part.read_bytes())
    answer("fit", "memory://bucket/*.csv", "-o", corpus / "remote", *FIT)
    assert_same_fit(corpus / "model", corpus / "remote")
    noted = json.loads((corpus / "remote/manifest.json").read_bytes())["notes"]["input"]
    assert noted["path"] == "memory://bucket/*.csv"
    assert "Verified." in cofactor("verify", corpus / "remote").stdout
    files.pipe_file("/bucket/part-999.csv", b"id,body,team\n1,2\n")
    done = cofactor("fit", "memory://bucket/*.csv", "-o", corpus / "bad", *FIT, code=2)
    assert "memory://bucket/part-999.csv" in done.stderr
    files.rm_file("/bucket/part-999.csv")


def test_words_and_rows_are_those_of_the_whole_table(corpus):
    answer("fit", corpus / "whole.csv", "-o", corpus / "one", *FIT)
    parts, one = load_model(corpus / "model"), load_model(corpus / "one")
    assert parts.vectorizer_.words_.tolist() == one.vectorizer_.words_.tolist()
    assert parts.fingerprint_ == one.fingerprint_
    noted = json.loads((corpus / "model/manifest.json").read_bytes())["notes"]["input"]
    assert (noted["rows"], noted["labelled"], noted["parts"]) == (90, 48, 6)
    rows = [list(open_source(name).rows) for name in (corpus / "whole.csv", corpus / "data/*.csv")]
    assert rows[0] == rows[1]


def test_what_comes_after_a_fit_finds_the_files(corpus, tmp_path):
    assert "Verified." in cofactor("verify", corpus / "model").stdout
    answer("report", corpus / "model", "-o", tmp_path / "report.html")
    answer("refit", corpus / "model", "-o", tmp_path / "refitted")
    assert answer("check", corpus / "data/*.csv", *FIT[:4])["rows"] == 90


@pytest.mark.parametrize(
    ("values", "options", "names"),
    [
        (["1,5", "2,75", ""], (), ["team"]),
        (["a;b", "b", ""], ("--label-separator", ";"), ["a", "b"]),
        (["a", "b", "NA"], RENAMED, ["A", "b"]),
    ],
    ids=["numbers", "sets", "unlabelled and renamed"],
)
def test_labels_of_parts_are_settled_together(values, options, names, tmp_path):
    """The first part has labels of one kind only, the last none."""
    rows = make_rows()
    cells = [values[0]] * STEP + [values[place % 3] for place in range(len(rows) - 2 * STEP)]
    cells += [""] * STEP
    cells[STEP + 1] = "odd" if options == RENAMED else cells[STEP + 1]
    rows = [[i, body, cell] for (i, body, _), cell in zip(rows, cells, strict=True)]
    pattern = write_parts(tmp_path / "data", rows)
    whole = write_table(tmp_path / "whole.csv", rows)
    for name, table in (("parts", pattern), ("one", whole)):
        answer("fit", table, "-o", tmp_path / name, *FIT, *options)
    parts, one = load_model(tmp_path / "parts"), load_model(tmp_path / "one")
    assert parts.target_names_ == one.target_names_ == names
    assert parts.fingerprint_ == one.fingerprint_
    assert "Verified." in cofactor("verify", tmp_path / "parts").stdout


def test_predictions_of_parts(corpus, tmp_path):
    whole, out = tmp_path / "whole.csv", tmp_path / "out"
    answer("predict", corpus / "model", corpus / "whole.csv", "-o", whole)
    answer("predict", corpus / "model", corpus / "data/*.csv", "-o", out)
    parts = [path.read_text().splitlines() for path in sorted(out.glob("*.csv"))]
    assert whole.read_text().splitlines() == [
        parts[0][0],
        *(row for one in parts for row in one[1:]),
    ]


def test_predictions_go_on_where_they_were_stopped(corpus, tmp_path):
    out, again = tmp_path / "out", ("predict", corpus / "model", corpus / "data/*.csv", "-o")
    answer(*again, out)
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("*.csv")}
    lost = out / "part-032.csv"
    text = lost.read_text()
    lost.unlink()
    (out / "_manifests/part-048.csv.json").write_text("{")
    done = cofactor(*again, out)
    assert "4 of 6 files were written before" in done.stderr
    assert "Wrote 90 rows" in done.stderr
    assert lost.read_text() == text
    changed = {
        path.name for path in out.glob("*.csv") if path.stat().st_mtime_ns != before[path.name]
    }
    assert changed == {"part-032.csv", "part-048.csv"}
    done = cofactor(*again, out, "--topics", code=2)
    assert "has predictions of another model, or with other options" in done.stderr
    answer(*again, out, "--topics", "--force")
    assert "topic_3_share" in (out / "part-000.csv").read_text().splitlines()[0]


def test_predictions_never_replace_the_files_that_they_are_for(corpus, tmp_path):
    new, elsewhere = tmp_path / "new", tmp_path / "elsewhere"
    shutil.copytree(corpus / "data", new)
    shutil.copytree(new, elsewhere / "data")
    (elsewhere / "data/part-016.csv").unlink()
    (elsewhere / "data/part-016.csv").hardlink_to(new / "part-016.csv")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.csv")}
    for output, replaced in ((new, "part-000.csv"), (elsewhere / "data", "part-016.csv")):
        (output / "_manifests").mkdir()  # the folder of an earlier command
        for force in ((), ("--force",)):
            command = ("predict", corpus / "model", new / "*.csv", "-o", output, *force)
            said = cofactor(*command, code=2).stderr
            assert f"{replaced}, a file of the table; name another folder" in " ".join(said.split())
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.csv")} == before


def test_refusals(corpus, tmp_path):
    for command, said in (
        (("fit", tmp_path / "no*.csv", "-o", tmp_path / "m"), "No file matches"),
        (
            ("fit", corpus / "data/*.csv", "-o", tmp_path / "m", *FIT, "--classes", "a,b"),
            "--classes",
        ),
        (
            ("fit", corpus / "data/*.csv", "-o", tmp_path / "m", *FIT, "--stability", 2),
            "--stability",
        ),
        (
            ("fit", corpus / "whole.csv", "-o", tmp_path / "m", *FIT, "--checkpoint", "x"),
            "--cluster",
        ),
        (("fit", "nowhere://x/*.csv", "-o", tmp_path / "m", *FIT), "cannot be read"),
        (("predict", corpus / "model", corpus / "data/*.csv"), "name a folder with --output"),
        (
            ("predict", corpus / "model", corpus / "data/*.csv", "-o", tmp_path / "all.csv"),
            "name a folder with --output",
        ),
        (
            ("fit", *(corpus / "data").glob("*.csv"), "-o", tmp_path / "m"),
            "put a pattern in quotes: 'data/*.csv'",
        ),
        (("predict", corpus / "model", corpus / "whole.csv", "--cluster", "x"), "several files"),
    ):
        assert said in cofactor(*command, code=2).stderr
    (tmp_path / "data").mkdir()
    write_table(tmp_path / "data/a.csv", make_rows())
    (tmp_path / "data/b.csv").write_text("id,other\n1,2\n")
    with pytest.raises(InputError, match=r"b.csv has the columns 'id', 'other', but the first"):
        list(open_source(tmp_path / "data/*.csv").rows)
    with (
        pytest.raises(InputError, match="storage that all machines see at the same path"),
        opened_part(str(tmp_path / "gone.csv")),
    ):
        pass


def test_names(tmp_path):
    assert as_address("C:/table.csv") is None
    pattern = Path(tmp_path.as_uri()) / "?.csv"  # a Path has only one slash after the colon
    (tmp_path / "a[1].csv").write_text("text\nmoon\n")
    assert not names_parts(tmp_path / "a[1].csv")
    for name in "ba":
        (tmp_path / f"{name}.csv").write_text("text\nmoon\n")
    for one in (tmp_path / "?.csv", pattern):
        assert [Path(part).name for part in find_parts(one)] == ["a.csv", "b.csv"]
