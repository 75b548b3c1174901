"""Renders tables and charts as one page that makes no network request.

The page's Content-Security-Policy forbids all requests, all scripts except ours (by digest) and the
evaluation of strings; Vega's interpreter runs the charts without evaluation. Texts never become
markup: the template escapes them, and the script sets them as text.
"""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2

from cofactor.io.json_text import to_json
from cofactor.report.figures import draw
from cofactor.report.preparation.prepare import Prepared
from cofactor.report.vega_script import library

TABLES = ("heatmap", "points", "anchors")
UNSAFE = "<>&\u2028\u2029"


def render(prepared: Prepared) -> str:
    """Return the page."""
    code, script, style = library(), _part("page.js"), _part("page.css")
    return _template().render(
        report=prepared,
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        state=safe_json(page_state(prepared)),
        library=code,
        script=script,
        style=style,
        policy=policy([code, script], style),
    )


def page_state(prepared: Prepared) -> dict[str, Any]:
    """Return the data of the page's script."""
    scores = prepared.evaluation or {}
    tables = {name: getattr(prepared, name) for name in TABLES}
    tables |= {n: scores[n] for n in ("confusion", "calibration", "pairs") if n in scores}
    for term in ("data", "target"):
        tables[f"curve_{term}"] = [row for row in prepared.curves if row["term"] == term]
    return {
        "names": [topic["name"] for topic in prepared.topics],
        "words": [topic["words"] for topic in prepared.topics],
        "classes": prepared.classes,
        "text": prepared.text,
        "tables": tables,
        "charts": draw(prepared),
    }


def safe_json(value: Any) -> str:
    """Return JSON that is safe inside a script element of HTML.

    Examples
    --------
    >>> safe_json({"</script>": "a & b"})
    '{"\\\\u003c/script\\\\u003e":"a \\\\u0026 b"}'
    """
    text = to_json(value, ensure_ascii=False, separators=(",", ":"))
    for sign in UNSAFE:
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def policy(scripts: list[str], style: str) -> str:
    """Return a Content-Security-Policy that allows only these scripts and this style."""
    allowed = " ".join(map(_digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


@cache
def _part(name: str) -> str:
    return files("cofactor.report").joinpath("page", name).read_text("utf-8").replace("\r\n", "\n")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = lambda share: f"{100 * share:.1f} %"
    return environment.from_string(_part("page.html"))
