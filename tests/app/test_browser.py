"""The app in a real browser, started as a user starts it: the command, the page, the keys."""

import csv
import os
import re
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest

from app_corpus import TEXTS, TRUTH
from app_processes import start_app
from browsers import CHROMIUM, launched
from commands import write_table
from hostile import HOSTILE

pytest.importorskip("playwright.sync_api", reason="needs playwright: `make native` installs it")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
    pytest.mark.slow,
]
SCREENS = {
    "topics": ".card",
    "documents": "tbody tr",
    "progress": ".figure",
    "save": "pre",
    "label": ".text",
}
CLASSES = ["space", "sport", "food"]


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@contextmanager
def running(table, *options):
    """Start the command; give its address, and stop it as Ctrl-C does."""
    process = start_app(table, "--label", "team", *options)
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if address := re.search(r"Open (http://\S+)", line):
                break
        else:
            raise AssertionError("".join(said))
        yield address[1]
    finally:
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=120)[1]
    assert process.returncode == 0, rest
    assert "Stopped." in rest


class Visit:
    """A page, what it asked for and what went wrong on it."""

    def __init__(self, browser, address, **options):
        self.address = address.split("?")[0]
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(120_000)  # milliseconds; a busy machine fits slowly
        self.page = self.context.new_page()
        self.requests, self.troubles = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", lambda dialog: self.troubles.append("a dialog"))
        self.page.on("console", self._heard)
        self.page.add_init_script(
            "document.addEventListener('securitypolicyviolation',"
            " (event) => console.error('policy', event.violatedDirective))"
        )
        self.page.goto(address)
        self.page.wait_for_selector(".doc-head .muted")
        self.says("label")

    def _heard(self, message):
        if message.type in ("error", "warning"):
            self.troubles.append(f"{message.text} {message.location['url']}")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def place(self):
        shown = self.page.locator(".doc-head").inner_text()
        return int(re.search(r"row (\d+)", shown)[1]) - 2

    def make_class(self, name):
        count = self.page.locator(".class").count()
        self.press("n")
        self.page.keyboard.type(name)  # no key fires in a field
        self.press("Enter")
        self.page.wait_for_function(
            "n => document.querySelectorAll('.class').length > n", arg=count
        )

    def decide(self, key):
        """Press a key that ends the look at this text; return the text's place."""
        place, before = self.place(), self.page.locator(".doc-head").inner_text()
        self.press(key)
        self.page.wait_for_function(
            "before => (document.querySelector('.doc-head')?.innerText ?? before) !== before"
            " && document.querySelector('.doc-head .muted')",
            arg=before,
        )
        return place

    def press_at_once(self, *keys):
        """Press digits before the page can hear any answer."""
        self.page.evaluate(
            "keys => keys.forEach((key) => document.body.dispatchEvent(new KeyboardEvent('keydown',"
            " { key, code: `Digit${key}`, bubbles: true, cancelable: true })))",
            list(keys),
        )

    def says(self, words):
        """Wait until the status holds some words."""
        self.page.wait_for_function(
            "words => document.getElementById('status').textContent.includes(words)", arg=words
        )

    def show(self, screen, selector):
        self.page.click(f'nav a[href="#{screen}"]')
        self.page.wait_for_selector(selector)

    def settled(self):
        """Wait until no fit runs or waits; the page may know it a little later."""
        busy = "async () => (await (await fetch('/api/state')).json()).busy"
        for _ in range(600):
            if not self.page.evaluate(busy):  # wait_for_function does not await promises
                return
            self.page.wait_for_timeout(100)
        raise AssertionError("A fit runs without end.")

    def send(self, name, /, **content):
        """Change something as the page does."""
        status = self.page.evaluate(
            "async ([name, content]) => (await fetch(`/api/${name}`, { method: 'POST', headers:"
            " { 'content-type': 'application/json', 'x-cofactor': '1' },"
            " body: JSON.stringify(content) })).status",
            [name, content],
        )
        assert status == 200, (name, content)

    def close(self):
        self.context.close()
        assert self.troubles == []
        assert [url for url in self.requests if not url.startswith(self.address)] == []


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "posts.csv", [[str(i), t, ""] for i, t in enumerate(TEXTS)])


