"""All that differs by operating system; a test keeps such names out of other modules.

`HERE` is the system that runs this process. Callers say ``HERE.replace(...)``, so that a test may
put a `Windows` with its own calls in its place and run that code elsewhere.
"""

from __future__ import annotations

import ctypes
import io
import os
import shlex
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import IO, Any

BINARY = getattr(os, "O_BINARY", 0)
"""Flag of ``os.open``: Windows would otherwise translate the ends of lines."""
UNBLOCKED = getattr(os, "O_NONBLOCK", 0)
"""Flag of ``os.open``: do not wait for the other end of a pipe."""
UNLINKED = getattr(os, "O_NOFOLLOW", 0) | UNBLOCKED
"""Flags of ``os.open``: do not follow a link, and do not wait for the other end of a pipe."""

STANDARD_INPUT = "/dev/stdin"
"""The path that stands for standard input, also where the system has no such file."""
DESCRIPTORS = (STANDARD_INPUT, "/dev/fd/", "/proc/self/fd/")


class Posix:
    """Linux and macOS."""

    replaces_open_files = True
    """Whether a file can be replaced or removed while somebody reads it."""

    # ---- files

    @contextmanager
    def locked(self, file: int) -> Iterator[None]:
        """Hold the lock of an open file; other processes wait until the block ends."""
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

    def read_at(self, file: int, into: memoryview, offset: int) -> int:
        """Read bytes that begin at ``offset``; return how many, which may be fewer than asked."""
        return os.preadv(file, [into], offset)

    def write_at(self, file: int, data: memoryview, offset: int) -> int:
        """Write bytes at ``offset``; return how many were written."""
        return os.pwrite(file, data, offset)

    def flush(self, path: str | Path) -> None:
        """Make sure that a file, or the list of files in a folder, is on the disk."""
        _flush(path, os.O_RDONLY)

    def replace(self, old: str | Path, new: str | Path) -> None:
        """Give a file another name; a file that has this name is replaced."""
        os.replace(old, new)

    def rename(self, old: Path, new: Path) -> None:
        """Give a folder or a file a name that is free."""
        os.rename(old, new)

    def swap(self, one: Path, other: Path) -> bool:
        """Exchange two folders by one system call; return False if the system has none."""
        calls = {"linux": "renameat2", "darwin": "renameatx_np"}
        here = {"linux": -100, "darwin": -2}.get(sys.platform)  # AT_FDCWD
        try:
            call = getattr(ctypes.CDLL(None, use_errno=True), calls[sys.platform])
        except (AttributeError, KeyError, OSError, TypeError):
            return False
        return bool(call(here, os.fsencode(one), here, os.fsencode(other), ctypes.c_uint(2)) == 0)

    def umask(self) -> int:
        """Return the permissions that new files do not get."""
        mask = os.umask(0o022)
        os.umask(mask)
        return mask

    def is_own(self, found: os.stat_result) -> bool:
        """Return whether a plain file or a folder belongs to this user."""
        return _is_plain(found) and found.st_uid == os.getuid()

    def is_private(self, found: os.stat_result) -> bool:
        """Return whether a plain file or a folder is this user's, and only they can write it."""
        return self.is_own(found) and not found.st_mode & 0o022

    def cache_folder(self) -> Path:
        """Return the folder for files that can be made again."""
        folder = os.environ.get("XDG_CACHE_HOME", "")
        return Path(folder) if os.path.isabs(folder) else Path.home() / ".cache"

    # ---- the input and output of commands

    def open_input(self, path: Path) -> IO[bytes]:
        """Open a file, or standard input, for reading."""
        return open(path, "rb")

    def prepare_streams(self, *streams: Any) -> None:
        """Let the standard streams carry every character."""

    def command(self, words: Sequence[str]) -> str:
        """Return a command as users type it."""
        return shlex.join(words)

    # ---- processes, memory, network

    def is_running(self, process: int) -> bool:
        """Return whether a process of this machine exists; True if that cannot be known."""
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        except (OSError, OverflowError):
            return True
        return True

    def memory(self) -> int:
        """Return the number of bytes of this machine's memory."""
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

    def library_suffix(self) -> str:
        """Return the ending of shared libraries."""
        return ".dylib" if sys.platform == "darwin" else ".so"

    def claim_address(self, listening: socket.socket) -> None:
        """Let a socket bind to a port that an earlier process has just left, and to no other's."""
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


