"""Writes reports: from a model to an HTML file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cofactor.io.atomic import write_whole
from cofactor.report.preparation.prepare import Prepared, prepare

NEEDED = {"altair": "altair", "jinja2": "jinja2", "vl_convert": "vl-convert-python"}


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
    """Return the page that `write_report` writes; parameters are the same."""
    check_extra()
    return _render(prepare(model, documents, labels, **options))


def write_page(prepared: Prepared, path: str | os.PathLike[str]) -> Path:
    """Write the content that `prepare` returned as an HTML file."""
    path, page = Path(path), _render(prepared)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page.encode("utf-8", "replace"))
    return path


def _render(prepared: Prepared) -> str:
    from cofactor.report.html import render  # it needs the extra

    return render(prepared)


def check_extra() -> None:
    """Raise an ImportError that names the packages of the extra that are not installed."""
    missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise ImportError(
            f"A report needs {' and '.join(missing)}; install with: pip install 'cofactor[report]'"
        )
