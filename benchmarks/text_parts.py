"""Texts in files on a cluster: are the models bit-identical, what do they cost, what if one dies?

    python -m benchmarks.text_parts [--kills 8] [--made-up 200000] [--seed 0]

Writes all posts of 20 Newsgroups to 40 Parquet files, one in ten labelled, and runs ``cofactor fit
'parts/*.parquet'``: in one process, and on local clusters of 1 and 2 worker processes with one
thread each. The driver reaches the scheduler through a relay, which counts the bytes that it gets.
Then workers and the driver are killed (SIGKILL) while they work. ``--made-up`` adds a corpus of
that many short texts. Prints Markdown tables; the exit status is 1 if a model has other bits.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import random
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dask
import numpy as np
import pyarrow as pa
from dask.utils import key_split
from distributed import Client, LocalCluster
from pyarrow import parquet
from sklearn.datasets import fetch_20newsgroups

from benchmarks import data_sets, harness
from benchmarks.costs import CHILD
from cofactor import load_model

PARTS, TOPICS, EVERY = 40, 20, 10
WORDS, CLASSES = 20_000, 20  # of the made-up corpus
MAX_SECONDS = 5400.0
"""A fit that takes longer has failed."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


# Corpora


def newsgroups(home: Path | None) -> tuple[Sequence[str], Sequence[str]]:
    """Return all posts, without headers, footers and quotes, and their groups."""
    found = fetch_20newsgroups(
        data_home=home, download_if_missing=False, subset="all", remove=data_sets.REMOVED
    )
    return found.data, [found.target_names[target] for target in found.target]


def made_up(n: int) -> tuple[Sequence[str], Sequence[str]]:
    """Return texts of 6 to 14 made-up words, whose frequencies depend on the class."""
    draw = np.random.default_rng(0)
    words = np.array(["".join(draw.choice([*"aeioubdfgklmnprst"], 7)) for _ in range(WORDS)])
    usual = 1 / np.arange(10, WORDS + 10)
    until = np.cumsum(usual) / usual.sum()
    by_class = [draw.permutation(WORDS) for _ in range(CLASSES)]
    texts, labels = [], draw.integers(0, CLASSES, n)
    for label in labels:
        size = int(draw.integers(6, 15))
        places = np.searchsorted(until, draw.random(size))
        own = draw.random(size) < 0.5
        texts.append(" ".join(words[np.where(own, by_class[label][places], places)]))
    return texts, [f"class {label}" for label in labels]


def write_parts(folder: Path, texts: Sequence[str], labels: Sequence[str]) -> None:
    """Write the texts to ``PARTS`` files, one in ``EVERY`` labelled."""
    folder.mkdir()
    known = [label if i % EVERY == 0 else None for i, label in enumerate(labels)]
    for number, rows in enumerate(np.array_split(np.arange(len(texts)), PARTS)):
        cut = slice(rows[0], rows[-1] + 1)
        columns = {"body": pa.array(texts[cut], pa.string()), "team": pa.array(known[cut])}
        parquet.write_table(pa.table(columns), folder / f"{number:02}.parquet")


# A fit in a process of its own


@dataclass(frozen=True)
class Fit:
    """A fit: a digest of all that the model shows and predicts, and what it cost."""

    bits: str
    seconds: float
    memory: float  # of the driver, in bytes