class Windows(Posix):
    """Windows.

    A file that is open cannot be replaced or renamed, a folder cannot be opened, a process cannot
    be asked for without ending it, and files have no owner that Python could name.

    Parameters
    ----------
    msvcrt, kernel32 : object, optional
        The calls of the system; tests pass their own.
    patience : float
        Seconds to wait for other programs (virus scanners, indexers) to close a file.
    """

    replaces_open_files = False
    LOCKED_BYTE = 2**31 - 2
    """The byte that is locked; others cannot read it, so it lies behind the end of the file."""

    def __init__(self, msvcrt: Any = None, kernel32: Any = None, patience: float = 2.0) -> None:
        self._msvcrt, self._kernel32, self._patience = msvcrt, kernel32, patience
        self._moving = Lock()  # the place in a file belongs to all threads

    @contextmanager
    def locked(self, file: int) -> Iterator[None]:
        self._lock(file, "LK_NBLCK", wait=True)
        try:
            yield
        finally:
            self._lock(file, "LK_UNLCK")

    def _lock(self, file: int, mode: str, wait: bool = False) -> None:
        if self._msvcrt is None:
            import msvcrt

            self._msvcrt = msvcrt
        while True:
            os.lseek(file, self.LOCKED_BYTE, os.SEEK_SET)
            try:
                self._msvcrt.locking(file, getattr(self._msvcrt, mode), 1)
                return
            except PermissionError:
                if not wait:
                    raise
                time.sleep(0.01)

    def read_at(self, file: int, into: memoryview, offset: int) -> int:
        with self._moving, io.FileIO(file, "rb", closefd=False) as place:
            place.seek(offset)
            return place.readinto(into)

    def write_at(self, file: int, data: memoryview, offset: int) -> int:
        with self._moving, io.FileIO(file, "r+b", closefd=False) as place:
            place.seek(offset)
            return place.write(data)

    def flush(self, path: str | Path) -> None:
        if not os.path.isdir(path):
            _flush(path, os.O_RDWR | BINARY)  # only what may be written can be flushed

    def replace(self, old: str | Path, new: str | Path) -> None:
        self._moved(os.replace, old, new)

    def rename(self, old: Path, new: Path) -> None:
        self._moved(os.rename, old, new)

    def _moved(self, move: Callable[[Any, Any], None], old: Any, new: Any) -> None:
        end = time.monotonic() + self._patience
        while True:
            try:
                move(old, new)
                return
            except PermissionError as error:
                if time.monotonic() > end:
                    what = f"a file in {old}" if os.path.isdir(old) else str(new)
                    reason = f"{what} is read-only or open in a program; close it there, try again"
                    raise PermissionError(error.errno, reason) from error
                time.sleep(0.05)

    def swap(self, one: Path, other: Path) -> bool:
        return False

    def umask(self) -> int:
        return 0

    def is_own(self, found: os.stat_result) -> bool:
        """Return whether it is plain; Windows does not say whose it is.

        What the program keeps lies in the user's own profile.
        """
        return _is_plain(found)

    def is_private(self, found: os.stat_result) -> bool:
        return _is_plain(found)

    def cache_folder(self) -> Path:
        folder = os.environ.get("LOCALAPPDATA", "")
        return Path(folder) if os.path.isabs(folder) else Path.home() / ".cache"

    def open_input(self, path: Path) -> IO[bytes]:
        if path.as_posix() != STANDARD_INPUT:
            return open(path, "rb")
        return open(sys.stdin.fileno(), "rb", closefd=False)

    def prepare_streams(self, *streams: Any) -> None:
        for stream in streams:  # a terminal shows all characters, a pipe has those of one language
            if hasattr(stream, "reconfigure") and not stream.isatty():
                stream.reconfigure(encoding="utf-8")

    def command(self, words: Sequence[str]) -> str:
        return subprocess.list2cmdline(words)

    def is_running(self, process: int) -> bool:
        return True

    def memory(self) -> int:
        kernel32 = self._kernel32 or ctypes.windll.kernel32  # type: ignore[attr-defined]
        status = MemoryStatus()
        status.size = ctypes.sizeof(status)
        kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
        return int(status.physical)

    def library_suffix(self) -> str:
        return ".dll"

    def claim_address(self, listening: socket.socket) -> None:
        exclusive = getattr(socket, "SO_EXCLUSIVEADDRUSE", None)  # there, reuse shares with others
        if exclusive is not None:
            listening.setsockopt(socket.SOL_SOCKET, exclusive, 1)


class MemoryStatus(ctypes.Structure):
    """What Windows says about memory (MEMORYSTATUSEX)."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        ("physical", ctypes.c_uint64),
        ("others", ctypes.c_uint64 * 6),
    ]


def _is_plain(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)


def _flush(path: str | Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_between(file: int, start: int, end: int) -> bytes:
    """Return the bytes of an open file from ``start`` to ``end``; fewer if the file ends before."""
    data = bytearray(max(end - start, 0))
    return bytes(data[: fill(file, memoryview(data), start)])


def fill(file: int, into: memoryview, offset: int) -> int:
    """Read bytes that begin at ``offset`` until ``into`` is full or the file ends; count them."""
    done = 0
    while done < len(into) and (count := HERE.read_at(file, into[done:], offset + done)):
        done += count
    return done


def is_descriptor(path: str | os.PathLike[str]) -> bool:
    """Return whether a path stands for standard input or another open file of this process."""
    return Path(path).as_posix().startswith(DESCRIPTORS)


HERE: Posix = Windows() if sys.platform == "win32" else Posix()
"""The system that runs this process."""
