"""What each command costs: processor time and peak memory, by the number of texts.

    python -m benchmarks.costs [--sizes 1000 10000]

Writes posts of 20 Newsgroups to a table with one label in ten, and runs the commands on it, each in
a process of its own. The time of all threads counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import data_sets, harness
from benchmarks.journey import write_table
from cofactor.experiments.newsgroups import splits

TOPICS, EVERY = 20, 10


# Runs a command, then prints its own processor time and peak memory. The memory that the system
# counts for a child begins with that of its parent.
CHILD = """
import atexit, re, sys, time
def tell():
    with open("/proc/self/status") as file:
        peak = re.search(r"VmHWM:\\s+(\\d+)", file.read())[1]
    print(time.process_time(), 1024 * int(peak), file=sys.__stderr__)
atexit.register(tell)
from cofactor.__main__ import main
main()
"""


def cost(*arguments: str | Path) -> tuple[float, float]:
    """Return the processor time of a command in seconds and its peak memory in bytes."""
    command = [sys.executable, "-c", CHILD, *map(str, arguments)]
    environment = os.environ | harness.ENVIRONMENT
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds, memory = done.stderr.split()[-2:]
    return float(seconds), float(memory)


def commands(folder: Path) -> Iterator[tuple[str, list[str | Path]]]:
    table, model = folder / "posts.csv", folder / "model"
    columns = ["--text", "body", "--label", "team"]
    yield "check", ["check", table, *columns, "--json"]
    yield "fit", ["fit", table, *columns, "-k", str(TOPICS), "-o", model]
    yield "predict", ["predict", model, table, "-o", folder / "predicted.csv"]
    yield "report", ["report", model, "-o", folder / "report.html"]


def rows(posts: splits.Posts, size: int) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table for a number of posts."""
    some = np.random.default_rng(0).permutation(len(posts.texts))[:size]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "posts.csv", posts.take(some), EVERY)
        megabytes = (folder / "posts.csv").stat().st_size / 1e6
        for what, arguments in commands(folder):
            seconds, memory = cost(*arguments)
            used = f"{seconds:.1f} s", f"{memory / 1e6:.0f} MB"
            yield f"{len(some):,}", f"{megabytes:.1f} MB", what, *used


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    data_sets.add_newsgroups_options(parser)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    options = parser.parse_args()
    posts = splits.fetch_posts(data_sets.newsgroups_home(options))
    print(f"Posts of 20 Newsgroups, one in {EVERY} labelled, {TOPICS} topics")
    harness.print_machine()
    head = ("texts", "table", "command", "processor time", "peak memory")
    harness.print_table(head, [row for size in options.sizes for row in rows(posts, size)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
