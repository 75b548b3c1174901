"""The app in a real browser, started as a user starts it: the command, the page, the keys."""

import csv
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import cofactor
from app_corpus import TEXTS, TRUTH
from browsers import CHROMIUM, launched
from commands import write_table
from hostile import HOSTILE

pytest.importorskip("playwright.sync_api", reason="needs the extra cofactor[browser]")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
    pytest.mark.slow,
]
SCREENS = {"topics": ".card", "documents": "tbody tr", "progress": ".figure", "save": "pre",
           "label": ".text"}  # fmt: skip
CLASSES = ["space", "sport", "food"]


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@contextmanager
def running(table, *options):
    """Start the command; give its address, and stop it as Ctrl-C does."""
    source = str(Path(cofactor.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-m", "cofactor", "app", str(table), "--text", "body", "--label", "team",
         "-k", "4", "--port", "0", "--no-open", "--model", str(table.parent / "model"), *options],
        stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": source},
    )  # fmt: skip
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
        rest = process.communicate(timeout=30)[1]
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
        self.page.goto(address)
        self.page.wait_for_selector(".doc-head .muted")

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
            " && document.querySelector('.doc-head .muted')", arg=before,
        )  # fmt: skip
        return place

    def show(self, screen, selector):
        self.page.click(f'nav a[href="#{screen}"]')
        self.page.wait_for_selector(selector)

    def settled(self):
        self.page.wait_for_function(
            "() => !document.getElementById('status').textContent.includes('fitting')"
        )

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
        first = [visit.decide(str(CLASSES.index(TRUTH[visit.place()]) + 1)) for _ in range(20)]
        assert len(set(first)) == 20
        visit.settled()
        page.wait_for_function("() => document.querySelector('.suggestion h2').textContent !== ''")
        assert page.locator("mark").count() > 1
        before = page.locator("#status").inner_text().split(" ")[0]
        visit.press("1", "2", "3")  # keys that come before the next text is there decide nothing
        page.wait_for_function(
            "n => !document.getElementById('status').textContent.startsWith(n)", arg=before
        )
        page.wait_for_timeout(300)
        assert page.locator("#status").inner_text().startswith("21 labels")
        visit.decide("Backspace")
        page.wait_for_function(
            "() => document.getElementById('status').textContent.startsWith('20 labels')"
        )
        visit.decide("Backspace")  # the last text comes back
        assert visit.place() == first[-1]
        visit.decide(str(CLASSES.index(TRUTH[first[-1]]) + 1))
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

        visit.show("progress", ".figure")
        assert "Accuracy on random checks" in page.locator("main").inner_text()
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
        assert "22 labels" in visit.page.locator("#status").inner_text()
        visit.show("topics", ".card.frozen")
        assert visit.page.locator(".rename").nth(1).input_value() == "my own name"
        visit.close()


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
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (500, "dark")])
def test_every_screen_is_accessible(browser, table, width, theme):
    rules = Path(os.environ["COFACTOR_AXE"]).read_text(encoding="utf-8")
    with running(table) as address:
        visit = Visit(browser, address, viewport={"width": width, "height": 860},
                      color_scheme=theme, bypass_csp=True)  # fmt: skip
        for name in CLASSES:
            visit.make_class(name)
        for _ in range(10):
            visit.decide(str(CLASSES.index(TRUTH[visit.place()]) + 1))
        visit.settled()
        for screen, selector in SCREENS.items():
            visit.show(screen, selector)
            visit.page.evaluate(rules)
            found = visit.page.evaluate("() => axe.run()")["violations"]
            assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], screen
        visit.close()


def test_two_tabs_see_each_other(browser, table):
    with running(table) as address:
        one, other = Visit(browser, address), Visit(browser, address)
        one.make_class("space")
        other.page.wait_for_selector(".class")
        assert one.place() != other.place()
        one.decide("1")
        other.page.wait_for_selector(".last .chip")
        assert "1 label " in other.page.locator("#status").inner_text()
        one.close()
        other.close()


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (500, "dark")])
def test_hostile_strings_stay_text(browser, tmp_path, width, theme):
    rows = [[str(i), f"{HOSTILE[i % len(HOSTILE)]} {text}", ""] for i, text in enumerate(TEXTS)]
    table = write_table(tmp_path / "a b#?%41&.csv", [
        [cell.encode("utf-8", "replace").decode().replace("\0", "") for cell in row] for row in rows
    ])  # fmt: skip
    with running(table) as address:
        visit = Visit(browser, address, viewport={"width": width, "height": 860},
                      color_scheme=theme)  # fmt: skip
        page = visit.page
        strange = "img, iframe, marquee, object, script, style, base, meta, template"
        for name in ("<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>"):
            visit.make_class(name)
        for key in "1212":
            visit.decide(key)
        for screen, selector in SCREENS.items():
            visit.show(screen, selector)
            if screen == "topics":
                page.locator(".rename").first.fill("<svg onload=alert(1)>")
                page.locator(".rename").first.press("Enter")
                page.wait_for_selector("[aria-label='<svg onload=alert(1)>']")
            assert page.locator("body").locator(strange).count() == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        visit.close()
