"""A session on a small corpus, and the page that it serves."""

import json
from importlib.util import find_spec

import pytest

from app_corpus import TEXTS
from app_requests import send
from cofactor import TopicModel
from cofactor.app.session import Session
from cofactor.app.text_queue import TextTable
from commands import write_table

if not all(map(find_spec, ("starlette", "uvicorn"))):
    collect_ignore_glob = ["test_*.py"]  # the extra cofactor[app] is not installed


@pytest.fixture(scope="session")
def first_model():
    return TopicModel(4, random_state=0).fit(TEXTS)


@pytest.fixture
def start(first_model, tmp_path):
    """A function that starts a session; it is closed at the end."""
    started = []

    def begin(given=None, several=False, model=first_model, table=None, **options):
        given = [()] * len(TEXTS) if given is None else given
        rows = [
            [str(i), text, ";".join(g)]
            for i, (text, g) in enumerate(zip(TEXTS, given, strict=True))
        ]
        path = write_table(tmp_path / "posts.csv", rows)
        facts = {
            "path": str(path),
            "text": "body",
            "opening": {},
            "label_separator": ";" if several else None,
        }
        names = [*range(2, len(TEXTS) + 2)]
        table = table or TextTable([*TEXTS], given, names, several, facts, "team")
        options = {"quiet": 0.0, "folder": tmp_path / "model"} | options
        started.append(Session(table, model=model, **options))
        return started[-1]

    yield begin
    for session in started:
        session.close()


@pytest.fixture
def page(start):
    """Functions that read and change, as the page does."""

    from cofactor.app.routes import make_app  # it needs the extra

    class Page:
        def begin(self, **options):
            self.session = start(**options)
            self.app = make_app(self.session)
            return self

        def read(self, name, status=200, /, **query):
            asked = "&".join(f"{key}={value}" for key, value in query.items())
            answer = send(self.app, "GET", f"/api/{name}?{asked}")
            assert answer.status == status, answer.content
            return answer if "." in name else answer.json()

        def change(self, name, status=200, /, **content):
            answer = send(self.app, "POST", f"/api/{name}", [], [json.dumps(content).encode()])
            assert answer.status == status, answer.content
            return answer.json()

        def make_classes(self, *names):
            for name in names or ("space", "sport", "food"):
                self.change("make-class", tab="t", name=name)

    return Page()
