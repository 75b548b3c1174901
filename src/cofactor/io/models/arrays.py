"""Arrays ↔ bytes of an .npz file, which `numpy.load` reads too.

Members are stored, never deflated, so a file cannot grow when read; and what their headers
declare is compared with the manifest before an array is made.
"""

from __future__ import annotations

import hashlib
import io
import math
import zipfile
from typing import Any

import numpy as np
from numpy.lib import format as npy

from cofactor.io.models.errors import ModelFormatError, require

DTYPES = ("<f8", "<f4", "<i8", "<i4", "|b1")
LARGEST_HEADER = 4096


def describe(array: np.ndarray) -> dict[str, Any]:
    """Return what the manifest says of an array."""
    return {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
    }


def portable(array: np.ndarray) -> np.ndarray:
    """Return the array in C order and with a dtype that the format knows."""
    dtype = {"b": "|b1", "f": "<f8" if array.dtype.itemsize > 4 else "<f4"}.get(array.dtype.kind)
    return np.array(array, dtype=dtype or "<i8", order="C")


def pack(arrays: dict[str, np.ndarray]) -> bytes:
    """Return arrays as the bytes of an .npz file; equal arrays give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                npy.write_array(member, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def check_declared(declared: Any, size: int) -> None:
    """Compare the shapes that a manifest declares with the size of the file."""
    require(isinstance(declared, dict), "manifest.json: arrays is no object")
    total = 0
    for name, one in declared.items():
        where = f"manifest.json: arrays[{name!r}]"
        require(
            isinstance(one, dict) and one.keys() == {"dtype", "shape", "sha256"},
            f"{where} needs dtype, shape and sha256",
        )
        require(one["dtype"] in DTYPES, f"{where} has the dtype {one['dtype']!r}")
        shape = one["shape"]
        good = isinstance(shape, list) and len(shape) <= 2
        require(good and all(type(n) is int and n >= 0 for n in shape), f"{where}: bad shape")
        total += math.prod(shape) * np.dtype(one["dtype"]).itemsize
        require(
            total <= size,
            f"{where} declares the shape {tuple(shape)}, more than the {size} bytes of factors.npz",
        )


def unpack(data: bytes, declared: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file, if it holds those that are declared and no others."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        found = [member.filename for member in members]
        require(
            sorted(found) == sorted(f"{name}.npy" for name in declared),
            "factors.npz does not hold the arrays that manifest.json lists",
        )
        return {
            name: _unpack_one(archive, archive.getinfo(f"{name}.npy"), one)
            for name, one in declared.items()
        }


def _unpack_one(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, declared: dict[str, Any]
) -> np.ndarray:
    where = f"factors.npz: {member.filename}"
    plain = member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1
    require(plain and member.file_size == member.compress_size, f"{where} is not stored plainly")
    size = math.prod(declared["shape"]) * np.dtype(declared["dtype"]).itemsize
    require(size <= member.file_size <= size + LARGEST_HEADER, f"{where} has the wrong size")
    stream = io.BytesIO(archive.read(member))
    require(npy.read_magic(stream) == (1, 0), f"{where} has another version than 1.0")
    shape, fortran, dtype = npy.read_array_header_1_0(stream, max_header_size=LARGEST_HEADER)
    same = list(shape) == declared["shape"] and dtype.str == declared["dtype"] and not fortran
    require(same, f"{where} has not the shape and dtype that manifest.json declares")
    raw = stream.read()
    require(len(raw) == size, f"{where} has {len(raw)} bytes of values in place of {size}")
    if hashlib.sha256(raw).hexdigest() != declared["sha256"]:
        raise ModelFormatError(f"{where} has other values than when it was saved")
    return np.frombuffer(raw, dtype=dtype).reshape(shape).copy()
