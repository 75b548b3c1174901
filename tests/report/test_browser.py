"""The report in a real browser: no request, no error, and its controls work."""

import csv
import io
import json
from datetime import date

import numpy as np
import pytest

from browsers import CHROMIUM, launched
from cofactor import TopicModel
from cofactor.io.tables.writers import is_formula
from cofactor.report import write_report
from cofactor.text.editing.changes import topics_digest
from hostile import HOSTILE, hostile_model

SUBJECTS = ("faith", "space", "sport")  # the classes of the corpus
pytest.importorskip("playwright.sync_api", reason="needs playwright: `make native` installs it")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"
)


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def report(model, corpus, some, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(model, path, corpus[0], some, truth=corpus[1], title="Trial")


class Visit:
    """A page and what happened on it."""

    def __init__(self, browser, path, ready="#topics .share", **options):
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.requests, self.troubles = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("console", self._heard)
        self.page.goto(path.as_uri())
        self.page.wait_for_selector(ready)

    def _heard(self, message):
        if message.type in ("error", "warning"):
            self.troubles.append(message.text)

    def draw_all(self):
        """Open what is folded, scroll to every chart, and wait until it is there."""
        self.page.evaluate("document.querySelector('details.method').open = true")
        charts = self.page.locator(".chart")
        for k in range(charts.count()):
            charts.nth(k).scroll_into_view_if_needed()
            charts.nth(k).locator("svg, canvas").first.wait_for(timeout=20_000)

    def close(self, requests=1):
        self.context.close()
        assert self.troubles == []
        assert len([url for url in self.requests if url.startswith("file:")]) == requests
        assert [url for url in self.requests if not url.startswith(("file:", "blob:"))] == []


def test_a_report_in_a_notebook_stays_in_its_frame(browser, model, corpus, some, tmp_path):
    """Links of the page scroll inside the frame, charts are drawn, and nothing is requested."""
    path = tmp_path / "notebook.html"
    shown = model.show(corpus[0], some)
    path.write_text(f"<meta charset=utf-8>{shown._repr_html_()}", encoding="utf-8")
    visit = Visit(browser, path, ready="iframe")
    frame = visit.page.frames[1]
    frame.locator(".chart svg, .chart canvas").first.wait_for(timeout=20_000)
    assert frame.evaluate("scrollY") == 0
    frame.click("nav a[href='#fit']")
    visit.page.wait_for_timeout(300)  # the policy of the page allows no function to wait for
    assert frame.evaluate("scrollY") > 1000
    assert frame.url == "about:srcdoc"
    visit.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_draws_everything_without_a_request(browser, report, width, theme):
    size = {"width": width, "height": 800}
    visit = Visit(browser, report, viewport=size, color_scheme=theme)
    visit.draw_all()
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    ground = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground[4:-1].split(","))) > 384) == (theme == "light")
    visit.page.click("#theme")
    assert visit.page.evaluate("getComputedStyle(document.body).backgroundColor") != ground
    visit.close()


@pytest.mark.parametrize("kind", ["sets", "numbers"])
def test_draws_other_targets(browser, corpus, kind, tmp_path):
    y = {
        "sets": [{str(c), "some" if c == "faith" else "other"} for c in corpus[1]],
        "numbers": [[float(c == "faith"), i / 7] for i, c in enumerate(corpus[1])],
    }[kind]
    model = TopicModel(4, task="numbers" if kind == "numbers" else "auto", random_state=0)
    path = write_report(model.fit(corpus[0], y), tmp_path / "r.html", corpus[0], y)
    visit = Visit(browser, path, viewport={"width": 390, "height": 800})
    visit.draw_all()
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
    rows = 5 if kind == "sets" else 2 + 10  # two columns, and the rows with the largest errors
    assert visit.page.locator("#quality tbody tr").count() == rows
    visit.close()


def test_confusion_has_numbers_in_its_cells(browser, report):
    visit = Visit(browser, report)
    visit.draw_all()
    counts = visit.page.locator(
        '[data-chart="confusion"] .mark-text.role-mark text'
    ).all_text_contents()
    assert sum(map(int, counts)) == 90
    visit.close()


