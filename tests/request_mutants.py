"""Change valid requests to the app at random and send them to a running server.

Each request begins as one that the page could send. Then something is damaged: bytes of the whole
request, a value of its JSON or its query, the address, or a part that the guard judges: host,
secrets, origin, type and length of the body. These outcomes are good:

- done: the changed request is still a valid one, and its guarded parts are those of the page
- refused: a status from 400 to 499, or a closed connection where there is no HTTP

A refused request must leave the decisions alone. Everything else is a failure: another status, no
answer in time, a decision from a refused request, or an answer with data although a guarded part
is wrong.
"""

import json
import random
import re
import socket
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from app_corpus import TEXTS, TRUTH
from app_processes import Client, start_app
from cofactor.app.decisions import SHOWN, DecisionLog
from commands import write_table

PATIENCE = 60.0
"""Seconds that an answer may take."""
READS = {
    "state": {},
    "next": {"tab": "t", "queue": "doubtful label"},
    "document": {"place": 3, "tab": "t"},
    "topics": {},
    "documents": {"query": "goal", "topic": 1, "state": "open", "sort": "confidence", "page": 0},
    "lacking": {},
    "elsewhere": {},
    "guidelines": {},
    "progress": {},
    "code": {},
    "table.csv": {},
    "table.jsonl": {},
    "labels.for": {"program": "prodigy"},
}
CHANGES = {
    "label": {"tab": "t", "document": 3, "labels": ["sport"], "create": False},
    "skip": {"tab": "t", "document": 4},
    "flag": {"tab": "t", "document": 5, "on": True},
    "note": {"tab": "t", "document": 6, "text": "why?"},
    "label-many": {"tab": "t", "documents": [7, 8], "labels": ["food"], "create": False},
    "undo": {"tab": "t", "number": 5},
    "make-class": {"tab": "t", "name": "new"},
    "rename-class": {"tab": "t", "old": "new", "new": "newer"},
    "delete-class": {"tab": "t", "name": "newer"},
    "describe-class": {"tab": "t", "name": "food", "text": "what is eaten"},
    "restore-log": {},
    "forget-copy": {},
    "take-over": {"tab": "t", "pairs": {"0123456789abcdef0123": 3}},
    "try-edit": {"edit": "merge", "arguments": {"topics": [0, 1]}},
    "accept-edit": {"tab": "t", "trial": 1},
    "edit": {"tab": "t", "edit": "rename", "arguments": {"topic": 0, "name": "n"}},
    "undo-edit": {"tab": "t"},
    "refit": {},
}
ODD_WORDS = (
    "",
    "0",
    "-1",
    "x",
    "null",
    "[]",
    "../../etc/passwd",
    "\x00",
    "é",
    "\u202e",
    "a" * 5000,
)
ODD_VALUES = (None, True, -1, 0, 10**30, 1.5, "", "x", [], [1], ["x"], {}, {"topic": 0}, "\ud800")
ADDRESSES = (
    "/../../etc/passwd",
    "/%2e%2e/session.py",
    "//evil.example/api/state",
    "/api/../api/state",
    "/api/%00",
    "/api/state/",
    "/API/state",
    "http://evil.example/api/state",
    "*",
    "/" + "a" * 70_000,
)
METHODS = ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "get", "X" * 50)


