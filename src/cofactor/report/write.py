"""From a model to a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from cofactor.io.atomic import write_whole
from cofactor.text import TopicModel

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
    rows: Iterable[int] | None = None,
) -> Path:
    """Write a report on a topic model: one HTML file that works offline.

    Parameters
    ----------
    model : TopicModel
        A fitted model, from ``fit`` or `load_model`.
    path : str or path
        The file; one that is there already is replaced.
    documents : iterable of str, optional
        Those that the model was fitted on, or others. A model does not keep its documents, so
        without them the report has no texts and no scores.
    labels : array-like, optional
        Labels of the documents, unknown ones marked as for ``fit``. On the documents of the fit
        they are taken for those it saw, and scores come from fits that do not see some of them; on
        other documents they test the model as it is.
    truth : array-like, optional
        Labels that the fit did not see, of the same documents. Where ``labels`` has none, they
        test the model as it is.
    text : bool, default=True
        False leaves the documents' text out of the file: excerpts and explanations.
    title : str, optional
        Headline.
    source : str, optional
        Where the documents came from, such as a file name; shown under the headline.
    rows : iterable of int, optional
        The documents' rows in that file, which the report then calls them by; by default their
        places among the documents, from 0.

    Returns
    -------
    Path
        The file.
    """
    page = render_report(
        model, documents, labels, truth=truth, text=text, title=title, source=source, rows=rows
    )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page.encode("utf-8", "replace"))
    return path


def render_report(
    model, documents=None, labels=None, *, truth=None, text=True, title=None, source=None, rows=None
) -> str:
    """Return the page that `write_report` writes; parameters are the same."""
    if not isinstance(model, TopicModel):
        raise TypeError(f"model is a {type(model).__name__}; a report needs a TopicModel.")
    check_is_fitted(model, "estimator_")
    _check_extra()
    from cofactor.report.preparation.prepare import prepare

    prepared = prepare(
        model, documents, labels, truth, text=text, title=title, source=source, rows=rows
    )
    from cofactor.report.html import render  # imported now, beside the fits

    return render(prepared)


def _check_extra() -> None:
    missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise ImportError(
            f"A report needs {' and '.join(missing)}; install with: pip install 'cofactor[report]'"
        )
