"""Every click and key in a real browser does what it says, once, also with many classes."""

import re

import pytest

from app_corpus import TEXTS, TRUTH
from app_visits import Visit, running
from browsers import CHROMIUM, launched
from cofactor.app.decisions import DecisionLog
from cofactor.app.text_queue import each_key
from commands import write_table

pytest.importorskip("playwright.sync_api", reason="needs the extra cofactor[browser]")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
    pytest.mark.slow,
]
CLASSES = ["space", "sport", "food"]
MANY = [f"{group}/{number}" for group in ("account", "card", "loan") for number in range(26)]


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "posts.csv", [[str(i), t, ""] for i, t in enumerate(TEXTS)])


def last_labels(visit):
    return [one["labels"] for one in sorted(visit.state()["last"], key=lambda one: one["number"])]


def test_the_first_class_is_named_at_once_and_labels_the_text(browser, table):
    with running(table) as address:
        visit = Visit(browser, address)
        page = visit.page
        page.wait_for_selector(".class-finder input:focus")
        assert not page.locator(".class-finder kbd").is_visible()  # "c" would be typed here
        assert "name the first class" in page.locator("#next").inner_text()
        first, before = visit.place(), page.locator(".doc-head").inner_text()
        page.keyboard.type("space x")
        visit.press("Enter")
        visit.wait_for_next(before)
        assert page.locator(".class .name").all_inner_texts() == ["space x"]
        assert visit.state()["last"][0]["document"] == first
        assert page.locator(".class-finder kbd").is_visible()
        visit.decide("1")  # the focus has left the field
        second = visit.name_class("food")
        assert last_labels(visit) == [["space x"], ["space x"], ["food"]]
        visit.press("Backspace")  # one undo takes back the label and the class
        visit.says("2 labels")
        assert visit.state()["counts"]["classes"] == {"space x": 2}
        page.wait_for_function(
            "row => document.querySelector('.doc-head').innerText.includes(`row ${row}`)",
            arg=second + 2,
        )
        visit.close()


def test_a_key_after_a_click_does_not_click_again(browser, table):
    with running(table) as address:
        visit = Visit(browser, address)
        page = visit.page
        visit.make_classes(*CLASSES)
        before = page.locator(".doc-head").inner_text()
        page.locator(".class", has_text="sport").click()
        visit.wait_for_next(before)
        visit.decide(" ")
        assert last_labels(visit) == [["sport"], None]  # the second text is skipped
        for _ in range(2):  # a class that is reached with the tab key
            page.locator(".class", has_text="food").focus()
            visit.decide("Enter")
            visit.decide(" ")
        assert last_labels(visit)[2:] == [["food"], None, ["food"], None]
        page.locator(".actions button", has_text="None").click()
        visit.says("4 labels")
        assert page.evaluate("document.activeElement.tagName") != "BUTTON"
        visit.close()


def test_enter_confirms_several_labels_wherever_the_focus_is(browser, table):
    with running(table, "--several") as address:
        visit = Visit(browser, address)
        page = visit.page
        visit.make_classes(*CLASSES)
        page.locator(".class", has_text="sport").click()
        visit.decide("Enter")
        page.locator(".class", has_text="food").focus()
        visit.press(" ")
        page.wait_for_selector(".class[aria-pressed='true']:focus")
        page.locator(".class", has_text="space").focus()
        visit.press(" ")
        visit.decide("Enter")
        assert last_labels(visit) == [["sport"], ["food", "space"]]
        visit.close()


def test_a_renamed_class_has_its_new_name_everywhere(browser, table):
    with running(table, "--every", "1000") as address:
        visit = Visit(browser, address)
        page = visit.page
        visit.make_classes(*CLASSES)
        keys = {name: str(place + 1) for place, name in enumerate(CLASSES)}
        for _ in range(12):
            visit.decide(keys[TRUTH[visit.place()]])
        visit.send("refit")
        visit.settled()
        visit.show("classes", ".class-table input")
        field = page.get_by_label("Name of food")
        field.fill("cooking")
        field.press("Enter")
        page.wait_for_selector("[aria-label='Name of cooking']")
        visit.show("documents", ".documents tbody tr")  # the table of classes has rows, too
        rows = page.locator("tbody").inner_text()
        assert "cooking" in rows
        assert not re.search(r"\bfood\b", re.sub(r".*(?=cooking)", "", rows))
        visit.show("label", ".class")
        visit.past_checks({**keys})
        for _ in range(30):
            if page.locator(".class.hint", has_text="cooking").count():
                break
            visit.decide(" ")
            visit.past_checks({**keys})
        visit.decide("a")  # the suggestion by its new name is accepted
        assert visit.state()["last"][0]["labels"] == ["cooking"]
        assert visit.troubles == []
        visit.close()


