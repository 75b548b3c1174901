"""Sends requests to a web application without a socket, header by header."""

import asyncio
import json
from dataclasses import dataclass
from urllib.parse import unquote


@dataclass
class Answer:
    status: int
    headers: dict
    content: bytes

    def json(self):
        return json.loads(self.content)


def send(app, method, path, headers=(), pieces=()):
    """Return the answer to one request; headers are pairs, and the body comes in pieces."""
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8765),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
    }
    waiting = [
        *({"type": "http.request", "body": one, "more_body": True} for one in pieces),
        {"type": "http.request", "body": b"", "more_body": False},
    ]
    sent = []

    async def receive():
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def note(message):
        sent.append(message)

    asyncio.run(app(scope, receive, note))
    found = {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], found, b"".join(one.get("body", b"") for one in sent[1:]))