def test_slider_reorders_words(browser, report, model):
    visit = Visit(browser, report)
    first = visit.page.locator('.words[data-topic="0"] .word')
    before = first.all_text_contents()
    assert len(before) == 10
    visit.page.locator("#relevance").fill("0")
    assert visit.page.locator("#relevance-value").text_content() == "relevance 0.0"
    assert first.all_text_contents() != before
    visit.page.locator("#relevance").fill("1")
    assert first.all_text_contents() == list(model.topics(by="probability")[0].words)
    visit.page.locator("#coherent").click()
    assert visit.page.locator("#relevance-value").text_content() == "coherent"
    assert first.all_text_contents() == before == list(model.topics()[0].words)
    visit.close()


def test_brush_filters_the_table(browser, report):
    visit = Visit(browser, report, viewport={"width": 1280, "height": 900})
    page = visit.page
    canvas = page.locator('[data-chart="map"] canvas')
    page.locator('[data-chart="map"]').scroll_into_view_if_needed()
    canvas.wait_for()
    assert "120 documents on the map" in page.locator("#chosen").text_content()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 10, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 470, steps=8)
    page.mouse.up()
    page.wait_for_function("document.getElementById('chosen').textContent.includes('selected')")
    chosen = int(page.locator("#chosen").text_content().split()[0])
    assert 0 < chosen < 120
    assert page.locator("#documents tbody tr").count() == chosen
    page.click("#clear")
    page.wait_for_function("document.getElementById('chosen').textContent.includes('on the map')")
    page.locator("#colour").select_option("confidence")
    canvas.wait_for()
    visit.close()


def test_rename_and_download(browser, report, model, tmp_path):
    visit = Visit(browser, report)
    page = visit.page
    name = '<img src="http://evil.example/x">'
    page.locator('.rename[data-topic="1"]').fill(name)
    page.locator('.rename[data-topic="1"]').press("Enter")
    assert page.locator('[data-name="1"]').text_content() == name
    assert page.locator("main img").count() == 0
    visit.draw_all()
    with page.expect_download() as download:
        page.click("#download")
    download.value.save_as(tmp_path / "names.json")
    found = json.loads((tmp_path / "names.json").read_text("utf-8"))
    assert list(found["names"]) == ["0", "1", "2", "3"]
    assert found["names"]["1"] == name
    assert found["fingerprint"] == topics_digest(model)
    assert download.value.suggested_filename == "topic-names.json"
    visit.close()


def test_prints(browser, report):
    visit = Visit(browser, report)
    visit.draw_all()
    assert visit.page.pdf().startswith(b"%PDF")
    visit.page.emulate_media(media="print")
    assert not visit.page.locator("nav").is_visible()
    visit.close()


def test_hostile_strings_stay_text(browser, tmp_path):
    model, texts, labels = hostile_model(HOSTILE)
    model.amend(topic_names=HOSTILE[:4])
    path = write_report(
        model, tmp_path / "a b#?%41&.html", texts, labels, title=HOSTILE[10], source=HOSTILE[3]
    )
    visit = Visit(browser, path)
    visit.draw_all()
    page = visit.page
    assert page.locator("h1").text_content() == HOSTILE[10]
    strange = "img, iframe, script, marquee, object, form:not(.vega-bindings)"
    assert page.locator("main").locator(strange).count() == 0
    assert page.locator("script").count() == 3
    assert page.locator("style").count() == 1
    shown = page.locator(".words .word").all_text_contents()
    assert set(shown) <= {
        *(t.encode("utf-8", "replace").decode() for t in HOSTILE),
        *HOSTILE,
        *(f"word{i}" for i in range(4)),
    }
    visit.close()


# --- tables --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library_of_many(tmp_path_factory):
    """A report on 10,000 documents of 17 topics with 40 classes, made without a test of them."""
    random = np.random.default_rng(0)
    vocabulary = np.array([f"word{i}" for i in range(600)])
    topics = random.integers(0, 17, 10_000)
    texts = [
        " ".join(vocabulary[(35 * k + random.integers(0, 35, 8)) % 600]) + f" number{d}"
        for d, k in enumerate(topics)
    ]
    labels = [f"class {i % 40}" if i % 3 == 0 else "" for i in topics + 17 * (topics % 2)]
    model = TopicModel(17, random_state=0, max_iter=3, tol=0).fit(texts[:600], labels[:600])
    path = tmp_path_factory.mktemp("many") / "report.html"
    return write_report(model, path, texts), texts


