"""Who may ask what: a table of requests and the status of each, for every route."""

from itertools import product

import pytest

from app_requests import send
from cofactor.app.routes import CHANGES, READS, assets, guarded
from cofactor.app.security import HEADERS, MAX_BODY_BYTES

PORT = 8765
HOST, OTHER_HOST = f"127.0.0.1:{PORT}", f"localhost:{PORT}"
PLACES = [
    "/",
    *(f"/{name}" for name in assets() if name != "index.html"),
    *(f"/api/{name}" for name in READS),
]
ALL = [*(("GET", path) for path in PLACES), *(("POST", f"/api/{name}") for name in CHANGES)]


@pytest.fixture
def site(start):
    """A function that sends a request; by default one that is allowed."""
    session = start(every=100)
    app, keys = guarded(session, "127.0.0.1", PORT)

    def ask(
        method,
        path,
        *,
        host=HOST,
        token=keys.token,
        cookie=keys.cookie_value,
        origin="same",
        kind="application/json",
        body=b"{}",
        length=None,
        further=(),
    ):
        headers = {"host": host, "cookie": f"other=1; {keys.cookie}={cookie}"}
        headers |= {"content-length": length} if length else {}
        headers["x-cofactor"] = token
        if method != "GET":
            headers["content-type"] = kind
        origin = (f"http://{host}" if method == "POST" else None) if origin == "same" else origin
        headers |= {"origin": origin} if origin else {}
        pairs = [(name, value) for name, value in headers.items() if value is not None]
        pieces = [] if method == "GET" else [body] if isinstance(body, bytes) else body
        return send(app, method, path, [*pairs, *further], pieces)

    ask.session, ask.keys = session, keys
    return ask


