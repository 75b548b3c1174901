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


def cost(*arguments: str | Path) -> tuple[float, float]:
    """Return the processor time of a command in seconds and its peak memory in bytes."""
    command = [sys.executable, "-m", "cofactor", *map(str, arguments)]
    environment = os.environ | harness.ENVIRONMENT
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=environment, **silent)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed.")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024.0


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
