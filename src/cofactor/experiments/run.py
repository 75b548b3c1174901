"""Run experiments: their folders, their trials and the files they write."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cofactor._versions import versions
from cofactor.errors import Parameter, ParameterError
from cofactor.experiments import PAPER_EXPERIMENTS, MissingData, Options
from cofactor.experiments.tables import ResultTable
from cofactor.experiments.trials import Function, TrialResult, TrialSettings, TrialStore
from cofactor.io.atomic import has_only_other_files, write_whole
from cofactor.io.json_text import to_json

MANIFEST = "manifest.json"
TRIALS_FOLDER = "trials"


Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class ExperimentData:
    """The data of an experiment, facts for its manifest, and notes for the user."""

    value: Any = None
    facts: dict[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()


def reproduce(
    names: Sequence[str],
    options: Options,
    console: Console,
    message_of: Callable[[MissingData], str] = str,
) -> list[Run]:
    """Run experiments and return their runs.

    If several are named, those that are not in the paper are skipped if their data are missing.

    Parameters
    ----------
    names : sequence of str
        Names from ``EXPERIMENTS``.
    options : Options
        Settings of all of them.
    console : Console
        Shows progress and notes.
    message_of : callable, optional
        Returns the sentence that is shown if data are missing.
    """
    if options.out.exists() and not options.out.is_dir():
        raise ParameterError((Parameter("out", str(options.out)), " is a file"), "choose a folder")
    modules = {name: import_module(f"cofactor.experiments.{name}") for name in names}
    prepared = {}
    for name, module in modules.items():  # rejects bad input before any work is done
        try:
            prepared[name] = module.prepare(options)
        except MissingData as error:
            if len(names) == 1 or name in PAPER_EXPERIMENTS:
                raise
            console.print(f"{name} is left out: {message_of(error)}")
    runs = []
    for name, data in prepared.items():
        run = Run(name, options, console, data.facts)
        for note in data.notes:
            run.note(note)
        modules[name].run(run, data.value)
        run.finish()
        runs.append(run)
    return runs


class Run:
    """Computes trials and writes tables and figures into the folder of one experiment.

    The manifest is removed at the beginning and written at the end, so a folder without one is
    unfinished. Tables and figures of an earlier run are removed too; its trials and other files
    are kept.
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
            if has_only_other_files(self.folder, TRIALS_FOLDER):
                raise ParameterError(
                    f"{self.folder} has files that `cofactor reproduce` did not write",
                    ("choose another folder for ", Parameter("out")),
                )
            (self.folder / TRIALS_FOLDER).mkdir(exist_ok=True)
            self._remove_earlier_results()
        except OSError as error:
            out = Parameter("out", str(self.options.out))
            raise ParameterError(
                (out, f" cannot be written to ({error.strerror})"),
                "choose a folder that you can write to",
            ) from None

    def _remove_earlier_results(self) -> None:
        manifest = self.folder / MANIFEST
        try:
            files = json.loads(manifest.read_text(encoding="utf-8"))["files"]
        except (OSError, ValueError, KeyError, TypeError):
            files = []
        manifest.unlink(missing_ok=True)
        for name in files:
            path = self.folder / name
            if path.resolve().is_relative_to(self.folder.resolve()):
                path.unlink(missing_ok=True)

    def trials(
        self,
        label: str,
        function: Function,
        groups: Mapping[Key, Sequence[TrialSettings]],
        shared: Any = None,
    ) -> dict[Key, list[TrialResult]]:
        """Return the results of each group of trials; those in the folder are not recomputed."""
        settings = [each for group in groups.values() for each in group]
        store = TrialStore(self.folder / TRIALS_FOLDER, self.options.jobs)
        with self._progress() as bar:
            task = bar.add_task(f"{self.name}: {label}", total=len(settings))
            done = store.run(function, settings, shared, lambda: bar.advance(task))
        counts = {
            "trials": len(settings),
            "found": done.found,
            "cpu_seconds": round(done.seconds, 1),
        }
        self._counts.append({"label": label, **counts})
        results = iter(done.results)
        return {key: [next(results) for _ in group] for key, group in groups.items()}

    def _progress(self) -> Progress:
        columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        return Progress(TextColumn("{task.description:40}"), *columns, console=self.console)

    def table(self, table: ResultTable, headline: bool = False) -> None:
        """Write a table in its three formats and add it to the report.

        A headline is also printed at the end of the experiment.
        """
        formats = {"md": table.markdown(), "csv": table.csv(), "json": table.json()}
        for ending, text in formats.items():
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

    def section(self, title: str) -> None:
        """Begin a section of the report."""
        self._report.append(f"## {title}\n")

    def note(self, sentence: str) -> None:
        """Print a sentence on stderr and add it to the report and the manifest."""
        if sentence not in self._notes:
            self._notes.append(sentence)
            self.console.print(sentence)

    def _write(self, name: str, content: str | bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        write_whole(path, content.encode() if isinstance(content, str) else content)
        self._files.append(name)

    def finish(self) -> None:
        """Write the report and, last, the manifest."""
        warning = (
            "This was a quick run on small synthetic data: it shows that everything works, but "
            "its numbers cannot be compared with the paper's.\n"
        )
        warnings = [warning] if self.options.quick else []
        notes = [f"- {note}\n" for note in self._notes]
        report = [f"# {self.name}\n", *warnings, *notes, *self._report]
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
            "machine": {
                "python": platform.python_version(),
                "system": f"{platform.system()} {platform.machine()}",
                "cores": os.cpu_count(),
            },
            "seconds": round(time.perf_counter() - self._start, 1),
            "trials": self._counts,
            "notes": self._notes,
            "files": self._files,
        }