def test_many_classes(browser, table):
    with running(table, "--every", "1000") as address:
        visit = Visit(browser, address, viewport={"width": 1280, "height": 800})
        page = visit.page
        visit.make_classes(*MANY)
        assert page.locator(".class kbd").all_inner_texts() == [*"123456789"]
        assert "" not in page.locator("kbd").all_inner_texts()
        assert page.locator(".class-group h3").all_inner_texts()[1:] == ["account", "card", "loan"]
        chosen = [visit.name_class("card/7"), visit.name_class("RD/7")]  # typing finds it
        assert chosen[0] != chosen[1]
        assert last_labels(visit) == [["card/7"], ["card/7"]]
        before = page.locator(".doc-head").inner_text()
        visit.press("c")
        page.keyboard.type("loan 2")
        assert page.locator(".match .name").all_inner_texts()[:2] == ["loan/2", "loan/12"]
        visit.press("ArrowDown", "Enter")
        visit.wait_for_next(before)
        assert last_labels(visit)[-1] == ["loan/12"]
        visit.send("refit")
        visit.settled()
        visit.decide(" ")
        while page.locator(".doc-head", has_text="random check").count():
            visit.decide(" ")
        assert page.locator(".class-group h3").first.inner_text() == "Most probable"
        shares = page.locator(".class-group").first.locator(".number").all_inner_texts()[:2]
        assert int(shares[0].split()[0]) >= int(shares[1].split()[0])
        hint = page.locator(".class.hint")
        assert hint.locator("kbd").inner_text() == "1"
        name = hint.get_attribute("title")
        visit.decide("1")
        assert last_labels(visit)[-1] == [name]
        visit.close()


def test_classes_are_merged_split_and_deleted(browser, table):
    with running(table, "--every", "1000") as address:
        visit = Visit(browser, address)
        page = visit.page
        visit.make_classes(*CLASSES)
        for key in "1122":
            visit.decide(key)
        visit.show("classes", ".class-table input")
        assert page.get_by_label("Delete sport").is_disabled()
        page.get_by_label("Delete food").click()
        page.wait_for_selector("[aria-label='Delete food']", state="detached")
        page.get_by_label("Description of sport").fill("games and leagues")
        page.get_by_label("Description of sport").press("Enter")
        page.get_by_label("Split space").click()
        page.wait_for_function(
            "() => document.querySelectorAll('.documents tbody tr').length === 2"
        )
        page.get_by_label("Select all rows on this page").check()
        page.get_by_label("Class for the selected texts").fill("moon")
        visit.press("Enter")
        visit.page.wait_for_function(
            "() => document.querySelectorAll('.documents tbody tr').length === 0"
        )
        counts = visit.state()["counts"]["classes"]
        assert counts == {"space": 0, "sport": 2, "moon": 2}
        visit.show("classes", "[aria-label='Merge moon']")
        page.get_by_label("Merge moon").click()
        page.get_by_label("Class that moon becomes a part of").fill("sport")
        visit.press("Enter")
        page.wait_for_selector("[aria-label='Merge moon']", state="detached")
        assert visit.state()["counts"]["classes"] == {"space": 0, "sport": 4}
        visit.show("label", ".class")
        title = page.locator(".class", has_text="sport").get_attribute("title")
        assert title == "sport: games and leagues"
        visit.close()


def test_many_labels_at_once_are_one_undo(browser, table):
    with running(table, "--every", "1000") as address:
        visit = Visit(browser, address)
        page = visit.page
        visit.make_classes("space")
        visit.show("documents", "tbody tr")
        page.get_by_label("Select all rows on this page").check()
        page.get_by_label("Class for the selected texts").fill("space")
        visit.press("Enter")
        visit.says("50 labels")
        page.evaluate("document.activeElement.blur()")
        visit.press("Backspace")
        visit.says("0 labels")
        visit.close()


def test_undo_leaves_the_decisions_of_other_tabs_alone(browser, table):
    with running(table) as address:
        one, other = Visit(browser, address), Visit(browser, address)
        one.make_classes("space")
        one.decide("1")
        other.says("1 label ")
        other.page.evaluate("document.activeElement.blur()")
        other.press("Backspace")
        other.page.wait_for_selector("#toast:has-text('nothing in this tab')")
        one.says("1 label ")
        one.close()
        other.close()