@dataclass
class Corpus:
    """The files, and where models of them go."""

    place: Path
    texts: Sequence[str] = field(repr=False)

    def start(self, *options: str | Path) -> subprocess.Popen[str]:
        """Start a driver."""
        asked = ["fit", self.place / "parts" / "*.parquet", "--text", "body", "--label", "team"]
        given = [*asked, "-k", TOPICS, "--jobs", 1, "-o", self.place / "model", *options]
        command = [sys.executable, "-c", CHILD, *map(str, given)]
        streams: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, env=os.environ | ONE_THREAD, text=True, **streams)

    def fit(self, *options: str | Path, meanwhile: Callable[[], Any] = lambda: None) -> Fit:
        """Fit a model in a driver of its own."""
        began, driver = time.perf_counter(), self.start(*options)
        meanwhile()
        _, messages = driver.communicate(timeout=MAX_SECONDS)
        seconds = time.perf_counter() - began
        if driver.returncode:
            raise RuntimeError(messages)
        return Fit(self.bits(), seconds, float(messages.split()[-1]))

    def bits(self) -> str:
        """Return a digest of the model, and remove it."""
        model = load_model(self.place / "model")
        arrays = (model.estimator_.components_, model.predict_proba(self.texts[:1000]))
        shown = repr((model.fingerprint_, model.topics(), model.documents()))
        shutil.rmtree(self.place / "model")
        whole = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
        return hashlib.sha256(whole + shown.encode()).hexdigest()[:12]


@contextmanager
def cluster_of(workers: int) -> Iterator[Client]:
    """Start worker processes, which are started again when they are killed."""
    settings = {"distributed.deploy.lost-worker-timeout": "60s"}  # otherwise it gives up on them
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def peak_memory() -> float:
    """Return the peak memory of this process in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024.0 * int(re.findall(r"VmHWM:\s+(\d+)", status)[0])


class Relay(socketserver.ThreadingTCPServer):
    """Passes connections on to a scheduler and counts the bytes that come back."""

    daemon_threads = True

    def __init__(self, address: str) -> None:
        self.target, self.sizes = urlsplit(address), [0]
        super().__init__(("127.0.0.1", 0), _Connection)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.server_address[1]}"


class _Connection(socketserver.BaseRequestHandler):
    server: Relay

    def handle(self) -> None:
        target = (self.server.target.hostname, self.server.target.port)
        with socket.create_connection(target) as scheduler:
            forth = threading.Thread(target=self._pass, args=(self.request, scheduler, []))
            forth.start()
            self._pass(scheduler, self.request, self.server.sizes)
            forth.join()

    @staticmethod
    def _pass(source: socket.socket, target: socket.socket, sizes: list[int]) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sizes.append(len(data))
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


# Tables


def costs(corpus: Corpus, here: Fit) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table of costs; ``here`` was fitted in one process."""
    yield "one process", *_cost(here), "", "", here.bits
    for workers in (1, 2):
        with cluster_of(workers) as client, Relay(client.scheduler.address) as relay:
            found = corpus.fit("--cluster", relay.address)
            peak = max(client.run(peak_memory).values())
            got = f"{sum(relay.sizes) / 1e6:.1f} MB"
            relay.shutdown()
        name = f"cluster, workers: {workers}"
        yield name, *_cost(found), f"{peak / 1e6:.0f} MB", got, found.bits


def _cost(found: Fit) -> tuple[str, str]:
    return f"{found.seconds:.1f} s", f"{found.memory / 1e6:.0f} MB"


@dataclass
class Killer:
    """Waits until the scheduler has tasks and some time has passed; kills a worker."""

    client: Client
    after: float = 0.0
    stage: str = ""

    def wait(self) -> None:
        """Wait for the first task."""
        while not any(self.client.processing().values()):
            time.sleep(0.02)

    def kill(self) -> None:
        self.wait()
        time.sleep(self.after)
        worker, pid = random.choice(sorted(self.client.run(os.getpid).items()))
        tasks = self.client.processing().get(worker, ())
        self.stage = ", ".join(sorted({key_split(key) for key in tasks})) or "none"
        os.kill(pid, signal.SIGKILL)


def killed_workers(corpus: Corpus, kills: int, seconds: float) -> Iterator[tuple[str, ...]]:
    """Yield a row for each kill, on a new cluster; every second fit keeps results in a folder."""
    checkpoint = corpus.place / "kept"
    for k in range(kills):
        shutil.rmtree(checkpoint, ignore_errors=True)
        keep = ("--checkpoint", checkpoint) if k % 2 else ()
        with cluster_of(2) as client:
            killer = Killer(client, random.uniform(0.0, seconds))
            address = client.scheduler.address
            found = corpus.fit("--cluster", address, *keep, meanwhile=killer.kill)
        kept = "folder" if keep else "no"
        when = f"{killer.after:.1f} s, {killer.stage}"
        yield "worker", kept, when, f"{found.seconds:.1f} s", found.bits


