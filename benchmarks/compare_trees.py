"""Is another version of cofactor faster or smaller? Whole fits, predictions, commands, memory.

    python -m benchmarks.compare_trees OTHER/src [--rounds 5] [--limit 5] [--clock cpu]

OTHER/src is the source folder of another checkout, with its kernels built. Both versions do the
same work on the paper's 20 Newsgroups posts, one in ten labelled, in separate processes and in
alternation; the table has the best of all rounds. The exit status is 1 if a figure of this version
is more than ``--limit`` per cent worse. Only public names are used, so that any version can run.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

from benchmarks import harness
from benchmarks.harness import Row, seconds, timed

HERE = Path(__file__).resolve().parents[1]
MEMORY = "peak memory of all that"


def write_data(folder: Path, options: argparse.Namespace) -> None:
    """Write the posts as a matrix, as JSON and as a table."""
    from benchmarks import data_sets
    from cofactor.experiments.newsgroups import splits

    data = data_sets.load_newsgroups(options)
    sp.save_npz(folder / "X.npz", data.X)
    sp.save_npz(folder / "X_test.npz", data.X_test)
    np.save(folder / "y.npy", data.y)
    posts = splits.balanced(splits.fetch_posts(data_sets.newsgroups_home(options)), seed=0)
    labels = ["" if i % 10 else str(label) for i, label in enumerate(posts.labels)]
    (folder / "posts.json").write_text(json.dumps([list(posts.texts), labels]))
    with (folder / "posts.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("body", "team"), *zip(posts.texts, labels, strict=True)])


def work(folder: Path, clock: str) -> dict[str, float]:
    """Fit and predict in this process; return seconds, and the peak memory in bytes.

    Short calls are repeated, and the best time counts.
    """
    from cofactor import NMF, SSNMFClassifier, TopicModel, load_model

    X, X_test = (sp.csr_matrix(sp.load_npz(folder / f"{name}.npz")) for name in ("X", "X_test"))
    y = np.load(folder / "y.npy")
    few = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    texts, labels = json.loads((folder / "posts.json").read_text())
    found: dict[str, float] = {}

    def measure(name: str, run: Callable[[], Any]) -> Any:
        found[name], result = timed(run, clock)
        for _ in range(4 if found[name] < 0.5 else 0):
            found[name] = min(found[name], timed(run, clock)[0])
        return result

    options: dict[str, Any] = {"random_state": 0, "n_jobs": 1}
    kl = NMF(13, **options)
    measure("NMF.fit, Kullback-Leibler, 13 topics", lambda: kl.fit(X))
    measure("NMF.transform", lambda: kl.transform(X_test))
    frobenius = NMF(13, data_loss="frobenius", **options)
    measure("NMF.fit, Frobenius, 13 topics", lambda: frobenius.fit(X))
    measure("NMF.fit, Kullback-Leibler, 50 topics", lambda: NMF(50, **options).fit(X))
    model = SSNMFClassifier(13, **options)
    measure("SSNMFClassifier.fit, all labels", lambda: model.fit(X, y))
    measure("SSNMFClassifier.fit, one label in ten", lambda: model.fit(X, few))
    measure("SSNMFClassifier.predict", lambda: model.predict(X_test))
    topics = TopicModel(13, **options)
    measure("TopicModel.fit", lambda: topics.fit(texts, labels))
    measure("TopicModel.predict, 2,000 texts", lambda: topics.predict(texts[:2000]))
    saved = folder / f"saved-{os.getpid()}"
    measure("TopicModel.save", lambda: topics.save(saved))
    measure("load_model and one prediction", lambda: load_model(saved).predict(texts[:1]))
    found[MEMORY] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    return found


def one_round(source: Path, folder: Path, clock: str) -> dict[str, float]:
    """Return all figures of one version: of its commands, and of a process that works."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(source), str(HERE)))}

    def run(*arguments: object) -> str:
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(
            command, env=environment, cwd=folder, check=True, capture_output=True, text=True
        )
        return done.stdout

    place = run("-c", "import cofactor; print(cofactor.__file__)")
    if not Path(place.strip()).is_relative_to(source):
        raise SystemExit(f"cofactor is imported from {place.strip()}, not from {source}.")
    model, table = Path(tempfile.mkdtemp(dir=folder)) / "model", folder / "posts.csv"
    fit = ("fit", table, "--text", "body", "--label", "team", "-k", "13", "-o", model)
    commands: dict[str, Sequence[object]] = {
        "from cofactor import TopicModel": ("-c", "from cofactor import TopicModel"),
        "cofactor --help": ("-m", "cofactor", "--help"),
        "cofactor fit": ("-m", "cofactor", *fit),
        "cofactor topics": ("-m", "cofactor", "topics", model),
    }
    found = {}
    for name, command in commands.items():
        before = processor_seconds()
        wall, _ = timed(lambda c=command: run(*c))
        found[name] = wall if clock == "wall" else processor_seconds() - before
    return {**found, **json.loads(run("-m", "benchmarks.compare_trees", "--work", folder, clock))}


def processor_seconds() -> float:
    """Return the processor time of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(name: str, ours: float, other: float, limit: float) -> Row:
    """Compare a figure of this version with that of the other."""
    change = 100 * (ours / other - 1)
    write = (lambda v: f"{v / 1e6:.0f} MB") if name == MEMORY else seconds
    cells = write(ours), write(other), f"{change:+.1f} %", f"≤ {limit:+g} %"
    return Row(name, *cells, change <= limit, numbers={"ours": ours, "other": other})


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return the exit status."""
    from benchmarks import data_sets

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("other", type=Path, help="source folder of the other version")
    parser.add_argument("--rounds", type=int, default=5, help="take the best of; default: 5")
    parser.add_argument("--clock", choices=harness.CLOCKS, default="wall", help="default: wall")
    parser.add_argument("--limit", type=float, default=5.0, help="per cent; default: 5")
    data_sets.add_newsgroups_options(parser)
    options = parser.parse_args(arguments)
    harness.restart_with_fixed_environment()
    harness.print_machine()
    sources = HERE / "src", options.other.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder, options)
        rounds = [
            [one_round(each, folder, options.clock) for each in sources]
            for _ in range(options.rounds)
        ]
    ours, other = (
        {key: min(figures[key] for figures in column) for key in column[0]}
        for column in zip(*rounds, strict=True)
    )
    print(
        f"This version (ours) and {options.other} (peer), best of {options.rounds}, "
        f"{options.clock} time:\n"
    )
    rows = [compare(key, ours[key], other[key], options.limit) for key in ours]
    harness.print_rows(rows)
    return harness.verdict(rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        print(json.dumps(work(Path(sys.argv[2]), sys.argv[3])))
        sys.exit()
    sys.exit(main())
