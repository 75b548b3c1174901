"""The app with many documents: how soon does the page come, and does it wait for a fit?

    python -m benchmarks.app_load [--documents 5000 50000] [--classes 20] [--vectors 0 256]
                                  [--fits 5] [--decisions 60] [--topics 20]

Documents are synthetic: 60 words each, of as many topics as classes over 30,000 words whose
frequencies fall as those of a language do. With --vectors, an encoder describes each text by the
mean of random vectors of its words. A child process fits them and serves the app. This process is
the browser: it labels, and asks for the state of the app every ten milliseconds while the app fits
again. Then it decides without waiting for fits: a decision ends when the next text is there.

Demanded: the first page, with a text to label, within 2 seconds of the end of the first fit; 95 %
of the fits after further labels in 3 seconds; every answer beside a fit within 100 milliseconds,
and 95 % of the decisions. Before it fits, the app waits 0.2 seconds for further labels.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from benchmarks import harness
from benchmarks.harness import Row, seconds
from cofactor import TopicModel

VOCABULARY, WORDS_PER_TEXT = 30_000, 60
MAX_FIRST_PAGE_SECONDS, MAX_FIT_SECONDS, MAX_ANSWER_SECONDS = 2.0, 3.0, 0.1
LABELS_PER_FIT, PAUSE_SECONDS, READING_SECONDS = 5, 0.01, 0.15
FIRST_LABELS = 2  # of each class, before anything is measured


def made_texts(n: int, classes: int, seed: int = 0) -> tuple[list[str], list[int]]:
    """Return texts, and the topic that most words of each come from."""
    random = np.random.default_rng(seed)
    usual = 1.0 / np.arange(10, VOCABULARY + 10)
    topics = usual * random.gamma(0.2, size=(classes, VOCABULARY))
    mixed = 0.6 * topics / topics.sum(axis=1, keepdims=True) + 0.4 * usual / usual.sum()
    truth = random.integers(classes, size=n)
    words = np.array([f"word{j}" for j in range(VOCABULARY)], dtype=object)
    texts = np.empty(n, dtype=object)
    for c in range(classes):
        rows = np.flatnonzero(truth == c)
        drawn = random.choice(VOCABULARY, size=(len(rows), WORDS_PER_TEXT), p=mixed[c])
        texts[rows] = [" ".join(words[row]) for row in drawn]
    return texts.tolist(), truth.tolist()


class WordVectors:
    """An encoder: the mean of a random vector for each word."""

    def __init__(self, size: int) -> None:
        self._table = np.random.default_rng(0).standard_normal((VOCABULARY, size))

    def __call__(self, texts: list[str]) -> np.ndarray:
        rows = [[crc32(word.encode()) % VOCABULARY for word in text.split()] for text in texts]
        return np.array([self._table[row].mean(axis=0) for row in rows])


# ---- the server


def serve(options: argparse.Namespace) -> None:
    """Fit and serve; print when the fit ended, and the address."""
    from cofactor.app import routes
    from cofactor.app.session import Session
    from cofactor.app.text_queue import TextTable

    n, (size,) = options.documents[0], options.vectors
    texts, _ = made_texts(n, options.classes)
    model = TopicModel(
        options.topics,
        random_state=0,
        n_jobs=-1,
        max_iter=options.iterations,
        encoder=WordVectors(size) if size else None,
    )
    model.fit(texts)
    ended = time.time()
    with tempfile.TemporaryDirectory() as folder, routes.open_socket("127.0.0.1", 0) as listening:
        session = Session(TextTable(texts, [()] * n, range(n)), Path(folder) / "model", model)

        def ready(address: str) -> None:
            print(json.dumps({"ended": ended, "address": address}), flush=True)

        routes.serve(session, listening, "127.0.0.1", ready)


@contextmanager
def served(n: int, vectors: int, options: argparse.Namespace) -> Iterator[tuple[float, Page, int]]:
    """Start the server; give the time at which its fit ended, a browser and its process."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.app_load",
        "--serve",
        "--documents",
        str(n),
        "--vectors",
        str(vectors),
        "--classes",
        str(options.classes),
        "--topics",
        str(options.topics),
        "--iterations",
        str(options.iterations),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        yield said["ended"], Page(said["address"]), process.pid
    finally:
        process.terminate()
        process.wait(30)


class Page:
    """A browser that knows the token."""

    def __init__(self, address: str) -> None:
        place, token = address.removeprefix("http://").split("/?token=")
        self._server = http.client.HTTPConnection(place, timeout=120)
        self._server.request("GET", f"/?token={token}")
        answer = self._server.getresponse()
        answer.read()
        self._headers = {
            "Cookie": answer.headers["set-cookie"].partition(";")[0],
            "Origin": f"http://{place}",
            "X-Cofactor": token,
            "Content-Type": "application/json",
        }

    def ask(self, address: str, **content: Any) -> Any:
        """Read an address, or change something if there is content."""
        body = json.dumps(content) if content else None
        self._server.request("POST" if content else "GET", address, body, self._headers)
        answer = self._server.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        return json.loads(text) if address.startswith("/api") else text

    def decide(self, truth: list[int]) -> tuple[float, bool]:
        """Label a text; return the seconds until the next one is there, and whether a fit ran."""
        place = self.next_text()
        content = {"tab": "t", "document": place, "labels": [f"class {truth[place]}"]}
        took, busy = harness.timed(lambda: self._answer(content))
        return took, busy

    def _answer(self, content: dict[str, Any]) -> bool:
        busy: bool = self.ask("/api/label", **content)["busy"]
        self.next_text()
        return busy

    def next_text(self) -> int:
        """Return the place of the text that the tab shows."""
        while (text := self.ask("/api/next?tab=t")["document"]) is None:
            time.sleep(PAUSE_SECONDS)  # the queue comes with the next fit
        place: int = text["document"]
        return place


