"""Markup is left out, words stay, and nothing takes more than linear time."""

import time
import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofactor.text import WordVectorizer
from cofactor.text.vectorizer.cleaning import clean, clean_and_count, normalise

CASES = {
    "Fish&nbsp;&amp;&nbsp;chips": "Fish & chips",
    "it&#39;s &quot;fine&quot; &#x41;": 'it\'s "fine" A',
    "&amp;nbsp;twice &amp;lt;b&amp;gt;escaped": "twice escaped",
    "Today #39;s quot;news quot; of nbsp; AT&T": 'Today \'s "news " of AT&T',
    "&unknown; &#99999999; R&D; ?a=1&copy=2": "&unknown; &#99999999; R&D; ?a=1&copy=2",
    "one<br>two<br/>three</p> <a href='x' class=y>four</a>": "one two three four",
    "a <b and c> d, 5 < 6 > 4, I <3 you, x<y": "a <b and c> d, 5 < 6 > 4, I <3 you, x<y",
    "<!-- note --><STYLE a=b>p {x: y}</STYLE >kept<script>var a = '<p>';</script>": "kept",
    "<script>open and <!-- never closed": "open and never closed",
    "truncated <a href='http://example.org/very": "truncated",
    "see http://example.org/a?b=c&d=(e), HTTPS://X.ORG or www.example.org/x.": "see or",
    "bit.ly/abc but and/or, e.g./i.e., 1.5/2.0, km/h": "but and/or, e.g./i.e., 1.5/2.0, km/h",
    "看http://t.cn/abc。更多": "看 。更多",
    "write john.doe+x@mail.example.org, or <a@b.example>": "write , or < >",
    "user@localhost @mention a@": "user@localhost @mention a@",
    "[b]bold[/b] [url=http://x.org]link[/url] x": "bold link x",
    "list[i] stays": "list[i] stays",
    "line\\nNext \\u00a0 \\x0a \\nabla": "line Next \\nabla",
    "nul\0bell\x07 soft\u00adhyphen zero\u200bwidth \ufeff": "nulbell softhyphen zerowidth",
    "don\x92t": "don’t",
    "ﬁne ２０２４ Ｗｏｒｄ x² Windows™": "fine 2024 Word x2 Windows",
    "plain text; nothing [to] do & so on": "plain text; nothing [to] do & so on",
}


@pytest.mark.parametrize("text", CASES)
def test_markup_is_left_out(text):
    assert " ".join(clean(text).split()) == CASES[text]


def test_what_is_left_out_is_counted():
    found = clean_and_count("<p>a&nbsp;b <br> c@d.org www.x.org \x00[/b]")[1]
    expected = {"tags": 2, "entities": 1, "e-mail addresses": 1, "URLs": 1, "remnants": 1}
    assert found == Counter(expected | {"control characters": 1})
    assert clean_and_count("Nothing, here & there.") == ("Nothing, here & there.", Counter())


@given(st.text(st.sampled_from('ab <>/&;#@.:x[]\\n"=-!') | st.characters(codec="utf-8")))
def test_any_text_can_be_cleaned(text):
    cleaned, found = clean_and_count(text)
    assert unicodedata.is_normalized("NFKC", cleaned)
    assert all(number > 0 for number in found.values())
    if text.isalpha() and text.isascii():
        assert cleaned == text or found["remnants"]


HOSTILE = [
    "<",
    "<a ",
    "<a b=",
    "<!--",
    "<script>",
    "<!-- <script>",
    "</script",
    "&",
    "&#9",
    "&amp;amp;",
    "&lt;",
    "#3",
    "a",
    "a@",
    "a@b.",
    "@",
    "a.",
    "www.",
    "http://",
    "../",
    "[",
    "[url=",
    "[/",
    "\\",
    "\\n",
    "nbsp",
    "é",
    "e\u0301\u0316",
    "\u0301\u0316",
    "\x92",
    "😀",
    "-->",
    "ก็",
    "漢",
]


@pytest.mark.parametrize("part", HOSTILE)
def test_time_is_linear(part):
    def seconds(length):
        text, start = "é" + part * (length // len(part)), time.perf_counter()
        clean(text)
        return time.perf_counter() - start

    seconds(1000)
    assert seconds(200_000) < 2.0  # quadratic rules take minutes


def test_a_number_of_a_million_digits_and_a_word_of_a_million_letters():
    assert clean(f"&#{'9' * 10**6};") == f"&#{'9' * 10**6};"
    vectorizer = WordVectorizer().fit(["a" * 10**6, "moon <p " + "b" * 10**6])
    assert vectorizer.words_.tolist() == ["moon"]


def test_many_marks_on_a_letter_are_cut():
    assert normalise("NFC", "e\u0301") == "é"
    assert len(normalise("NFKC", "a" + "\u0316\u0301" * 1000)) <= 31


def test_no_word_is_markup():
    texts = ["<p>moon&nbsp;orbit &quot;sun&quot;</p> http://example.org", "<br>moon &amp; sun"]
    assert WordVectorizer().fit(texts).words_.tolist() == ["moon", "orbit", "sun"]
    raw = WordVectorizer(clean=False).fit(texts).words_.tolist()
    assert {"nbsp", "quot", "br", "http"} <= set(raw)
    assert WordVectorizer().fit(texts).transform(["<br><p>&nbsp;</p>"]).nnz == 0
