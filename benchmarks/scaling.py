"""How fits scale with nonzeros, disk, threads, streams and many classes.

Run ``python -m benchmarks.scaling``; it needs about 5 GB of temporary disk space (``--scratch``).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

from benchmarks import harness
from benchmarks.data_sets import Newsgroups
from benchmarks.harness import Row, seconds
from cofactor import NMF, RowBlocks, SSNMFClassifier

Options = argparse.Namespace
RANK, BATCH_ROWS, MEMORY_LIMIT_MB, BLOCK_CELLS = 13, 512, 700, 1 << 21
CELL_BYTES = 12  # of a stored CSR entry: a float64 and an int32
MAX_EXPONENT, MAX_SLOWDOWN, MIN_SPEEDUP, MIN_POINTS = 1.05, 1.3, 1.6, -2.0
MANY_CLASSES, MANY_TOPICS, MAX_TARGETS_COST = 127, 140, 1.3
MILLIONS_OF_CELLS = (0.25, 0.79, 2.5, 7.9, 25.0)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to a command line."""
    parser.add_argument(
        "--gigabytes", type=float, default=2.0, help="size of the corpus; default: 2"
    )
    parser.add_argument("--scratch", type=Path, help="folder for temporary files")
    parser.add_argument("--repeats", type=int, default=5, help="alternating runs; default: 5")
    parser.add_argument("--clock", choices=harness.CLOCKS, default="wall")
    parser.add_argument("--figure", type=Path, help="file for a figure of time by nonzeros")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=[*PARTS], help="default: all")


def run(data: Newsgroups, options: Options) -> list[Row]:
    """Measure everything and print the table."""
    rows = [row for name in options.only for row in PARTS[name](data, options)]
    harness.print_rows(rows)
    return rows


class Clock:
    """A callback that records when each iteration ends."""

    def __init__(self, clock: str = "wall") -> None:
        self.now = harness.CLOCKS[clock]
        self.ends: list[float] = []

    def setup(self, estimator: Any, context: Any) -> None: ...
    def teardown(self, estimator: Any, context: Any) -> None: ...
    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> None:
        if context.parent is not None:
            self.ends.append(self.now())

    @property
    def iteration(self) -> float:
        """Seconds of the fastest iteration."""
        return float(np.diff(self.ends).min())


def iteration_of(X: Any, y: Any, *, iterations: int = 4, **settings: Any) -> float:
    """Return the seconds of one multiplicative iteration, both losses Kullback-Leibler."""
    model = SSNMFClassifier(
        RANK, solver="mu", max_iter=iterations, tol=0, random_state=0, head="joint", **settings
    )
    return fastest_iteration(model, X, y)


def fastest_iteration(model: Any, X: Any, y: Any, clock: str = "wall") -> float:
    """Fit a model, and return the seconds of its fastest iteration."""
    ends = Clock(clock)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_callbacks(ends).fit(X, y)
    return ends.iteration


def resampled(data: Newsgroups, cells: float, seed: int = 0) -> tuple[sp.csr_array, Any]:
    """Return posts drawn with replacement, one in ten labelled."""
    random = np.random.default_rng(seed)
    n = max(1, int(cells / (data.X.nnz / data.X.shape[0])))
    chosen = random.integers(0, data.X.shape[0], n)
    y = np.where(random.random(n) < 0.1, data.y[chosen], -1)
    return sp.csr_array(data.X[chosen]), y


