"""Clocks, tables, caches and command lines that the benchmarks share."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

# One thread for every library. And glibc keeps freed memory: returning it to the system after each
# temporary array makes scikit-learn's multiplicative solver two to three times slower, which has
# nothing to do with its algorithm.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 32),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 34),
}


def restart_with_fixed_environment() -> None:
    """Run this command again in a process that has ``ENVIRONMENT`` from the start."""
    if all(os.environ.get(name) == value for name, value in ENVIRONMENT.items()):
        return
    command = [sys.executable, *sys.orig_argv[1:]]
    raise SystemExit(subprocess.call(command, env={**os.environ, **ENVIRONMENT}))


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def timed(run: Callable[[], Any], clock: str = "wall") -> tuple[float, Any]:
    """Return how many seconds a call takes, and its result."""
    now = CLOCKS[clock]
    start = now()
    result = run()
    return now() - start, result


def alternate(options: argparse.Namespace, *runs: Callable[[], Any]) -> list[tuple[float, Any]]:
    """Time the runs in alternation; return the best time and the last result of each.

    The best, because other load on the machine only ever adds time; in alternation, so that a slow
    minute affects all alike.
    """
    rounds = [[timed(run, options.clock) for run in runs] for _ in range(options.repeats)]
    return [(min(t for t, _ in column), column[-1][1]) for column in zip(*rounds, strict=True)]


@dataclass(frozen=True)
class Row:
    """One line of a table; ``passed`` is None if nothing is demanded."""

    what: str
    ours: str
    peer: str
    figure: str
    demanded: str = ""
    passed: bool | None = None
    remark: str = ""
    numbers: dict[str, float] = field(default_factory=dict)

    def cells(self) -> tuple[str, ...]:
        word = {None: "", True: "pass", False: "FAIL"}[self.passed]
        return self.what, self.ours, self.peer, self.figure, self.demanded, word, self.remark


def seconds(t: float) -> str:
    """Format a duration."""
    return f"{t * 1e3:.3g} ms" if t < 1 else f"{t:.3g} s"


def faster(
    what: str,
    ours: float,
    peer: float,
    demanded: float | None = None,
    remark: str = "",
    write: Callable[[float], str] = seconds,
) -> Row:
    """Compare two durations."""
    ratio = peer / ours
    return Row(
        what,
        write(ours),
        write(peer),
        f"{ratio:.3g}×",
        *_demand(ratio, demanded, "×"),
        remark,
        {"ours": ours, "peer": peer, "ratio": ratio},
    )


def better(
    what: str, ours: float, peer: float, demanded: float | None = None, remark: str = ""
) -> Row:
    """Compare two accuracies, in points."""
    points = 100 * (ours - peer)
    return Row(
        what,
        f"{100 * ours:.1f}",
        f"{100 * peer:.1f}",
        f"{points:+.1f}",
        *_demand(points, demanded),
        remark,
        {"ours": ours, "peer": peer, "points": points},
    )


def _demand(figure: float, demanded: float | None, unit: str = "") -> tuple[str, bool | None]:
    if demanded is None:
        return "", None
    return f"≥ {demanded:g}{unit}", figure >= demanded


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table with aligned columns."""
    lines = [tuple(head), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = tuple("-" * width for width in widths)
    for line in (lines[0], rule, *lines[1:]):
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("| " + " | ".join(cells) + " |")


def print_rows(rows: Sequence[Row]) -> None:
    """Print the table of a list of comparisons."""
    head = ("what", "ours", "peer", "figure", "demanded", "", "remark")
    print_table(head, [row.cells() for row in rows])


def machine() -> dict[str, str]:
    """Return the processor, the versions, the commit and the date."""
    from cofactor._versions import commit

    packages = ("cofactor", "numpy", "scipy", "scikit-learn")
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        **{name: _version(name) for name in packages},
        "commit": commit() or "unknown",
        "date": datetime.now(UTC).date().isoformat(),
    }


def print_machine() -> None:
    """Print what `machine` returns."""
    print(", ".join(f"{name} {value}" for name, value in machine().items()), end="\n\n")


def _version(package: str) -> str:
    if package == "cofactor":
        from cofactor import __version__

        return __version__
    return version(package)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def cached(path: str | None, key: Any, compute: Callable[[], Any]) -> Any:
    """Return a JSON value from a file of JSON lines; compute and add it if it is not there."""
    file = Path(path) if path else None
    for line in file.read_text().splitlines() if file and file.exists() else ():
        if (found := json.loads(line))["key"] == key:
            return found["value"]
    value = compute()
    if file:
        with file.open("a") as lines:
            print(json.dumps({"key": key, "value": value}), file=lines)
    return value


def add_repeats(parser: argparse.ArgumentParser, default: int = 3, clock: str = "") -> None:
    """Add how often to measure, and with which clock if ``clock`` is the default one."""
    parser.add_argument(
        "--repeats", type=int, default=default, help=f"take the best of; default: {default}"
    )
    if clock:
        text = f"cpu counts processor time only, for a machine in use; default: {clock}"
        parser.add_argument("--clock", choices=CLOCKS, default=clock, help=text)
    else:
        parser.set_defaults(clock="wall")


def verdict(rows: Sequence[Row]) -> int:
    """Print how many demands were met; return the exit status."""
    missed = [row for row in rows if row.passed is False]
    asked = sum(row.passed is not None for row in rows)
    print(f"\n{asked - len(missed)} of {asked} demands met.")
    for row in missed:
        print(f"Missed: {row.what}: {row.figure}, demanded {row.demanded}")
    return int(bool(missed))


def main(
    description: str | None, benchmarks: dict[str, Any], argv: Sequence[str] | None = None
) -> int:
    """Run benchmarks on 20 Newsgroups from a command line; return the exit status.

    A benchmark is a module with ``add_options(parser)`` and ``run(data, options)``.
    """
    from benchmarks import data_sets

    parser = argparse.ArgumentParser(description=description)
    data_sets.add_newsgroups_options(parser)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to FILE")
    for benchmark in benchmarks.values():
        benchmark.add_options(parser)
    options = parser.parse_args(argv)
    restart_with_fixed_environment()
    data = data_sets.load_newsgroups(options)
    print(data, *data.notes, sep="\n")
    print_machine()
    results = {name: benchmark.run(data, options) for name, benchmark in benchmarks.items()}
    if options.json:
        plain = {name: [asdict(row) for row in rows] for name, rows in results.items()}
        options.json.write_text(json.dumps({"machine": machine(), **plain}, indent=1) + "\n")
    return verdict([row for rows in results.values() for row in rows])
