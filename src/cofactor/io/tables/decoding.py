"""Decodes bytes to lines of text in one pass and detects the encoding on the way.

A byte order mark decides. Without one, a text is UTF-16 if every other byte is zero. Otherwise it
is ASCII up to the first byte that is not. If that byte begins a UTF-8 character, the whole file
must be UTF-8; if not, the file is Windows-1252, and a later line that is UTF-8 is refused: the file
mixes encodings. An encoding that the user names is not doubted. Nothing is decoded twice.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from os import PathLike

from cofactor.io.errors import InputError, at
from cofactor.io.tables.limits import check_length

CHUNK = 2**20
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
FALLBACK = "windows-1252"

_OTHER_FILES = {
    b"PK\x03\x04": "a spreadsheet or another packed file; name it with its own ending, such as "
    ".xlsx, or save it as CSV UTF-8",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; name it .xls, or save it as CSV UTF-8",
    b"PAR1\x15": "a Parquet file; name it .parquet",
    b"\x1f\x8b": "a compressed file; add .gz to its name",
}
"""How files begin that hold no text, and what to do with them."""


class Decoder:
    """Decodes a file chunk by chunk.

    Parameters
    ----------
    path : str or path
        The file, named in error messages.
    encoding : str, optional
        The encoding; detected by default.

    Attributes
    ----------
    encoding : str or None
        The encoding detected so far; None for plain ASCII.
    """

    def __init__(self, path: str | PathLike[str], encoding: str | None = None) -> None:
        self.path = path
        self.encoding: str | None = None
        self._decoder: codecs.IncrementalDecoder | None = None
        self._held, self._line, self._begun = b"", 1, False
        self._doubted, self._open = False, b""  # whether to look for UTF-8; a line without its end
        if encoding is not None:
            self._settle(_known(encoding))

    def over(self, chunks: Iterable[bytes]) -> Iterator[str]:
        """Decode chunks of bytes; the text of a chunk may be empty."""
        for chunk in chunks:
            yield self._checked(chunk, final=False)
        yield self._checked(b"", final=True)

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
            raise self._undecodable(data, error) from None
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
        self._refuse_other_files(data)
        for mark, encoding in _MARKS.items():
            if data.startswith(mark) and self.encoding in (None, encoding, encoding[:6]):
                self._settle(encoding)
                return data[len(mark) :]
        if self._decoder is None and (wide := _wide(data[:4096])):
            self._settle(wide)
        return data

    def _refuse_other_files(self, data: bytes) -> None:
        for beginning, remedy in _OTHER_FILES.items():
            if data.startswith(beginning):
                raise InputError(f"{at(self.path)} is {remedy}.")

    def _settle(self, encoding: str) -> None:
        self.encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()

    def _refuse_mixed(self, data: bytes, final: bool) -> None:
        """Refuse a line that is UTF-8 in a file that was taken for Windows-1252."""
        *lines, self._open = (self._open + data).split(b"\n")
        if final:
            lines.append(self._open)
        for number, line in enumerate(lines, start=self._line):
            if not line.isascii() and _is_utf8(line):
                raise InputError(
                    f"{at(self.path, line=number)} is UTF-8, but a line before it is Windows-1252: "
                    "the file mixes encodings; save it as UTF-8, or read it as it is with "
                    f"--encoding {FALLBACK}."
                )

    def _decode(self, data: bytes, final: bool) -> str:
        if self._decoder is not None:
            if self._doubted:
                self._refuse_mixed(data, final)
            return self._decoder.decode(data, final)
        try:
            text, used = codecs.utf_8_decode(data, "strict", final)
        except UnicodeDecodeError as error:
            self._settle(FALLBACK if data[: error.start].isascii() else "utf-8")
            self._doubted = self.encoding == FALLBACK
            return self._decode(data, final)
        if text.isascii():
            self._held = data[used:]
            return text
        self._settle("utf-8")
        return self._decode(data, final)

    def _undecodable(self, data: bytes, error: UnicodeDecodeError) -> InputError:
        line = self._line + bytes(error.object[: error.start]).count(b"\n")
        byte = error.object[error.start]
        valid = f"not {self.encoding}"
        if self.encoding == FALLBACK:
            valid = "neither UTF-8 nor Windows-1252"
        return InputError(
            f"{at(self.path, line=line)} has a byte 0x{byte:02X} that is {valid}; name the "
            "file's encoding with --encoding, or save it as UTF-8."
        )


def _known(encoding: str) -> str:
    try:
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise InputError(
            f"--encoding {encoding!r} is not known; try utf-8, utf-16, windows-1252 or iso-8859-15."
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


def split_lines(texts: Iterable[str], path: str | PathLike[str]) -> Iterator[str]:
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