def growth(data: Newsgroups, options: Options) -> list[Row]:
    """Fit the exponent of time by nonzeros, in blocks and in one array."""
    sets = [resampled(data, millions * 1e6) for millions in MILLIONS_OF_CELLS]
    rows = int(BLOCK_CELLS / (data.X.nnz / data.X.shape[0]))
    in_blocks = [(RowBlocks.split(X, y, rows=rows), None) for X, y in sets]
    cells, found = np.array([X.nnz for X, _ in sets]), []
    for kind, each in (("blocks of rows", in_blocks), ("one array", sets)):
        times = np.array(
            [[iteration_of(X, y, iterations=6) for X, y in each] for _ in range(options.repeats)]
        ).min(axis=0)
        slope = float(np.polyfit(np.log(cells), np.log(times), 1)[0])
        found.append((kind, times, slope))
    if options.figure:
        draw(cells, found, options.figure)
    return [
        Row(
            f"time of an iteration by nonzeros, {cells[0]:.3g} to {cells[-1]:.3g}, {kind}",
            f"{seconds(times[0])} to {seconds(times[-1])}",
            "",
            f"exponent {slope:.3f}",
            f"≤ {MAX_EXPONENT}" if kind != "one array" else "",
            slope <= MAX_EXPONENT if kind != "one array" else None,
            "ns per nonzero: " + " ".join(f"{t * 1e9:.1f}" for t in times / cells),
            {f"cells {c}": float(t) for c, t in zip(cells, times, strict=True)},
        )
        for kind, times, slope in found
    ]


def draw(cells: Any, found: list[Any], path: Path) -> None:
    """Draw time by nonzeros, with a line of exponent one."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for (kind, times, slope), mark in zip(found, ("o-", "s--"), strict=True):
        axis.loglog(cells, times * 1e3, mark, ms=5, label=f"{kind}: exponent {slope:.2f}")
    axis.loglog(cells, found[0][1][0] * 1e3 * cells / cells[0], ":", color="grey", label="linear")
    axis.set_xlabel("nonzeros")
    axis.set_ylabel("milliseconds an iteration")
    axis.grid(alpha=0.3)
    axis.legend()
    figure.savefig(path, dpi=130)


def out_of_core(data: Newsgroups, options: Options) -> list[Row]:
    """Fit a corpus on disk in a process with limited memory, and part of it in memory."""
    cells = options.gigabytes * 2**30 / CELL_BYTES

    def batches() -> Iterator[tuple[sp.csr_array, Any]]:
        done, seed = 0, 0
        while done < cells:
            X, y = resampled(data, 2e6, seed)
            done, seed = done + X.nnz, seed + 1
            yield X, y

    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        blocks = RowBlocks.write(Path(folder) / "corpus", batches())
        found = [
            {kind: _apart(kind, blocks.folder.path) for kind in ("disk", "memory")}
            for _ in range(options.repeats)
        ]
    disk, memory = (min(f[kind]["time"] for f in found) for kind in ("disk", "memory"))
    peak, cells = max(f["disk"]["peak"] for f in found), found[0]["memory"]["cells"]
    return [
        Row(
            f"an iteration over {blocks.nnz * CELL_BYTES / 2**30:.2f} GB of CSR on disk "
            f"({blocks.shape[0]} rows, {blocks.n_blocks} blocks), limited to {MEMORY_LIMIT_MB} MB",
            f"{disk * 1e9:.1f} ns/cell",
            f"{memory * 1e9:.1f} ns/cell",
            f"{disk / memory:.2f}×",
            f"≤ {MAX_SLOWDOWN}×",
            disk / memory <= MAX_SLOWDOWN,
            f"peak {peak:.0f} MB resident; the peer is an array of {cells:.3g} of its cells in "
            "memory, in a process without a limit, alternating",
        )
    ]


def _apart(kind: str, folder: Path) -> dict[str, float]:
    """Run ``alone`` in a separate process."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--alone", kind, str(folder)]
    return json.loads(subprocess.check_output(command))


def alone(kind: str, folder: str) -> None:
    """Print the seconds per cell of an iteration, from disk in limited memory or in memory."""
    blocks = RowBlocks.open(folder)
    if kind == "disk":
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT_MB << 20, MEMORY_LIMIT_MB << 20))
        cells, seconds = blocks.nnz, iteration_of(blocks, None, iterations=3)
    else:
        parts = [blocks.block(i) for i in range(min(4, blocks.n_blocks))]
        matrices = [part.X.layout.as_csr(part.X.shape[1]) for part in parts]
        X = sp.csr_array(sp.vstack(matrices, format="csr"))
        cells, seconds = X.nnz, iteration_of(X, np.concatenate([part.y for part in parts]))
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps({"time": seconds / cells, "cells": int(cells), "peak": peak}))


