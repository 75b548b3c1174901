"""The arrays of a model: one .npz file, whose arrays the manifest declares."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

from cofactor.io import npy
from cofactor.io.untrusted import require, sha256

DTYPES = ("<f8", "<f4", "<i8", "<i4", "|b1")


def describe(array: np.ndarray) -> dict[str, Any]:
    """Return what the manifest says about an array."""
    return {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": sha256(array.tobytes())}


def portable(array: np.ndarray) -> np.ndarray:
    """Return the array in C order and with a dtype that the format knows."""
    dtype = {"b": "|b1", "f": "<f8" if array.dtype.itemsize > 4 else "<f4"}.get(array.dtype.kind)
    return np.array(array, dtype=dtype or "<i8", order="C")


def check_declared(declared: Any, size: int) -> None:
    """Compare the shapes that a manifest declares with the size of the file."""
    require(isinstance(declared, dict), "manifest.json: arrays is not an object")
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
    """Return the arrays of factors.npz, if it holds those that are declared and no others."""
    held, _ = npy.unpack(io.BytesIO(data), "factors.npz", declared.keys())
    return {name: _checked(name, held[name], one) for name, one in declared.items()}


def _checked(name: str, array: np.ndarray, declared: dict[str, Any]) -> np.ndarray:
    where = f"factors.npz: {name}.npy"
    same = list(array.shape) == declared["shape"] and array.dtype.str == declared["dtype"]
    same = same and array.flags.c_contiguous
    require(same, f"{where} does not have the shape and dtype that manifest.json declares")
    good = sha256(array.tobytes()) == declared["sha256"]
    require(good, f"{where} has other values than when it was saved")
    return array.copy()