@dataclass(frozen=True)
class Request:
    """A request before it is written; ``guarded`` tells whether a guarded part is wrong."""

    method: str
    address: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    wrong: bool = False

    def written(self) -> bytes:
        lines = [f"{self.method} {self.address} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        head = "\r\n".join([*lines, "Connection: close", "", ""])
        return head.encode("utf-8", "surrogatepass") + self.body

    def with_header(self, name: str, *values: str) -> "Request":
        """Replace a header; no value removes it, two values send it twice."""
        kept = [one for one in self.headers if one[0] != name]
        return replace(self, headers=(*kept, *((name, value) for value in values)))


def valid_request(client: Client, draw: random.Random) -> Request:
    """Return a request that the page could send."""
    host = ("Host", f"{client.host}:{client.port}")
    read = draw.random() < 0.4
    name = draw.choice([*(READS if read else CHANGES)])
    if read:
        return Request("GET", _address(name, READS[name]), (host, *client.headers.items()))
    body = json.dumps(CHANGES[name]).encode()
    headers = (host, *client.headers.items(), ("Content-Length", str(len(body))))
    return Request("POST", f"/api/{name}", headers, body)


def _address(name: str, query: dict) -> str:
    pairs = (f"{quote(key)}={quote(str(value), errors='replace')}" for key, value in query.items())
    return f"/api/{name}?{'&'.join(pairs)}"


# ---- damage


def damage_content(request: Request, draw: random.Random) -> Request:
    """Change, remove, add or copy arguments."""
    name = request.address.removeprefix("/api/").partition("?")[0]
    query = request.method == "GET"
    content = json.loads(json.dumps((READS if query else CHANGES)[name]))
    for _ in range(draw.choice((1, 1, 2, 4))):
        key = draw.choice([*content, "tab", "document", "x"])
        if draw.random() < 0.2:
            content.pop(key, None)
        else:
            content[key] = draw.choice(ODD_WORDS if query or draw.random() < 0.3 else ODD_VALUES)
    if query:
        return replace(request, address=_address(name, content))
    return _with_body(request, json.dumps(content).encode())


def damage_body(request: Request, draw: random.Random) -> Request:
    """Send something that is not the JSON object, or announce another length."""
    body = draw.choice(
        (
            request.body[: draw.randrange(len(request.body) + 1)],
            request.body + draw.randbytes(3),
            b"[" * 100_000,
            b'{"tab": ' * 2000,
            b"\xff\xfe" + request.body,
            b"null",
            b'{"a":1' + b"0" * 10_000 + b"}",
            draw.randbytes(50),
            b'{"tab":"t","name":"' + b"x" * (1 << 20) + b'"}',
        )
    )
    request = _with_body(request, body)
    if draw.random() < 0.3:
        length = draw.choice(("-1", "0", "1", "9" * 30, "x", "²", str(len(body) + 9)))
        return request.with_header("Content-Length", length)
    if draw.random() < 0.2:
        chunks = b"%x\r\n%b\r\n%b" % (len(body), body, draw.choice((b"0\r\n\r\n", b"zz\r\n", b"")))
        request = replace(request, body=chunks)
        return request.with_header("Content-Length").with_header("Transfer-Encoding", "chunked")
    return request


def _with_body(request: Request, body: bytes) -> Request:
    return replace(request, body=body).with_header("Content-Length", str(len(body)))


def damage_address(request: Request, draw: random.Random) -> Request:
    """Ask for another address, or by another method."""
    if draw.random() < 0.5:
        return replace(request, method=draw.choice(METHODS))
    return replace(request, address=draw.choice(ADDRESSES))


def damage_guarded(request: Request, draw: random.Random) -> Request:
    """Make a part wrong that the guard judges."""
    headers = dict(request.headers)
    host, cookie, token = (headers[name] for name in ("Host", "Cookie", "X-Cofactor"))
    port, (name, _, value) = host.rpartition(":")[2], cookie.partition("=")
    evil = "evil.example"
    others = {
        "Host": (evil, f"{evil}:{port}", f"127.0.0.1.{evil}:{port}", "127.0.0.1", ""),
        "Cookie": (f"{name}=x", f"cofactor-1={value}", f"{cookie}x", f"x={cookie}", "", f"{name}="),
        "X-Cofactor": ("", "1", value, token[:-1], f"{token}x"),
        "Origin": ("null", f"http://{evil}", "http://127.0.0.1:1", f"https://{host}", ""),
    }
    if request.method == "POST":
        others["Content-Type"] = ("text/plain", "application/x-www-form-urlencoded", "", "json")
    part = draw.choice([*others])
    request = replace(request, wrong=True)
    if draw.random() < 0.2 and part not in ("Cookie",):
        return request.with_header(part, headers[part], draw.choice(others[part]))
    if draw.random() < 0.2 and not (part == "Origin" and request.method == "GET"):
        return request.with_header(part)
    return request.with_header(part, draw.choice(others[part]))


def damage_bytes(data: bytes, draw: random.Random) -> bytes:
    """Flip, cut, repeat or insert bytes of a written request."""
    place, other = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    few = draw.choice((b"\r\n", b"\r\n\r\n", b"\x00", b"\n", b" ", draw.randbytes(4)))
    flipped = bytearray(data)
    flipped[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return draw.choice(
        (
            bytes(flipped),
            data[:place],
            data[:place] + data[other:],
            data[:other] + data[place:],
            data[:place] + few + data[place:],
            draw.randbytes(100),
        )
    )


def mutant(client: Client, draw: random.Random) -> tuple[bytes, bool]:
    """Return a request as bytes, and whether a guarded part is wrong."""
    request = valid_request(client, draw)
    damages = [damage_content, damage_content, damage_guarded, damage_address]
    damages += [damage_body] if request.method == "POST" else []
    request = draw.choice(damages)(request, draw)
    data = request.written()
    if not request.wrong and draw.random() < 0.2:
        data = damage_bytes(data, draw)
    return data, request.wrong


# ---- many of them


def is_whole(data: bytes) -> bool:
    """Tell whether a server has no reason to wait for more; if in doubt, yes."""
    head, end, body = re.split(rb"(\n\r?\n|$)", data, maxsplit=1)
    if re.search(rb"(?i)\ntransfer-encoding:", head):
        return body.endswith(b"0\r\n\r\n") or b"zz" in body
    lengths = re.findall(rb"(?i)\ncontent-length: *(\d{1,9})\r", head + b"\r")
    return bool(end) and len(body) >= int(max(lengths, default=b"0"))


def exchange(client: Client, data: bytes) -> int | None:
    """Send bytes, and nothing after them; return the status, or None without an answer."""
    found = b""
    with socket.create_connection((client.host, client.port), timeout=PATIENCE) as server:
        try:
            server.sendall(data)
            if not is_whole(data):  # a client that leaves does not hear the answer
                server.shutdown(socket.SHUT_WR)
            while part := server.recv(65536):
                found += part
        except TimeoutError:
            raise
        except OSError:  # the server refused before it had read everything
            pass
    first = found.split(b"\r\n", 1)[0].split()
    return int(first[1]) if len(first) > 1 and first[0].startswith(b"HTTP/") else None


def judge(status: int | None, wrong: bool, changed: bool) -> str:
    """Return the outcome of one request."""
    if status is None or 400 <= status < 500:
        return "A DECISION FROM A REFUSED REQUEST" if changed else "refused"
    if status >= 500 or status < 200:
        return f"STATUS {status}"
    return "LET IN" if wrong else "done"


def fuzz_requests(count: int, seed: int, verbose: bool = False) -> list[str]:
    """Send requests to an app, print the failures and a summary, and return the failures."""
    began, outcomes, failures = time.monotonic(), Counter(), []
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        rows = [[str(i), text, ""] for i, text in enumerate(TEXTS)]
        process = start_app(write_table(Path(folder) / "posts.csv", rows), "--label", "team")
        try:
            client, log = Client(process), DecisionLog(Path(folder) / "model.decisions.jsonl")
            for place in range(12):
                client.change("label", tab="t", document=place, labels=[TRUTH[place]], create=True)
            decided(log)
            for index in range(count):
                data, wrong = mutant(client, random.Random(f"{seed} {index}"))
                try:
                    outcome = judge(exchange(client, data), wrong, decided(log))
                except TimeoutError:
                    outcome = "HANG"
                outcomes[outcome] += 1
                if outcome not in ("done", "refused"):
                    failures.append(f"{index}: {outcome}: {data[:500]!r}")
                if verbose or outcome not in ("done", "refused"):
                    print(f"requests --seed {seed}, {index}: {outcome}: {data[:500]!r}", flush=True)
            client.change("label", tab="t", document=0, labels=["food"], create=True)
            assert decided(log), "the app lost a decision"
            assert process.poll() is None, "the app ended"
        finally:
            process.terminate()
            process.communicate(timeout=60)
    shown = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    seconds = time.monotonic() - began
    print(f"requests: {count} cases in {seconds:.0f} s: {shown}; {len(failures)} failures")
    return failures


def decided(log: DecisionLog) -> bool:
    """Tell whether the log has further decisions since the last call."""
    return any(one.kind != SHOWN for one in log.read())