# what is wrong with a request -> its status; None stands for anything that got past the guard
WRONG = {
    "host of another name": ({"host": f"evil.example:{PORT}"}, 421),
    "rebound host": ({"host": f"127.0.0.1.evil.example:{PORT}"}, 421),
    "host without port": ({"host": "127.0.0.1"}, 421),
    "wrong port": ({"host": "127.0.0.1:80"}, 421),
    "IPv6": ({"host": f"[::1]:{PORT}"}, 421),
    "all addresses": ({"host": f"0.0.0.0:{PORT}"}, 421),
    "another form of the address": ({"host": f"2130706433:{PORT}"}, 421),
    "host with a dot": ({"host": f"localhost.:{PORT}"}, 421),
    "host in capitals": ({"host": f"LOCALHOST:{PORT}"}, 421),
    "user in host": ({"host": f"a@127.0.0.1:{PORT}"}, 421),
    "no cookie": ({"cookie": ""}, 401),
    "wrong cookie": ({"cookie": "x" * 43}, 401),
    "cookie with more": ({"cookie": None}, 401),
    "foreign origin": ({"origin": "http://evil.example"}, 403),
    "null origin": ({"origin": "null"}, 403),
    "origin of another port": ({"origin": "http://127.0.0.1:80"}, 403),
    "origin of the other name": ({"origin": f"http://{OTHER_HOST}"}, 403),
    "origin of another scheme": ({"origin": f"https://{HOST}"}, 403),
}
WRONG_CHANGES = {
    "no origin": ({"origin": None}, 403),
    "a form": ({"kind": "application/x-www-form-urlencoded"}, 415),
    "plain text": ({"kind": "text/plain"}, 415),
    "plain text that looks like JSON": ({"kind": "text/plain;application/json"}, 415),
    "no type": ({"kind": None}, 415),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_every_route_refuses(site, wrong):
    change, status = WRONG[wrong]
    if wrong == "cookie with more":
        change = {"cookie": site.keys.cookie_value + "x"}
    for method, path in ALL:
        assert site(method, path, **change).status == status, (method, path)
    assert site.session.log.read() == []


def test_the_cookie_opens_the_page_without_its_data(site):
    """Servers on other ports of this machine see the cookie; it must not be worth anything."""
    keys = site.keys
    for method, path in ALL:
        for token in (None, "", "1", keys.cookie_value, keys.token[:-1], keys.token + "x"):
            expected = 401 if path.startswith("/api/") else 200
            assert site(method, path, token=token).status == expected, (method, path, token)
    assert site("GET", f"/?token={keys.cookie_value}", cookie="").status == 401
    assert keys.token != keys.cookie_value
    for name in assets():
        for secret in (keys.token, keys.cookie_value):
            assert secret.encode() not in assets()[name]
    assert site.session.log.read() == []


@pytest.mark.parametrize("wrong", WRONG_CHANGES)
def test_every_change_refuses(site, wrong):
    change, status = WRONG_CHANGES[wrong]
    for name in CHANGES:
        assert site("POST", f"/api/{name}", **change).status == status
    assert site.session.log.read() == []


@pytest.mark.parametrize("name", ["host", "origin", "x-cofactor", "content-type"])
def test_headers_that_come_twice_are_refused(site, name):
    for value in ("", HOST, f"http://{HOST}", "1", "application/json"):
        body = b'{"tab":"t","name":"n"}'
        answer = site("POST", "/api/make-class", body=body, further=[(name, value)])
        assert answer.status in (401, 403, 415, 421)


def test_the_order_of_the_refusals(site):
    """What is wrong at several places is refused by the first: the host, the token, the origin."""
    rules = [({"host": "evil.example"}, 421), ({"cookie": "x"}, 401), ({"origin": "null"}, 403)]
    for wrong in product([False, True], repeat=3):
        chosen = [rule for rule, is_wrong in zip(rules, wrong, strict=True) if is_wrong]
        change = {name: value for one, _ in chosen for name, value in one.items()}
        expected = chosen[0][1] if chosen else 200
        assert site("GET", "/api/state", **change).status == expected


@pytest.mark.parametrize("host", [HOST, OTHER_HOST])
def test_what_is_allowed_gets_through(site, host):
    assert site("GET", "/api/state", host=host).status == 200
    body = b'{"tab":"t","name":"new class"}'
    assert site("POST", "/api/make-class", host=host, body=body).status == 200
    assert site.session.class_names == ["new class"]
    kind = "application/json; charset=utf-8"
    assert site("POST", "/api/make-class", host=host, kind=kind, body=body).status == 200


@pytest.mark.parametrize(("method", "path"), [one for one in ALL if "report.html" not in one[1]])
def test_every_answer_has_the_headers(site, method, path):
    for cookie in (site.keys.cookie_value, "wrong"):
        answer = site(method, path, cookie=cookie)
        assert answer.status < 500
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert "access-control-allow-origin" not in answer.headers
    assert "'unsafe" not in HEADERS["content-security-policy"]


def test_the_address_gives_a_cookie_and_tells_the_page_its_token(site):
    answer = site("GET", f"/?token={site.keys.token}", cookie="", token=None)
    assert answer.status == 200
    assert f"url=/#{site.keys.token}".encode() in answer.content  # browsers never send this part
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"cofactor-{PORT}={site.keys.cookie_value};")
    assert site.keys.token not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert len(site.keys.token) >= 43  # 32 bytes
    for query in ("token=x", "token=", f"token={site.keys.token}&token=x"):
        assert site("GET", f"/?{query}", cookie="").status == 401
    for token in (site.keys.token, None):
        path = f"/api/state?token={site.keys.token}"
        assert site("GET", path, cookie="", token=token).status == 401
    assert site("POST", f"/?token={site.keys.token}", cookie="").status == 401


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(site, method):
    for path in ("/", "/api/state", "/api/label"):
        assert site(method, path).status == 405
        assert site(method, path, cookie="").status == 401


def test_reads_are_not_changes(site):
    for name in READS:
        assert site("POST", f"/api/{name}").status == 405
    for name in CHANGES:
        assert site("GET", f"/api/{name}").status == 405


def test_bodies_are_capped(site):
    large = b'{"tab":"t","name":"' + b"x" * MAX_BODY_BYTES + b'"}'
    assert site("POST", "/api/make-class", body=large).status == 413

    pieces = [b"x" * (MAX_BODY_BYTES // 20)] * 40
    assert site("POST", "/api/make-class", body=pieces).status == 413
    for length, status in (
        (str(MAX_BODY_BYTES + 1), 413),
        ("9" * 400, 413),
        ("-1", 400),
        ("²", 400),
    ):
        assert site("POST", "/api/make-class", length=length).status == status
    assert site.session.log.read() == []


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/session.py",
        "/page/index.html",
        "/index.html",
        "/api/",
        "/api/document?place=../1",
        "/api/document?place=99999",
        "/api/documents?path=/etc/passwd",
        "/api/table.csv?path=x",
        "//evil.example/",
        "/label.js%00.css",
        "/api/document?place=1&place=2",
    ],
)
def test_no_client_names_a_file(site, path):
    assert site("GET", path).status in (200, 400, 404, 422)
    if "place=1&place" not in path:
        assert site("GET", path).status != 200
