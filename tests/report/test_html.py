"""The page: self-contained, with a strict policy; hostile strings stay text, also in notebooks."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import altair as alt
import pytest

import cofactor
from cofactor import SSNMFClassifier, load_model
from cofactor.report import render_report, write_report
from cofactor.report.figures import _middle_cut, draw
from cofactor.report.html import safe_json
from cofactor.report.page_content import prepare
from cofactor.report.vega_script import library
from cofactor.text.editing.changes import topics_digest
from hostile import HOSTILE, hostile_model


class Reader(HTMLParser):
    """Counts tags, and keeps attributes and scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.scripts = [], [], []
        self._in_script = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *attribute) for attribute in attrs]
        if tag == "script":
            self._in_script = True
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag):
        self._in_script = self._in_script and tag != "script"

    def handle_data(self, data):
        if self._in_script:
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)

    @property
    def state(self):
        return json.loads(next(text for attrs, text in self.scripts if attrs.get("id") == "state"))


@pytest.fixture(scope="module")
def page(model, corpus, some):
    return render_report(model, corpus[0], some, truth=corpus[1], title="Trial", source="a.csv")


def test_asks_nothing_of_the_network(page):
    reader = Reader(page)
    loading = {"src", "href", "action", "data", "poster", "srcset", "style"}
    found = [a for a in reader.attributes if a[1] in loading and not a[2].startswith("#")]
    assert found == []
    assert not {"link", "img", "iframe", "object", "embed", "form", "base"} & set(reader.tags)
    assert not any(name.startswith("on") for _, name, _ in reader.attributes)


def test_policy_allows_the_scripts_of_the_page_and_no_others(page):
    reader = Reader(page)
    policy = next(value for _, name, value in reader.attributes if "default-src" in (value or ""))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    run = [text for attrs, text in reader.scripts if "type" not in attrs]
    assert len(run) == 2
    for text in run:
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy


def test_sections(page):
    for name in ("summary", "topics", "classes", "map", "quality", "review", "fit"):
        assert f'id="{name}"' in page


def test_json_in_a_script_is_no_markup():
    text = safe_json({"</script>": "<!-- & \u2028\u2029"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"</script>": "<!-- & \u2028\u2029"}


def test_library_holds_no_end_of_script():
    assert not re.search(r"</script|<!--", library(), re.IGNORECASE)


def test_charts_are_valid(model, corpus, some):
    for spec in draw(prepare(model, corpus[0], some, corpus[1])).values():
        alt.Chart.from_dict(spec, validate=True)


# --- hostile strings -----------------------------------------------------------------------------


def tags_of(words, title, source):
    model, texts, labels = hostile_model(words)
    model.amend(topic_names=[f"{words[k]} name" for k in range(4)])
    page = render_report(model, texts, labels, title=title, source=source)
    reader = Reader(page.encode("utf-8", "replace").decode())
    reader.state  # noqa: B018  it parses
    fixed = {"tr", "td", "p", "li", "span", "dt", "dd", "dl", "div", "b", "br", "article", "option"}
    return [tag for tag in reader.tags if tag not in fixed], page, reader


@pytest.mark.slow
def test_hostile_strings_make_no_node():
    harmless = [f"plain{i}" for i in range(len(HOSTILE))]
    expected, _, calm = tags_of(harmless, "title", "source")
    found, page, reader = tags_of(HOSTILE, "</title>" + HOSTILE[0], HOSTILE[3] + ".csv")
    assert {"script", "style", "meta"} <= set(found)
    assert set(found) == set(expected)
    for tag in ("script", "style", "meta", "title", "h1", "svg", "details", "input", "template"):
        assert found.count(tag) == expected.count(tag), tag
    names = {(tag, name) for tag, name, _ in reader.attributes}
    assert names == {(tag, name) for tag, name, _ in calm.attributes}
    assert "49" not in re.findall(r"<h1>.*?</h1>", page)[0]


@pytest.mark.parametrize("text", HOSTILE)
def test_each_string_survives_as_text(text):
    assert json.loads(safe_json([text])) == [text]
    assert not set("<>&") & set(safe_json([text]))


# --- writing -------------------------------------------------------------------------------------


def test_write_report_replaces_the_file(model, tmp_path):
    path = tmp_path / "new folder" / "report.html"
    assert write_report(model, path, title="one") == path
    assert model.report(str(path), title="two") == path
    assert "<title>two</title>" in path.read_text("utf-8")
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]
    assert cofactor.write_report is write_report