def killed_drivers(corpus: Corpus) -> Iterator[tuple[str, ...]]:
    """Kill drivers while workers count, vectorise and fit; start them again."""
    checkpoint = corpus.place / "kept"
    moments = {
        "counting": ("parts/*.npz", random.randrange(1, PARTS - 4)),
        "vectorising": ("parts/*.npz", PARTS + random.randrange(1, PARTS - 4)),
        "fitting": ("*/manifest.json", 1),
    }
    for stage, (pattern, least) in moments.items():
        shutil.rmtree(checkpoint, ignore_errors=True)
        with cluster_of(2) as client:
            options = ("--cluster", client.scheduler.address, "--checkpoint", checkpoint)
            driver = corpus.start(*options)
            while len([*checkpoint.glob(pattern)]) < least and driver.poll() is None:
                time.sleep(0.01)
            driver.kill()
            driver.communicate()
            before = {path: path.stat().st_mtime_ns for path in checkpoint.glob("parts/*.npz")}
            found = corpus.fit(*options)
        again = sum(path.stat().st_mtime_ns != noted for path, noted in before.items())
        when = f"{stage}, {len(before)} of {2 * PARTS} results kept, {again} of them made again"
        yield "driver", "folder", when, f"{found.seconds:.1f} s", found.bits


def measure(name: str, corpus: Corpus, kills: int) -> bool:
    """Print the tables of a corpus; return whether all bits are the same."""
    size = sum(path.stat().st_size for path in (corpus.place / "parts").iterdir())
    print(f"\n{name}: {len(corpus.texts):,} texts, {size / 1e6:.1f} MB of Parquet\n")
    here = corpus.fit()
    head = ("where", "time", "memory of the driver", "of a worker", "bytes to the driver", "bits")
    rows = printed(head, costs(corpus, here))
    if kills:
        lost = chain(killed_workers(corpus, kills, 0.8 * here.seconds), killed_drivers(corpus))
        rows += printed(("killed", "checkpoint", "when", "time", "bits"), lost)
    return all(row[-1] == here.bits for row in rows)


def printed(head: Sequence[str], rows: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Print the rows of a table as they come; return them."""
    found = []
    for cells in chain((head, ["---"] * len(head)), rows):
        print(f"| {' | '.join(cells)} |", flush=True)
        found.append(tuple(cells))
    print()
    return found[2:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    data_sets.add_newsgroups_options(parser)
    parser.add_argument("--kills", type=int, default=8, help="killed workers; default: 8")
    parser.add_argument("--made-up", type=int, default=5000, metavar="N", help="short texts")
    parser.add_argument("--seed", type=int, default=0, help="of the times of kills")
    names = ("newsgroups", "made-up")
    parser.add_argument("--sets", nargs="+", choices=names, default=names, help="default: both")
    options = parser.parse_args()
    random.seed(options.seed)
    print(f"{PARTS} Parquet files, one text in {EVERY} labelled, {TOPICS} topics")
    harness.print_machine()
    sets: dict[str, tuple[str, Callable[[], Any], int]] = {
        "newsgroups": (
            "20 Newsgroups",
            lambda: newsgroups(data_sets.newsgroups_home(options)),
            options.kills,
        ),
        "made-up": ("Made-up short texts", lambda: made_up(options.made_up), 0),
    }
    fine = []
    for name, read, kills in map(sets.__getitem__, options.sets):
        documents = read()
        with tempfile.TemporaryDirectory() as folder:
            write_parts(Path(folder) / "parts", *documents)
            fine.append(measure(name, Corpus(Path(folder), documents[0]), kills))
    print(f"\nAll bits are the same: {'yes' if all(fine) else 'no'}.")
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
