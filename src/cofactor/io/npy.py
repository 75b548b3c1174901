"""Arrays ↔ bytes in numpy's .npy and .npz formats, read without trusting them.

The header of an .npy file is matched by a pattern and never evaluated, and its shape is compared
with the size of the file before an array is made. Members of .npz files are stored, not deflated,
so a small file cannot become large when it is read.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Callable, Collection, Mapping
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from cofactor.io.untrusted import DamagedFileError, require

MAGIC = b"\x93NUMPY\x01\x00"
MAX_HEADER_BYTES = 4096
ALIGNMENT = 64
"""Values of a file begin at a multiple of this number of bytes, as numpy writes them."""
HEADER = re.compile(
    rb"\{'descr': '([<>|][biuf]\d{1,2})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18}(?:, \d{1,18})*,?)?)\), \} *\n"
)


class Header(NamedTuple):
    """Dtype, shape and order of the array in an .npy file, and where its values begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    offset: int

    @property
    def size(self) -> int:
        """Size of the file in bytes."""
        return self.offset + math.prod(self.shape) * self.dtype.itemsize


def read_header(start: bytes, name: str) -> Header:
    """Return the header of an .npy file, given its first bytes (`MAX_HEADER_BYTES` are enough)."""
    require(start[:8] == MAGIC, f"{name} is not an array in numpy's format 1.0")
    offset = 10 + int.from_bytes(start[8:10], "little")
    good = offset <= min(len(start), MAX_HEADER_BYTES) and offset % ALIGNMENT == 0
    found = HEADER.fullmatch(start[10:offset]) if good else None
    require(found is not None, f"{name} has a header that numpy does not write")
    descr, fortran, shape = found.groups()  # type: ignore[union-attr]
    try:
        dtype = np.dtype(descr.decode())
    except TypeError:
        raise DamagedFileError(f"{name} has the unknown dtype {descr.decode()}") from None
    sizes = tuple(int(size) for size in shape.rstrip(b",").split(b", ") if size)
    return Header(dtype, sizes, fortran == b"True", offset)


def as_array(data: Any, name: str) -> np.ndarray:
    """Return the array of an .npy file as a view of its bytes."""
    header = read_header(bytes(data[:MAX_HEADER_BYTES]), name)
    require(len(data) == header.size, f"{name} has {len(data)} bytes instead of {header.size}")
    flat = np.frombuffer(data, header.dtype, offset=header.offset)
    return flat.reshape(header.shape, order="F" if header.fortran else "C")


def to_bytes(array: np.ndarray) -> bytes:
    """Return an array as the bytes of an .npy file."""
    buffer = io.BytesIO()
    npy.write_array(buffer, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def pack(arrays: Mapping[str, np.ndarray], comment: bytes = b"") -> bytes:
    """Return arrays as the bytes of an .npz file; equal arrays give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = comment
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                npy.write_array(member, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def unpack(
    file: IO[bytes], name: str, required: Collection[str], optional: Collection[str] = ()
) -> tuple[dict[str, np.ndarray], bytes]:
    """Return the arrays of an .npz file that `pack` or `numpy.savez` wrote, and its comment."""
    with zipfile.ZipFile(file) as archive:
        members = _members(archive)
        good = {*required} <= members.keys() <= {*required, *optional}
        good = good and len(members) == len(archive.infolist())
        require(good, f"{name} does not hold the arrays {', '.join(sorted(required))}")
        return _arrays(archive, members, name, _size(file)), archive.comment


def some_arrays(file: IO[bytes], name: str, chosen: Callable[[str], bool]) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file whose names are chosen; the others are not read."""
    with zipfile.ZipFile(file) as archive:
        members = {key: member for key, member in _members(archive).items() if chosen(key)}
        return _arrays(archive, members, name, _size(file))


def _size(file: IO[bytes]) -> int:
    return file.seek(0, io.SEEK_END)


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    return {member.filename.removesuffix(".npy"): member for member in archive.infolist()}


def _arrays(
    archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], name: str, size: int
) -> dict[str, np.ndarray]:
    return {
        key: as_array(_stored(archive, member, size, name), f"{name}: {member.filename}")
        for key, member in members.items()
    }


def _stored(archive: zipfile.ZipFile, member: zipfile.ZipInfo, largest: int, name: str) -> bytes:
    plain = member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1
    plain = plain and member.file_size == member.compress_size <= largest
    require(plain, f"{name}: {member.filename} is not stored plainly")
    return archive.read(member)


def check_factor(array: np.ndarray, name: str) -> None:
    """Check that an array is a matrix of finite and nonnegative floats."""
    good = array.ndim == 2 and array.dtype in (np.float32, np.float64)
    require(good, f"{name} has dtype {array.dtype} and shape {array.shape}, not a float matrix")
    good = bool((np.isfinite(array) & (array >= 0)).all())
    require(good, f"{name} has an entry that is not finite or negative")
