"""`cofactor doctor`: shows what is installed and whether the kernels work."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from typing import Any

import click

from cofactor._version import __version__
from cofactor._versions import commit, version_of
from cofactor.cli._command import Command
from cofactor.cli._options import add, option
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
@option(
    "--fit", "Also fit a tiny topic model twice, with all libraries that fits use.", is_flag=True
)
@add("as_json")
def doctor(fit: bool, as_json: bool) -> None:
    """Show versions, threads, kernels and optional packages.

    Solves a tiny problem with a known answer to see whether the kernels work. The exit code is 1 if
    they, or the fits of --fit, do not.
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
        facts["kernels"] = _checked(_kernels)
    if fit:
        with announce("Fitting a tiny model twice"):
            facts["fits"] = _checked(_fits)
    if as_json:
        emit(facts)
    else:
        show(pair_table(_rows(facts)))
    if any(facts.get(what, {}).get("error") for what in ("kernels", "fits")):
        click.get_current_context().exit(1)


def _checked(find: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what a check found, and its error if there is one."""
    try:
        return {"error": None, **find()}
    except Exception as error:  # the doctor reports any error
        return {"error": f"{type(error).__name__}: {error}"}


def _kernels() -> dict[str, Any]:
    from cofactor.engine.kernels.library import LIBRARY
    from cofactor.engine.self_check import check_kernels

    check_kernels()
    return {
        "library": str(LIBRARY.path),
        "variant": LIBRARY.variant,
        "machine": platform.machine() + (f", x86-64-v{LIBRARY.level}" if LIBRARY.level else ""),
    }


def _fits() -> dict[str, Any]:
    return {"first_seconds": _timed(), "second_seconds": _timed()}


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
    yield "kernels", _said(facts["kernels"], "{variant}, for this machine ({machine}): {library}")
    if "fits" in facts:
        yield "fits", _said(facts["fits"], "{first_seconds:.2f} s, then {second_seconds:.2f} s")
    for what, packages in facts["extras"].items():
        yield what, ", ".join(f"{n} {v or 'not installed'}" for n, v in packages.items())


def _said(found: dict[str, Any], form: str) -> str:
    """Return what a check found in a form, or its error."""
    if found["error"]:
        return f"do not work: {shown(found['error'], 400)}"
    return form.format(**found)
