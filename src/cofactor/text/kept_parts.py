"""What was counted and vectorised of parts of a corpus, kept in a folder.

A fit that was stopped finds the results there. A file is named by a digest of all that its result
depends on: the task, the vectorizer, the texts and the targets. A file that is damaged, or was
written by another version of cofactor, is written again.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor._version import __version__
from cofactor.io.atomic import write_whole
from cofactor.io.json_text import to_json
from cofactor.io.untrusted import DamagedFileError, read_file, require
from cofactor.outofcore.batches import RowsAndTargets, check_batch
from cofactor.text.text_parts import RowTask, TextPart, count_part, part_rows
from cofactor.text.vectorizer.counts import WordCounts
from cofactor.text.vectorizer.word_vectorizer import WordVectorizer

KEPT_TASKS = (count_part, part_rows)
"""The tasks whose results can be kept."""
MAX_BYTES = 2**36
"""Larger files are not read."""


def remembered(folder: Path, task: Callable[..., Any], part: TextPart, shared: Any) -> Any:
    """Return ``task(part, shared)``: what the folder has of it, or the result, which is kept there.

    Parameters
    ----------
    folder : Path
    task : callable
        One of `KEPT_TASKS`.
    part : TextPart
    shared : WordVectorizer or RowTask
    """
    path = folder / f"{_key(task.__name__, part, shared)}.npz"
    with suppress(DamagedFileError, ValueError, KeyError, OSError, EOFError):
        return _unpacked(_checked(read_file(path, MAX_BYTES)))
    found = task(part, shared)
    folder.mkdir(parents=True, exist_ok=True)
    data = _packed(found)
    write_whole(path, hashlib.sha256(data).digest() + data)
    return found


def _checked(data: bytes) -> bytes:
    """Return the contents of a file, which begins with their digest."""
    require(hashlib.sha256(data[32:]).digest() == data[:32], "it was changed after it was written")
    return data[32:]


def _key(task: str, part: TextPart, shared: Any) -> str:
    vectorizer: WordVectorizer = shared.vectorizer if isinstance(shared, RowTask) else shared
    further = shared[1:] if isinstance(shared, RowTask) else ()
    public = (name for name in sorted(vars(vectorizer)) if not name.startswith("_"))
    known = {name: _plain(getattr(vectorizer, name)) for name in public}
    digest = hashlib.sha256(to_json([__version__, task, further, known]).encode())
    cells = [] if part.y is None else np.asarray(part.y).tolist()
    for text in (*part.texts, *map(repr, cells)):
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(encoded) + encoded)
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    """Return an attribute of a vectorizer as lists, so that equal ones have equal digests."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value)
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


# ---- results as bytes


def _packed(found: Any) -> bytes:
    arrays = _count_arrays(found) if isinstance(found, WordCounts) else _row_arrays(*found)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _unpacked(data: bytes) -> Any:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return _as_counts(arrays) if "documents" in arrays else _as_rows(arrays)


def _as_array(value: Any) -> np.ndarray:
    """Return what JSON can hold as an array of bytes."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def _from_array(array: np.ndarray) -> Any:
    return json.loads(array.tobytes())


def _count_arrays(counts: WordCounts) -> dict[str, Any]:
    """Return counts as arrays; both lists of words are in the order of counting."""
    return {
        "documents": counts.documents,
        "words": _as_array([*counts.occurrences]),
        "occurrences": np.array([*counts.occurrences.values()], dtype=np.int64),
        "present": _as_array([*counts.documents_with]),
        "documents_with": np.array([*counts.documents_with.values()], dtype=np.int64),
        "forms": _as_array([[*form, times] for form, times in counts.forms.items()]),
    }


def _as_counts(arrays: Any) -> WordCounts:
    present, often = (
        Counter(dict(zip(_from_array(arrays[words]), arrays[counts].tolist(), strict=True)))
        for words, counts in (("present", "documents_with"), ("words", "occurrences"))
    )
    forms = Counter({(stem, form): times for stem, form, times in _from_array(arrays["forms"])})
    return WordCounts(present, often, forms, int(arrays["documents"]))


def _row_arrays(X: sp.csr_array, y: Any) -> dict[str, Any]:
    arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    if y is not None:
        plain = y.dtype.kind in "biuf"
        arrays["numbers" if plain else "labels"] = y if plain else _as_array(y.tolist())
    return arrays


def _as_rows(arrays: Any) -> RowsAndTargets:
    parts = arrays["data"], arrays["indices"], arrays["indptr"]
    X = sp.csr_array(parts, shape=tuple(arrays["shape"].tolist()))
    X.check_format(full_check=True)
    if "numbers" in arrays:
        return check_batch((X, arrays["numbers"]))
    if "labels" in arrays:
        return check_batch((X, np.array(_from_array(arrays["labels"]), dtype=object)))
    return check_batch(X)
