"""The manifest of a model: what the folder holds, how it was made, and how to check it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from cofactor._version import __version__
from cofactor._versions import versions
from cofactor.io.json_text import from_json_file
from cofactor.io.manifests import check_digest, check_file_facts, file_facts, with_digest
from cofactor.io.models import arrays
from cofactor.io.models.errors import NoModelError
from cofactor.io.models.folders import MARK
from cofactor.io.untrusted import require

FORMAT, SCHEMA = "cofactor-model", 1
FILES = ("config.json", "vocabulary.json", "classes.json", "factors.npz")
"""The files that are read back, besides the manifest."""

LARGEST_MANIFEST = 4 * 2**20
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


def make_manifest(
    facts: dict[str, Any], files: dict[str, bytes], packed: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Return the manifest of files and arrays, with ``facts`` about the model."""
    manifest = {
        "format": FORMAT,
        "schema": SCHEMA,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **facts,
        "versions": versions(),
        "shape": _shape(packed),
        "files": {name: file_facts(data) for name, data in files.items()},
        "arrays": {name: arrays.describe(array) for name, array in packed.items()},
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
        len(data) <= LARGEST_MANIFEST,
        f"manifest.json has {len(data)} bytes, more than the {LARGEST_MANIFEST} that are read; "
        "shorten the notes or the names of the classes",
    )
    manifest = from_json_file(data, MARK)
    good = isinstance(manifest, dict) and manifest.get("format") == FORMAT
    require(good, "manifest.json does not belong to a cofactor model")
    schema = manifest.get("schema")
    require(type(schema) is int and schema >= 1, f"manifest.json has the schema {schema!r}")
    if schema > SCHEMA:
        raise NoModelError(
            f"manifest.json has schema {schema}, written by a newer cofactor than this "
            f"({__version__}, schema {SCHEMA}); upgrade cofactor"
        )
    check_digest(manifest, MARK)
    listed = manifest.get("files")
    good = isinstance(listed, dict) and listed.keys() == set(FILES)
    require(good, f"manifest.json must list the files {', '.join(FILES)}")
    for name, one in listed.items():
        check_file_facts(one, f"manifest.json: files[{name!r}]")
    arrays.check_declared(manifest.get("arrays"), listed["factors.npz"]["bytes"])
    return manifest


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
