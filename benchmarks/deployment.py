"""What does a process that only predicts cost?

    python -m benchmarks.deployment [--repeats 7] [--topics 24] [--clock cpu] [--copies 7,70]

A model of the docstrings of numpy, scipy and scikit-learn (the corpus of ``cofactor demo``, all of
them labelled) is fitted and saved; so is a plain pipeline of scikit-learn, tf-idf and logistic
regression, by joblib. Then new processes load one of them and predict. The table has medians over
the processes of the time to import, to load, to predict the first text, to predict one more text
(the mean of fifty) and to predict a thousand texts at once, the peak memory of the process
(VmHWM, which does not count the parent), and the size of the model on disk. ``--copies`` repeats
the corpus, to show what a model of more documents costs; those fits end after five iterations.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from benchmarks import harness
from benchmarks.harness import seconds

IMPORT = """
import json, resource, time
from pathlib import Path

clock = getattr(time, {clock!r})
texts = json.loads(Path({texts!r}).read_text())
marks = [clock()]
{imports}
marks.append(clock())
"""
PREDICT = """
model = {load}
marks.append(clock())
model.predict(texts[:1])
marks.append(clock())
for _ in range({repeated}):
    model.predict(texts[1:2])
marks.append(clock())
model.predict(texts)
marks.append(clock())
"""
REPORT = """
status = Path("/proc/self/status")
if status.exists():
    line = next(each for each in status.read_text().splitlines() if each.startswith("VmHWM"))
    peak = int(line.split()[1]) * 1024
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([late - early for early, late in zip(marks, marks[1:])] + [peak]))
"""
NEXT_TEXTS = 50
CLOCKS = {"cpu": "process_time", "wall": "perf_counter"}
HEAD = ("process", "import", "load", "first text", "next text", "1,000 texts", "memory", "on disk")


class Subject(NamedTuple):
    """A saved model, and the code that loads it."""

    name: str
    path: Path | None
    imports: str
    load: str


ALONE = [
    Subject("Python alone", None, "", ""),
    Subject("the same with numpy", None, "import numpy", ""),
    Subject("the same with scikit-learn", None, "import sklearn.linear_model", ""),
]
"""Processes that only import, to show what is not the cost of the model."""


def fit_and_save(folder: Path, topics: int, copies: list[int]) -> tuple[list[Subject], list[str]]:
    """Fit and save the models; return them and a thousand texts."""
    import joblib
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from cofactor import TopicModel
    from cofactor.datasets.docstrings import docstring_corpus

    corpus = docstring_corpus()
    ours, peer = folder / "model", folder / "pipeline.joblib"
    TopicModel(topics, random_state=0).fit(corpus.texts, corpus.labels).save(ours)
    pipeline = make_pipeline(TfidfVectorizer(stop_words="english"), LogisticRegression())
    joblib.dump(pipeline.fit(corpus.texts, corpus.labels), peer)
    loads = f"cofactor.load_model({str(ours)!r})", f"joblib.load({str(peer)!r})"
    subjects = [
        Subject("cofactor, model folder", ours, "import cofactor", loads[0]),
        Subject("scikit-learn pipeline, joblib", peer, "import joblib", loads[1]),
    ]
    for times in copies:
        model = TopicModel(topics, random_state=0, max_iter=5)
        model.fit(list(corpus.texts) * times, list(corpus.labels) * times)
        for name, one in {"": model, ", forgotten": model.forget_documents()}.items():
            path = folder / f"{times}{name}"
            one.save(path)
            about = f"cofactor, {len(corpus.texts) * times:,} documents{name}"
            load = f"cofactor.load_model({str(path)!r})"
            subjects.append(Subject(about, path, "import cofactor", load))
    return subjects, list(corpus.texts[:1000])


def run_process(subject: Subject, texts: Path, clock: str) -> list[float]:
    """Start a process that predicts; return the seconds of its steps and its peak of bytes."""
    code = IMPORT if subject.path is None else IMPORT + PREDICT
    code = (code + REPORT).format(
        clock=CLOCKS[clock],
        texts=str(texts),
        imports=subject.imports,
        load=subject.load,
        repeated=NEXT_TEXTS,
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return [float(number) for number in json.loads(done.stdout)]


def size_on_disk(path: Path | None) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    if path is None:
        return 0
    files: Iterable[Path] = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def megabytes(count: float) -> str:
    """Return a number of bytes in megabytes."""
    return f"{count / 1e6:.1f} MB" if count else ""


def table(subjects: list[Subject], texts: Path, options: argparse.Namespace) -> list[list[str]]:
    """Measure the subjects in turn, several times; return the lines of the table."""
    rounds = range(options.repeats)
    runs = [[run_process(each, texts, options.clock) for each in subjects] for _ in rounds]
    return [
        line(subject, [statistics.median(column) for column in zip(*measured, strict=True)])
        for subject, measured in zip(subjects, zip(*runs, strict=True), strict=True)
    ]


def line(subject: Subject, medians: list[float]) -> list[str]:
    """Return a line of the table; steps that a process did not take are empty."""
    *steps, peak = medians
    if len(steps) > 3:
        steps[3] /= NEXT_TEXTS
    cells = [seconds(step) for step in steps] + [""] * (5 - len(steps))
    return [subject.name, *cells, megabytes(peak), megabytes(size_on_disk(subject.path))]


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--repeats", type=int, default=7, help="processes of each kind; default: 7")
    parser.add_argument("--topics", type=int, default=24, help="default: 24")
    about = "cpu counts processor time only, for a machine in use; default: cpu"
    parser.add_argument("--clock", choices=CLOCKS, default="cpu", help=about)
    parser.add_argument("--copies", default="7,70", help="of the corpus; default: 7,70")
    options = parser.parse_args(arguments)
    copies = [int(times) for times in options.copies.split(",") if times]
    warnings.simplefilter("ignore")  # fits of five iterations have not converged
    harness.print_machine()
    with tempfile.TemporaryDirectory() as folder:
        subjects, texts = fit_and_save(Path(folder), options.topics, copies)
        written = Path(folder) / "texts.json"
        written.write_text(json.dumps(texts))
        print(f"Medians of {options.repeats} processes, {options.clock} time:\n")
        harness.print_table(HEAD, table([*ALONE, *subjects], written, options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