def test_the_core_loop_by_keys(browser, table, tmp_path):
    with running(table) as address:
        visit = Visit(browser, address, viewport={"width": 1280, "height": 860})
        page = visit.page
        assert "token" not in page.url
        for name in CLASSES:
            visit.make_class(name)
        keys = {name: str(place + 1) for place, name in enumerate(CLASSES)}
        first = [visit.decide(keys[TRUTH[visit.place()]]) for _ in range(19)]
        visit.settled()
        first.append(visit.decide(keys[TRUTH[visit.place()]]))
        assert len(set(first)) == 20
        assert page.locator("mark").count() > 1  # the text came after a fit
        assert page.locator(".suggestion h2").inner_text() in CLASSES
        visit.says("20 labels")
        last, before = visit.place(), page.locator(".doc-head").inner_text()
        visit.press_at_once("1", "2", "3")  # keys before the next text is there decide nothing
        page.wait_for_function(
            "before => (document.querySelector('.doc-head')?.innerText ?? before) !== before"
            " && document.querySelector('.doc-head .muted')",
            arg=before,
        )
        visit.says("21 labels")
        visit.decide("Backspace")
        visit.says("20 labels")
        assert visit.place() == last
        visit.decide("Backspace")  # the last text comes back
        assert visit.place() == first[-1]
        visit.decide(keys[TRUTH[first[-1]]])
        visit.press("f")
        page.wait_for_selector(".badge.flag")
        flagged = visit.place()
        skipped = visit.decide(" ")
        assert skipped == flagged
        none = visit.decide("x")
        accepted = page.locator(".suggestion h2").inner_text()
        fourth = visit.decide("a")

        visit.show("topics", ".card")
        assert page.locator(".card").count() == 4
        merge = page.locator(".card select").first
        merge.select_option(index=1)
        page.wait_for_selector(".trial .take-back")
        assert "would move" in page.locator(".trial").inner_text()
        page.click(".trial .take-back")
        assert page.locator(".card").count() == 4
        page.locator(".card", has_text="Freeze").first.get_by_role("button", name="Freeze").click()
        page.wait_for_selector(".card.frozen")
        page.locator(".rename").nth(1).fill("my own name")
        page.locator(".rename").nth(1).press("Enter")
        page.wait_for_selector(".card[aria-label='my own name']")

        visit.settled()
        visit.show("progress", ".figure")
        assert "Accuracy on random checks" in page.locator("main").inner_text()
        expected = page.locator(".figure", has_text="Expected").inner_text()
        visit.says(re.search(r"\d+ % to .*", expected)[0])  # one form in both places
        visit.show("save", "pre")
        with page.expect_download() as download:
            page.click("text=CSV")
        download.value.save_as(tmp_path / "out.csv")
        visit.close()
    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    labelled = {i: row["team"] for i, row in enumerate(rows) if row["label_source"] == "reviewed"}
    assert labelled == {**{i: TRUTH[i] for i in first}, none: "", fourth: accepted}
    assert rows[skipped]["team"] == ""

    with running(table) as address:  # everything is there
        visit = Visit(browser, address)
        visit.says("22 labels")
        visit.show("topics", ".card.frozen")
        assert visit.page.locator(".rename").nth(1).input_value() == "my own name"
        visit.close()


def test_topics_are_merged_by_dragging(browser, table):
    with running(table) as address:
        visit = Visit(browser, address, viewport={"width": 1280, "height": 860})
        page = visit.page
        visit.show("topics", ".card")
        names = [one.input_value() for one in page.locator(".rename").all()]
        page.locator(".card .swatch").nth(2).drag_to(page.locator(".card .swatch").nth(0))
        page.wait_for_selector(".trial .take-back")
        assert page.locator("#trial-title").inner_text() == "Merge topic 2 into topic 0"
        assert "would move" in page.locator(".trial").inner_text()
        page.click(".trial .take-back")
        assert [one.input_value() for one in page.locator(".rename").all()] == names
        page.locator(".card .swatch").nth(1).drag_to(page.locator(".card .swatch").nth(3))
        page.click(".trial .confirm")
        page.wait_for_function("() => document.querySelectorAll('.card').length === 3")
        visit.press("Backspace")
        page.wait_for_function("() => document.querySelectorAll('.card').length === 4")
        visit.close()


def test_topics_are_edited_without_a_mouse(browser, table):
    with running(table) as address:
        visit = Visit(browser, address)
        page = visit.page
        visit.show("topics", ".card")
        visit.settled()
        reach(page, "word")
        visit.press("Enter")  # opens the menu of the word
        reach(page, "pin")
        reach(page, "ban")
        visit.press("Enter")
        page.wait_for_selector(".trial .take-back:focus")
        visit.press("Escape")
        page.wait_for_selector(".card .ban:focus")  # the focus is where it was
        visit.press("Shift+Tab", "Enter")
        page.wait_for_selector(".trial .take-back:focus")
        visit.press("Shift+Tab", "Enter")
        page.wait_for_selector(".word.pinned")
        reach(page, "Split topic 0")
        visit.press("Enter")
        page.wait_for_selector(".trial .take-back:focus")
        visit.press("Shift+Tab", "Enter")
        page.wait_for_function("() => document.querySelectorAll('.card').length === 5")
        reach(page, "Merge ")
        visit.press("ArrowDown")
        page.wait_for_selector(".trial .take-back:focus")
        visit.press("Enter")
        reach(page, "Freeze topic 0")
        visit.press("Enter")
        page.wait_for_selector(".card.frozen")
        assert page.evaluate("document.activeElement.textContent") == "Thaw"
        visit.close()


def reach(page, name):
    """Go on with the tab key to an element of this name or class."""
    for _ in range(300):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "() => `${document.activeElement.className} ${document.activeElement.ariaLabel}`"
        )
        if name in found:
            return
    raise AssertionError(f"no tab leads to {name}")