def test_a_duplicated_tab_is_another_tab(browser, table):
    with running(table) as address:
        visit = Visit(browser, address)
        with visit.context.expect_page() as opened:
            visit.page.evaluate("window.open('/')")  # the new tab gets a copy of sessionStorage
        other = opened.value
        other.wait_for_selector(".doc-head .muted")
        names = [one.evaluate("sessionStorage.getItem('tab')") for one in (visit.page, other)]
        assert names[0] != names[1]
        shown = [one.locator(".doc-head").inner_text() for one in (visit.page, other)]
        assert shown[0] != shown[1]
        visit.page.reload()
        visit.page.wait_for_selector(".doc-head .muted")
        assert visit.page.locator(".doc-head").inner_text() == shown[0]
        assert visit.page.evaluate("sessionStorage.getItem('tab')") == names[0]
        visit.close()


def test_an_old_page_says_how_to_go_on(browser, table):
    with running(table, "--port", "0") as address:
        visit = Visit(browser, address)
        visit.page.evaluate("sessionStorage.setItem('token', 'of an earlier run')")
        visit.page.reload()
        visit.page.wait_for_selector("#trouble:not([hidden])")
        assert "Open the address" in visit.page.locator("#trouble").inner_text()
        assert "Unauthorized" not in visit.page.locator("body").inner_text()
        visit.troubles.clear()  # the browser reports the refusals
        visit.close()


def test_random_checks_hide_the_suggestion(browser, table):
    with running(table, "--every", "3") as address:
        visit = Visit(browser, address)
        page = visit.page
        visit.make_classes(*CLASSES)
        seen = []
        for _ in range(15):
            visit.settled()
            if check := "random check" in page.locator(".doc-head").inner_text():
                assert page.locator(".class.hint, .class .bar, .text mark").count() == 0
                assert page.locator("[data-key=accept]").is_disabled()
            seen.append(check)
            visit.decide(str(CLASSES.index(TRUTH[visit.place()]) + 1))
        assert sum(seen) >= 2
        visit.close()


def test_decisions_about_changed_texts_are_shown_and_taken_over(browser, tmp_path):
    rows = [[str(i), t, ""] for i, t in enumerate(TEXTS)]
    table = write_table(tmp_path / "posts.csv", rows)
    with running(table, "--every", "1000") as address:
        visit = Visit(browser, address)
        visit.make_classes(*CLASSES)
        place = visit.decide("1")
        visit.close()
    rows[place][1] += " corrected."
    write_table(table, rows)
    with running(table, "--every", "1000") as address:
        visit = Visit(browser, address)
        page = visit.page
        page.wait_for_selector(".notice")
        assert "1 decision is about texts that are not" in page.locator(".notice").inner_text()
        page.locator(".notice button", has_text="Look").click()
        page.locator("#found button", has_text="Take over all 1").click()
        page.wait_for_selector(".notice", state="detached")
        assert visit.state()["counts"]["elsewhere"] == 0
        assert visit.state()["last"][0]["document"] == place
        visit.close()


def test_a_deleted_log_is_noticed_and_comes_back(browser, table):
    log = table.parent / "model.decisions.jsonl"
    with running(table, "--every", "2") as address:
        visit = Visit(browser, address)
        visit.make_classes(*CLASSES)
        for key in "1231":
            visit.decide(key)
        visit.settled()
        log.unlink()  # while the app runs
        visit.page.wait_for_selector(".notice:has-text('was deleted')")
        visit.page.locator(".notice button", has_text="Write").click()
        visit.page.wait_for_selector(".notice", state="detached")
        assert log.read_bytes().count(b'"kind": "label"') == 4
        visit.close()
    log.unlink()  # while it does not
    with running(table, "--every", "2") as address:
        visit = Visit(browser, address)
        visit.page.wait_for_selector(".notice:has-text('lacks 7 decisions')")
        visit.says("0 labels")
        visit.page.locator(".notice button", has_text="Look").click()
        visit.page.wait_for_selector("#found tr")
        assert visit.page.locator("#found tr").count() == 4
        visit.press("Escape")
        visit.page.locator(".notice button", has_text="Take").click()
        visit.says("4 labels")
        visit.close()


CROOKED_BUTTONS = """() => [...document.querySelectorAll("#screen button")]
    .filter((one) => one.offsetHeight > 70 && one.offsetHeight > one.offsetWidth)
    .map((one) => one.textContent)"""
"""Buttons with a column of letters."""


