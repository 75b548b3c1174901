"""What a full disk leaves: the fit is saved where there is room, and other outputs are whole."""

import errno
import os
import re
from contextlib import contextmanager

import pytest

from cofactor import load_model
from cofactor.io import atomic, platform
from commands import cofactor, make_rows, write_table

READ = ("--text", "body", "--label", "team")


@pytest.fixture
def full(monkeypatch):
    """Fill the disk of one folder: files below it cannot be written."""

    def fill(folder):
        flush = platform.HERE.flush

        def failing(path):
            if os.path.abspath(path).startswith(f"{folder}{os.sep}"):
                raise OSError(errno.ENOSPC, "No space left on device")
            flush(path)

        monkeypatch.setattr(platform.HERE, "flush", failing)

    return fill


def test_a_fit_is_saved_where_there_is_room(tmp_path, full, monkeypatch):
    table = write_table(tmp_path / "a.csv", make_rows())
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    full(tmp_path / "disk")
    out = tmp_path / "disk" / "m"
    done = cofactor("fit", table, *READ, "-k", 3, "-o", out, code=1)
    assert f"There is no room for {out}. It takes " in done.stderr
    saved = tmp_path / "here" / "m-saved"
    assert f"The model is not lost: it was saved to {saved}." in done.stderr
    assert load_model(saved).predict(["moon orbit"]).tolist() == ["space"]
    assert os.listdir(tmp_path / "disk") == []


def test_exports_are_written_whole_or_not_at_all(tmp_path, full):
    table = write_table(tmp_path / "a.csv", make_rows())
    cofactor("fit", table, *READ, "-k", 3, "-o", tmp_path / "m")
    out = tmp_path / "disk" / "tables"
    export = ("export", tmp_path / "m", "-o", out)
    cofactor(*export)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert "exists; name another, or replace it with --force" in cofactor(*export, code=2).stderr
    full(tmp_path / "disk")
    done = cofactor(*export, "--force", code=1)
    assert f"There is no room for {out}." in done.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert os.listdir(tmp_path / "disk") == ["tables"]


def test_suggestions_do_not_replace_a_file_unasked(tmp_path):
    table = write_table(tmp_path / "a.csv", make_rows())
    cofactor("fit", table, *READ, "-k", 3, "-o", tmp_path / "m")
    suggest = ("suggest", tmp_path / "m", table, "-n", 5, "-o", tmp_path / "s.xlsx")
    cofactor(*suggest)
    before = (tmp_path / "s.xlsx").read_bytes()
    assert "--force" in cofactor(*suggest, code=2).stderr
    assert (tmp_path / "s.xlsx").read_bytes() == before
    cofactor(*suggest, "--force")


class SmallFile:
    """A file on a disk that has room for a number of bytes."""

    def __init__(self, file, room):
        self.file, self.room = file, room

    def write(self, data):
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.file.write(data)
        self.file.flush()


def test_a_table_that_has_no_room_tells_about_how_much_it_takes(tmp_path, monkeypatch):
    table = write_table(tmp_path / "a.csv", make_rows())
    cofactor("fit", table, *READ, "-k", 3, "-o", tmp_path / "m")
    predict = ("predict", tmp_path / "m", table, "-o", tmp_path / "p.csv")
    cofactor(*predict)
    size = (tmp_path / "p.csv").stat().st_size

    @contextmanager
    def small(path, file):
        yield SmallFile(file, size // 3)

    monkeypatch.setattr(atomic, "_compressed", small)
    monkeypatch.setattr(atomic, "free_space", lambda path: 0)
    said = cofactor(*predict, "--force", code=1).stderr
    told = r"p\.csv\. It takes about ([\d.]+) kB, and ([\d.]+) kB are free, so about ([\d.]+) kB"
    needed, free, missing = map(float, re.search(told, said).groups())
    assert needed * 1e3 == pytest.approx(size, rel=0.1)
    assert free * 1e3 == pytest.approx(size / 3, rel=0.1)
    assert missing == pytest.approx(needed - free, abs=0.11)
    assert (tmp_path / "p.csv").stat().st_size == size


def test_an_anndata_file_that_has_no_room_leaves_nothing(tmp_path, full):
    pytest.importorskip("anndata")
    table = write_table(tmp_path / "a.csv", make_rows())
    cofactor("fit", table, *READ, "-k", 3, "-o", tmp_path / "m")
    (tmp_path / "disk").mkdir()
    full(tmp_path / "disk")
    out = tmp_path / "disk" / "m.h5ad"
    said = cofactor("export", tmp_path / "m", "--to", "anndata", "-o", out, code=1).stderr
    assert f"There is no room for {out}. It takes " in said  # known, as HDF5 writes to memory
    assert os.listdir(tmp_path / "disk") == []