def test_several_labels_by_keys(browser, table):
    with running(table, "--several") as address:
        visit = Visit(browser, address)
        for name in CLASSES:
            visit.make_class(name)
        visit.press("1", "2", "3", "3")  # the third is taken away again
        assert visit.page.locator(".class[aria-pressed='true']").count() == 2
        visit.decide("Enter")
        assert visit.page.locator(".last .chip").first.inner_text() == "space, sport"
        visit.close()


@pytest.mark.skipif(
    "COFACTOR_AXE" not in os.environ, reason="set COFACTOR_AXE to axe.min.js of npm's axe-core"
)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_screen_is_accessible(browser, table, theme):
    rules = Path(os.environ["COFACTOR_AXE"]).read_text(encoding="utf-8")
    with running(table) as address:
        visit = Visit(
            browser,
            address,
            viewport={"width": 1280, "height": 860},
            color_scheme=theme,
            bypass_csp=True,
        )
        page = visit.page

        def check(what):
            page.evaluate(rules)
            for width in (1280, 500):
                page.set_viewport_size({"width": width, "height": 860})
                found = page.evaluate("() => axe.run()")["violations"]
                assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], (what, width)

        for name in CLASSES:
            visit.make_class(name)
        for _ in range(12):
            visit.decide(str(CLASSES.index(TRUTH[visit.place()]) + 1))
        visit.press("f")
        page.wait_for_selector(".badge.flag")
        visit.settled()
        for screen, selector in SCREENS.items():
            visit.show(screen, selector)
            check(screen)
        page.locator(".classes .small").first.click()
        check("the menu of a class")
        visit.press("Escape")
        page.click("#keys-button")
        check("the keys")
        visit.press("Escape")
        visit.show("documents", "tbody .opener")
        page.locator("tbody .opener").first.click()
        page.wait_for_selector("tr.whole")
        check("a text in the table")
        visit.show("topics", ".card")
        page.locator(".word").first.click()
        check("the menu of a word")
        page.locator(".card select").first.select_option(index=1)
        page.wait_for_selector(".trial .take-back")
        check("what an edit moves")
        page.click(".trial .take-back")
        page.get_by_role("button", name="Freeze").first.click()
        page.wait_for_selector(".card.frozen")
        check("a frozen topic")
        visit.close()


def test_two_tabs_see_each_other(browser, table):
    with running(table) as address:
        one, other = Visit(browser, address), Visit(browser, address)
        one.make_class("space")
        other.page.wait_for_selector(".class")
        assert one.place() != other.place()
        one.decide("1")
        other.page.wait_for_selector(".last .chip")
        other.says("1 label ")
        one.close()
        other.close()


STRANGE = "img, iframe, marquee, object, script, style, base, meta, template, form[action], h1 ~ h1"
NAMES = "<img src=x onerror=alert(1)>\"'`&#60;;%41?#{{7}}\u202e"


def test_hostile_strings_stay_text(browser, tmp_path):
    """Each hostile string is a text, a class and the name of a topic; some are names of files."""
    hostile = [one.encode("utf-8", "replace").decode().replace("\0", "") for one in HOSTILE]
    rows = [[str(i), f"{hostile[i]} {text}", ""] for i, text in enumerate(TEXTS[: len(hostile)])]
    table = write_table(tmp_path / f"{NAMES}.csv", rows)
    with running(table, "--model", str(tmp_path / f"{NAMES} model"), "-k", "12") as address:
        visit = Visit(browser, address, viewport={"width": 1280, "height": 860})
        page = visit.page
        for place, name in enumerate(hostile):
            visit.send("make-class", tab="t", name=f"{name} {place}")
            label = " ".join(f"{name} {place}".split())
            visit.send("label", tab="t", document=place, labels=[label])
        page.wait_for_function(
            "n => document.querySelectorAll('.class').length === n", arg=len(hostile)
        )
        visit.settled()
        for first in range(0, len(hostile), 12):
            for topic, name in enumerate(hostile[first : first + 12]):
                visit.send("edit", tab="t", edit="rename", arguments={"topic": topic, "name": name})
            looked_at(visit, "topics")
        for theme, width in (("light", 1280), ("dark", 500)):
            page.emulate_media(color_scheme=theme)
            page.set_viewport_size({"width": width, "height": 860})
            for screen in SCREENS:
                looked_at(visit, screen)
                if screen == "documents":  # lists of classes are filled a little later
                    page.wait_for_selector(".bulk option:nth-child(50)", state="attached")
                assert page.evaluate("document.documentElement.scrollWidth") <= width, screen
        visit.show("documents", "tbody tr")
        for opener in page.locator("tbody .opener").all()[:5]:
            opener.click()
        page.wait_for_function("() => document.querySelectorAll('tr.whole').length === 5")
        page.get_by_role("button", name="Next").click()
        page.wait_for_function("() => document.querySelectorAll('tbody tr').length < 50")
        assert page.locator("body").locator(STRANGE).count() == 0
        visit.close()


def looked_at(visit, screen):
    """Show a screen; texts have become no elements there."""
    visit.show("save" if screen == "label" else "label", "main *")
    visit.show(screen, SCREENS[screen])
    assert visit.page.locator("body").locator(STRANGE).count() == 0
