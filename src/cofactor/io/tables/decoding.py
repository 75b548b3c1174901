"""From the bytes of a file to lines of text: encodings, line ends, and limits on lengths.

Files are decoded in one pass. A byte order mark decides on the encoding. Without one, a text is
UTF-16 if every other byte is zero. Otherwise it is ASCII up to the first byte that is not. If that
byte begins a UTF-8 character, the whole file must be UTF-8. If not, the file has an older encoding:
charset-normalizer detects it if most letters are beyond ASCII, as in Russian or Japanese. With few
such letters the file is Windows-1252, because there the library takes Spanish, Swedish and short
French texts for Polish; a later line that is UTF-8 is refused, since the file mixes
encodings. An encoding that the user names is not doubted.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from cofactor.errors import Parameter, ParameterError
from cofactor.io import platform
from cofactor.io.errors import InputError, at

CHUNK_BYTES = 2**20

MAX_ROW_CHARACTERS = 2**24
"""Maximum number of characters in one line, one row or one document, in every format.

A novel has about a million. A longer row is most likely a quote that is never closed, a file
without line ends, or a small compressed file that unpacks to gigabytes.
"""

WESTERN = "windows-1252"
NON_LATIN = (
    *("cp1251", "koi8_r", "cp866", "cp1253", "cp1255", "cp1256", "cp874"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
)
"""Encodings of Cyrillic, Greek, Hebrew, Arabic, Thai, Japanese, Chinese and Korean texts."""

MIN_FOREIGN_BYTES = 16
"""With fewer bytes beyond ASCII, an encoding cannot be told from the others."""

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_OTHER_FILES = {
    b"PK\x03\x04": "a spreadsheet or another packed file; name it with its own ending, such as "
    ".xlsx, or save it as CSV UTF-8",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; name it .xls, or save it as CSV UTF-8",
    b"PAR1\x15": "a Parquet file; name it .parquet",
    b"\x1f\x8b": "a compressed file; add .gz to its name",
}
"""How files begin that hold no text, and what to do with them."""

Item = TypeVar("Item")


def check_length(length: int, path: Path, row: int | None = None, line: int | None = None) -> None:
    """Refuse a row, line or document of too many characters."""
    if length > MAX_ROW_CHARACTERS:
        raise InputError(
            f"{at(path, row, line)} has more than {MAX_ROW_CHARACTERS:,} characters; check its "
            "quotes and line ends, or split the text into several documents of at most "
            f"{MAX_ROW_CHARACTERS:,} characters."
        )


def batches(
    items: Iterable[Item], length: Callable[[Item], int], most: int
) -> Iterator[list[Item]]:
    """Yield lists of at most ``most`` items; one of `MAX_ROW_CHARACTERS` ends early."""
    batch: list[Item] = []
    characters = 0
    for item in items:
        batch.append(item)
        characters += length(item)
        if len(batch) == most or characters > MAX_ROW_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


class Decoder:
    """Decodes a file chunk by chunk; .gz files are unpacked.

    Parameters
    ----------
    path : Path
        The file.
    encoding : str, optional
        The encoding; detected by default.
    digest : hash object, optional
        Updated with the bytes of the file.

    Attributes
    ----------
    encoding : str or None
        The encoding detected so far; None for plain ASCII.
    """

    def __init__(self, path: Path, encoding: str | None = None, digest: Any = None) -> None:
        self.path, self.encoding = path, None if encoding is None else _known(encoding)
        self._digest = digest
        self._decoder = None if self.encoding is None else _incremental(self.encoding)
        self._held, self._line, self._begun = b"", 1, False
        self._doubted, self._open = False, b""  # whether to look for UTF-8; a line without its end

    def texts(self) -> Iterator[str]:
        """Yield the text of the file; that of a chunk may be empty."""
        for chunk in self._chunks():
            yield self._checked(chunk, final=False)
        yield self._checked(b"", final=True)

    def _chunks(self) -> Iterator[bytes]:
        with _reading(self.path), platform.HERE.open_input(self.path) as raw:
            packed = self.path.suffix.lower() == ".gz"
            file: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            while chunk := file.read(CHUNK_BYTES):
                if self._digest is not None:
                    self._digest.update(chunk)
                yield chunk

    def _checked(self, chunk: bytes, final: bool) -> str:
        data = self._held + chunk
        self._held = b""
        if not self._begun and len(data) < 4 and not final:  # a mark has up to four bytes
            self._held = data
            return ""
        if not self._begun and data:
            data = self._begin(data)
        try:
            text = self._decode(data, final)
        except UnicodeDecodeError as error:
            raise self._undecodable(error) from None
        if "\0" in text:
            line = self._line + text[: text.index("\0")].count("\n")
            raise InputError(
                f"{at(self.path, line=line)} holds a NUL byte, so it is damaged or not a text "
                "file; export it again as UTF-8, or remove the byte."
            )
        self._line += text.count("\n")
        return text

    def _begin(self, data: bytes) -> bytes:
        """Look for a byte order mark; return the bytes after it."""
        self._begun = True
        for beginning, remedy in _OTHER_FILES.items():
            if data.startswith(beginning):
                raise InputError(f"{at(self.path)} is {remedy}.")
        for mark, encoding in _BYTE_ORDER_MARKS.items():
            if data.startswith(mark) and self.encoding in (None, encoding, encoding[:6]):
                self._settle(encoding)
                return data[len(mark) :]
        if self._decoder is None and (wide := _wide(data[:4096])):
            self._settle(wide)
        return data

    def _settle(self, encoding: str) -> None:
        self.encoding, self._decoder = encoding, _incremental(encoding)

    def _refuse_mixed(self, data: bytes, final: bool) -> None:
        """Refuse a line that is UTF-8 in a file that was taken for Windows-1252."""
        *lines, self._open = (self._open + data).split(b"\n")
        if final:
            lines.append(self._open)
        for number, line in enumerate(lines, start=self._line):
            if not line.isascii() and _is_utf8(line):
                raise ParameterError(
                    f"{at(self.path, line=number)} is UTF-8, but a line before it is Windows-1252: "
                    "the file mixes encodings",
                    ("save it as UTF-8, or read it as it is with ", Parameter("encoding", WESTERN)),
                )

    def _decode(self, data: bytes, final: bool) -> str:
        if self._decoder is not None:
            if self._doubted:
                self._refuse_mixed(data, final)
            return self._decoder.decode(data, final)
        try:
            text, used = codecs.utf_8_decode(data, "strict", final)
        except UnicodeDecodeError as error:
            self._settle(_older_encoding(data) if data[: error.start].isascii() else "utf-8")
            self._doubted = self.encoding == WESTERN
            return self._decode(data, final)
        if text.isascii():
            self._held = data[used:]
            return text
        self._settle("utf-8")
        return self._decode(data, final)

    def _undecodable(self, error: UnicodeDecodeError) -> InputError:
        line = self._line + bytes(error.object[: error.start]).count(b"\n")
        byte = error.object[error.start]
        valid = "neither UTF-8 nor Windows-1252" if self._doubted else f"not {self.encoding}"
        return ParameterError(
            f"{at(self.path, line=line)} has a byte 0x{byte:02X} that is {valid}",
            ("name the file's encoding with ", Parameter("encoding"), ", or save it as UTF-8"),
        )


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{at(path)} is a damaged gzip file ({error}); download or compress it again."
        ) from None
    except OSError as error:
        raise InputError(f"{at(path)} cannot be read: {error.strerror or error}.") from None


def _incremental(encoding: str) -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder(encoding)()


def _known(encoding: str) -> str:
    try:
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise ParameterError(
            (Parameter("encoding", encoding), " is not known"),
            "try utf-8, utf-16, windows-1252 or iso-8859-15",
        ) from None


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _wide(sample: bytes) -> str | None:
    """Return the kind of UTF-16 if every other byte is zero; None if it is not UTF-16."""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if odd > 0.3 * half and even <= 0.05 * half:
        return "utf-16-le"
    if even > 0.3 * half and odd <= 0.05 * half:
        return "utf-16-be"
    return None


def _older_encoding(data: bytes) -> str:
    """Return the encoding of a text that is not Unicode."""
    sample = b"\n".join(line for line in data.split(b"\n") if not line.isascii())[: 2**16]
    foreign = sum(byte > 127 for byte in sample)
    latin = sum(bytes([byte]).isalpha() for byte in sample)
    if foreign < MIN_FOREIGN_BYTES or foreign < 0.8 * latin:
        return WESTERN
    from charset_normalizer import from_bytes

    found = from_bytes(sample, cp_isolation=[*NON_LATIN]).best()
    return WESTERN if found is None else found.encoding


def split_lines(texts: Iterable[str], path: Path) -> Iterator[str]:
    """Cut text into lines, each with its line end.

    Only LF ends a line; in files whose beginning has CR but no LF, only CR does. A line that is too
    long is refused before it is complete. ``path`` is named in that error.
    """
    parts: list[str] = []
    end, number, length = "", 1, 0
    for text in texts:
        if not end and text:
            end = "\r" if "\r" in text and "\n" not in text else "\n"
        *whole, rest = text.split(end or "\n")
        for piece in whole:
            check_length(length + len(piece), path, line=number)
            yield "".join([*parts, piece, end])
            parts, length, number = [], 0, number + 1
        parts.append(rest)
        length += len(rest)
        check_length(length, path, line=number)
    if last := "".join(parts):
        yield last
