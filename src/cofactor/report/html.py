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
from cofactor.report.downloads import downloads, sheet
from cofactor.report.figures import draw
from cofactor.report.preparation.layout import choose_points
from cofactor.report.preparation.prepare import Prepared
from cofactor.report.preparation.selection import COLUMNS
from cofactor.report.vega_script import library

SCRIPTS = ("tables.js", "page.js")
TOPIC_COLUMNS = (
    "topic",
    "name",
    "share",
    "label",
    "label_weight",
    "labelled",
    "of_label",
    "coherence",
    "stability",
    "settled",
)
UNSAFE = "<>&\u2028\u2029"


def render(prepared: Prepared) -> str:
    """Return the page."""
    code, script, style = library(), "\n".join(map(_part, SCRIPTS)), _part("page.css")
    return _template().render(
        report=prepared,
        columns=min(COLUMNS, len(prepared.topics)),
        created=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        state=safe_json(page_state(prepared)),
        library=code,
        script=script,
        style=style,
        policy=policy([code, script], style),
    )


def page_state(prepared: Prepared) -> dict[str, Any]:
    """Return the data of the page's script."""
    return {
        "names": [topic["name"] for topic in prepared.topics],
        "fingerprint": prepared.topics_digest,
        "words": [topic["words"] for topic in prepared.topics],
        "topics": [{name: topic[name] for name in TOPIC_COLUMNS} for topic in prepared.topics],
        "order": prepared.order,
        "kind": prepared.kind,
        "number": prepared.number,
        "classes": prepared.classes,
        "class_sizes": prepared.class_sizes,
        "largest_classes": prepared.largest_classes,
        "links": _links(prepared),
        "text": prepared.text,
        "documents": sheet(prepared.points),
        "over_time": _over_time(prepared),
        "mapped": choose_points(len(prepared.points), 0).tolist(),
        "tables": _chart_tables(prepared),
        "downloads": downloads(prepared),
        "charts": draw(prepared),
    }


def _chart_tables(prepared: Prepared) -> dict[str, Any]:
    """Return the tables that charts show, by name."""
    scores = prepared.evaluation or {}
    tables = {"anchors": prepared.anchors, "heatmap": _largest_cells(prepared)}
    tables |= {n: scores[n] for n in ("confusion", "calibration", "pairs") if n in scores}
    if prepared.over_time:
        tables["periods"] = prepared.over_time["periods"]
    for term in ("data", "target"):
        tables[f"curve_{term}"] = [row for row in prepared.curves if row["term"] == term]
    return tables


def _over_time(prepared: Prepared) -> dict[str, Any] | None:
    """Return what the script needs to draw shares over time; None if there is nothing to draw."""
    found = prepared.over_time
    if found is None or len(found["periods"]) < 2:
        return None
    return {"rows": sheet(found["rows"]), "lines": found["lines"]}


def _largest_cells(prepared: Prepared) -> list[dict[str, Any]]:
    """Return the heatmap of the largest topics and classes, in the order of the page."""
    classes = set(prepared.largest_classes)
    cells = [
        {**row, "share": round(row["share"], 4)}
        for row in prepared.heatmap
        if row["topic"] in prepared.order[:COLUMNS] and row["class"] in classes
    ]
    return sorted(cells, key=lambda row: prepared.order.index(row["topic"]))


def _links(prepared: Prepared) -> list[list[float]]:
    """Return the share of each class (columns) in each topic (rows)."""
    n = len(prepared.classes)
    shares = [round(row["share"], 4) for row in prepared.heatmap]
    return [shares[start : start + n] for start in range(0, len(shares), max(n, 1))]


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