@pytest.mark.slow
def test_search_over_ten_thousand_documents_answers_at_once(browser, library_of_many):
    path, texts = library_of_many
    visit = Visit(browser, path, viewport={"width": 1280, "height": 900})
    page = visit.page
    rows = page.locator("#documents tbody tr")
    assert rows.count() == 100
    search = page.locator("#document-grid .search")
    search.fill("word1")  # builds the index
    page.locator("#chosen", has_text="found").wait_for()
    wanted = [d for d, text in enumerate(texts) if "number77" in text]
    took = page.evaluate(
        """() => new Promise((done) => {
            const status = document.getElementById('chosen'), start = performance.now();
            const seen = new MutationObserver(() => done(performance.now() - start));
            seen.observe(status, { childList: true });
            const search = document.querySelector('#document-grid .search');
            search.value = 'number77 WORD';
            search.dispatchEvent(new Event('input'));
        })"""
    )
    assert page.locator("#chosen").text_content() == f"{len(wanted)} of 10,000 found"
    assert page.locator("#documents td:first-child").all_text_contents() == [
        *map(str, wanted[:100])
    ]
    assert took < 1000
    visit.close()


def test_documents_are_sorted_filtered_and_opened(browser, report, model, corpus, tmp_path):
    visit = Visit(browser, report, viewport={"width": 1280, "height": 900})
    page = visit.page
    place = page.locator("#documents th").all_text_contents().index("topic share") + 1
    shown = page.locator(f"#documents td:nth-child({place})")
    page.locator("#documents th button", has_text="topic share").click()
    largest = [int(text.split()[0]) for text in shown.all_text_contents()]
    shares = sorted((100 * row.share for row in model.documents()), reverse=True)
    assert largest == pytest.approx(shares[:100], abs=0.6)
    page.locator("#documents th button", has_text="topic share").click()
    assert int(shown.first.text_content().split()[0]) == pytest.approx(shares[-1], abs=0.6)
    page.locator('[data-filter="prediction"]').select_option("space")
    page.locator('[data-filter="topic"]').select_option("1")
    wanted = [
        row.document for row in model.documents() if row.prediction == "space" and row.topic == 1
    ]
    found = page.locator("#documents td:first-child").all_text_contents()
    assert sorted(map(int, found)) == wanted
    page.locator('[data-filter="topic"]').select_option("")
    page.locator("#documents .opener").first.click()
    document = int(page.locator("#documents td:first-child").first.text_content())
    assert page.locator("#documents .whole").text_content() == corpus[0][document]
    page.locator("#colour").select_option("class")  # draws the map again
    page.locator('[data-chart="map"] canvas').wait_for()
    assert page.locator("#documents .whole").text_content() == corpus[0][document]
    page.locator("#documents .opener").first.click()
    assert page.locator("#documents .whole").count() == 0
    visit.close()


def test_every_table_is_saved_as_csv(browser, report, corpus, tmp_path):
    visit = Visit(browser, report, viewport={"width": 1280, "height": 900})
    page = visit.page
    page.evaluate("document.querySelector('details.method').open = true")
    saved = {}
    buttons = page.locator("button.csv")
    for k in range(buttons.count()):
        with page.expect_download() as download:
            buttons.nth(k).click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        saved[path.stem] = list(
            csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline=""))
        )
    assert {
        "methods",
        "topics",
        "topics-and-classes",
        "documents",
        "confusion",
        "classes_scores",
        "calibration",
        "review",
        "changes",
        "training",
    } == set(saved)
    assert [row["text"] for row in saved["documents"]] == corpus[0]
    assert [row["label"] for row in saved["documents"]] == list(corpus[1])
    assert sum(int(row["documents"]) for row in saved["confusion"]) == 90
    for row in saved["topics-and-classes"]:
        assert sum(float(row[name]) for name in SUBJECTS) == pytest.approx(1.0, abs=1e-3)
    shares = [float(row["share"]) for row in saved["topics"]]
    assert shares == sorted(shares, reverse=True)
    orders = {tuple(row["topic"] for row in saved[name]) for name in ("topics", "changes")}
    cards = tuple(page.locator(".card .swatch").all_text_contents())
    assert orders == {cards}
    visit.close()


