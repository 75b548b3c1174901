"""The built site is whole: no warning, no dead link, every command, and no request elsewhere."""

import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

import click
import pytest
from docs.public_names import public_methods, public_objects

from browsers import CHROMIUM, launched
from cofactor.cli import main

for needed in (
    "sphinx",
    "pydata_sphinx_theme",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_click",
):
    pytest.importorskip(needed, reason=f"{needed} is missing: `make native` installs it")

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
PATIENCE = 240  # seconds that a worker waits for the site that another one builds


def build(folder):
    """Build the site without running the gallery, which is tested separately."""
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "--fail-on-warning",
        "--keep-going",
        "--quiet",
        "--define",
        "plot_gallery=0",
        "--doctree-dir",
        folder / "doctrees",
        ROOT / "docs",
        folder / "html",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    (folder / "said.txt").write_text(done.stderr)
    (folder / "done").write_text(str(done.returncode))


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built pages; several workers of pytest share one build."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if folder.name.startswith("popen-") else folder) / "site"
    try:
        folder.mkdir()
    except FileExistsError:
        end = time.monotonic() + PATIENCE
        while not (folder / "done").exists() and time.monotonic() < end:
            time.sleep(0.2)
    else:
        build(folder)
    assert (folder / "done").read_text() == "0", (folder / "said.txt").read_text()
    return folder / "html"


class Page(HTMLParser):
    """What a page names: its anchors, its links, and the files that it loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = {""}, set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = {name: value or "" for name, value in attributes}
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}
        if tag == "a" and "href" in attributes:
            self.links.add(attributes["href"])
        elif tag == "link":
            self.loaded.add(attributes["href"])
        elif "src" in attributes:
            self.loaded.add(attributes["src"])


@pytest.fixture(scope="session")
def pages(site):
    found = sorted(set(site.rglob("*.html")) - set((site / "_static").rglob("*")))
    return {path: Page(path) for path in found}


def is_elsewhere(address):
    return urlparse(address).scheme in ("http", "https", "mailto")


def dead_ends(path, page, pages):
    """Addresses of a page that lead to no file or no anchor of the site."""
    for address in page.links | page.loaded:
        if is_elsewhere(address) or address.startswith("data:"):
            continue
        file, anchor = urldefrag(urlparse(address)._replace(query="").geturl())
        target = (path.parent / unquote(file)).resolve() if file else path
        if not target.is_file() or (
            target in pages and unquote(anchor) not in pages[target].anchors
        ):
            yield f"{path.name}: {address}"


def test_it_builds_without_a_warning_and_has_the_parts(site):
    parts = (
        "index",
        "reference/index",
        "reference/commands",
        "paper",
        "benchmarks/index",
        "faq",
        "architecture",
        "decisions/README",
        "contributing",
        "changelog",
    )
    assert [part for part in parts if not (site / f"{part}.html").is_file()] == []


def test_every_link_and_anchor_resolves(pages):
    assert sum(len(page.links) for page in pages.values()) > 1000
    assert [dead for path, page in pages.items() for dead in dead_ends(path, page, pages)] == []


def test_pages_load_nothing_from_elsewhere(pages):
    assert {a for page in pages.values() for a in page.loaded if is_elsewhere(a)} == set()


def test_the_reference_has_every_public_name(pages):
    there = set().union(*(page.anchors for page in pages.values()))
    shown = {id(found): full for full, found in public_objects() if full in there}
    for full, found in public_objects():
        assert id(found) in shown, full
        methods = public_methods(found) if isinstance(found, type) else ()
        names = {f"{shown[id(found)]}.{name}" for name, _ in methods}
        assert names - there == set()


def walk(command, path):
    yield path, command
    for name in getattr(command, "commands", None) or command_names(command):
        yield from walk(command.get_command(click.Context(command), name), [*path, name])


def command_names(command):
    return command.list_commands(click.Context(command)) if isinstance(command, click.Group) else ()


def test_the_reference_has_every_command_and_option(site):
    page = Page(site / "reference/commands.html")
    for path, command in walk(main, ["cofactor"]):
        name = "-".join(path)
        assert name in page.anchors
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert f"cmdoption-{name}-{option.opts[0].lstrip('-')}" in page.anchors


@pytest.fixture(scope="module")
def browser():
    pytest.importorskip("playwright.sync_api", reason="needs playwright: `make native` installs it")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with launched() as browser:
        yield browser


def representative(pages):
    """Return the pages, but only three of each folder whose pages are all alike."""
    left_out = set()
    for folder in ("decisions", "benchmarks"):
        left_out |= set([path for path in pages if path.parent.name == folder][3:])
    return [path for path in pages if path not in left_out]


def test_every_page_opens_on_a_phone_without_a_request_elsewhere_or_an_error(browser, pages):
    asked, said, wide = set(), [], []
    context = browser.new_context(viewport={"width": 500, "height": 900})
    tab = context.new_page()
    tab.on("request", lambda request: asked.add(request.url))
    tab.on("console", lambda message: said.append((message.type, message.text, tab.url)))
    tab.on("pageerror", lambda error: said.append(("error", str(error), tab.url)))
    for path in representative(pages):
        tab.goto(path.as_uri())
        if tab.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            wide.append(path.name)
    context.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert [one for one in said if one[0] in ("error", "warning")] == []
    assert wide == []


@pytest.mark.parametrize(
    ("words", "page"),
    [("merge topics", "guide/editing.html"), ("streaming partial_fit", "guide/streams.html")],
)
def test_search_finds_pages_for_users_first(browser, site, words, page):
    tab = browser.new_page()
    tab.goto(f"{(site / 'search.html').as_uri()}?q={words.replace(' ', '+')}")
    first = tab.wait_for_selector("#search-results li a").get_attribute("href")
    tab.close()
    assert first.partition("#")[0].partition("?")[0] == page
