"""A Windows that runs here: our code for it, on calls that refuse what Windows refuses.

``pytest --windows tests/io tests/outofcore tests/app/test_decisions.py`` runs tests on it.
"""

import ctypes
import errno
import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path

from cofactor.io import platform


class Msvcrt:
    """Locks of byte ranges that belong to an open file, as Windows has them."""

    LK_UNLCK, LK_NBLCK = 0, 2
    AT_MOST = 2**31 - 1

    def locking(self, file, mode, count):
        start = os.lseek(file, 0, os.SEEK_CUR)
        assert os.fstat(file).st_size <= start <= self.AT_MOST - count, "others must read the file"
        kind = fcntl.F_UNLCK if mode == self.LK_UNLCK else fcntl.F_WRLCK
        try:
            fcntl.fcntl(file, 37, struct.pack("hhqqi", kind, os.SEEK_SET, start, count, 0))
        except OSError as error:  # 37 is F_OFD_SETLK, which Python names since 3.9 on some systems
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from error


class Kernel32:
    """A machine with eight gigabytes."""

    def GlobalMemoryStatusEx(self, reference):
        status = ctypes.cast(reference, ctypes.POINTER(platform.MemoryStatus)).contents
        assert status.size == 64
        status.physical = 8 * 2**30
        return 1


class SimulatedWindows(platform.Windows):
    """Refuses to move what this process has open, and to replace a folder."""

    def __init__(self, patience=0.0):
        super().__init__(Msvcrt(), Kernel32(), patience)

    def replace(self, old, new):
        self._moved(_checked(os.replace), old, new)

    def rename(self, old, new):
        self._moved(_checked(os.rename), old, new)


def _checked(move):
    def moved(old, new):
        if os.path.isdir(new) or (move is os.rename and os.path.lexists(new)):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new))
        if any(is_open(Path(path)) for path in (old, new)):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(new))
        move(old, new)

    return moved


def is_open(path):
    """Whether this process has opened or mapped a file, or one in a folder."""
    path, found = Path(os.path.realpath(path)), set()
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.add(os.readlink(f"/proc/self/fd/{number}"))
    lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    found |= {line.split(maxsplit=5)[5] for line in lines if line.count("/")}
    return any(Path(name).is_relative_to(path) for name in found)