@pytest.mark.slow
def test_without_text_no_document_is_in_the_file(model, corpus, some):
    texts = [text + " Zanzibar" for text in corpus[0]]
    whole = render_report(model, texts, some)
    without = render_report(model, texts, some, text=False)
    assert "Zanzibar" in whole
    assert "Zanzibar" not in without
    for text in corpus[0]:
        assert " ".join(text.split()[:4]) not in without


def test_model_from_a_folder(model, corpus, some, tmp_path):
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    page = render_report(again)
    assert "The documents were not given" in page
    assert 'id="quality"' not in page
    assert "held out" in render_report(again, corpus[0], some, truth=corpus[1])


def test_edits_are_shown(model, corpus, some):
    edited = model.merge([0, 2]).freeze(0).ban(1, "goal").pin(2, "moon").rename(2, "far away")
    page = render_report(edited, corpus[0], some)
    assert "without the edits" in page
    assert "then its topics were edited" in page
    for said in ("frozen", "banned: goal", "pinned: moon", "far away"):
        assert page.count(said) > 1  # on the card and in the table
    assert "nan" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL).lower().split()
    state = Reader(page).state
    assert state["fingerprint"] == topics_digest(edited)
    assert [row["coherence"] is None for row in state["topics"]] == [True, True, True]
    assert "edits" not in render_report(model)


def test_wrong_model():
    with pytest.raises(TypeError, match="needs a TopicModel"):
        render_report(SSNMFClassifier())


def test_missing_extra_is_one_sentence(model, monkeypatch):
    monkeypatch.setattr("cofactor.report.html.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'cofactor\[report\]'"):
        render_report(model)


def test_importing_cofactor_or_a_model_does_not_import_altair():
    code = "import sys, cofactor.report, cofactor.text.model; print('altair' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.slow
def test_library_is_kept_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    library.cache_clear()
    first = library()
    (kept,) = (tmp_path / "cofactor").iterdir()
    library.cache_clear()
    assert library() == first
    kept.write_bytes(kept.read_bytes()[:-10])
    library.cache_clear()
    assert library() == first


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


@pytest.mark.slow
def test_the_frame_holds_the_page_and_nothing_of_it_gets_out(tmp_path):
    model, texts, labels = hostile_model(HOSTILE)
    shown = model.show(texts, labels, title="</iframe>\"'><script>alert(1)</script>", height=500)
    (tag, attributes), *others = Tags(shown._repr_html_()).found
    assert others == []
    assert tag == "iframe"
    assert attributes["srcdoc"] == shown.page
    assert attributes["sandbox"].split() == ["allow-scripts", "allow-downloads"]
    assert "height: 500px" in attributes["style"]
    assert "Content-Security-Policy" in shown.page
    assert shown.save(tmp_path / "report.html").read_bytes() == shown.page.encode(
        "utf-8", "replace"
    )


def test_outside_of_notebooks_it_says_where_to_look(model):
    said = repr(model.show())
    assert "\n" not in said
    assert "save('report.html')" in said
    with pytest.raises(ValueError, match="height='tall' must be a positive whole number"):
        model.show(height="tall")


def test_long_names_of_classes_lose_their_middle():
    found = re.fullmatch(r"length\(datum.label\) > 25 \? (.*) : datum.label", _middle_cut(25))
    assert found[1] == "slice(datum.label, 0, 12) + '…' + slice(datum.label, -12)"
    names = [f"comp.sys.ibm.pc.hardware / {size}" for size in ("short", "long", "longest")]
    assert len({name[:12] + name[-12:] for name in names}) == 3
