"""Files and folders appear whole or not at all."""

import errno
import os
import subprocess
import sys
import time

import pytest

from cofactor.io import atomic, platform
from cofactor.io.atomic import (
    DiskFullError,
    is_full,
    place_of,
    replacing,
    replacing_folder,
    write_whole,
)
from cofactor.io.errors import InputError
from cofactor.io.models.folders import write_folder


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def fail(error):
        with replacing(path) as file:
            file.write(b"half")
            raise error

    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            fail(error)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_permissions_stay_and_links_are_followed(tmp_path):
    path, link = tmp_path / "a.csv", tmp_path / "link.csv"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_folder_is_not_replaced(tmp_path):
    with pytest.raises(IsADirectoryError), replacing(tmp_path):
        pass


def test_a_path_is_replaced_when_the_block_ends_well(tmp_path):
    path = tmp_path / "a.h5ad"
    with place_of(path) as new:
        assert new.suffix == ".h5ad"
        assert new.parent == tmp_path
        new.write_bytes(b"one")
        assert not path.exists()
    assert path.read_bytes() == b"one"
    assert path.stat().st_mode & 0o777 == 0o666 & ~withheld()
    with pytest.raises(ZeroDivisionError), place_of(path) as new:
        new.write_bytes(b"half" * (1 // 0))
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["a.h5ad"]


def withheld():
    """The permissions that this system keeps from new files."""
    if isinstance(platform.HERE, platform.Windows):
        return 0
    mask = os.umask(0)
    os.umask(mask)
    return mask


def left_behind(folder, process, name="out.csv", host=None, age=0.0):
    """Write a temporary file as a killed process leaves it."""
    from cofactor.io import atomic

    path = folder / f".{name}.writing-{host or atomic._host()}-{process}-abcd1234.csv"
    path.write_text("half")
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_temporary_files_of_dead_processes_are_removed(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    dead = int(done.stdout)
    stale = [
        left_behind(tmp_path, dead),
        left_behind(tmp_path, os.getppid(), age=2 * 86400),
        left_behind(tmp_path, dead, host="0" * 8, age=2 * 86400),
    ]
    kept = [
        left_behind(tmp_path, os.getpid()),
        left_behind(tmp_path, dead, host="1" * 8),
        left_behind(tmp_path, dead, name="other.csv"),
        tmp_path / ".out.csv.abcd1234.csv",
        tmp_path / ".out.csv.writing-notes.csv",
    ]
    for path in kept[-2:]:
        path.write_text("mine")
        os.utime(path, (0, 0))
    link = left_behind(tmp_path, dead + 1)
    link.unlink()
    link.symlink_to(kept[-1])
    with replacing(tmp_path / "out.csv") as file:
        file.write(b"whole")
    assert not [path for path in stale if path.exists()]
    assert all(path.exists() for path in [*kept, link])
    assert (tmp_path / "out.csv").read_bytes() == b"whole"


def test_a_place_in_no_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist; create it first"):
        atomic.check_place(tmp_path / "none" / "a.csv")


def write(path, keep_others=False, **files):
    with replacing_folder(path, keep_others=keep_others) as new:
        for name, text in files.items():
            (new / name).write_text(text)


@pytest.mark.parametrize("swaps", [True, False])
@pytest.mark.parametrize("keep", [True, False])
def test_a_folder_is_exchanged(tmp_path, monkeypatch, swaps, keep):
    if not swaps:
        monkeypatch.setattr(platform.HERE, "swap", lambda one, other: False)
    path = tmp_path / "parent" / "folder"
    write(path, a="1", b="2")
    write(path, keep, a="3", c="4")
    kept = {"b": "2"} if keep else {}
    assert {file.name: file.read_text() for file in path.iterdir()} == {"a": "3", "c": "4", **kept}
    assert path.stat().st_mode & 0o777 == 0o777 & ~withheld()
    assert os.listdir(path.parent) == ["folder"]


@pytest.mark.parametrize("keep", [True, False])
def test_a_failure_leaves_the_old_folder_and_nothing_else(tmp_path, keep):
    path = tmp_path / "folder"
    write(path, a="old")

    def fail(error):
        with replacing_folder(path, keep_others=keep) as new:
            (new / "a").write_text("half")
            raise error

    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            fail(error)
    assert (path / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["folder"]


def test_a_rename_that_fails_leaves_the_old_folder(tmp_path, monkeypatch):
    path, rename = tmp_path / "folder", os.rename
    write(path, a="old")

    def fail(one, other):
        if ".saving-" in str(one):
            raise OSError("no")
        rename(one, other)

    monkeypatch.setattr(platform.HERE, "swap", lambda one, other: False)
    monkeypatch.setattr(platform.HERE, "rename", fail)
    with pytest.raises(OSError, match="no"):
        write(path, a="new")
    assert (path / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["folder"]


def test_a_folder_of_other_files_is_told_from_our_own(tmp_path):
    assert not atomic.has_only_other_files(tmp_path / "absent", "mark")
    assert not atomic.has_only_other_files(tmp_path, "mark")
    (tmp_path / "notes.txt").write_text("")
    assert atomic.has_only_other_files(tmp_path, "mark")
    (tmp_path / "mark").write_text("")
    assert not atomic.has_only_other_files(tmp_path, "mark")


# ---- disks that are full


def full(*given, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_names_the_file_and_what_was_written(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    said = r"There is no room for .*a\.csv\. The disk was full after 0\.2 MB of it; make room"

    def fill():
        with replacing(path) as file:
            file.write(b"x" * 200_000)
            file.flush()
            full()

    with pytest.raises(DiskFullError, match=said):
        fill()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_a_full_disk_names_the_folder_and_the_space_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "free_space", lambda path: 300_000)
    monkeypatch.setattr(atomic, "write_flushed", full)
    said = r"It takes 2\.0 MB, and 0\.3 MB are free, so 1\.7 MB are missing"
    with pytest.raises(DiskFullError, match=said) as caught:
        write_folder(tmp_path / "m", {"a": b"x" * 2_000_000})
    assert caught.value.needed == 2_000_000
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("error", "yes"),
    [
        (OSError(errno.ENOSPC, "full"), True),
        (OSError(errno.EDQUOT, "quota"), True),
        (OSError("99 requested and 0 written"), True),
        (PermissionError(errno.EACCES, "no"), False),
    ],
)
def test_which_errors_say_that_a_disk_is_full(error, yes):
    assert is_full(error) is yes


@pytest.mark.parametrize("private", [False, True])
def test_private_files_are_of_this_user_alone(tmp_path, private):
    (path := tmp_path / "log.jsonl").touch()
    path.chmod(0o644)
    left = tmp_path / f".log.jsonl.writing-{atomic._host()}-999999999-abcd1234.jsonl"
    left.touch()  # of a process that was killed
    os.utime(left, (0, 0))
    write_whole(path, b"new", private=private)
    assert path.stat().st_mode & 0o777 == (0o600 if private else 0o644)
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == [path.name]
