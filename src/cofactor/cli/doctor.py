"""`cofactor doctor`: shows what is installed and whether the kernels work."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from typing import Any

import click

from cofactor._version import __version__
from cofactor._versions import commit, version_of
from cofactor.cli._command import Command
from cofactor.cli._options import add
from cofactor.cli._terminal import announce, emit, pair_table, show, shown

CORE = (
    *("numpy", "scipy", "scikit-learn", "narwhals", "stopwordsiso", "snowballstemmer"),
    *("click", "rich"),
)
EXTRAS = {
    "report": ("altair", "vl-convert-python", "jinja2"),
    "plot": ("matplotlib",),
    "dask": ("dask", "distributed"),
    "app": ("starlette", "uvicorn"),
    "excel": ("python-calamine",),
    "encoder": ("model2vec",),
    "Parquet files": ("pyarrow",),
    "tables in Python": ("pandas",),
    "export --to anndata": ("anndata",),
    "export --to topicwizard": ("topic-wizard",),
}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@click.command(cls=Command)
@add("as_json")
def doctor(as_json: bool) -> None:
    """Show versions, threads, kernels and optional packages.

    Fits a tiny model twice to see whether the kernels work. The exit code is 1 if they do not.
    """
    facts: dict[str, Any] = {
        "cofactor": __version__,
        "commit": commit(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": {name: version_of(name) for name in CORE},
        "extras": {what: {n: version_of(n) for n in names} for what, names in EXTRAS.items()},
        "cores": os.cpu_count(),
        "threads": {name: os.environ[name] for name in THREADS if name in os.environ},
    }
    with announce("Trying the kernels"):
        facts["kernels"] = _kernels()
    if as_json:
        emit(facts)
    else:
        show(pair_table(_rows(facts)))
    if facts["kernels"]["error"]:
        click.get_current_context().exit(1)


def _kernels() -> dict[str, Any]:
    """Fit twice; the first fit also loads the kernels."""
    try:
        first, second = _timed(), _timed()
        from cofactor.engine.kernels.library import LIBRARY
    except Exception as error:  # the doctor reports any error
        return {"error": f"{type(error).__name__}: {error}"}
    return {
        "error": None,
        "library": str(LIBRARY.path),
        "variant": LIBRARY.variant,
        "machine": platform.machine() + (f", x86-64-v{LIBRARY.level}" if LIBRARY.level else ""),
        "first_fit_seconds": first,
        "second_fit_seconds": second,
    }


def _timed() -> float:
    from cofactor import TopicModel

    started = time.perf_counter()
    TopicModel(2, random_state=0).fit(["moon orbit", "goal puck"] * 3, ["space", "sport"] * 3)
    return time.perf_counter() - started


def _rows(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "cofactor", facts["cofactor"] + (f", commit {facts['commit']}" if facts["commit"] else "")
    yield "python", f"{facts['python']} on {facts['system']}"
    for name, found in facts["packages"].items():
        yield name, found or "missing: pip install --force-reinstall cofactor"
    limits = ", ".join(f"{name}={shown(value)}" for name, value in facts["threads"].items())
    yield "cores", f"{facts['cores']}, {limits or 'no limits on threads set'}"
    yield from _on_kernels(facts["kernels"])
    for what, packages in facts["extras"].items():
        yield what, ", ".join(f"{n} {v or 'not installed'}" for n, v in packages.items())


def _on_kernels(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if found["error"]:
        yield "kernels", f"do not work: {shown(found['error'], 400)}"
        return
    machine = f"for this machine ({found['machine']})"
    yield "kernels", f"{found['variant']}, {machine}: {found['library']}"
    first, second = found["first_fit_seconds"], found["second_fit_seconds"]
    yield "first fit", f"{first:.2f} s, then {second:.2f} s"
