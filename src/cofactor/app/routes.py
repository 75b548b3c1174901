"""The web application: one function for each address (JSON in, JSON out), and the server.

`READS` and `CHANGES` list all addresses. The signature of a function declares the arguments of its
address; arguments with other names or types are rejected. A change that returns nothing is answered
by the new state. Functions run in threads, so that no request waits for another one.
"""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import json
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from inspect import signature
from typing import Any, get_origin, get_type_hints

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from cofactor.app.exports import Download, code, labels_for, report, table_csv, table_jsonl
from cofactor.app.page_data import elsewhere, find_documents, lacking, show_document, state, topics
from cofactor.app.progress import compare_methods, progress
from cofactor.app.security import Guard, Keys
from cofactor.app.session import REVIEW_QUEUES, Session, StaleError
from cofactor.errors import InputError, Parameter, ParameterError
from cofactor.io import platform
from cofactor.io.json_text import to_json

MAX_LABELLED_AT_ONCE = 1000
FIRST_PORT, TRIED_PORTS = 8765, 20
REQUEST_SECONDS = 10.0
"""Time in which the head of a request must arrive."""
SWITCH_SECONDS = 0.001
"""Time after which a fit yields to an answer, which passes through several threads."""
MEDIA_TYPES = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}


# ---- the functions


def next_document(session: Session, tab: str, queue: str = "") -> dict[str, Any]:
    """The next document of a queue, or null."""
    if queue and queue not in REVIEW_QUEUES:
        raise ValueError(f"queue must be one of {', '.join(REVIEW_QUEUES)}.")
    place = session.next(tab, queue)
    return {"document": None if place is None else show_document(session, place, tab)}


def label(
    session: Session, tab: str, document: int, labels: list[Any], create: bool = False
) -> None:
    """Label a document; no labels mean "none of these"."""
    session.decide("label", tab, document, labels=_texts("labels", labels), create=create)


def skip(session: Session, tab: str, document: int) -> None:
    """Skip a document."""
    session.decide("skip", tab, document)


def flag(session: Session, tab: str, document: int, on: bool) -> None:
    """Flag a document, or remove the flag."""
    session.decide("flag", tab, document, on=on)


def note(session: Session, tab: str, document: int, text: str) -> None:
    """Write a note on a document."""
    session.write_note(tab, document, text)


def guidelines(session: Session) -> dict[str, Any]:
    """The rules for labelling."""
    return {"blocks": session.guidelines}


def label_many(
    session: Session, tab: str, documents: list[Any], labels: list[Any], create: bool = False
) -> None:
    """Label several documents at once."""
    if len(documents) > MAX_LABELLED_AT_ONCE or not all(type(one) is int for one in documents):
        raise ValueError(f"documents must be at most {MAX_LABELLED_AT_ONCE} numbers.")
    session.decide_many(tab, documents, _texts("labels", labels), create)


def undo(session: Session, tab: str, number: int = -1) -> dict[str, Any]:
    """Undo a decision, by default the last of this tab; the answer names its document."""
    found = session.undo(tab, None if number < 0 else number)
    content = {} if found is None else found.content
    place = session.table.places.get(str(content.get("document")))
    undone = {
        "undone": None if found is None else found.kind,
        "documents": len(content.get("documents", [0])),
    }
    return {**state(session), **undone, "document": place}


def take_over(session: Session, tab: str, pairs: dict[str, Any]) -> None:
    """Give documents the labels of texts that are no longer in the table."""
    if not all(type(place) is int for place in pairs.values()):
        raise ValueError("pairs must be a number of a document for each key.")
    session.take_over(tab, pairs)


