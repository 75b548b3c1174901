"""Rules for labelling: Markdown becomes blocks, and markup of other kinds stays text."""

import time

import pytest

from cofactor.app.guidelines import markdown_blocks, read_guidelines
from cofactor.io.errors import InputError
from hostile import HOSTILE


def kinds(text):
    return [(one["kind"], [[(p["kind"], p["text"]) for p in line] for line in one["lines"]])
            for one in markdown_blocks(text)]  # fmt: skip


def test_blocks():
    text = "# Rules #\nTwo lines\nof text.\n\n- one\n- two\n\n1. first\n2) second\n> said\n"
    text += "```py\nx < y\n```\nend"
    assert kinds(text) == [
        ("heading", [[("text", "Rules")]]),
        ("text", [[("text", "Two lines of text.")]]),
        ("bullet", [[("text", "one")], [("text", "two")]]),
        ("number", [[("text", "first")], [("text", "second")]]),
        ("quote", [[("text", "said")]]),
        ("code", [[("text", "x < y")]]),
        ("text", [[("text", "end")]]),
    ]


def test_parts_of_a_line():
    (block,) = markdown_blocks("a **b** *c* _d_ `e` [f](https://example.org/g) h_i_j")
    assert block["lines"][0][1:-1:2] == [
        {"kind": "strong", "text": "b"},
        {"kind": "em", "text": "c"},
        {"kind": "em", "text": "d"},
        {"kind": "code", "text": "e"},
        {"kind": "link", "text": "f", "address": "https://example.org/g"},
    ]
    assert block["lines"][0][-1] == {"kind": "text", "text": " h_i_j"}


@pytest.mark.parametrize("text", [*HOSTILE, "[x](javascript:alert(1))", "<img src=x onerror=y>"])
def test_nothing_but_known_kinds_and_web_addresses_passes(text):
    for block in markdown_blocks(text):
        assert block["kind"] in ("heading", "text", "bullet", "number", "quote", "code")
        for part in (part for line in block["lines"] for part in line):
            assert part["kind"] in ("text", "code", "strong", "em", "link")
            assert part.get("address", "https://").startswith(("http://", "https://"))


@pytest.mark.parametrize(
    "text",
    ["# " + " x" * 40_000, "# a" + " " * 80_000 + "b", "# " + "# " * 40_000 + "x", "\n" * 99_000],
)
def test_long_lines_are_read_in_linear_time(text):
    start = time.process_time()
    markdown_blocks(text)
    assert time.process_time() - start < 0.5


def test_headings_may_end_in_marks():
    assert kinds("## a # b  ##") == [("heading", [[("text", "a # b")]])]


def test_all_letters_are_kept():
    text = "<b>bold</b> [x](javascript:alert(1)) & <script>"
    assert kinds(text) == [("text", [[("text", text)]])]


def test_unusable_files(tmp_path):
    (path := tmp_path / "g.md").write_bytes(b"\xff")
    with pytest.raises(InputError, match="not in UTF-8"):
        read_guidelines(path)
    path.write_text("a" * 100_001)
    with pytest.raises(InputError, match="shorten it"):
        read_guidelines(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_guidelines(tmp_path)
