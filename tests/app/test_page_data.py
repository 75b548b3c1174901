"""What the page shows: documents with coloured words, and the table of all."""

from dataclasses import replace
from datetime import date, timedelta
from threading import Thread

import numpy as np
import pytest

from app_corpus import TEXTS, TRUTH
from cofactor.app import page_data
from cofactor.app.page_data import state
from cofactor.app.progress import progress


def test_words_are_coloured_by_what_they_say(page):
    given = [(TRUTH[i],) if i < 12 else () for i in range(60)]
    page.begin(given=given)
    page.session.refitter.request()
    page.session.refitter.wait(30)
    shown = page.read("document", place=20)
    assert shown["prediction"] == [shown["leading"]] == [TRUTH[20]]
    told = page.session.now.model.explain(TEXTS[20])
    parts = dict(zip(told.words, told.contrast.words, strict=True))
    levels = {text: level for text, level in shown["segments"] if text.strip()}
    strongest = max(parts, key=parts.get)
    assert levels[strongest] == 3
    for word, level in levels.items():
        assert level == 0 or np.sign(level) == np.sign(parts[word])
    assert shown["probabilities"][0]["label"] == TRUTH[20]
    model = page.session.now.model
    expected = np.sort(model.predict_proba([TEXTS[20]])[0])[::-1]
    found = [one["probability"] for one in shown["probabilities"]]
    assert found == pytest.approx(expected.tolist(), abs=1e-12)


def test_documents_are_found(page):
    given = [(TRUTH[i],) if i < 12 else () for i in range(60)]
    page.begin(given=given, every=100)
    page.session.refitter.request()
    page.session.refitter.wait(30)
    found = page.read("documents", query="MOON orbit")
    expected = [i for i, text in enumerate(TEXTS) if "moon" in text and "orbit" in text]
    assert [row["document"] for row in found["rows"]] == expected[:50]
    assert found["found"] == len(expected)
    assert page.read("documents", state="labelled")["found"] == 12
    assert page.read("documents", state="open")["found"] == 48
    rows = page.read("documents", sort="confidence")["rows"]
    confidences = [row["confidence"] for row in rows]
    assert confidences == sorted(confidences)
    sure = sum(document.confidence < 0.7 for document in page.session.now.documents)
    assert page.read("documents", below=70)["found"] == sure
    sizes = [page.read("documents", topic=k)["found"] for k in range(4)]
    assert sum(sizes) == 60
    assert page.read("documents", page=1)["rows"][0]["document"] == 50
    assert page.read("documents", page=99)["rows"] == []
    wrong = next(i for i in range(12) if TRUTH[i] != "food")
    page.change("label-many", tab="t", documents=[wrong, 20], labels=["food"])
    rows = page.read("documents", state="different")["rows"]
    assert wrong in [row["document"] for row in rows]
    assert page.session.counts()["reviewed"] == 2


def test_documents_are_found_by_date(page):
    page.begin()
    days = [date(2024, 1, 1) + timedelta(i) if i % 2 else None for i in range(60)]
    page.session.table = replace(page.session.table, dates=days)
    found = page.read("documents", since="2024-01-10", until="2024-01-20")["rows"]
    assert [row["document"] for row in found] == [9, 11, 13, 15, 17, 19]
    assert [row["date"] for row in found][:1] == ["2024-01-10"]
    assert page.read("documents", until="2024-01-04")["found"] == 2
    rows = page.read("documents", sort="date")["rows"]
    assert [row["document"] for row in rows][:3] == [1, 3, 5]


def test_last_decisions_show_more_of_a_text_than_a_row_holds(page):
    page.begin(every=100)
    page.make_classes()
    page.session.table.texts[7] = "moon " * 100
    (last,) = page.change("label", tab="t", document=7, labels=["space"])["last"]
    assert last["excerpt"] == ("moon " * 100)[:160]  # the page ends it with an ellipsis


def test_a_fit_that_ends_while_a_text_is_explained_changes_nothing_in_the_answer(page, monkeypatch):
    page.begin(every=100)
    page.make_classes()
    before = page.read("document", place=20)
    session, explain = page.session, type(page.session.now.model).explain

    def interrupted(model, *text, **options):
        for place in range(12):
            session.decide("label", "me", place, labels=[TRUTH[place]])
        session.refitter.request()
        session.refitter.wait(30)
        return explain(model, *text, **options)

    with monkeypatch.context() as patch:
        patch.setattr(type(session.now.model), "explain", interrupted)
        assert page.read("document", place=20) == before
    assert page.read("document", place=20)["probabilities"]


@pytest.mark.parametrize("read", [state, progress])
def test_what_is_counted_is_of_one_moment(start, monkeypatch, read):
    session, free = start(), []

    def take():
        free.append(session.lock.acquire(blocking=False))
        if free[-1]:
            session.lock.release()

    def accuracy(_):
        """Return nothing; meanwhile, another thread tries to decide."""
        another = Thread(target=take)
        another.start()
        another.join()

    monkeypatch.setattr(page_data, "accuracy", accuracy)
    assert read(session)["accuracy"] is None
    assert free == [False]