def threads(data: Newsgroups, options: Options) -> list[Row]:
    """Compare one thread with two on a fit that spends its time in kernels."""
    X, y = resampled(data, 8e6)
    pairs = [
        [iteration_of(X, y, iterations=6, n_jobs=jobs) for jobs in (1, 2)]
        for _ in range(options.repeats)
    ]
    ratio = float(np.median([one / two for one, two in pairs]))
    one, two = np.array(pairs).min(axis=0)
    return [
        Row(
            f"two threads against one, {X.nnz:.3g} nonzeros",
            seconds(two),
            seconds(one),
            f"{ratio:.2f}×",
            f"≥ {MIN_SPEEDUP}×",
            ratio >= MIN_SPEEDUP,
            "median of alternating runs",
        )
    ]


def streams(data: Newsgroups, options: Options) -> list[Row]:
    """Compare one pass over batches with a fit, on the same labels."""
    gains, scores = [], []
    for seed in range(options.repeats):
        random = np.random.default_rng(seed)
        order = random.permutation(data.X.shape[0])
        X, y = data.X[order], np.where(random.random(len(order)) < 0.1, data.y[order], -1)
        model = SSNMFClassifier(RANK, random_state=seed)
        for low in range(0, len(y), BATCH_ROWS):
            part = slice(low, low + BATCH_ROWS)
            model.partial_fit(X[part], y[part], classes=np.arange(data.n_classes))
        fitted = SSNMFClassifier(RANK, random_state=seed).fit(X, y)
        pair = [100 * m.score(data.X_test, data.y_test) for m in (model, fitted)]
        gains.append(pair[0] - pair[1])
        scores.append(pair)
    ours, peer = np.mean(scores, axis=0)
    return [
        Row(
            f"accuracy of a stream in batches of {BATCH_ROWS}, one label in ten, against a fit",
            f"{ours:.1f} %",
            f"{peer:.1f} %",
            f"{np.mean(gains):+.1f} points",
            f"≥ {MIN_POINTS:+.0f}",
            float(np.mean(gains)) >= MIN_POINTS,
            "differences: " + ", ".join(f"{g:+.1f}" for g in gains),
        )
    ]


def targets(data: Newsgroups, options: Options) -> list[Row]:
    """Compare iterations with many classes, one label in ten, with those of fits without labels.

    A document's class is the topic that it has most of, in another fit.
    """
    X, _ = resampled(data, 5e5)
    settings: dict[str, Any] = {"max_iter": 6, "tol": 0, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        S = NMF(MANY_CLASSES, init="random", **settings).fit(X).representation_
    y = np.where(np.random.default_rng(0).random(len(S)) < 0.1, S.argmax(axis=1), -1)
    with_labels, without = (
        min(fastest_iteration(kind(MANY_TOPICS, **settings), X, y, options.clock) for _ in range(3))
        for kind in (SSNMFClassifier, NMF)
    )
    return [
        Row(
            f"an iteration with {MANY_CLASSES} classes and {MANY_TOPICS} topics, {X.nnz:.3g} "
            "nonzeros, against one without classes",
            seconds(with_labels),
            seconds(without),
            f"{with_labels / without:.2f}×",
            f"≤ {MAX_TARGETS_COST}×",
            with_labels <= MAX_TARGETS_COST * without,
            "coordinate descent, Kullback-Leibler, fastest iteration of three fits",
        )
    ]


PARTS = {
    "growth": growth,
    "disk": out_of_core,
    "threads": threads,
    "streams": streams,
    "targets": targets,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        alone(*sys.argv[2:])
        sys.exit()
    sys.exit(harness.main(__doc__, {"scaling": sys.modules[__name__]}))
