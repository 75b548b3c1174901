"""Several people on one log: who decided what, second opinions, agreement, disagreements."""

import pytest
from sklearn.metrics import cohen_kappa_score

from app_corpus import TRUTH, make_classes
from cofactor.app.page_data import show_document
from cofactor.app.progress import agreement
from cofactor.metrics.agreement import krippendorff_alpha

NAMES = ("space", "sport", "food")


def label_all(session, by, n, labels):
    """Label the next n documents; return their places and why they were shown."""
    found = {}
    for _ in range(n):
        place = session.next(by)
        found[place] = session.said(session.now, place, by)["reason"]
        session.decide("label", by, place, labels=[labels[place]])
    return found


@pytest.fixture
def two(start):
    one = start(every=1000, annotator="Ada", overlap=0.3)
    make_classes(one)
    other = start(every=1000, annotator="Bo", overlap=0.3)
    return one, other


def test_the_log_knows_who_decided(two):
    one, other = two
    one.decide("label", "a", 3, labels=["food"])
    other.decide("label", "b", 4, labels=["food"])
    one.hear()
    assert [review.who for review in one.reviewed.history] == ["Ada", "Bo"]


def test_people_share_only_second_opinions(two):
    """Two processes on one log: every text once, and some twice, by both."""
    one, other = two
    wrong = [NAMES[(NAMES.index(name) + 1) % 3] for name in TRUTH]
    second = [wrong[p] if p % 4 == 0 else TRUTH[p] for p in range(60)]
    ada, bo = {}, {}
    for _ in range(60):
        for session, by, found, labels in ((one, "a", ada, TRUTH), (other, "b", bo, second)):
            if session.next(by) is not None:
                found |= label_all(session, by, 1, labels)
    both = set(ada) & set(bo)
    assert set(ada) | set(bo) == set(range(60))
    assert 8 <= len(both) <= 28  # about three in ten
    assert {p for p, why in {**ada}.items() if why == "second opinion"} <= both
    for place in both:
        assert [ada[place], bo[place]].count("second opinion") == 1
    assert one.next("a") is None
    one.hear()
    found = agreement(one)
    expected = cohen_kappa_score([TRUTH[p] for p in both], [second[p] for p in both])
    assert found["texts"] == len(both)
    assert found["pairs"][0]["kappa"] == pytest.approx(expected, abs=1e-12)
    units = [[TRUTH[p], second[p]] for p in both]
    assert found["alpha"] == pytest.approx(krippendorff_alpha(units), abs=1e-12)
    differ = {p for p in both if TRUTH[p] != second[p]}
    assert found["open"] == len(differ)
    settled = set()
    while (place := one.next("judge", "people disagree")) is not None:
        shown = show_document(one, place, "judge")
        assert {row["who"] for row in shown["opinions"]} == {"Ada", "Bo"}
        one.decide("label", "judge", place, labels=[TRUTH[place]])
        settled.add(place)
    assert settled == differ
    assert agreement(one)["open"] == 0
    assert all(one.table.label_of(p, one.reviewed)[0] == (TRUTH[p],) for p in differ)


def test_a_second_opinion_hides_the_first(two):
    one, other = two
    label_all(one, "a", 40, TRUTH)
    while other.said(other.now, place := other.next("b"), "b")["reason"] != "second opinion":
        other.decide("skip", "b", place)
    shown = show_document(other, place, "b")
    assert shown["blind"]
    assert (shown["labels"], shown["source"], shown["prediction"]) == (None, None, None)


def test_without_overlap_nobody_gets_a_text_twice(start):
    one = start(every=1000, annotator="Ada")
    make_classes(one)
    other = start(every=1000, annotator="Bo")
    found = label_all(one, "a", 30, TRUTH)
    assert not set(found) & set(label_all(other, "b", 30, TRUTH))
    assert agreement(one) is None


def test_doubtful_and_flagged_texts_are_looked_at_again(start):
    given = [(TRUTH[i],) for i in range(60)]
    given[6] = (next(name for name in NAMES if name != TRUTH[6]),)
    session = start(given, every=1000)
    session.refitter.request()
    session.refitter.wait(30)
    place = session.next("me", "doubtful label")
    assert place == 6
    assert session.next("me", "doubtful label") == 6  # until it is decided
    session.decide("label", "me", 6, labels=[TRUTH[6]])
    while (place := session.next("me", "doubtful label")) is not None:
        assert place != 6
        session.decide("label", "me", place, labels=[TRUTH[place]])
    assert session.next("me") is None  # everything has a label
    session.decide("flag", "me", 9, on=True)
    assert session.next("me", "flagged") == 9
    session.decide("flag", "me", 9, on=False)
    assert session.next("me", "flagged") is None
