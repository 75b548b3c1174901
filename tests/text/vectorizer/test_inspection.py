"""What texts look like: markup, examples, shared passages, a sample that is spread evenly."""

import itertools

from cofactor.io.tables.survey import FoundRows
from cofactor.text.vectorizer import inspection
from cofactor.text.vectorizer.cleaning import UNCLOSED
from cofactor.text.vectorizer.inspection import EvenSample, Inspection, garbled_word, show_change


def inspect(texts):
    found = Inspection()
    for row, text in enumerate(texts, start=2):
        found.add(row, text)
    return found


def test_markup_is_counted_and_shown():
    found = inspect(["plain", "<p>", "", "a&nbsp;b <i>c</i>", "<b>d</b>"])
    assert found.markup == {"tags": 5, "entities": 1}
    assert found.texts_with_markup == 3
    assert found.emptied == FoundRows(1, [3])
    assert found.change == (5, "a&nbsp;b <i>c</i>", "a b c")


def test_what_is_left_out_without_being_markup_is_named_by_its_row():
    found = inspect(["a <i", 'moon <a href="/x and the rest', "a" * 101, "好" * 101, "1" * 101])
    assert found.unclosed == FoundRows(1, [3])
    assert found.overlong == FoundRows(1, [4])
    assert found.markup == {UNCLOSED: 1}


def test_an_example_begins_near_the_first_difference():
    change = show_change(7, f"{'x' * 100}<br>{'y' * 100}", f"{'x' * 100} {'y' * 100}", 30)
    assert change.before == f"…{'x' * 10}<br>{'y' * 16}…"
    assert change.after == f"…{'x' * 10} {'y' * 19}…"


def test_passages_that_many_texts_share():
    footer = "This message is confidential; call 555-123 to complain."
    texts = [
        f"Ticket {i} of {'abcdefghij'[i % 10]}.\n{footer.replace('123', str(i))}"
        for i in range(100)
    ]
    texts[::2] = ["Something else entirely, without a footer."[: 20 + i] for i in range(50)]
    (found,) = inspect(texts).repeated()
    assert (found.text, found.texts, found.share) == (footer.replace("123", "1"), 50, 0.5)
    assert inspect([footer] * 4).repeated() == []  # too few texts


def test_a_sample_of_a_stream_is_spread_evenly(monkeypatch):
    monkeypatch.setattr(inspection, "SAMPLE_TEXTS", 10)
    sample = EvenSample()
    for i in range(1000):
        sample.add(str(i))
    places = [int(text) for text in sample.texts]
    assert 10 <= len(places) <= 20
    assert len({b - a for a, b in itertools.pairwise(places)}) == 1
    assert places[-1] > 900


def test_garbled_letters_are_counted():
    words = ["schön", "größer", "für", "it’s", "“quote", "naïve", "Ñandú", "voilà", "žena"]
    for word in words:
        broken = word.encode().decode("cp1252")
        assert garbled_word(f"so {broken} too") == (broken, word)
        assert garbled_word(f"so {word} too") is None
    assert garbled_word("x" * 1_000_000) is None
    found = inspect(["schÃ¶n", "schön", "a fÃ¼r b", "SÃO PAULO"])
    assert found.garbled == 2
    assert found.garbled_example == (2, "schÃ¶n", "schön")
