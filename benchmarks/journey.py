"""From a table to a report: two commands against the vectoriser alone.

    python -m benchmarks.journey [--labelled 20] [--repeats 3]

Writes the paper's 20 Newsgroups posts to a table with one label in twenty, then runs ``cofactor
fit`` and ``cofactor report`` on it, each in a separate process, in alternation with the vectorisers
in this process. Wall time, best of several.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

from benchmarks import data_sets, harness
from benchmarks.harness import Row, alternate, seconds
from cofactor.experiments.newsgroups import splits
from cofactor.text import WordVectorizer

MAX_VECTORISERS, MAX_SECONDS = 3, 10.0
"""Demanded: at most the time of three vectorisers plus ten seconds."""


def write_table(path: Path, posts: splits.Posts, every: int) -> None:
    """Write the posts, with the class of one in ``every``."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "body", "team"])
        for i, (text, label) in enumerate(zip(posts.texts, posts.labels, strict=True)):
            writer.writerow([i, text, "" if i % every else label])


def command(*arguments: Any) -> None:
    code = "from cofactor.cli import main; main()"
    run = [sys.executable, "-c", code, *map(str, arguments)]
    subprocess.run(run, check=True, capture_output=True)


def measure(posts: splits.Posts, folder: Path, options: argparse.Namespace) -> list[Row]:
    """Time everything in turn."""
    table, model = folder / "posts.csv", folder / "model"
    write_table(table, posts, options.labelled)
    texts = list(posts.texts)
    fit = partial(command, "fit", table, "--text", "body", "--label", "team", "-k", 13, "-o", model)
    report = partial(command, "report", model, "-o", folder / "report.html")
    peer = TfidfVectorizer(stop_words=sorted(ENGLISH_STOP_WORDS), max_features=5000)
    vectorisers: list[Callable[[], Any]] = [
        partial(WordVectorizer().fit_transform, texts),
        partial(peer.fit_transform, texts),
    ]
    fit()
    report()
    (fitting, _), (reporting, _), *alone = alternate(options, fit, report, *vectorisers)
    both, rows = fitting + reporting, []
    for name, (t, _) in zip(("scikit-learn's", "ours"), reversed(alone), strict=True):
        limit = MAX_VECTORISERS * t + MAX_SECONDS
        rows.append(
            Row(
                f"fit + report, against {MAX_VECTORISERS} times the vectoriser ({name}) "
                f"+ {MAX_SECONDS:g} s",
                seconds(both),
                seconds(limit),
                f"{both - limit:+.1f} s",
                "≤ 0 s",
                both <= limit,
                f"fit {seconds(fitting)}, report {seconds(reporting)}, vectoriser {seconds(t)}",
                {"fit": fitting, "report": reporting, "vectoriser": t},
            )
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    data_sets.add_newsgroups_options(parser)
    parser.add_argument("--labelled", type=int, default=20, help="label one in N; default: 20")
    harness.add_repeats(parser)
    options = parser.parse_args()
    posts = splits.balanced(splits.fetch_posts(data_sets.newsgroups_home(options)), seed=0)
    print(f"{len(posts.texts):,} posts, one in {options.labelled} labelled, 13 topics")
    harness.print_machine()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(posts, Path(folder), options)
    harness.print_rows(rows)
    return int(not all(row.passed for row in rows))


if __name__ == "__main__":
    sys.exit(main())