# ---- what is measured


@dataclass(frozen=True, eq=False)
class Measured:
    """Seconds."""

    first_page: float
    fits: np.ndarray
    processor: np.ndarray  # seconds of the processor in each fit
    pings: np.ndarray  # of answers beside a fit
    decisions: np.ndarray  # beside a fit


def measure(n: int, vectors: int, options: argparse.Namespace) -> Measured:
    """Label for a while; measure every answer beside a fit."""
    truth = made_texts(n, options.classes)[1]
    fits, cpu, pings, decisions = [], [], [], []
    with served(n, vectors, options) as (ended, page, process):
        page.ask("/")
        page.ask("/api/state")
        page.ask("/api/next?tab=t")
        first = time.time() - ended
        for c in range(options.classes):
            page.ask("/api/make-class", tab="t", name=f"class {c}")
        for _ in range(FIRST_LABELS * options.classes):
            page.decide(truth)
        wait(page)
        for _ in range(options.fits):
            for _ in range(LABELS_PER_FIT):
                page.decide(truth)
            before = processor_seconds(process)
            took, answers = wait(page)
            cpu.append(processor_seconds(process) - before)
            fits.append(took)
            pings += answers
        while len(decisions) < options.decisions:
            took, busy = page.decide(truth)
            decisions += [took] if busy else []
            time.sleep(READING_SECONDS)
    return Measured(first, *map(np.array, (fits, cpu, pings, decisions)))


def processor_seconds(process: int) -> float:
    """Return the seconds of the processor that a process has used; NaN if unknown."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait(page: Page) -> tuple[float, list[float]]:
    """Ask for the state until no fit runs and the model is saved.

    Return the seconds until the app used the new model, and those of each answer.
    """
    start, answers, versions, busy, shown = time.perf_counter(), [], set(), True, 0.0
    while busy:
        took, state = harness.timed(lambda: page.ask("/api/state"))
        assert state["trouble"] is None, state["trouble"]
        if state["version"] not in versions:
            shown = time.perf_counter() - start
        versions.add(state["version"])
        busy = state["busy"]
        answers.append(took)
        time.sleep(PAUSE_SECONDS)
    return shown, answers


def rows_of(name: str, found: Measured) -> Iterator[Row]:
    """Compare what was measured with what is demanded."""
    fit, ping = float(np.quantile(found.fits, 0.95)), float(found.pings.max())
    middle, late = map(float, np.quantile(found.decisions, [0.5, 0.95]))
    half, nearly_all = np.quantile(found.pings, [0.5, 0.99])
    yield Row(
        f"{name}: first page",
        seconds(found.first_page),
        "",
        seconds(found.first_page),
        f"≤ {MAX_FIRST_PAGE_SECONDS:g} s",
        found.first_page <= MAX_FIRST_PAGE_SECONDS,
        "after the end of the fit",
    )
    yield Row(
        f"{name}: fit after {LABELS_PER_FIT} labels",
        seconds(fit),
        "",
        seconds(fit),
        f"≤ {MAX_FIT_SECONDS:g} s",
        fit <= MAX_FIT_SECONDS,
        f"95 % of {len(found.fits)}, median {seconds(float(np.median(found.fits)))}; "
        f"{seconds(float(np.median(found.processor)))} of the processor",
    )
    yield Row(
        f"{name}: longest answer beside a fit",
        seconds(ping),
        "",
        seconds(ping),
        f"≤ {seconds(MAX_ANSWER_SECONDS)}",
        ping <= MAX_ANSWER_SECONDS,
        f"{len(found.pings)} answers, median {seconds(half)}, 99 % below {seconds(nearly_all)}",
    )
    yield Row(
        f"{name}: decision beside a fit",
        seconds(late),
        "",
        seconds(late),
        f"≤ {seconds(MAX_ANSWER_SECONDS)}",
        late <= MAX_ANSWER_SECONDS,
        f"95 % of {len(found.decisions)}, median {seconds(middle)}; until the next text is there",
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--documents", type=int, nargs="+", default=[5_000, 50_000])
    parser.add_argument("--classes", type=int, default=20, help="classes; default: 20")
    parser.add_argument("--vectors", type=int, nargs="+", default=[0, 256], help="lengths; 0: none")
    parser.add_argument("--fits", type=int, default=5, help="fits to measure; default: 5")
    parser.add_argument("--decisions", type=int, default=60, help="beside fits; default: 60")
    parser.add_argument("--topics", type=int, default=20, help="topics; default: 20")
    parser.add_argument("--iterations", type=int, default=30, help="of the first fit; default: 30")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.serve:
        serve(options)
        return 0
    harness.print_machine()
    rows = []
    for n, vectors in product(options.documents, options.vectors):
        name = f"{n:,} documents, {options.classes} classes" + (", vectors" if vectors else "")
        rows += rows_of(name, measure(n, vectors, options))
    harness.print_rows(rows)
    return harness.verdict(rows)


if __name__ == "__main__":
    sys.exit(main())
