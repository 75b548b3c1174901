"""Rules for labelling, from a file in Markdown, as blocks that the page shows.

Headings, paragraphs, lists, quotations, code, emphasis and links are understood; everything else,
and all HTML, stays text. The page makes elements of the blocks and never parses markup, so that
nothing in the file can become a part of the page.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import Any

from cofactor.io.annotations import read_utf8
from cofactor.io.errors import InputError, at

MAX_CHARACTERS = 100_000
_PARTS = re.compile(
    r"\[(?P<link>[^\]\[]+)\]\((?P<address>https?://[^\s()]+)\)|`(?P<code>[^`]+)`"
    r"|\*\*(?P<strong>[^*]+)\*\*|\*(?P<em>[^*]+)\*|\b_(?P<em2>[^_]+)_\b"
)
_LINES = (
    ("heading", re.compile(r"(#{1,6})\s+(.*)$")),
    ("bullet", re.compile(r"\s*([-*+])\s+(.*)$")),
    ("number", re.compile(r"\s*(\d{1,4})[.)]\s+(.*)$")),
    ("quote", re.compile(r"\s*(>)\s?(.*)$")),
)


def read_guidelines(path: Path) -> list[dict[str, Any]]:
    """Return the blocks of a file in Markdown."""
    text = read_utf8(path)
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"{at(path)} has more than {MAX_CHARACTERS:,} characters; shorten it.")
    return markdown_blocks(text)


def markdown_blocks(text: str) -> list[dict[str, Any]]:
    """Return the blocks of a text in Markdown: their kind, and lines of parts.

    Examples
    --------
    >>> markdown_blocks("# Rules <b>")
    [{'kind': 'heading', 'level': 1, 'lines': [[{'kind': 'text', 'text': 'Rules <b>'}]]}]
    """
    found: list[dict[str, Any]] = []
    for place, piece in enumerate(re.split(r"^[^\S\n]*```.*$", text, flags=re.MULTILINE)):
        if place % 2:
            code = [{"kind": "text", "text": piece.strip("\n")}]
            found.append({"kind": "code", "level": 0, "lines": [code]})
        else:
            found += _blocks(piece)
    return found


def _blocks(text: str) -> list[dict[str, Any]]:
    """Return the blocks of a text without code: neighbouring lines of a kind belong together."""
    found = []
    for (kind, level), group in groupby(map(_line, text.split("\n")), key=lambda one: one[:2]):
        lines = [content for _, _, content in group]
        if kind == "heading":
            found += [{"kind": kind, "level": level, "lines": [_parts(one)]} for one in lines]
        elif kind in ("text", "quote"):
            found.append({"kind": kind, "level": level, "lines": [_parts(" ".join(lines))]})
        elif kind != "blank":
            found.append({"kind": kind, "level": level, "lines": list(map(_parts, lines))})
    return found


def _line(line: str) -> tuple[str, int, str]:
    """Return the kind of a line, the level of a heading, and its content."""
    for kind, pattern in _LINES:
        if (match := pattern.match(line)) is not None:
            if kind == "heading":
                return kind, len(match[1]), match[2].rstrip("#").rstrip()
            return kind, 0, match[2]
    return ("text" if line.strip() else "blank"), 0, line.strip()


def _parts(text: str) -> list[dict[str, str]]:
    """Return the parts of a line: text, code, emphasis and links."""
    found, end = [], 0
    for match in _PARTS.finditer(text):
        found += (
            [{"kind": "text", "text": text[end : match.start()]}] if match.start() > end else []
        )
        kind = match.lastgroup or ""
        if kind == "address":
            found.append({"kind": "link", "text": match["link"], "address": match["address"]})
        else:
            found.append({"kind": kind.rstrip("2"), "text": match[kind]})
        end = match.end()
    return [*found, {"kind": "text", "text": text[end:]}] if end < len(text) else found