@pytest.mark.parametrize(("width", "height"), [(390, 844), (640, 400), (768, 1024), (1280, 800)])
def test_what_decides_is_on_the_screen(browser, tmp_path, width, height):
    """On a phone and at 200 % zoom: a class, Accept, and no scrolling sideways."""
    rows = [
        [str(i), f"{t} {'x' * 400} " + "word " * 3000 * (i % 2), ""] for i, t in enumerate(TEXTS)
    ]
    table = write_table(tmp_path / "posts.csv", rows)
    with running(table) as address:
        visit = Visit(browser, address, viewport={"width": width, "height": height})
        page = visit.page
        visit.make_classes("y" * 150, *CLASSES)
        visit.decide("2")
        for name in (".class", "[data-key=accept]"):
            box = page.locator(name).first.bounding_box()
            assert box["y"] >= 0, name
            assert box["y"] + box["height"] <= height + 1, name
            middle = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
            assert page.evaluate(
                "([x, y, name]) => document.elementFromPoint(x, y).closest(name) !== null",
                [*middle, name],
            )
        assert page.locator(".doc-head .badge").is_visible()
        page.evaluate(  # a text may have a further mark
            "document.querySelector('.doc-head').insertAdjacentHTML('beforeend',"
            " '<span class=badge>▲ unlike the labelled texts</span>')"
        )
        assert page.locator(".earlier").bounding_box()["height"] > 100
        reading = page.locator(".reading").bounding_box()["width"]
        assert page.locator(".text-note").bounding_box()["width"] > 0.9 * reading
        for screen in ("label", "classes", "topics", "documents", "progress", "save"):
            page.goto(f"{visit.address}#{screen}")
            page.wait_for_selector("#screen *")
            page.wait_for_timeout(300)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, screen
            assert page.locator("#next").inner_text(), screen
            assert "[object" not in page.locator("#screen").inner_text()
            assert page.evaluate(CROOKED_BUTTONS) == []
            for cell in page.locator("tbody tr:first-child td:visible").all():
                box = cell.bounding_box()
                assert width >= 640 or box["x"] + box["width"] <= width, screen
        page.click("#keys-button")
        title = page.locator("#keys-title").bounding_box()
        assert 0 <= title["y"] < height / 2
        visit.close()


@pytest.mark.parametrize(("width", "height"), [(390, 844), (640, 400)])
def test_suggestions_with_long_names_leave_room_for_the_buttons(browser, table, width, height):
    names = [f"a class with a rather long name about {name}" for name in CLASSES]
    with running(table, "--several", "--every", "1000") as address:
        visit = Visit(browser, address, viewport={"width": width, "height": height})
        page = visit.page
        for place in range(30):
            label = names[CLASSES.index(TRUTH[place])]
            visit.send("label", tab="t", document=place, labels=[label, names[0]], create=True)
        visit.send("refit")
        visit.settled()
        page.reload()
        page.wait_for_selector(".doc-head .muted")
        while not page.locator(".accept").count():
            visit.decide(" ")
        right = page.locator(".actions").bounding_box()
        for button in page.locator(".actions button").all():
            box = button.bounding_box()
            assert box["height"] < 60
            assert box["x"] + box["width"] <= right["x"] + right["width"] + 1
        visit.close()


def test_texts_run_in_their_own_direction(browser, tmp_path):
    rows = [[str(i), f"مرحبا {t}", ""] for i, t in enumerate(TEXTS)]
    with running(write_table(tmp_path / "posts.csv", rows)) as address:
        visit = Visit(browser, address)
        visit.name_class("food")
        visit.page.wait_for_selector(".last .chip")
        for text in (".text", ".last .muted"):  # which is cut off at its end
            found = visit.page.locator(text).evaluate(
                "e => [getComputedStyle(e).direction, getComputedStyle(e).display]"
            )
            assert found == ["rtl", "block"]
        visit.close()


def test_how_far_people_agree_and_where_they_do_not(browser, table):
    with running(table, "--annotator", "Ada") as address:
        visit = Visit(browser, address)
        page = visit.page
        visit.make_classes(*CLASSES)
        keys = [*each_key(TEXTS)]
        log = DecisionLog(table.parent / "model.decisions.jsonl")
        for label in ("space", "food"):
            log.add("label", "b", document=keys[visit.place()], labels=[label], who="Bo")
            visit.decide("1")
        visit.show("progress", ".figure")
        shown = page.locator("#screen").inner_text()
        assert "2 texts have labels by several people" in shown
        assert re.search(r"Ada and Bo\s+2\s+50 %", shown)
        visit.show("label", ".class")
        page.get_by_label("Which texts to show").select_option("people disagree")
        page.wait_for_selector(".legend .chip")
        assert page.locator(".legend").inner_text() == "Bo: food Ada: space"
        visit.close()
