"""The routes: what the page reads and changes; the server."""

import socket
import threading
import time
from contextlib import nullcontext

import pytest

from app_corpus import TEXTS, TRUTH
from cofactor.app import routes
from cofactor.app.routes import is_loopback, open_socket
from cofactor.io.errors import InputError


def test_label_skip_flag_and_undo(page):
    page.begin(every=100)
    page.make_classes()
    first = page.read("next", tab="t")["document"]
    assert "".join(text for text, _ in first["segments"]) == TEXTS[first["document"]]
    assert (first["labels"], first["source"], first["prediction"]) == (None, None, None)
    state = page.change("label", tab="t", document=first["document"], labels=["food"])
    assert state["counts"]["classes"] == {"space": 0, "sport": 0, "food": 1}
    assert [one["document"] for one in state["last"]] == [first["document"]]
    second = page.read("next", tab="t")["document"]["document"]
    assert second != first["document"]
    assert page.change("skip", tab="t", document=second)["counts"]["skipped"] == 1
    assert page.change("flag", tab="t", document=second, on=True)["counts"]["flagged"] == 1
    assert page.read("document", place=second)["flagged"] is True
    for undone, document in (("flag", second), ("skip", second), ("label", first["document"])):
        done = page.change("undo", tab="t")
        assert (done["undone"], done["document"]) == (undone, document)
    assert done["counts"]["reviewed"] == 0
    assert page.change("label", 409, tab="t", document=1, labels=["gone"])["error"]


def test_topics_are_edited(page):
    given = [(TRUTH[i],) if i < 12 else () for i in range(60)]
    page.begin(given=given)
    before = page.read("topics")["topics"]
    assert sum(one["documents"] for one in before) == 60
    trial = page.change("try-edit", edit="merge", arguments={"topics": [0, 1]})
    assert trial["documents"] > 0
    assert len(page.read("topics")["topics"]) == 4
    after = page.change("accept-edit", tab="t", trial=trial["trial"])
    assert (len(after["topics"]), after["edits"]) == (3, ["merge"])
    assert page.change("accept-edit", 409, tab="t", trial=trial["trial"])["error"]
    named = page.change("edit", tab="t", edit="rename", arguments={"topic": 0, "name": "<b>x</b>"})
    assert named["topics"][0]["name"] == "<b>x</b>"
    frozen = page.change("edit", tab="t", edit="freeze", arguments={"topic": 0})
    assert frozen["topics"][0]["frozen"] is True
    assert [page.change("undo-edit", tab="t")["undone"] for _ in range(4)] == [
        "freeze",
        "rename",
        "merge",
        None,
    ]
    assert len(page.read("topics")["topics"]) == 4


def test_a_full_disk_is_said(page, monkeypatch):
    page.begin()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    answer = page.change("make-class", 507, tab="t", name="a")
    assert "There is no room for" in answer["error"]
    assert "make room" in answer["error"]
    monkeypatch.undo()
    assert page.change("make-class", tab="t", name="a")["counts"]["classes"] == {"a": 0}


def test_wildcard_addresses_are_refused():
    for host in ("0.0.0.0", "::", ""):
        with pytest.raises(InputError, match="name one of them"):
            open_socket(host, None)
    assert [is_loopback(h) for h in ("127.0.0.1", "localhost", "192.168.1.5", "evil.example")] == [
        True,
        True,
        False,
        False,
    ]


def test_a_port_in_use_is_refused():
    with open_socket("127.0.0.1", 0) as one:
        one.listen()
        with pytest.raises(InputError, match="choose another port"):
            open_socket("127.0.0.1", one.getsockname()[1])


def test_answers_are_sent_at_once():
    """asyncio turns Nagle's algorithm, which costs 40 ms, off for sockets of this protocol only."""
    with open_socket("127.0.0.1", 0) as one:
        assert one.proto == socket.IPPROTO_TCP


@pytest.fixture
def served(start, monkeypatch):
    """A server in a thread: its host with port, and the address with the token."""
    addresses, servers = [], []

    class Server(routes._Server):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            servers.append(self)

        def capture_signals(self):
            return nullcontext()

    monkeypatch.setattr(routes, "_Server", Server)
    with open_socket("127.0.0.1", 0) as listening:
        arguments = (start(), listening, "127.0.0.1", addresses.append)
        thread = threading.Thread(target=routes.serve, args=arguments)
        thread.start()
        while not addresses:
            time.sleep(0.01)
        yield listening.getsockname(), addresses[0].rpartition("=")[2]
        servers[0].should_exit = True
        thread.join()


def read_until(client, end):
    found = b""
    while end not in found and (part := client.recv(65536)):
        found += part
    return found.decode()


def test_half_open_connections_are_closed(monkeypatch, served):
    """A client that never ends its request, at once or after an answer, is not waited for."""
    monkeypatch.setattr(routes, "REQUEST_SECONDS", 0.3)
    monkeypatch.setattr("cofactor.app.security.BODY_SECONDS", 0.3)
    place, token = served
    host = f"{place[0]}:{place[1]}"
    whole = f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    for sent in (b"", b"GET / HT", whole + b"GET / HT", whole + whole + b"GET"):
        with socket.create_connection(place, timeout=20) as client:
            client.sendall(sent)
            read_until(client, b"never")  # until the server closes
    with socket.create_connection(place, timeout=20) as client:
        client.sendall(f"GET /?token={token} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        answer = read_until(client, b"</html>")
        head = [
            "POST /api/refit HTTP/1.1",
            f"Host: {host}",
            f"Cookie: {answer.partition('set-cookie: ')[2].partition(';')[0]}",
            f"X-Cofactor: {token}",
            f"Origin: http://{host}",
            "Content-Type: application/json",
            "Content-Length: 9",
        ]
        client.sendall("\r\n".join([*head, "", "{"]).encode())
        assert read_until(client, b"in time").startswith("HTTP/1.1 408")
