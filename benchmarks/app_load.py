"""The app with many documents: how soon does the page come, and does it wait for a fit?

    python -m benchmarks.app_load [--documents 10000 50000] [--labels 25] [--vectors 256]

Documents are synthetic: 60 words each, of twenty topics over 30,000 words whose frequencies fall as
those of a language do. A child process fits them and serves the app. This process is the browser:
it labels, and asks for the state of the app every ten milliseconds while the app fits again. With
--vectors, an encoder gives each text the mean of random vectors of its words.

Demanded: the first page, with a text to label, within 2 seconds of the end of the first fit; the
model after further labels in 3 seconds, or 1 second up to 10,000 documents; every answer beside a
fit within 100 milliseconds. Before it fits, the app waits 0.2 seconds for further labels.
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
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import Row, seconds
from cofactor import TopicModel

VOCABULARY, WORDS_PER_TEXT, CLASSES = 30_000, 60, 20
MAX_FIRST_PAGE_SECONDS, MAX_ANSWER_SECONDS = 2.0, 0.1
LABELS_PER_FIT, PAUSE_SECONDS = 5, 0.01


def made_texts(n: int, seed: int = 0) -> tuple[list[str], list[int]]:
    """Return texts, and the topic that most words of each come from."""
    random = np.random.default_rng(seed)
    usual = 1.0 / np.arange(10, VOCABULARY + 10)
    topics = usual * random.gamma(0.2, size=(CLASSES, VOCABULARY))
    mixed = 0.6 * topics / topics.sum(axis=1, keepdims=True) + 0.4 * usual / usual.sum()
    truth = random.integers(CLASSES, size=n)
    words = np.array([f"word{j}" for j in range(VOCABULARY)], dtype=object)
    texts = np.empty(n, dtype=object)
    for c in range(CLASSES):
        rows = np.flatnonzero(truth == c)
        drawn = random.choice(VOCABULARY, size=(len(rows), WORDS_PER_TEXT), p=mixed[c])
        texts[rows] = [" ".join(words[row]) for row in drawn]
    return texts.tolist(), truth.tolist()


class WordVectors:
    """An encoder with a random vector for each word; a text has the mean of its words' vectors."""

    def __init__(self, dimensions: int) -> None:
        random = np.random.default_rng(1)
        self.vectors = random.normal(size=(VOCABULARY, dimensions)).astype(np.float32)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        places = ([zlib.crc32(word.encode()) % VOCABULARY for word in t.split()] for t in texts)
        return np.stack([self.vectors[own].mean(axis=0) for own in places])


# ---- the server


def serve(options: argparse.Namespace) -> None:
    """Fit and serve; print when the fit ended, and the address."""
    from cofactor.app import routes
    from cofactor.app.session import Session
    from cofactor.app.text_queue import TextTable

    n = options.documents[0]
    texts, _ = made_texts(n)
    model = TopicModel(
        options.topics,
        encoder=WordVectors(options.vectors) if options.vectors else None,
        random_state=0,
        n_jobs=-1,
        max_iter=options.iterations,
    )
    model.fit(texts)
    ended = time.time()
    with tempfile.TemporaryDirectory() as folder, routes.open_socket("127.0.0.1", 0) as listening:
        session = Session(TextTable(texts, [()] * n, range(n)), Path(folder) / "model", model)

        def ready(address: str) -> None:
            print(json.dumps({"ended": ended, "address": address}), flush=True)

        routes.serve(session, listening, "127.0.0.1", ready)


@contextmanager
def served(n: int, options: argparse.Namespace) -> Iterator[tuple[float, Page, int]]:
    """Start the server; give the time at which its fit ended, a browser and its process."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.app_load",
        "--serve",
        "--documents",
        str(n),
        "--topics",
        str(options.topics),
        "--iterations",
        str(options.iterations),
        "--vectors",
        str(options.vectors),
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

    def label(self, truth: list[int], n: int) -> float:
        """Label the next texts; return the longest time that an answer took."""
        longest = 0.0
        for _ in range(n):
            while (text := self.ask("/api/next?tab=t")["document"]) is None:
                time.sleep(PAUSE_SECONDS)  # the queue comes with the next fit
            place = text["document"]
            took, _ = harness.timed(
                lambda p=place: self.ask(  # type: ignore[misc]
                    "/api/label", tab="t", document=p, labels=[f"class {truth[p]}"]
                )
            )
            longest = max(longest, took)
        return longest


# ---- what is measured


@dataclass(frozen=True, eq=False)
class Measured:
    """Seconds."""

    first_page: float
    fits: np.ndarray
    processor: np.ndarray  # seconds of the processor in each fit
    pings: np.ndarray  # of answers beside a fit
    label: float  # the longest answer to a label


def measure(n: int, options: argparse.Namespace) -> Measured:
    """Label for a while; measure every answer beside a fit."""
    truth, fits, cpu, pings, longest = made_texts(n)[1], [], [], [], 0.0
    with served(n, options) as (ended, page, process):
        page.ask("/")
        page.ask("/api/state")
        page.ask("/api/next?tab=t")
        first = time.time() - ended
        for c in range(CLASSES):
            page.ask("/api/make-class", tab="t", name=f"class {c}")
        page.label(truth, 4 * CLASSES)
        wait(page)
        for _ in range(options.labels // LABELS_PER_FIT):
            longest = max(longest, page.label(truth, LABELS_PER_FIT))
            before = processor_seconds(process)
            took, answers = wait(page)
            cpu.append(processor_seconds(process) - before)
            fits.append(took)
            pings += answers
    return Measured(first, np.array(fits), np.array(cpu), np.array(pings), longest)


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


def rows_of(n: int, found: Measured) -> Iterator[Row]:
    """Compare what was measured with what is demanded."""
    limit, name = 1.0 if n <= 10_000 else 3.0, f"{n:,} documents"
    fit, ping = float(np.median(found.fits)), float(found.pings.max())
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
        f"≤ {limit:g} s",
        fit <= limit,
        f"median of {len(found.fits)}, longest {seconds(float(found.fits.max()))}; "
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
    yield Row(f"{name}: longest answer to a label", seconds(found.label), "", "")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--documents", type=int, nargs="+", default=[10_000, 50_000])
    parser.add_argument("--labels", type=int, default=25, help="labels while measuring")
    parser.add_argument("--topics", type=int, default=20, help="topics; default: 20")
    parser.add_argument("--iterations", type=int, default=30, help="of the first fit; default: 30")
    parser.add_argument("--vectors", type=int, default=0, help="dimensions; default: no encoder")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.serve:
        serve(options)
        return 0
    harness.print_machine()
    rows = [row for n in options.documents for row in rows_of(n, measure(n, options))]
    harness.print_rows(rows)
    return harness.verdict(rows)


if __name__ == "__main__":
    sys.exit(main())
