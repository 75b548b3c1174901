"""Writes a report as one HTML page that works offline, to a file or into a notebook.

The page's Content-Security-Policy forbids all requests, all scripts except ours (by digest) and the
evaluation of strings; Vega's interpreter runs the charts without evaluation. Texts never become
markup: the template escapes them, and the script sets them as text. A notebook shows the page in a
frame that has no access to anything outside it.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cofactor.io.atomic import write_whole
from cofactor.io.json_text import to_json
from cofactor.linear.familiar import UNLIKE_LEVEL
from cofactor.report.document_tables import choose_points
from cofactor.report.material import natural_key
from cofactor.report.page_content import Prepared, downloads, prepare, sheet
from cofactor.report.vega_script import library

NEEDED = {"altair": "altair", "jinja2": "jinja2", "vl_convert": "vl-convert-python"}
SCRIPTS = ("tables.js", "page.js")
TEMPLATE_ONLY = ("words", "typical", "similar", "first", "stability_interval")  # of a topic's card
ALLOWED = "allow-scripts allow-downloads"
"""Permissions of the frame in a notebook; it has no origin, so it cannot read the notebook."""


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    documents: Any = None,
    labels: Any = None,
    *,
    truth: Any = None,
    text: bool = True,
    title: str | None = None,
    source: str | None = None,
    rows: Iterable[int | str] | None = None,
    dates: Any = None,
    every: str | None = None,
) -> Path:
    """Write a report on a topic model: one HTML file that works offline.

    Parameters
    ----------
    model : TopicModel
        A fitted model, from ``fit`` or `load_model`.
    path : str or path
        The file; an older file is replaced.
    documents : iterable of str, optional
        The documents of the fit, or others. A model does not keep its documents, so without them
        the report has no texts and no scores.
    labels : array-like, optional
        Labels of the documents, unknown ones marked as for ``fit``. For documents of the fit, they
        should be the labels that it saw; scores then come from new fits that do not see some of
        them. For other documents, they test the model as it is.
    truth : array-like, optional
        Labels of the same documents that the fit did not see. They test the model as it is, on the
        documents without ``labels``.
    text : bool, default=True
        False leaves out the text of the documents: excerpts and explanations.
    title : str, optional
        Headline.
    source : str, optional
        Origin of the documents, such as a file name; shown under the headline.
    rows : iterable of int or str, optional
        Row of each document in that file, or its name, to call it by; by default documents are
        numbered from 0.
    dates : iterable, optional
        Dates of the documents, as `TopicModel.over_time` takes them; the report then shows topics
        and classes over time.
    every : {"day", "week", "month", "quarter", "year"}, optional
        Length of a period; by default the shortest one with enough documents for a chart.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from cofactor import TopicModel, write_report
    >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
    >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(model, f"{folder}/report.html", title="Two topics").name
    'report.html'
    """
    check_extra()
    content = prepare(
        model,
        documents,
        labels,
        truth,
        text=text,
        title=title,
        source=source,
        rows=rows,
        dates=dates,
        every=every,
    )
    return write_page(content, path)


def render_report(model: Any, documents: Any = None, labels: Any = None, **options: Any) -> str:
    """Return the page that `write_report` writes; the parameters are the same."""
    check_extra()
    return render(prepare(model, documents, labels, **options))


def write_page(prepared: Prepared, path: str | os.PathLike[str]) -> Path:
    """Write the content that `prepare` returned as an HTML file."""
    path, page = Path(path), render(prepared)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page.encode("utf-8", "replace"))
    return path


def check_extra() -> None:
    """Raise an ImportError that names the packages of the extra that are not installed."""
    missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise ImportError(
            f"A report needs {' and '.join(missing)}; install with: pip install 'cofactor[report]'"
        )


# ---- in a notebook


@dataclass(frozen=True)
class ShownReport:
    """A report that a notebook shows in a frame.

    Parameters
    ----------
    page : str
        The page: a whole HTML file.
    height : int
        Height of the frame in pixels.
    """

    page: str = field(repr=False)
    height: int = 700

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox="{ALLOWED}" srcdoc="{html.escape(self.page)}" title="Topic report" '
            f'style="width: 100%; height: {self.height}px; border: 1px solid #8886"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page as a file that any browser opens; return its path."""
        write_whole(Path(path), self.page.encode("utf-8", "replace"))
        return Path(path)

    def __repr__(self) -> str:
        return (
            f"A report of {len(self.page) / 1e6:.1f} MB: a notebook shows it here; elsewhere use "
            "save('report.html') and open that file in a browser."
        )


def show_report(
    model: Any, documents: Any = None, labels: Any = None, *, height: int = 700, **options: Any
) -> ShownReport:
    """Return a report that a notebook shows; the parameters are those of `write_report`."""
    if not (isinstance(height, int) and height > 0):
        raise ValueError(f"height={height!r} must be a positive whole number of pixels.")
    return ShownReport(render_report(model, documents, labels, **options), height)


# ---- the page


def render(prepared: Prepared) -> str:
    """Return the page."""
    code, script, style = library(), "\n".join(map(_part, SCRIPTS)), _part("page.css")
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
    from cofactor.report.figures import draw

    return {
        "names": [topic["name"] for topic in prepared.topics],
        "fingerprint": prepared.topics_digest,
        "words": [topic["words"] for topic in prepared.topics],
        "topics": [
            {name: value for name, value in topic.items() if name not in TEMPLATE_ONLY}
            for topic in prepared.topics
        ],
        "order": prepared.order,
        "kind": prepared.kind,
        "number": prepared.number,
        "nouns": asdict(prepared.nouns),
        "none": f"no known {prepared.nouns.feature}",
        "unlike": UNLIKE_LEVEL,
        "classes": prepared.classes,
        "class_sizes": prepared.class_sizes,
        "sorted_classes": sorted(prepared.classes, key=natural_key),
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
    """Return the heatmap of the charted topics and classes."""
    classes, topics = prepared.largest_classes, prepared.charted_topics
    cells = [
        {**row, "share": round(row["share"], 4)}
        for row in prepared.heatmap
        if row["topic"] in topics and row["class"] in classes
    ]
    topic_place, class_place = prepared.order.index, classes.index
    return sorted(cells, key=lambda row: (topic_place(row["topic"]), class_place(row["class"])))


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
    for sign in "<>&\u2028\u2029":
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
def _template() -> Any:
    import jinja2  # of the extra, as in `figures`

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = lambda share: f"{100 * share:.1f} %"
    environment.filters["signed"] = lambda value: f"{value:z.2f}".replace("-", "−")
    return environment.from_string(_part("page.html"))
