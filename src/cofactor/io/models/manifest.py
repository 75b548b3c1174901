"""The manifest of a model: what the folder holds, how it was made, and how to check it."""

from __future__ import annotations

import io
import math
from datetime import UTC, datetime
from typing import Any

import numpy as np

from cofactor._version import __version__
from cofactor._versions import commit, versions
from cofactor.io import npy
from cofactor.io.json_text import from_json_file
from cofactor.io.models.codec import NoModelError
from cofactor.io.models.samples import SAMPLES, describe_samples
from cofactor.io.untrusted import (
    check_digest,
    check_file_facts,
    file_facts,
    require,
    sha256,
    with_digest,
)

MODEL_MANIFEST = "manifest.json"
"""The file that makes a folder a model."""
FORMAT, SCHEMA = "cofactor-model", 2
"""Schema 1 had the arrays of `SAMPLES` in factors.npz."""
FILES = ("config.json", "vocabulary.json", "classes.json", "factors.npz")
"""The files that every model has, besides the manifest."""

DTYPES = ("<f8", "<f4", "<i8", "<i4", "|b1")
MAX_MANIFEST_BYTES = 4 * 2**20
SHAPES = {
    "components_": ("topics", "features"),
    "representation_": ("samples", "topics"),
    "document_topics_": ("samples", "topics"),
    "target_components_": ("topics", "targets"),
    "document_scores_": ("samples", "targets"),
    "coherence_": ("topics",),
    "probable_coherence_": ("topics",),
    "idf_": ("features",),
}
"""Axes of an array, by the last part of its name."""


def has_samples(name: str) -> bool:
    """Return whether an array has a row for each sample."""
    return SHAPES.get(name.rsplit(".", 1)[-1], ("",))[0] == "samples"


def make_manifest(
    facts: dict[str, Any],
    files: dict[str, bytes],
    packed: dict[str, np.ndarray],
    samples: dict[str, np.ndarray],
) -> dict[str, Any]:
    """Return the manifest of files and arrays, with ``facts`` about the model."""
    manifest = {
        "format": FORMAT,
        "schema": SCHEMA,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **facts,
        "versions": versions(),
        "commit": commit(),
        "shape": _shape({**packed, **samples}),
        "files": {name: file_facts(data) for name, data in files.items()},
        "arrays": {name: describe(array) for name, array in packed.items()},
        "samples": describe_samples(samples),
    }
    return with_digest(manifest)


def _shape(packed: dict[str, np.ndarray]) -> dict[str, int]:
    shape: dict[str, int] = {}
    for name, array in packed.items():
        axes = SHAPES.get(name.rsplit(".", 1)[-1], ())
        shape |= dict(zip(axes, array.shape, strict=False))
    return shape


def read_manifest(data: bytes) -> Any:
    """Return a manifest after checking everything that needs no other file."""
    require(
        len(data) <= MAX_MANIFEST_BYTES,
        f"manifest.json has {len(data)} bytes, more than the {MAX_MANIFEST_BYTES} that are read; "
        "shorten the notes or the names of the classes",
    )
    manifest = from_json_file(data, MODEL_MANIFEST)
    good = isinstance(manifest, dict) and manifest.get("format") == FORMAT
    require(good, "manifest.json does not belong to a cofactor model")
    schema = manifest.get("schema")
    require(type(schema) is int and schema >= 1, f"manifest.json has the schema {schema!r}")
    if schema > SCHEMA:
        raise NoModelError(
            f"manifest.json has schema {schema}, written by a newer cofactor than this "
            f"({__version__}, schema {SCHEMA}); upgrade cofactor"
        )
    check_digest(manifest, MODEL_MANIFEST)
    listed = manifest.get("files")
    wanted = FILES if schema == 1 else (*FILES, SAMPLES)
    good = isinstance(listed, dict) and listed.keys() == set(wanted)
    require(good, f"manifest.json must list the files {', '.join(wanted)}")
    for name, one in listed.items():
        check_file_facts(one, f"manifest.json: files[{name!r}]")
    check_declared(manifest.get("arrays"), listed["factors.npz"]["bytes"])
    check_samples(manifest.setdefault("samples", {}))
    return manifest


def check_shapes(manifest: dict[str, Any], n_words: int | None, n_classes: int | None) -> None:
    """Compare declared shapes with each other and with the words and classes."""
    axes: dict[str, int] = {}
    if n_words is not None:
        axes["features"] = n_words
    if n_classes is not None:
        axes["targets"] = n_classes
    for name, one in {**manifest["arrays"], **manifest["samples"]}.items():
        expected = SHAPES.get(name.rsplit(".", 1)[-1])
        if expected is None:
            continue
        require(len(one["shape"]) == len(expected), f"manifest.json: {name} has another rank")
        for axis, size in zip(expected, one["shape"], strict=True):
            known = axes.setdefault(axis, size)
            require(size == known, f"manifest.json: {name} has {size} {axis}, others {known}")


# ---- arrays: one .npz file, whose arrays the manifest declares


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
        _check_kind(one, where)
        shape = one["shape"]
        total += math.prod(shape) * np.dtype(one["dtype"]).itemsize
        require(
            total <= size,
            f"{where} declares the shape {tuple(shape)}, more than the {size} bytes of factors.npz",
        )


def _check_kind(one: dict[str, Any], where: str) -> None:
    """Check the dtype and the form of the shape that a manifest declares."""
    require(one["dtype"] in DTYPES, f"{where} has the dtype {one['dtype']!r}")
    shape = one["shape"]
    good = isinstance(shape, list) and len(shape) <= 2
    require(good and all(type(n) is int and n >= 0 for n in shape), f"{where}: bad shape")


def check_samples(declared: Any) -> None:
    """Check what a manifest declares about the arrays with a row for each sample.

    Their sizes are compared with those of topics and targets (`check_shapes`), and with their file
    when it is read.
    """
    require(isinstance(declared, dict), "manifest.json: samples is not an object")
    for name, one in declared.items():
        where = f"manifest.json: samples[{name!r}]"
        good = isinstance(one, dict) and one.keys() == {"dtype", "shape"} and has_samples(name)
        require(good, f"{where} needs dtype and shape")
        _check_kind(one, where)


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
    require(good, f"{where} differs from when it was saved")
    return array.copy()
