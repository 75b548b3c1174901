"""Security checks that every request passes first: Host, secrets, Origin, content type, size.

Browsers send a cookie to all ports of a machine, so any other server on this machine that the user
visits sees it. Therefore the cookie only opens the page itself, which holds no data. Requests for
data need the token as well. The page has it from the address that was opened, keeps it in its
sessionStorage, which no other port can read, and sends it as a header.

A foreign page in the same browser can send requests to this server. It does not know the token,
cannot make the browser send the cookie (SameSite=Strict), and cannot set our header or this content
type without a CORS preflight, which is never granted. If it points its own host name to our
address, the Host header gives it away. `judge` is these rules as one pure function.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 1 << 20
BODY_SECONDS = 20.0
"""Time in which the body of a request must arrive."""
TOKEN_HEADER = "x-cofactor"
"""Header that holds the token; forms, links and other pages cannot send it."""
DATA = "/api/"
"""Addresses that need the token."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
WELCOME = """<!doctype html><html lang="en"><meta charset="utf-8"><title>cofactor</title>
<meta http-equiv="refresh" content="0; url=/#{token}"><p><a href="/#{token}">Open the app</a></p>
</html>"""
"""Sets the cookie and gives the page its token, in a part of the address that is never sent. It is
a page, not a redirect, because browsers do not send a SameSite=Strict cookie after a redirect that
began elsewhere (a web terminal, a file)."""
REASONS = {
    400: "The request has a broken header.",
    401: "Open the address that cofactor app printed; it contains the token of this run.",
    403: "This request did not come from the page of the app.",
    405: "Only GET and POST are allowed.",
    408: "The request did not arrive in time.",
    413: "The request is too large.",
    415: "Changes must be sent as application/json.",
    421: "This server does not have that name.",
}


@dataclass(frozen=True)
class Keys:
    """What a request is compared with.

    Parameters
    ----------
    hosts : frozenset of str
        Accepted Host headers, with port.
    token : str
        The secret of this run, which is in the address to open.
    cookie : str
        Name of the cookie.
    cookie_value : str
        Another secret, which opens the page without its data.
    """

    hosts: frozenset[str]
    token: str
    cookie: str
    cookie_value: str

    @classmethod
    def make(cls, host: str, port: int) -> Keys:
        """Return the keys of a new run; its secrets have 32 random bytes."""
        names = {host, "127.0.0.1", "localhost"} if host in ("127.0.0.1", "localhost") else {host}
        place = "" if port == 80 else f":{port}"  # browsers leave it out
        hosts = frozenset(f"{name}{place}" for name in names)
        token, value = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        return cls(hosts, token, f"cofactor-{port}", value)


def _equal(given: str | None, secret: str) -> bool:
    """Compare in constant time."""
    return secrets.compare_digest((given or "").encode("utf-8", "surrogatepass"), secret.encode())


def judge(keys: Keys, method: str, path: str, query: str, headers: Headers) -> int | None:
    """Return the status that rejects a request; None if it may pass, 200 if it has the token."""
    if headers.getlist("host") not in [[host] for host in keys.hosts]:
        return 421
    token = _only(parse_qs(query).get("token", []))
    if _equal(token, keys.token) and (method, path) == ("GET", "/"):
        return 200
    if not any(_equal(one, keys.cookie_value) for one in _cookies(headers, keys.cookie)):
        return 401
    needed = path.startswith(DATA) or method == "POST"
    if needed and not _equal(_only(headers.getlist(TOKEN_HEADER)), keys.token):
        return 401
    if method not in ("GET", "HEAD", "POST"):
        return 405
    origins = headers.getlist("origin")
    if origins not in ([], [f"http://{headers['host']}"]):
        return 403
    return _judge_change(headers, origins) if method == "POST" else None


def _judge_change(headers: Headers, origins: list[str]) -> int | None:
    """Return the status that rejects a change; None if it may pass."""
    if not origins:
        return 403
    kinds = [one.partition(";")[0].strip().lower() for one in headers.getlist("content-type")]
    if kinds != ["application/json"]:
        return 415
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        return 400
    return 413 if int(length[:20]) > MAX_BODY_BYTES else None


def _only(values: list[str]) -> str | None:
    return values[0] if len(values) == 1 else None


def _cookies(headers: Headers, name: str) -> list[str]:
    """Return the values of all cookies with a name; other programs on this machine may set some."""
    pairs = [one.split("=", 1) for line in headers.getlist("cookie") for one in line.split(";")]
    return [pair[1].strip() for pair in pairs if len(pair) == 2 and pair[0].strip() == name]


class Guard:
    """Middleware that rejects what `judge` rejects, and sets the headers of all answers."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self.app, self.keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        query = scope.get("query_string", b"").decode("latin-1")
        headers = Headers(scope=scope)
        status = judge(self.keys, scope["method"], scope["path"], query, headers)
        body = None
        if status is None and scope["method"] == "POST":
            try:
                body = await asyncio.wait_for(_read_body(receive), BODY_SECONDS)
                status = None if body is not None else 413
            except TimeoutError:
                status = 408
        if status is not None:
            await self._own_answer(status)(scope, receive, send_with_headers)
        else:
            passed = receive if body is None else _replay(body, receive)
            await self.app(scope, passed, send_with_headers)

    def _own_answer(self, status: int) -> Response:
        if status != 200:
            return PlainTextResponse(REASONS[status], status)
        answer, keys = HTMLResponse(WELCOME.format(token=self.keys.token)), self.keys
        answer.set_cookie(
            keys.cookie, keys.cookie_value, httponly=True, samesite="strict", path="/"
        )
        return answer


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body of a request; None if it is too large."""
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > MAX_BODY_BYTES:
            return None
    return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
