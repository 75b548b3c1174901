"""One function for each address: JSON in, JSON out.

`READS` and `CHANGES` list all addresses with the arguments that they take; arguments of other names
or types are refused. Functions run in threads, so that no request waits for another one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cofactor.app import exports
from cofactor.app.documents import Asked, find_documents, show_document
from cofactor.app.progress import compare_methods, progress
from cofactor.app.session import Session, StaleError
from cofactor.io.errors import InputError
from cofactor.io.json_text import to_json
from cofactor.text.editing.settled import Settled

LAST = 10
"""Number of decisions that are shown."""
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
MOST_AT_ONCE = 1000


@dataclass(frozen=True)
class Address:
    """A function, and the types of its arguments; those of ``optional`` may be left out."""

    answer: Callable[..., Any]
    needed: dict[str, type] = field(default_factory=dict)
    optional: dict[str, type] = field(default_factory=dict)


@dataclass(frozen=True)
class Download:
    """A file for the user to keep."""

    content: bytes
    name: str
    kind: str


# ---- reading


def state(session: Session) -> dict[str, Any]:
    """What every page shows: classes, counts, the last decisions, how the fits go."""
    session.hear()
    expected = session.now.model.expected_score_
    return {
        "counts": session.counts(),
        "several": session.corpus.several,
        "busy": session.refitter.busy,
        "trouble": session.refitter.trouble,
        "version": session.now.version,
        "shape": session.shape,
        "edits": session.edits,
        "decisions": len(session.reviewed.decisions),
        "unreadable": session.log.unreadable,
        "last": _last(session),
        "exhausted": session.exhausted,
        "every": session.every,
        "expected": None if expected is None else asdict(expected),
        "notes": session.notes,
        "model": session.folder.name,
        "predicts": bool(session.now.model.target_names_),
        "dated": session.corpus.dates is not None,
        "overtaken": session.overtaken,
    }


def _last(session: Session) -> list[dict[str, Any]]:
    places, found = session.corpus.places, []
    for decision in reversed(session.reviewed.counted()):
        place = places.get(str(decision.content.get("document")))
        if decision.kind in ("label", "skip") and place is not None:
            labels = decision.content.get("labels")
            found.append(
                {
                    "number": decision.number,
                    "document": place,
                    "name": session.corpus.names[place],
                    "excerpt": session.corpus.texts[place][:90],
                    "labels": labels if decision.kind == "label" else None,
                    "prediction": decision.content.get("prediction"),
                }
            )
        if len(found) == LAST:
            break
    return found


def next_document(session: Session, tab: str, leave: int = -1) -> dict[str, Any]:
    """The next document of the queue, or null."""
    place = session.next(tab, leave)
    return {"document": None if place is None else show_document(session, place)}


def topics(session: Session) -> dict[str, Any]:
    """The cards of the topics."""
    now = session.now
    settled = Settled.of(now.model)
    counts = [0] * len(settled)
    for document in now.documents:
        if document.topic >= 0:
            counts[document.topic] += 1
    rows = [
        {
            "topic": t.topic,
            "name": t.name,
            "words": list(t.words),
            "share": t.share,
            "label": None if t.label is None else str(t.label),
            "label_weight": t.label_weight,
            "labels": t.labels,
            "stability": t.stability,
            "documents": counts[t.topic],
            "frozen": settled.frozen[t.topic],
            "pinned": settled.pinned[t.topic],
            "banned": settled.banned[t.topic],
        }
        for t in now.model.topics(12)
    ]
    return {"topics": rows, "shape": session.shape, "edits": session.edits}


def documents(session: Session, **asked: Any) -> dict[str, Any]:
    """A page of the table of documents."""
    session.hear()
    return find_documents(session, Asked(**asked))


def table_csv(session: Session) -> Download:
    """The table with its labels, for spreadsheets."""
    name = f"{exports.file_stem(session)}-labelled.csv"
    return Download(exports.labelled_table(session, "csv"), name, "text/csv")


def table_jsonl(session: Session) -> Download:
    """The table with its labels, for programs."""
    name = f"{exports.file_stem(session)}-labelled.jsonl"
    return Download(exports.labelled_table(session, "jsonl"), name, "application/x-ndjson")


def report(session: Session) -> Download:
    """The report."""
    return Download(
        exports.report(session), f"{exports.file_stem(session)}-report.html", "text/html"
    )


def code(session: Session) -> dict[str, Any]:
    """Python code that makes the model."""
    return {
        "code": exports.snippet(session),
        "folder": session.folder.name,
        "log": session.log.path.name,
    }


# ---- changing


def label(session: Session, tab: str, document: int, labels: list[Any]) -> dict[str, Any]:
    """Label a document; no labels stand for "none of these"."""
    session.decide("label", tab, document, labels=_texts("labels", labels))
    return state(session)


def skip(session: Session, tab: str, document: int) -> dict[str, Any]:
    """Skip a document."""
    session.decide("skip", tab, document)
    return state(session)


def flag(session: Session, tab: str, document: int, on: bool) -> dict[str, Any]:
    """Flag a document, or take the flag away."""
    session.decide("flag", tab, document, on=on)
    return state(session)


def label_many(session: Session, tab: str, documents: list[Any], labels: list[Any]) -> Any:
    """Label several documents at once."""
    if len(documents) > MOST_AT_ONCE or not all(type(one) is int for one in documents):
        raise ValueError(f"documents must be at most {MOST_AT_ONCE} numbers.")
    session.decide_many(tab, documents, _texts("labels", labels))
    return state(session)


def undo(session: Session, tab: str, number: int | None = None) -> dict[str, Any]:
    """Undo a decision; the answer names its document."""
    found = session.undo(tab, number)
    key = None if found is None else found.content.get("document")
    return {
        **state(session),
        "undone": None if found is None else found.kind,
        "document": session.corpus.places.get(str(key)),
    }


def make_class(session: Session, tab: str, name: str) -> dict[str, Any]:
    """Make a class."""
    session.make_class(tab, name)
    return state(session)


def rename_class(session: Session, tab: str, old: str, new: str) -> dict[str, Any]:
    """Rename a class, or merge it into another one."""
    session.rename_class(tab, old, new)
    return state(session)


def try_edit(session: Session, edit: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Show what an edit of topics would move."""
    trial = session.try_edit(edit, arguments)
    moved = [
        row
        for row in trial.drift
        if row["gained"]
        or row["lost"]
        or row["came"]
        or row["went"]
        or row["predictions"]
        or row["before"] is None
    ]
    return {
        "trial": trial.number,
        "drift": moved,
        "documents": sum(row["came"] for row in trial.drift),
        "predictions": sum(row["predictions"] for row in trial.drift),
    }


