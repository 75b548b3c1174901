"""The code for Windows, run on a Windows that is simulated: files, folders, locks, streams."""

import io
import os
import sys
import threading
import time
from pathlib import Path, PureWindowsPath

import numpy as np
import pytest
from scipy import sparse as sp

from cofactor import NMF, RowBlocks, load_model, save
from cofactor.app.decisions import DecisionLog
from cofactor.io import atomic, platform
from cofactor.io.tables import open_source
from cofactor.outofcore.scratch import Scratch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the simulation needs /proc")


@pytest.fixture
def windows(monkeypatch):
    from windows import SimulatedWindows

    system = SimulatedWindows()
    monkeypatch.setattr(platform, "HERE", system)
    return system


# ---- the log of the app


def test_processes_take_turns_at_a_log(windows, tmp_path):
    """The second one waits until the first one has let go."""
    log, order = DecisionLog(tmp_path / "log.jsonl"), []

    def add():
        log.add("flag", "other", document="b", on=True)
        order.append("added")

    with DecisionLog(log.path).locked():
        other = threading.Thread(target=add)
        other.start()
        other.join(0.1)
        order.append("let go")
        assert DecisionLog(log.path).read() == []  # reading needs no lock
    other.join()
    assert order == ["let go", "added"]
    assert [one.content["document"] for one in DecisionLog(log.path).read()] == ["b"]


def test_lines_of_threads_stay_whole(windows, tmp_path):
    path = tmp_path / "log.jsonl"

    def add(number):
        for i in range(10):
            DecisionLog(path).add("flag", "x", document=f"{number}-{i}", on=True)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    log = DecisionLog(path)
    assert len({one.content["document"] for one in log.read()}) == 30
    assert log.unreadable == 0


# ---- files that take the place of others


