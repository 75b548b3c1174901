"""A run of one experiment: its folder, its trials and the files that it writes."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cofactor._versions import versions
from cofactor.experiments.options import Options
from cofactor.experiments.tables import ResultTable
from cofactor.experiments.trials import Function, Result, Settings, Trials
from cofactor.io.atomic import has_only_other_files, write_whole
from cofactor.io.errors import InputError
from cofactor.io.json_text import to_json

MANIFEST = "manifest.json"
TRIALS = "trials"


class Run:
    """Computes trials and writes tables and figures into the folder of one experiment.

    The manifest is removed at the beginning and written at the end, so a folder without one is not
    finished. The tables and figures of an earlier run are removed too; other files and the trials
    are not.
    """

    def __init__(
        self, name: str, options: Options, console: Console, facts: Mapping[str, Any] | None = None
    ) -> None:
        self.name, self.options, self.console = name, options, console
        self.folder = options.out / name
        self.headlines: list[ResultTable] = []
        self._report: list[str] = []
        self._files: list[str] = []
        self._notes: list[str] = []
        self._data = dict(facts or {})
        self._counts: list[dict[str, Any]] = []
        self._start = time.perf_counter()
        self._open()

    def _open(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if has_only_other_files(self.folder, TRIALS):
                raise InputError(
                    f"{self.folder} has files that `cofactor reproduce` did not write; "
                    "choose another --out."
                )
            (self.folder / TRIALS).mkdir(exist_ok=True)
            self._forget_earlier()
        except OSError as error:
            raise InputError(
                f"--out {self.options.out} cannot be written to ({error.strerror}); "
                "choose a folder that you can write to."
            ) from None

    def _forget_earlier(self) -> None:
        manifest = self.folder / MANIFEST
        try:
            files = json.loads(manifest.read_text())["files"]
        except (OSError, ValueError, KeyError, TypeError):
            files = []
        manifest.unlink(missing_ok=True)
        for name in files:
            path = self.folder / name
            if path.resolve().is_relative_to(self.folder.resolve()):
                path.unlink(missing_ok=True)

    # ---- computing

    def trials(
        self, label: str, function: Function, settings: Sequence[Settings], shared: Any = None
    ) -> list[Result]:
        """Return the results of trials; those in the folder are not computed again."""
        store = Trials(self.folder / TRIALS, self.options.jobs)
        with self._progress() as bar:
            task = bar.add_task(f"{self.name}: {label}", total=len(settings))
            outcome = store.run(function, settings, shared, lambda: bar.advance(task))
        seconds = round(outcome.seconds, 1)
        count = {"trials": len(settings), "found": outcome.found, "cpu_seconds": seconds}
        self._counts.append({"label": label, **count})
        return outcome.results

    def _progress(self) -> Progress:
        columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        return Progress(TextColumn("{task.description:40}"), *columns, console=self.console)

    # ---- writing

    def table(self, table: ResultTable, headline: bool = False) -> None:
        """Write a table in its three formats and put it into the report.

        A headline is also printed at the end of the experiment.
        """
        for ending, text in (
            ("md", table.markdown()),
            ("csv", table.csv()),
            ("json", table.json()),
        ):
            self._write(f"tables/{table.name}.{ending}", text)
        self.headlines += [table] if headline else []
        self._report.append(table.markdown())

    def figure(self, name: str, title: str, picture: bytes) -> None:
        """Write a figure (PNG) and show it in the report."""
        self._write(f"figures/{name}.png", picture)
        self._report.append(f"![{title}](figures/{name}.png)\n")

    def page(self, name: str, title: str, html: str) -> None:
        """Write an interactive figure and link it from the report."""
        self._write(f"figures/{name}.html", html)
        self._report.append(f"[{title}](figures/{name}.html)\n")

    def section(self, title: str, text: str = "") -> None:
        """Begin a section of the report."""
        self._report.append(f"## {title}\n" + (f"\n{text}\n" if text else ""))

    def note(self, sentence: str) -> None:
        """Print a sentence on stderr, and put it into the report and the manifest."""
        if sentence not in self._notes:
            self._notes.append(sentence)
            self.console.print(sentence)

    def _write(self, name: str, content: str | bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        write_whole(path, content.encode() if isinstance(content, str) else content)
        self._files.append(name)

    def finish(self) -> None:
        """Write the report and at last the manifest."""
        warning = (
            [
                "This was a quick run on small made-up data: it shows that everything works, but "
                "its numbers cannot be compared with the paper's.\n"
            ]
            if self.options.quick
            else []
        )
        notes = [f"- {note}\n" for note in self._notes]
        report = [f"# {self.name}\n", *warning, *notes, *self._report]
        self._write("report.md", "\n".join(report))
        manifest = to_json(self._manifest(), indent=2)
        write_whole(self.folder / MANIFEST, f"{manifest}\n".encode())

    def _manifest(self) -> dict[str, Any]:
        options = self.options
        names = ("trials", "draws", "seed", "quick", "solver", "iterations", "updates", "jobs")
        return {
            "experiment": self.name,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "options": {name: getattr(options, name) for name in names},
            "data": self._data,
            "versions": versions(),
            "machine": _machine(),
            "seconds": round(time.perf_counter() - self._start, 1),
            "trials": self._counts,
            "notes": self._notes,
            "files": self._files,
        }


def _machine() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
    }


def check_out(out: Path) -> None:
    """Refuse an output path that is not a folder."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file; choose a folder.")
