"""The app in a real browser: a running command, and a page with what went wrong on it."""

import re
import signal
from contextlib import contextmanager

from app_corpus import TRUTH
from app_processes import start_app


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

    def make_classes(self, *names):
        """Create classes without labelling a text."""
        for name in names:
            self.send("make-class", tab="t", name=name)
        self.page.wait_for_function(
            "names => names.every((name) => [...document.querySelectorAll('.class')]"
            ".some((one) => one.title === name))",
            arg=names,
        )
        self.page.evaluate("document.activeElement.blur()")  # the field for the first class

    def name_class(self, name):
        """Type the name of a class for this text; return the text's place."""
        place, before = self.place(), self.page.locator(".doc-head").inner_text()
        self.press("c")
        self.page.keyboard.type(name)  # no key fires in a field
        self.press("Enter")
        self.wait_for_next(before)
        return place

    def wait_for_next(self, before):
        self.page.wait_for_function(
            "before => (document.querySelector('.doc-head')?.innerText ?? before) !== before"
            " && document.querySelector('.doc-head .muted')",
            arg=before,
        )

    def past_checks(self, keys):
        """Label texts until one has a suggestion; return their places."""
        places = []
        while "random check" in self.page.locator(".doc-head").inner_text():
            places.append(self.decide(keys[TRUTH[self.place()]]))
        return places

    def decide(self, key):
        """Press a key that ends the look at this text; return the text's place."""
        place, before = self.place(), self.page.locator(".doc-head").inner_text()
        self.press(key)
        self.wait_for_next(before)
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
        for _ in range(600):
            if not self.state()["busy"]:  # wait_for_function does not await promises
                return
            self.page.wait_for_timeout(100)
        raise AssertionError("A fit runs without end.")

    def state(self):
        """The state as the page reads it."""
        return self.page.evaluate(
            "async () => (await fetch('/api/state', { headers:"
            " { 'x-cofactor': sessionStorage.getItem('token') } })).json()"
        )

    def send(self, name, /, **content):
        """Change something as the page does."""
        status = self.page.evaluate(
            "async ([name, content]) => (await fetch(`/api/${name}`, { method: 'POST', headers:"
            " { 'content-type': 'application/json',"
            " 'x-cofactor': sessionStorage.getItem('token') },"
            " body: JSON.stringify(content) })).status",
            [name, content],
        )
        assert status == 200, (name, content)

    def close(self):
        self.context.close()
        assert self.troubles == []
        assert [url for url in self.requests if not url.startswith(self.address)] == []
