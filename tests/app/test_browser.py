"""The app in a real browser, started as a user starts it: the command, the page, the keys."""

import csv
import os
import re
from pathlib import Path

import pytest

from app_corpus import TEXTS, TRUTH
from app_visits import Visit, running
from browsers import CHROMIUM, launched
from commands import write_table
from hostile import HOSTILE

pytest.importorskip("playwright.sync_api", reason="needs playwright: `make native` installs it")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
    pytest.mark.slow,
]
SCREENS = {
    "classes": ".class-table tr",
    "topics": ".card",
    "documents": "tbody tr",
    "progress": ".figure",
    "save": "pre",
    "label": ".text",
}
CLASSES = ["space", "sport", "food"]
STATE_COMES_LAST = """{
  const fetched = window.fetch;
  window.fetch = async (address, ...rest) => {
    if (address === "/api/state") await new Promise((answer) => setTimeout(answer, 500));
    return fetched(address, ...rest);
  };
}"""


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "posts.csv", [[str(i), t, ""] for i, t in enumerate(TEXTS)])


def test_the_core_loop_by_keys(browser, table, tmp_path):
    with running(table) as address:
        visit = Visit(browser, address, viewport={"width": 1280, "height": 860})
        page = visit.page
        assert "token" not in page.url
        visit.make_classes(*CLASSES)
        keys = {name: str(place + 1) for place, name in enumerate(CLASSES)}
        first = [visit.decide(keys[TRUTH[visit.place()]]) for _ in range(19)]
        visit.settled()
        first.append(visit.decide(keys[TRUTH[visit.place()]]))
        assert len(set(first)) == 20
        first += visit.past_checks(keys)
        n = len(first)
        assert page.locator(".text mark").count() > 1  # the text came after a fit
        assert page.locator(".class.hint .name").inner_text() in CLASSES
        assert page.locator(".class.hint .badge").inner_text() == "Suggestion"
        visit.says(f"{n} labels")
        last, before = visit.place(), page.locator(".doc-head").inner_text()
        visit.press_at_once("1", "2", "3")  # keys before the next text is there decide nothing
        visit.wait_for_next(before)
        visit.says(f"{n + 1} labels")
        visit.decide("Backspace")
        visit.says(f"{n} labels")
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
        first += visit.past_checks(keys)
        accepted = page.locator(".class.hint .name").inner_text()
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
        expected = page.locator(".figure", has_text="Expected").inner_text()
        assert re.search(r"after 20 random checks; \d+ so far", expected)
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
        visit.says(f"{len(first) + 2} labels")
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
        page.wait_for_selector(".trial", state="hidden")
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
        visit.make_classes(*CLASSES)
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

        visit.make_classes(*CLASSES)
        for _ in range(12):
            visit.decide(str(CLASSES.index(TRUTH[visit.place()]) + 1))
        visit.press("f")
        page.wait_for_selector(".badge.flag")
        visit.settled()
        for screen, selector in SCREENS.items():
            visit.show(screen, selector)
            check(screen)
        page.fill(".class-finder input", "sp")
        check("the search for a class")
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


def test_every_screen_is_whole_after_a_reload(browser, tmp_path):
    rows = [[str(i), text, "", f"2024-01-{i % 28 + 1:02}"] for i, text in enumerate(TEXTS)]
    table = write_table(tmp_path / "posts.csv", rows, ["id", "body", "team", "day"])
    with running(table, "--date", "day") as address:
        visit = Visit(browser, address)
        page = visit.page
        visit.make_classes(*CLASSES)
        page.add_init_script(STATE_COMES_LAST)
        for screen, selector in SCREENS.items():
            visit.show(screen, selector)
            page.wait_for_timeout(500)
            before = page.locator("main").text_content()
            page.reload()
            page.wait_for_function(
                "before => document.querySelector('main').textContent === before",
                arg=before,
                timeout=10_000,
            )
            assert page.locator("#toast").is_hidden(), screen
        visit.close()


def test_two_tabs_see_each_other(browser, table):
    with running(table) as address:
        one, other = Visit(browser, address), Visit(browser, address)
        one.make_classes("space")
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
                    page.wait_for_selector("#bulk-classes option:nth-child(50)", state="attached")
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
