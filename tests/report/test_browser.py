"""The report in a real browser: no request, no error, and its controls work."""

import json
import shutil

import pytest

from cofactor import TopicModel
from cofactor.report import write_report
from hostile import HOSTILE, hostile_model

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the extra cofactor[browser]")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"
)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(model, corpus, some, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(model, path, corpus[0], some, truth=corpus[1], title="Trial")


class Visit:
    """A page and what happened on it."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.requests, self.troubles = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("console", self._heard)
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("#topics .share")

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
    assert visit.page.locator("#quality tbody tr").count() == (5 if kind == "sets" else 2)
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
    first = visit.page.locator(".words").first.locator(".word")
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


def test_rename_and_download(browser, report, tmp_path):
    visit = Visit(browser, report)
    page = visit.page
    name = '<img src="http://evil.example/x">'
    page.locator(".rename").nth(1).fill(name)
    page.locator(".rename").nth(1).press("Enter")
    assert page.locator('[data-name="1"]').text_content() == name
    assert page.locator("main img").count() == 0
    visit.draw_all()
    with page.expect_download() as download:
        page.click("#download")
    download.value.save_as(tmp_path / "names.json")
    names = json.loads((tmp_path / "names.json").read_text("utf-8"))
    assert len(names) == 4
    assert names[1] == name
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
    model.topic_names_ = HOSTILE[:4]
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
    assert set(shown) <= {*(t.encode("utf-8", "replace").decode() for t in HOSTILE),
                          *HOSTILE, *(f"word{i}" for i in range(4))}  # fmt: skip
    visit.close()
