"""Sources and checksums of the benchmarks' data."""

import contextlib
import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import data_sets, sources
from benchmarks.data_sets import Folders, MissingSet
from benchmarks.sources import SOURCES, Source, check, of_file, of_rows, rows_in

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "data.md"
PUBLISHED = {
    "trec": (
        ["DESC:manner How did it start ?\nHUM:ind Who was Galil\xe9o ?\n", "LOC:city Where ?\n"],
        [("How did it start ?", "DESC"), ("Who was Galil\xe9o ?", "HUM"), ("Where ?", "LOC")],
    ),
    "reuters_r8": (
        ["earn\tnet profit rose \n", "crude\toil fell\n"],
        [("net profit rose ", "earn"), ("oil fell", "crude")],
    ),
    "sms_spam": (["ham\tHi there\nspam\tWin now\n"], [("Hi there", "ham"), ("Win now", "spam")]),
    "searchsnippets": (
        ["chip news\nopera song\n", "2\n3\n"],
        [("chip news", "2"), ("opera song", "3")],
    ),
    "cooking_tags": (
        ["__label__sauce __label__food-safety Is it safe?\n", "__label__bread Why so flat?\n"],
        [("Is it safe?", ["sauce", "food-safety"]), ("Why so flat?", ["bread"])],
    ),
}
SPLIT = ("trec", "reuters_r8", "cooking_tags")


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_file_becomes_rows(name, tmp_path, capsys):
    texts, expected = PUBLISHED[name]
    encoding = "latin-1" if name == "trec" else "utf-8"
    paths = [tmp_path / f"{i}.txt" for i in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding)
    files = [*map(str, paths), "--data", str(tmp_path), "--data-home", str(tmp_path)]
    assert sources.main(["--make", name, *files]) == 1  # a few rows are not those of ours
    assert f"{name:<20} other rows" in capsys.readouterr().out
    rows = data_sets.read_lines(Folders(tmp_path), name)
    assert list(zip(rows["text"], rows["label"], strict=True)) == expected
    assert rows.get("split", [])[-1:] == ["test"] * (name in SPLIT)


@pytest.fixture
def held(tmp_path) -> Source:
    rows = [{"text": "one", "label": "a"}, {"text": "two", "label": "b"}]
    write(tmp_path, rows)
    path = tmp_path / SOURCES["trec"].file
    return replace(SOURCES["trec"], sha256=of_file(path), rows=of_rows(rows_in(path)))


def write(folder, rows):
    with gzip.open(folder / SOURCES["trec"].file, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def test_the_same_rows_are_recognised_in_any_order(held, tmp_path):
    assert check(held, tmp_path) == "same file"
    write(tmp_path, [{"label": "b", "text": " two"}, {"text": "one", "label": "a"}])
    assert check(held, tmp_path) == "same rows"
    write(tmp_path, [{"label": "b", "text": "two"}, {"text": "one", "label": "b"}])
    assert check(held, tmp_path) == "other rows"
    assert check(held, tmp_path / "elsewhere") == check(held, None) == "not found"


def test_arrays_are_recognised_in_any_file(tmp_path):
    X, y = np.arange(6.0).reshape(2, 3), np.array([1, 0])
    np.savez(tmp_path / "a.npz", X=X, y=y)
    np.savez_compressed(tmp_path / "b.npz", y=y, X=np.asfortranarray(X))
    np.savez(tmp_path / "c.npz", X=X.astype("f4"), y=y)
    a, b, c = (of_rows(rows_in(tmp_path / f"{name}.npz")) for name in "abc")
    assert a == b != c


def test_a_set_that_cannot_be_made_says_what_it_is(tmp_path):
    with pytest.raises(SystemExit, match="a sample of its files"):
        sources.main(["--make", "imdb_rating_sample", "--data", str(tmp_path)])


def test_every_set_that_is_read_from_a_file_has_a_source(monkeypatch):
    sets = data_sets.CLASSES | data_sets.NUMBERS | data_sets.TAGS | data_sets.REAL_CELLS
    asked = []

    def ask(folders, name):
        asked.append(name)
        raise MissingSet(name)

    monkeypatch.setattr(data_sets, "_file", ask)
    monkeypatch.setattr(data_sets, "docstrings_read", lambda: ask(None, "docstrings"))
    for load in sets.values():
        with contextlib.suppress(MissingSet):
            load(Folders(None, Path("nowhere")), 0)
    files = {source.file for source in SOURCES.values()} | {"docstrings"}
    assert set(asked) <= files
    assert len(set(asked)) == 11


def test_the_page_shows_the_table():
    assert sources.table() in PAGE.read_text(encoding="utf-8")