def accept_edit(session: Session, tab: str, trial: int) -> dict[str, Any]:
    """Put an edit that was tried in place."""
    session.accept(tab, trial)
    return topics(session)


def edit_topics(session: Session, tab: str, edit: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Edit topics at once: for edits that move nothing."""
    session.edit(tab, edit, arguments)
    return topics(session)


def undo_edit(session: Session, tab: str) -> dict[str, Any]:
    """Take back the last edit of topics."""
    return {"undone": session.undo_edit(tab), **topics(session)}


def refit(session: Session) -> dict[str, Any]:
    """Fit now."""
    session.refitter.request()
    return state(session)


def stability(session: Session) -> dict[str, Any]:
    """Measure how stable the topics are."""
    session.measure_stability()
    return topics(session)


def _texts(name: str, values: list[Any]) -> list[str]:
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} must be a list of texts.")
    return values


READS = {
    "state": Address(state),
    "next": Address(next_document, {"tab": str}, {"leave": int}),
    "document": Address(show_document, {"place": int}),
    "topics": Address(topics),
    "documents": Address(
        documents,
        {},
        {
            "query": str,
            "topic": int,
            "label": str,
            "state": str,
            "below": int,
            "since": str,
            "until": str,
            "sort": str,
            "page": int,
        },
    ),
    "progress": Address(progress),
    "code": Address(code),
    "table.csv": Address(table_csv),
    "table.jsonl": Address(table_jsonl),
    "report.html": Address(report),
}
_TAB: dict[str, type] = {"tab": str}
_DOCUMENT: dict[str, type] = {"tab": str, "document": int}
CHANGES = {
    "label": Address(label, {**_DOCUMENT, "labels": list}),
    "skip": Address(skip, _DOCUMENT),
    "flag": Address(flag, {**_DOCUMENT, "on": bool}),
    "label-many": Address(label_many, {**_TAB, "documents": list, "labels": list}),
    "undo": Address(undo, _TAB, {"number": int}),
    "make-class": Address(make_class, {**_TAB, "name": str}),
    "rename-class": Address(rename_class, {**_TAB, "old": str, "new": str}),
    "try-edit": Address(try_edit, {"edit": str, "arguments": dict}),
    "accept-edit": Address(accept_edit, {**_TAB, "trial": int}),
    "edit": Address(edit_topics, {**_TAB, "edit": str, "arguments": dict}),
    "undo-edit": Address(undo_edit, _TAB),
    "refit": Address(refit),
    "stability": Address(stability),
    "compare": Address(compare_methods),
}


# ---- the web


@cache
def assets() -> dict[str, bytes]:
    """Return the files of the page by name; nothing else is ever opened for a client."""
    package, found = files("cofactor"), {}
    for folder in (package / "app" / "page",):
        for file in folder.iterdir():
            if "." + file.name.rpartition(".")[2] in TYPES:
                found[file.name] = file.read_bytes()
    found["report.css"] = (package / "report" / "page" / "page.css").read_bytes()
    return found


def make_app(session: Session) -> Starlette:
    """Return the web application of a session, without its guard."""
    routes = [
        Route("/", _asset_route("index.html")),
        Route("/favicon.ico", _asset_route("icon.svg")),  # asked of pages that name no icon
        *(Route(f"/{name}", _asset_route(name)) for name in assets() if name != "index.html"),
        *(Route(f"/api/{name}", _route(session, one)) for name, one in READS.items()),
        *(
            Route(f"/api/{name}", _route(session, one), methods=["POST"])
            for name, one in CHANGES.items()
        ),
    ]
    refusals = {
        StaleError: _refused(409),
        ValueError: _refused(422),
        TypeError: _refused(422),
        InputError: _refused(422),
        ImportError: _refused(422),
        OSError: _refused(507),
        HTTPException: _http_error,
        Exception: _failed,
    }
    return Starlette(routes=routes, exception_handlers=refusals)


def _asset_route(name: str) -> Callable[[Request], Any]:
    kind = TYPES["." + name.rpartition(".")[2]]

    async def send(request: Request) -> Response:
        return Response(assets()[name], media_type=kind)

    return send


def _route(session: Session, address: Address) -> Callable[[Request], Any]:
    async def handle(request: Request) -> Response:
        if request.method == "POST":
            given = _read_json(await request.body())
        else:
            given = {
                name: _read_value(address, name, text)
                for name, text in request.query_params.items()
            }
        arguments = _checked(address, given)
        answer = await run_in_threadpool(address.answer, session, **arguments)
        if isinstance(answer, Download):
            headers = {"content-disposition": f'attachment; filename="{answer.name}"'}
            return Response(answer.content, media_type=answer.kind, headers=headers)
        return Response(to_json(answer), media_type="application/json")

    return handle


def _read_json(body: bytes) -> dict[str, Any]:
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, "The request is not JSON.") from None
    if not isinstance(given, dict):
        raise HTTPException(400, "The request is not a JSON object.")
    return given


def _read_value(address: Address, name: str, text: str) -> Any:
    kind = {**address.needed, **address.optional}.get(name)
    if kind is int:
        if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 12:
            raise HTTPException(400, f"{name} must be a number.")
        return int(text)
    return text


def _checked(address: Address, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a request; refuse those of other names or types."""
    known = {**address.needed, **address.optional}
    for name in {*address.needed, *given}:
        if name not in given:
            raise HTTPException(400, f"{name} is missing.")
        if name not in known:
            raise HTTPException(400, "There is an argument that is not known.")
        if type(given[name]) is not known[name]:
            raise HTTPException(400, f"{name} must be of type {known[name].__name__}.")
    if len(given.get("tab", "")) > 40:
        raise HTTPException(400, "tab is too long.")
    return given


def _refused(status: int) -> Callable[[Request, Exception], Response]:
    return lambda request, error: _error(status, str(error))


def _http_error(request: Request, error: Any) -> Response:
    return _error(error.status_code, str(error.detail))


def _failed(request: Request, error: Exception) -> Response:
    return _error(500, f"Something went wrong ({type(error).__name__}); nothing was changed.")


def _error(status: int, message: str) -> Response:
    return Response(to_json({"error": message}), status, media_type="application/json")
