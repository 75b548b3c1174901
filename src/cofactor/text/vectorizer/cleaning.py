"""Removes markup from a text: entities, tags, URLs, e-mail addresses, control characters.

Each rule is a function from a text to the new text and the number of replacements, so that the same
rules clean texts and count their markup. All regular expressions take linear time: repetitions are
possessive, and no two matches can begin inside the same run of characters. They begin with a fixed
character, which is found fast, or are tried only on texts that contain a certain string.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import partial

_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ENTITY_NAMES = ("nbsp", "quot", "apos", "amp", "lt", "gt")
_OPEN_ENTITY = re.compile(rf"&(?:{'|'.join(_ENTITY_NAMES)})(?![\w;=])")  # without its semicolon
_NAME = re.compile(rf"(?<![\w&#;])(?:{'|'.join(_ENTITY_NAMES)});")  # without its &
_NUMERIC_ENTITY = re.compile(r"#(?<![\w&#;]#)[0-9]{2,5};")
_SPANS = "0-8 e-1b 7f-9f ad 200b 200e-200f 202a-202e 2060-206f feff fff9-fffd d800-dfff"
_BOUNDS = [[int(code, 16) for code in span.split("-")] for span in _SPANS.split()]
_ENTITY_CODES = [code for bounds in _BOUNDS for code in range(bounds[0], bounds[-1] + 1)]
# Replacements of control characters. 0x80 to 0x9F are quotes and dashes in Windows.
_CONTROLS = {
    code: bytes([code]).decode("cp1252", "ignore") if 0x80 <= code < 0xA0 else None
    for code in _ENTITY_CODES
}
_ASCII_CONTROLS = bytes(code for code in _ENTITY_CODES if code < 0x80)  # these are dropped
_CONTROL = re.compile(f"[{''.join(map(re.escape, map(chr, _ENTITY_CODES)))}]")
_BLOCK = re.compile(r"<(?:(!--)|(script|style)\b[^<>]*+>)", re.IGNORECASE)
_BLOCK_ENDS = {
    None: re.compile("-->"),
    "script": re.compile(r"</script\s*+>", re.IGNORECASE),
    "style": re.compile(r"</style\s*+>", re.IGNORECASE),
}
_TAG = re.compile(
    r"<(?:/?[A-Za-z][\w:.-]*+\s*+/?>"
    r"|[A-Za-z][\w:.-]*+\s[^<>=]*+=[^<>]*+>"  # with attributes
    r"|[!?][A-Za-z][^<>]*+>"
    r"|!--)"
)
_OPEN_TAG = re.compile(r"<[A-Za-z][\w:.-]*+\s[^<>=]*+=[^<>]*+\Z")
_URL = re.compile(
    r"(?:https?|ftp)://[!-;=?-\[\]-~]++|(?<![\w.])www\.[!-;=?-\[\]-~]++", re.IGNORECASE
)
_BARE_URL = re.compile(r"(?<![\w.-])(?:[A-Za-z0-9-]++\.)++[A-Za-z]{2,}+/[!-;=?-\[\]-~]*+")
_DOMAIN_AND_PATH = re.compile(r"\.[A-Za-z]{2,24}/")
_HOST = re.compile(r"@[\w-]++(?:\.[\w-]++)++")
_BBCODE = re.compile(
    r"\[/?(?:[bius*]|url|img|quote|code|list|size|color|font|center)(?:=[^\[\]]*+)?\]",
    re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\(?:[nrt](?![a-z])|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})")
_BARE_NBSP = re.compile(r"nbsp(?<!\wnbsp)(?!\w)")
_BARE_QUOT = re.compile(r"quot(?<!\wquot)(?!\w)")
_SIGNS = re.compile(r"([^\w\s\0-\x7f]{30})[^\w\s\0-\x7f]++")


def clean(text: str) -> str:
    """Return a text without markup, in Unicode normal form NFKC.

    Examples
    --------
    >>> clean("Fish&nbsp;&amp;&nbsp;chips<br>at www.example.org").split()
    ['Fish', '&', 'chips', 'at']
    """
    return clean_and_count(text)[0]


def clean_and_count(text: str) -> tuple[str, Counter[str]]:
    """Return a text without markup, and the number of replacements of each kind.

    Examples
    --------
    >>> clean_and_count("<p>Write to me@example.org")
    (' Write to  ', Counter({'tags': 1, 'e-mail addresses': 1}))
    """
    found: Counter[str] = Counter()
    for kind, hints, rule in RULES:
        for hint in hints:
            if hint in text:
                text, number = rule(text)
                if number:
                    found[kind] += number
                break
    text, number = _drop_controls(text)
    if number:
        found["control characters"] = number
    return normalise("NFKC", text.replace("™", " ")), found  # NFKC would write TM


def normalise(form: str, text: str) -> str:
    """Return a text in a Unicode normal form.

    Runs of signs are cut to 30, as in Unicode's stream-safe format, because sorting thousands of
    marks on one letter would take quadratic time.
    """
    if text.isascii():
        return text
    return unicodedata.normalize(form, _SIGNS.sub(r"\1", text))  # type: ignore[arg-type]


def _drop_controls(text: str) -> tuple[str, int]:
    if text.isascii():  # bytes are faster
        kept = text.encode().translate(None, _ASCII_CONTROLS)
        return (kept.decode(), number) if (number := len(text) - len(kept)) else (text, 0)
    number = len(_CONTROL.findall(text))
    return (text.translate(_CONTROLS) if number else text), number


def _unescape(pattern: re.Pattern[str], text: str) -> tuple[str, int]:
    """Replace entities by what they stand for."""
    replaced = 0

    def entity(match: re.Match[str]) -> str:
        nonlocal replaced
        whole = f"&{match[0].strip('&;')};"
        found = html.unescape(whole)
        replaced += found != whole
        return match[0] if found == whole else found  # an unknown name stays

    return pattern.sub(entity, text), replaced


def _cut_blocks(text: str) -> tuple[str, int]:
    """Cut out comments, scripts and styles with their contents; unclosed ones stay."""
    parts, place, sought = [], 0, dict(_BLOCK_ENDS)
    while opening := _BLOCK.search(text, place):
        kind = (opening[2] or "").lower() or None
        closing = sought[kind].search(text, opening.end()) if kind in sought else None
        if closing is None:  # it never closes, so do not look again
            sought.pop(kind, None)
            parts.append(text[place : opening.end()])
            place = opening.end()
            continue
        parts += [text[place : opening.start()], " "]
        place = closing.end()
    cut = sum(part == " " for part in parts)
    return "".join([*parts, text[place:]]), cut


def _cut_mail(text: str) -> tuple[str, int]:
    """Cut out e-mail addresses: from each host, go left to the start of the user name."""
    parts, place, cut = [], 0, 0
    for host in _HOST.finditer(text):
        start = host.start()
        while start > place and (text[start - 1].isalnum() or text[start - 1] in "._+-"):
            start -= 1
        if start < host.start():
            parts += [text[place:start], " "]
            place, cut = host.end(), cut + 1
    return "".join([*parts, text[place:]]), cut


def _unescape_names(text: str) -> tuple[str, int]:
    if any(f"{name};" in text for name in _ENTITY_NAMES):
        return _unescape(_NAME, text)
    return text, 0


def _blank(pattern: re.Pattern[str], text: str) -> tuple[str, int]:
    return pattern.subn(" ", text)


def _cut_bare_urls(text: str) -> tuple[str, int]:
    return _blank(_BARE_URL, text) if _DOMAIN_AND_PATH.search(text) else (text, 0)


UNCLOSED = "tags that never close"
Rule = Callable[[str], tuple[str, int]]
# Kinds of markup, strings of which a text must contain one for the rule to apply, and the rule. The
# order matters: entities may hide tags, and tags may contain URLs.
RULES: tuple[tuple[str, tuple[str, ...], Rule], ...] = (
    ("entities", ("&",), partial(_unescape, _ENTITY)),
    ("entities", ("&",), partial(_unescape, _ENTITY)),  # some are escaped twice
    ("entities", ("&",), partial(_unescape, _OPEN_ENTITY)),
    ("entities", (";",), _unescape_names),
    ("entities", ("#",), partial(_unescape, _NUMERIC_ENTITY)),
    ("tags", ("<",), _cut_blocks),
    (UNCLOSED, ("<",), partial(_blank, _OPEN_TAG)),
    ("tags", ("<",), partial(_blank, _TAG)),
    ("remnants", ("[/",), partial(_blank, _BBCODE)),
    ("URLs", ("://", "www.", "WWW."), partial(_blank, _URL)),
    ("URLs", ("/",), _cut_bare_urls),
    ("e-mail addresses", ("@",), _cut_mail),
    ("remnants", ("\\",), partial(_blank, _ESCAPE)),
    ("remnants", ("nbsp",), partial(_blank, _BARE_NBSP)),
    ("remnants", ("quot",), partial(_blank, _BARE_QUOT)),
)
