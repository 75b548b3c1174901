"""Vectors of texts on disk, for encoders that are slow.

A cache has a folder for each encoder, which its vectors of `PROBES` identify. A folder holds
segments: files with the digests of some texts and their vectors. A segment is written whole or not
at all, never changed, and named by the digest of its contents, so a process may be killed at any
time, and several may share a cache. The oldest segments are removed when a cache exceeds its size,
perhaps while another process reads them. Nothing in it is trusted: whatever differs from what was
written is refused.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from cofactor._types import FloatArray
from cofactor.errors import InputError
from cofactor.io import npy
from cofactor.io.atomic import remove_stale, write_whole
from cofactor.io.untrusted import failing_as, read_file, require, sha256
from cofactor.text.encoders import PROBES, encode_texts, encoder_name, find_encoder

MAX_CACHE_BYTES = 2**30
"""Maximum size of a cache by default: 1 GB, or 2.5 million vectors of 100 dimensions."""
MAX_SEGMENT_BYTES = 2**26
HEADER_BYTES = 2**12
"""More than the headers of a segment take."""
OPEN_SEGMENTS = 4
"""Number of segments whose vectors stay in memory."""
DIGEST_BYTES = 32


class EncoderCacheError(InputError):
    """An encoder cache is damaged; the message says which file, and why.

    Examples
    --------
    >>> from cofactor.text import EncoderCacheError
    >>> issubclass(EncoderCacheError, ValueError)
    True
    """


class CachedEncoder:
    """An encoder that keeps the vectors of texts in a folder, for later fits and predictions.

    Parameters
    ----------
    encoder : str, callable or object with a method ``encode``
        As in :class:`~cofactor.TopicModel`.
    folder : str or path
        Where the vectors are kept; several encoders may share it.
    max_bytes : int, default=2**30
        Size that the vectors of this encoder may take; the oldest ones are removed.

    Examples
    --------
    >>> import tempfile
    >>> from cofactor.text import CachedEncoder
    >>> asked = []
    >>> def encode(texts):
    ...     asked.extend(texts)
    ...     return [[len(text), 1.0] for text in texts]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = CachedEncoder(encode, folder).encode(["a", "text"])
    ...     again = CachedEncoder(encode, folder).encode(["text", "a"])
    >>> again.tolist()
    [[4.0, 1.0], [1.0, 1.0]]
    >>> asked.count("text")
    1
    """

    def __init__(self, encoder: Any, folder: Any, *, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self.encoder = encoder
        self.folder = folder
        self.max_bytes = max_bytes
        self._store: _Store | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_store": None}

    @property
    def uncached(self) -> Any:
        """The encoder itself."""
        return self.encoder

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that the encoder was made for, if they are known."""
        return getattr(find_encoder(self.encoder), "languages", ())

    def encode(self, texts: Iterable[str]) -> FloatArray:
        """Return the vectors of texts; those that the folder lacks are computed and kept.

        Parameters
        ----------
        texts : iterable of str

        Returns
        -------
        ndarray of shape (n_texts, n_dimensions)

        Examples
        --------
        >>> import tempfile
        >>> from cofactor.text import CachedEncoder
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     CachedEncoder(lambda texts: [[len(t), 1] for t in texts], folder).encode(["one"])
        array([[3., 1.]], dtype=float32)
        """
        texts = list(texts)
        if self._store is None:
            probes = encode_texts(self.encoder, list(PROBES))
            self._store = _Store(Path(self.folder), encoder_name(self.encoder), probes)
        store, keys = self._store, [_digest(text) for text in texts]
        found = store.read(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            vectors = encode_texts(self.encoder, [*missing.values()], store.width)
            found |= zip(missing, vectors, strict=True)
            store.write([*missing], vectors, self.max_bytes)
        return np.array([found[key] for key in keys], dtype=np.float32)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class _Store:
    """The segments of one encoder, and where each text is."""

    def __init__(self, folder: Path, name: str, probes: FloatArray) -> None:
        key = sha256(name.encode("utf-8", "surrogatepass") + npy.to_bytes(probes))[:32]
        self.folder, self.width = folder / key, probes.shape[1]
        self.folder.mkdir(parents=True, exist_ok=True)
        self.places: dict[bytes, tuple[str, int]] = {}
        self._open = lru_cache(OPEN_SEGMENTS)(self._read_segment)
        for left in self.folder.glob(".*.npz.*"):  # of killed processes
            remove_stale(self.folder / left.name[1:37])
        for name in self._names():
            with suppress(FileNotFoundError):
                self._note(name, self._read_segment(name)[0])

    def read(self, keys: list[bytes]) -> dict[bytes, FloatArray]:
        """Return the vectors that are there."""
        found: dict[bytes, FloatArray] = {}
        for key in keys:
            if key in self.places:
                name, row = self.places[key]
                try:
                    found[key] = self._open(name)[1][row]
                except FileNotFoundError:  # another process removed it
                    del self.places[key]
        return found

    def write(self, keys: list[bytes], vectors: FloatArray, max_bytes: int) -> None:
        """Keep the vectors of texts, and remove the oldest segments beyond the size."""
        digests = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), DIGEST_BYTES)
        row_bytes = DIGEST_BYTES + vectors.itemsize * self.width
        step = max(1, (MAX_SEGMENT_BYTES - HEADER_BYTES) // row_bytes)
        for start in range(0, len(keys), step):
            some = slice(start, start + step)
            data = npy.pack({"digests": digests[some], "vectors": vectors[some]})
            name = f"{sha256(data)[:32]}.npz"
            write_whole(self.folder / name, data)
            self._note(name, digests[some])
            self._remove_oldest(max_bytes, name)

    def _remove_oldest(self, max_bytes: int, last: str) -> None:
        """Remove the oldest segments beyond the size, but not the last one."""
        sizes = {}
        for one in self._names():
            with suppress(FileNotFoundError):
                sizes[one] = (self.folder / one).stat()
        total = sum(stat.st_size for stat in sizes.values())
        for one in sorted(sizes, key=lambda one: sizes[one].st_mtime_ns):
            if total <= max_bytes or one == last:
                break
            total -= sizes[one].st_size
            (self.folder / one).unlink(missing_ok=True)

    def _names(self) -> list[str]:
        pattern = re.compile(r"[0-9a-f]{32}\.npz")
        return sorted(name for name in os.listdir(self.folder) if pattern.fullmatch(name))

    def _note(self, name: str, digests: np.ndarray) -> None:
        self.places |= {row.tobytes(): (name, place) for place, row in enumerate(digests)}

    def _read_segment(self, name: str) -> tuple[np.ndarray, FloatArray]:
        """Return the digests and the vectors of a segment, checked."""
        try:
            return self._check_segment(self.folder / name, name)
        except EncoderCacheError:
            if not os.path.lexists(self.folder / name):  # another process removed it
                raise FileNotFoundError(name) from None
            raise

    def _check_segment(self, path: Path, name: str) -> tuple[np.ndarray, FloatArray]:
        where, remedy = f"The encoder cache {str(path)!r} cannot be used: ", "; delete its folder"
        with failing_as(EncoderCacheError, where, remedy):
            data = read_file(path, MAX_SEGMENT_BYTES)
            require(f"{sha256(data)[:32]}.npz" == name, f"{name} was changed after it was written")
            held, _ = npy.unpack(io.BytesIO(data), name, ("digests", "vectors"))
            digests, vectors = held["digests"], held["vectors"]
            good = digests.dtype == np.uint8 and digests.shape == (len(vectors), DIGEST_BYTES)
            require(good, f"{name} has no digests of its texts")
            good = vectors.dtype == np.float32 and vectors.shape == (len(digests), self.width)
            require(good, f"{name} has no vectors of {self.width} dimensions")
            require(bool(np.isfinite(vectors).all()), f"{name} has numbers that are not finite")
        return digests, vectors
