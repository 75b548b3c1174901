"""Manifests: JSON files that list other files with size and digest, and hold their own digest."""

from __future__ import annotations

import json
from typing import Any

from cofactor.io.untrusted import require, sha256


def file_facts(data: bytes) -> dict[str, Any]:
    """Return what a manifest says about a file."""
    return {"bytes": len(data), "sha256": sha256(data)}


def check_file_facts(facts: Any, where: str) -> None:
    """Raise a DamagedFileError unless ``facts`` can come from `file_facts`."""
    good = isinstance(facts, dict) and facts.keys() == {"bytes", "sha256"}
    good = good and type(facts["bytes"]) is int and isinstance(facts["sha256"], str)
    require(good and facts["bytes"] >= 0, f"{where} needs bytes and sha256")


def check_contents(name: str, data: bytes, facts: dict[str, Any]) -> None:
    """Raise a DamagedFileError if a file is not the one that a manifest lists."""
    size = facts["bytes"]
    require(len(data) == size, f"{name} has {len(data)} bytes in place of {size}; it is cut off")
    require(sha256(data) == facts["sha256"], f"{name} has other contents than when it was saved")


def with_digest(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest with its digest."""
    return {**manifest, "digest": _digest(manifest)}


def check_digest(manifest: dict[str, Any], name: str) -> None:
    """Raise a DamagedFileError if a manifest was changed after it was written."""
    require(_digest(manifest) == manifest.get("digest"), f"{name} was changed after saving")


def _digest(manifest: dict[str, Any]) -> str:
    rest = {key: value for key, value in manifest.items() if key != "digest"}
    return sha256(json.dumps(rest, sort_keys=True).encode())