def test_a_file_is_replaced(windows, tmp_path):
    path = tmp_path / "table.csv"
    for text in "one", "two":
        atomic.write_data(path, text.encode())
    assert path.read_text() == "two"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_a_file_that_is_open_elsewhere_is_named(windows, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with path.open(), pytest.raises(PermissionError, match=r"table\.csv is read-only or open"):
        atomic.write_data(path, b"new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_a_file_that_is_open_for_a_moment_is_waited_for(windows, tmp_path):
    windows._patience = 5.0
    path = tmp_path / "table.csv"
    path.write_text("old")
    file = path.open()
    threading.Timer(0.1, file.close).start()
    atomic.write_data(path, b"new")
    assert path.read_text() == "new"


def test_files_are_flushed_and_folders_are_not_opened(windows, tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda file: flushed.append(os.get_inheritable(file)))
    windows.flush(tmp_path)
    assert not flushed
    (tmp_path / "file").touch()
    windows.flush(tmp_path / "file")
    assert len(flushed) == 1


# ---- model folders and row blocks


def test_a_model_folder_is_replaced(windows, tmp_path):
    X = np.array([[3.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    model = NMF(2, random_state=0).fit(X)
    save(model, tmp_path / "model")
    (tmp_path / "model" / "own.txt").write_text("mine")
    save(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert (tmp_path / "model" / "own.txt").read_text() == "mine"
    assert os.listdir(tmp_path) == ["model"]


def test_a_model_folder_with_an_open_file_stays(windows, tmp_path):
    model = NMF(1, random_state=0).fit([[1.0, 2.0]])
    save(model, tmp_path / "model")
    before = (tmp_path / "model" / "manifest.json").read_bytes()
    with (
        (tmp_path / "model" / "config.json").open(),
        pytest.raises(PermissionError, match=r"a file in .*model is read-only or open"),
    ):
        save(model, tmp_path / "model")
    assert (tmp_path / "model" / "manifest.json").read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_row_blocks_give_the_fit_of_other_systems(monkeypatch, tmp_path, form):
    from windows import SimulatedWindows

    X = np.round(np.random.default_rng(0).random((40, 6)), 1)
    fitted = []
    for system in platform.Posix(), SimulatedWindows():
        monkeypatch.setattr(platform, "HERE", system)
        path = tmp_path / type(system).__name__
        blocks = RowBlocks.write(path, [form(X[:15]), form(X[15:])])
        fitted.append(NMF(2, random_state=0, tol=1e-2).fit(blocks))
    np.testing.assert_array_equal(fitted[0].components_, fitted[1].components_)
    np.testing.assert_array_equal(fitted[0].representation_, fitted[1].representation_)


def test_blocks_in_use_are_not_replaced(windows, tmp_path):
    """A map of a file keeps it open; the folder stays, and the message says what to do."""
    X = np.arange(6.0).reshape(3, 2)
    blocks = RowBlocks.write(tmp_path / "blocks", [X])
    held = blocks.block(0)
    with pytest.raises(PermissionError, match="close it there"):
        RowBlocks.write(tmp_path / "blocks", [X + 1], overwrite=True)
    del held
    assert os.listdir(tmp_path) == ["blocks"]


class SlowFile(io.FileIO):
    """A file that lets other threads run after it has moved its place."""

    def seek(self, *where):
        found = super().seek(*where)
        time.sleep(1e-3)
        return found


def test_threads_share_a_scratch_file(windows, monkeypatch):
    """One place in a file serves all threads, so only one may move it at a time."""
    monkeypatch.setattr(io, "FileIO", SlowFile)
    scratch = Scratch((64, 1000), np.float64)

    def fill(i):
        for _ in range(3):
            scratch[i : i + 8] = np.full((8, 1000), float(i))
            assert (scratch[i : i + 8] == i).all()

    threads = [threading.Thread(target=fill, args=(8 * i,)) for i in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    np.testing.assert_array_equal(scratch[:][:, 0], np.repeat(np.arange(0.0, 64.0, 8.0), 8))


# ---- the rest


def test_standard_input_is_read_without_a_file_of_that_name(windows, monkeypatch, tmp_path):
    (tmp_path / "piped").write_bytes(b"text,label\na word,x\n")
    with (tmp_path / "piped").open() as piped:
        monkeypatch.setattr(sys, "stdin", piped)
        source = open_source(platform.STANDARD_INPUT)
        assert [cells for _, cells in source.rows] == [["a word", "x"]]
        assert not piped.closed


def test_streams_that_are_no_terminals_carry_every_character(windows):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    windows.prepare_streams(stream, None)
    print("λ → 语", file=stream, flush=True)
    assert stream.buffer.getvalue().decode().strip() == "λ → 语"


def test_commands_are_quoted_for_the_shell_of_the_system(windows):
    words = ["cofactor", "fit", r"C:\my data\tickets.csv"]
    assert windows.command(words) == r'cofactor fit "C:\my data\tickets.csv"'
    assert platform.Posix().command(words) == r"cofactor fit 'C:\my data\tickets.csv'"


def test_memory_is_asked_of_the_system(windows):
    assert windows.memory() == 8 * 2**30
    assert platform.Posix().memory() > 2**28


def test_paths_with_drive_letters(monkeypatch):
    """A descriptor is told from a path on a drive, and a library may be named by its path."""
    monkeypatch.setattr(platform, "Path", PureWindowsPath)
    assert platform.is_descriptor("/dev/stdin")
    assert not platform.is_descriptor(r"C:\dev\stdin")
    path = PureWindowsPath("C:/kernels/kernels-v2.dll")
    assert path.name != str(path)


def test_a_cache_lies_in_the_profile(windows, monkeypatch, tmp_path):
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert windows.cache_folder() == tmp_path
    monkeypatch.setenv("LOCALAPPDATA", "relative")
    assert windows.cache_folder() == Path.home() / ".cache"


def test_other_processes_are_left_alone(windows):
    """Asking whether a process runs by os.kill would end it there."""
    assert windows.is_running(2**22 + 1)
    assert not platform.Posix().is_running(2**22 + 1)