def try_edit(session: Session, edit: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Show what an edit of topics would move."""
    trial = session.try_edit(edit, arguments)
    signs = ("gained", "lost", "came", "went", "predictions")
    moved = [row for row in trial.drift if row["before"] is None or any(map(row.get, signs))]
    return {
        "trial": trial.number,
        "drift": moved,
        "documents": sum(row["came"] for row in trial.drift),
        "predictions": sum(row["predictions"] for row in trial.drift),
    }


def accept_edit(session: Session, tab: str, trial: int) -> dict[str, Any]:
    """Accept an edit that was tried."""
    session.accept(tab, trial)
    return topics(session)


def edit_topics(session: Session, tab: str, edit: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Edit topics without a trial, for edits that move nothing."""
    session.edit(tab, edit, arguments)
    return topics(session)


def undo_edit(session: Session, tab: str) -> dict[str, Any]:
    """Undo the last edit of topics."""
    return {"undone": session.undo_edit(tab), **topics(session)}


def refit(session: Session) -> None:
    """Fit now."""
    session.refitter.request()


def stability(session: Session) -> dict[str, Any]:
    """Measure how stable the topics are."""
    session.measure_stability()
    return topics(session)


def _texts(name: str, values: list[Any]) -> list[str]:
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} must be a list of texts.")
    return values


READS: dict[str, Callable[..., Any]] = {
    "state": state,
    "next": next_document,
    "document": show_document,
    "topics": topics,
    "documents": find_documents,
    "lacking": lacking,
    "elsewhere": elsewhere,
    "guidelines": guidelines,
    "progress": progress,
    "code": code,
    "table.csv": table_csv,
    "table.jsonl": table_jsonl,
    "labels.for": labels_for,
    "report.html": report,
}
CHANGES: dict[str, Callable[..., Any]] = {
    "label": label,
    "skip": skip,
    "flag": flag,
    "note": note,
    "label-many": label_many,
    "undo": undo,
    "make-class": Session.make_class,
    "rename-class": Session.rename_class,
    "delete-class": Session.delete_class,
    "describe-class": Session.describe_class,
    "restore-log": Session.restore_log,
    "forget-copy": Session.forget_copy,
    "take-over": take_over,
    "try-edit": try_edit,
    "accept-edit": accept_edit,
    "edit": edit_topics,
    "undo-edit": undo_edit,
    "refit": refit,
    "stability": stability,
    "compare": compare_methods,
}


# ---- the application


@cache
def assets() -> dict[str, bytes]:
    """Return the files of the page by name; nothing else is ever opened for a client."""
    package = files("cofactor")
    page = (package / "app" / "page").iterdir()
    found = {file.name: file.read_bytes() for file in page if _ending(file.name) in MEDIA_TYPES}
    return {**found, "report.css": (package / "report" / "page" / "page.css").read_bytes()}


def _ending(name: str) -> str:
    return name.rpartition(".")[2]


def make_app(session: Session) -> Starlette:
    """Return the web application of a session, without its guard."""
    routes = [
        Route("/", _asset_route("index.html")),
        Route("/favicon.ico", _asset_route("icon.svg")),  # requested for pages without an icon
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
    async def send(request: Request) -> Response:
        return Response(assets()[name], media_type=MEDIA_TYPES[_ending(name)])

    return send


def _route(session: Session, function: Callable[..., Any]) -> Callable[[Request], Any]:
    parameters = _parameters(function)

    async def handle(request: Request) -> Response:
        if request.method == "POST":
            given = _read_json(await request.body())
        else:
            given = {n: _read_value(n, t, parameters) for n, t in request.query_params.items()}
        _check(given, parameters)
        answer = await run_in_threadpool(_answer, function, session, given)
        if isinstance(answer, Download):
            headers = {"content-disposition": f'attachment; filename="{answer.name}"'}
            return Response(answer.content, media_type=answer.kind, headers=headers)
        return Response(to_json(answer), media_type="application/json")

    return handle


def _answer(function: Callable[..., Any], session: Session, given: dict[str, Any]) -> Any:
    """Call a function; a change that answers nothing of its own is answered by the new state."""
    answer = function(session, **given)
    return state(session) if answer is None else answer


RouteParameters = dict[str, tuple[type, bool]]  # the type, and whether it must be given


def _parameters(function: Callable[..., Any]) -> RouteParameters:
    """Return the parameters that a function takes beside the session."""
    _, *found = signature(function).parameters.values()
    types = get_type_hints(function)
    return {
        one.name: (get_origin(types[one.name]) or types[one.name], one.default is one.empty)
        for one in found
    }


def _read_json(body: bytes) -> dict[str, Any]:
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, "The request is not JSON.") from None
    if not isinstance(given, dict):
        raise HTTPException(400, "The request is not a JSON object.")
    return given


