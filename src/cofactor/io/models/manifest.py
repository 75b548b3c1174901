"""The manifest: what a folder holds, where it came from, and how to check it."""

from __future__ import annotations

import hashlib
import json
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from cofactor._version import __version__
from cofactor.io.models import arrays
from cofactor.io.models.errors import ModelFormatError, require

FORMAT, SCHEMA = "cofactor-model", 1
FILES = ("config.json", "vocabulary.json", "classes.json", "factors.npz")
"""What is read back, besides the manifest."""

LARGEST_MANIFEST = 4 * 2**20
SHAPES = {
    "components_": ("topics", "features"),
    "representation_": ("samples", "topics"),
    "document_topics_": ("samples", "topics"),
    "target_components_": ("topics", "targets"),
    "coherence_": ("topics",),
    "idf_": ("features",),
}
"""Shapes of the arrays by the last part of their names."""


def to_json(value: Any) -> bytes:
    """Return JSON that people can read, in UTF-8."""
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(value, indent=1, allow_nan=False).encode() + b"\n"


def from_json(data: bytes, name: str) -> Any:
    """Return the value of a JSON file; keys must not repeat."""
    try:
        return json.loads(data, object_pairs_hook=_distinct, parse_constant=_refuse)
    except ModelFormatError as error:
        raise ModelFormatError(f"{name} {error}") from None
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{name} is not JSON: {error}") from error


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    require(len(found) == len(pairs), "repeats a key")
    return found


def _refuse(constant: str) -> Any:
    raise ModelFormatError(f"holds {constant}, which is not JSON")


def make_manifest(
    facts: dict[str, Any], files: dict[str, bytes], packed: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Return the manifest of files and arrays; ``facts`` are about the model."""
    manifest = {
        "format": FORMAT,
        "schema": SCHEMA,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **facts,
        "versions": versions(),
        "shape": _shape(packed),
        "files": {n: {"bytes": len(d), "sha256": _sha256(d)} for n, d in files.items()},
        "arrays": {name: arrays.describe(array) for name, array in packed.items()},
    }
    return {**manifest, "digest": _digest(manifest)}


def versions() -> dict[str, str]:
    """Return the versions of what computes."""
    found = {"cofactor": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _shape(packed: dict[str, np.ndarray]) -> dict[str, int]:
    shape: dict[str, int] = {}
    for name, array in packed.items():
        axes = SHAPES.get(name.rsplit(".", 1)[-1], ())
        shape |= dict(zip(axes, array.shape, strict=False))
    return shape


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _digest(manifest: dict[str, Any]) -> str:
    rest = {key: value for key, value in manifest.items() if key != "digest"}
    return _sha256(json.dumps(rest, sort_keys=True).encode())


def read_manifest(data: bytes) -> Any:
    """Return a manifest after checking it on its own."""
    manifest = from_json(data, "manifest.json")
    good = isinstance(manifest, dict) and manifest.get("format") == FORMAT
    require(good, "manifest.json is not that of a cofactor model")
    schema = manifest.get("schema")
    require(type(schema) is int and schema >= 1, f"manifest.json has the schema {schema!r}")
    require(
        schema <= SCHEMA,
        f"manifest.json has schema {schema}, written by a newer cofactor than this ({__version__}, "
        f"schema {SCHEMA}); upgrade cofactor",
    )
    require(_digest(manifest) == manifest.get("digest"), "manifest.json was changed after saving")
    listed = manifest.get("files")
    good = isinstance(listed, dict) and listed.keys() == set(FILES)
    require(good, f"manifest.json must list the files {', '.join(FILES)}")
    for name, one in listed.items():
        good = isinstance(one, dict) and type(one.get("bytes")) is int and "sha256" in one
        require(good and one["bytes"] >= 0, f"manifest.json: files[{name!r}] is wrong")
    arrays.check_declared(manifest.get("arrays"), listed["factors.npz"]["bytes"])
    return manifest


def check_file(manifest: dict[str, Any], name: str, data: bytes) -> None:
    """Compare a file with what the manifest says of it."""
    size = manifest["files"][name]["bytes"]
    require(len(data) == size, f"{name} has {len(data)} bytes in place of {size}; it is cut off")
    good = _sha256(data) == manifest["files"][name]["sha256"]
    require(good, f"{name} has other contents than when it was saved")


def check_shapes(manifest: dict[str, Any], n_words: int | None, n_classes: int | None) -> None:
    """Compare declared shapes with each other and with the words and classes."""
    axes: dict[str, int] = {}
    if n_words is not None:
        axes["features"] = n_words
    if n_classes is not None:
        axes["targets"] = n_classes
    for name, one in manifest["arrays"].items():
        expected = SHAPES.get(name.rsplit(".", 1)[-1])
        if expected is None:
            continue
        require(len(one["shape"]) == len(expected), f"manifest.json: {name} has another rank")
        for axis, size in zip(expected, one["shape"], strict=True):
            known = axes.setdefault(axis, size)
            require(size == known, f"manifest.json: {name} has {size} {axis}, others {known}")