def test_no_cell_of_a_csv_file_is_a_formula(browser, tmp_path):
    model, texts, labels = hostile_model(HOSTILE)
    texts = ["=1+1 " + text for text in texts]
    visit = Visit(browser, write_report(model, tmp_path / "r.html", texts, labels))
    with visit.page.expect_download() as download:
        visit.page.locator("#document-grid .csv").click()
    download.value.save_as(tmp_path / "d.csv")
    with (tmp_path / "d.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == len(texts) + 1
    assert rows[1][-1].startswith("'=1+1")
    assert not any(is_formula(cell) for row in rows for cell in row)
    visit.close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 500])
def test_a_page_of_many_topics_and_classes_stays_short(browser, library_of_many, width):
    visit = Visit(browser, library_of_many[0], viewport={"width": width, "height": 900})
    visit.draw_all()
    page = visit.page
    assert page.evaluate("document.documentElement.scrollHeight") < 12_000
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".card:visible").count() == 6
    assert page.locator("#topic-grid tbody tr").count() == 17
    page.click("#more-topics")
    assert page.locator(".card:visible").count() == 17
    visit.close()


# ---- over time

DATES = [date(2024, 1 + i // 20 + (i >= 60), 2) for i in range(120)]  # April is empty


def test_lines_are_broken_where_there_are_no_documents(browser, model, corpus, some, tmp_path):
    path = tmp_path / "r.html"
    write_report(model, path, corpus[0], some, dates=DATES, every="month")
    visit = Visit(browser, path, viewport={"width": 500, "height": 800})
    visit.draw_all()
    page, chart = visit.page, '[data-chart="time"]'
    paths = page.locator(f"{chart} .mark-line path").all()
    assert len(paths) == 3  # nothing changed, so these are few
    for line in paths:  # of two parts: before April and after it
        assert line.get_attribute("d").count("M") == 2
    page.select_option("#time-choice", "topic 2")
    page.wait_for_function(f"document.querySelectorAll('{chart} .mark-line path').length === 1")
    cells = page.locator("#time-grid tbody tr").nth(3).locator("td").all_text_contents()
    assert cells == ["2024-04", f"2 · {model.topic_names_[2]}", "0", "", "", ""]
    assert page.locator("#time-grid tbody tr").count() == 7
    assert page.evaluate("document.documentElement.scrollWidth") <= 500
    visit.close()


def test_one_period_is_said_and_not_drawn(browser, model, corpus, some, tmp_path):
    path = write_report(model, tmp_path / "r.html", corpus[0], some, dates=[date(2024, 1, 2)] * 120)
    visit = Visit(browser, path)
    visit.draw_all()
    assert "All dates are in one period, 2024" in visit.page.locator("#time").text_content()
    assert visit.page.locator("#time .chart").count() == 0
    visit.close()


def test_words_stay_whole_in_cells_unless_they_are_extremely_long(
    browser, model, corpus, some, tmp_path
):
    rows = ["Rechtsschutzversicherung", "x" * 400, *(f"T-{i}" for i in range(118))]
    path = write_report(model, tmp_path / "r.html", corpus[0], some, rows=rows)
    visit = Visit(browser, path, viewport={"width": 1280, "height": 800})
    lines = """(place) => {
        const range = document.createRange();
        const cell = document.querySelectorAll("#documents tbody tr")[place].cells[0];
        range.selectNodeContents(cell);
        return [range.getClientRects().length, range.getBoundingClientRect().width];
    }"""
    assert visit.page.evaluate(lines, 0)[0] == 1
    broken, width = visit.page.evaluate(lines, 1)
    assert broken > 5
    assert width < 640
    box = visit.page.locator("#document-grid .tall")
    assert box.evaluate("node => node.scrollWidth <= node.clientWidth")
    visit.close()