def _read_value(name: str, text: str, parameters: RouteParameters) -> Any:
    """Read a value of a query as an integer where one is expected."""
    if parameters.get(name, (str,))[0] is not int:
        return text
    if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 12:
        raise HTTPException(400, f"{name} must be a number.")
    return int(text)


def _check(given: dict[str, Any], parameters: RouteParameters) -> None:
    """Reject a request with missing or unknown arguments, or with other types."""
    if any(name not in parameters for name in given):
        raise HTTPException(400, "There is an unknown argument.")
    for name, (kind, needed) in parameters.items():
        if name not in given:
            if needed:
                raise HTTPException(400, f"{name} is missing.")
        elif type(given[name]) is not kind:
            raise HTTPException(400, f"{name} must be of type {kind.__name__}.")
    if len(given.get("tab", "")) > 40:
        raise HTTPException(400, "tab is too long.")


def _refused(status: int) -> Callable[[Request, Exception], Response]:
    return lambda request, error: _error(status, str(error))


def _http_error(request: Request, error: Any) -> Response:
    return _error(error.status_code, str(error.detail))


def _failed(request: Request, error: Exception) -> Response:
    return _error(500, f"Something went wrong ({type(error).__name__}); nothing was changed.")


def _error(status: int, message: str) -> Response:
    return Response(to_json({"error": message}), status, media_type="application/json")


# ---- the server


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def open_socket(host: str, port: int | None) -> socket.socket:
    """Listen on an address; without a port, on the first free one of a few, or else on any."""
    if host in ("0.0.0.0", "::", ""):
        raise ParameterError(
            (Parameter("host", host), " stands for all addresses of this machine"),
            "name one of them, because requests must name the address that they are sent to",
        )
    ports = [port] if port is not None else [*range(FIRST_PORT, FIRST_PORT + TRIED_PORTS), 0]
    for number in ports:
        # asyncio sends the parts of an answer at once only if the socket's protocol is TCP
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        platform.HERE.claim_address(listening)
        try:
            listening.bind((host, number))
            return listening
        except OSError as error:
            listening.close()
            reason = error.strerror or str(error)
    raise ParameterError(
        f"Port {ports[-1]} of {host} cannot be used: {reason}",
        ("choose another ", Parameter("port")),
    )


def guarded(session: Session, host: str, port: int) -> tuple[ASGIApp, Keys]:
    """Return the web application behind its guard, and the keys of this run."""
    keys = Keys.make(host, port)
    return Guard(make_app(session), keys), keys


def address(host: str, port: int, keys: Keys) -> str:
    """Return the address to open, with the token."""
    return f"http://{host}:{port}/?token={keys.token}"


def serve(
    session: Session, listening: socket.socket, host: str, ready: Callable[[str], None]
) -> None:
    """Answer requests until Ctrl-C; call ``ready`` with the address when the server is up."""
    port = listening.getsockname()[1]
    app, keys = guarded(session, host, port)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="off",
        http=_ImpatientProtocol,
        timeout_graceful_shutdown=2,
    )
    server = _Server(config, lambda: ready(address(host, port, keys)))
    usual = sys.getswitchinterval()
    gc.freeze()  # garbage collection skips what is here to stay, so no answer waits for it
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        server.run(sockets=[listening])
    finally:
        session.close()
        sys.setswitchinterval(usual)
        gc.unfreeze()


class _ImpatientProtocol(H11Protocol):
    """A connection that is closed if no whole request begins within some seconds."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop()

    def _watch(self) -> None:
        """Start the clock when a request is awaited; stop it when one has begun."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Server(uvicorn.Server):
    """A server that reports when it is up."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self._ready()
