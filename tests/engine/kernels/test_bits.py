"""Every compiler and instruction set gives the same bits, for any slices of rows."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cofactor.engine import kernels
from cofactor.engine.factors import pad
from cofactor.engine.kernels import EPSILON, Surrogate, library
from kernel_rows import as_cells, random_rows

FLAGS = ["-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
DIGEST = "cc296441d2d9391f"  # of driver.c; it changes only with the arithmetic of a kernel


def results():
    """The results of all kernels on drawn problems of many ranks, as bytes."""
    rng, found = np.random.default_rng(3), []
    for r, dtype in [(r, d) for r in (1, 3, 7, 13, 20, 50) for d in (np.float64, np.float32)]:
        n, m = 21, 30
        for barrier, inverse in ((False, False), (True, False), (False, True)):
            entries, forms, F = random_rows(
                rng, n, r, m, square=r % 2 == 0, barrier=barrier, inverse=inverse
            )
            kinds = (part.astype(dtype) for part in entries.kinds)
            entries = type(entries)(*kinds, entries.places)
            V = pad(rng.random((n, r)) + 0.1)
            found += descended(V, entries, F, forms) if not inverse else []
            found += multiplied(V, entries, F, forms, barrier)
    return [array.tobytes() for array in found]


def descended(V, entries, F, forms):
    n = len(V)
    bounds, costs, rows, batches = np.array([0, n // 3, n]), np.zeros((2, 2)), V.copy(), V.copy()
    how = {"rounds": 3, "sweeps": 2, "tolerance": 1e-6, "all_topics": False}
    left = kernels.descend_slices(
        rows, entries, F, forms, bounds, costs=costs, weights=np.linspace(1, 2, n), split=9, **how
    )
    kernels.descend_quadratic(batches, forms, bounds, sweeps=3, tolerance=1e-9)
    gram, sums, inner = np.zeros((2, *forms.grams.shape[1:])), np.zeros((2, len(forms.ups[0]))), []
    kernels.gram_slices(rows, None, bounds, gram)
    kernels.sum_slices(rows, costs[:, 0].repeat(n)[:n], bounds, sums)
    inner = np.zeros(2)
    kernels.inner_slices(rows, np.ones((n, sums.shape[1])), None, bounds, inner)
    return [rows, costs, batches, gram, sums, inner, np.array(left)]


def multiplied(V, entries, F, forms, barrier):
    n, r = len(V), forms.ups.shape[1]
    bounds, new, parts = np.array([0, n]), np.zeros(V.shape), np.zeros((4, n, r))
    slopes = [as_cells(np.broadcast_to(forms.down, (n, r)))] if len(forms.down) else []
    how = {"has_barrier": barrier, "rounds": 3, "tolerance": 1e-6, "epsilon": EPSILON}
    left = kernels.multiply_slices(V, new, entries, F, forms, slopes, bounds, ridge=0.0, **how)
    paper = np.zeros(V.shape)
    kernels.multiply_slices(V, paper, entries, F, forms, slopes, bounds, ridge=1e-9, **how)
    costs, again, values = np.zeros(1), np.zeros(V.shape), np.zeros(1)
    surrogate = Surrogate(*parts)
    kernels.surrogate_slices(V, entries, F, 1e-9, surrogate, bounds, costs)
    kernels.multiply_by_parts(V, again, surrogate, forms, bounds, has_barrier=barrier, ridge=0.0)
    kernels.value_slices(V, entries, F, None, bounds, values)
    return [new, paper, parts, costs, again, values, np.array(left)]


def variants():
    return sorted(library.NATIVE_FOLDER.glob(f"kernels*{library.SUFFIX}"))


def runs_here(path):
    level = path.stem.removeprefix("kernels-v")
    return not level.isdigit() or int(level) <= library.LIBRARY.level


@pytest.mark.parametrize("path", variants(), ids=lambda path: path.stem)
def test_instruction_sets_give_the_same_bits(path, monkeypatch):
    if not runs_here(path):
        pytest.skip(f"this machine cannot run {path.stem}")
    expected = results()
    monkeypatch.setattr(kernels, "LIBRARY", library.open_library(path))
    assert results() == expected


# Other machines: how zig calls them, and what runs their programs here.
OTHERS = {
    "aarch64": ("aarch64-linux-musl", ("qemu-aarch64", "qemu-aarch64-static")),
    "windows": ("x86_64-windows-gnu", ("wine",)),
}


@pytest.mark.slow
@pytest.mark.parametrize("target", ["", *OTHERS])
@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
@pytest.mark.parametrize("compiler", ["gcc", "clang", "zig"])
def test_compilers_and_machines_give_the_same_bits(compiler, level, target, tmp_path):
    """driver.c prints a digest of results; zig compiles for other machines."""
    zig = library.NATIVE_FOLDER.parents[4] / "build" / "zig" / "cc"
    command = [str(zig) if compiler == "zig" else compiler]
    if not shutil.which(command[0]):
        pytest.skip(f"{compiler} is not installed")
    run = []
    if target:
        name, runners = OTHERS[target]
        run = [runner for runner in runners if shutil.which(runner)][:1]
        if compiler != "zig" or not run:
            pytest.skip(f"needs zig, which .ci/zig fetches, and {runners[0]}")
        command += ["-target", name]
    program = tmp_path / "driver.exe"
    sources = [
        str(Path(__file__).with_name("driver.c")),
        *map(str, library.NATIVE_FOLDER.glob("*.c")),
    ]
    flags = [*FLAGS, level, f"-I{library.NATIVE_FOLDER}", *sources, "-o", str(program)]
    subprocess.run([*command, *flags, *(["-lm"] if target != "windows" else [])], check=True)
    done = subprocess.run(
        [*run, str(program)],
        env=os.environ | {"WINEPREFIX": str(zig.parents[1] / "wine"), "WINEDEBUG": "-all"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == DIGEST


def test_slices_do_not_change_the_bits():
    """All rows at once, slice by slice, or entries that cover one slice only."""
    rng = np.random.default_rng(5)
    n, r, m = 40, 6, 25
    entries, forms, F = random_rows(rng, n, r, m, square=True, barrier=True)
    start = pad(rng.random((n, r)) + 0.1)
    how = {"rounds": 2, "sweeps": 2, "tolerance": 0.0, "all_topics": False}
    whole = start.copy()
    kernels.descend_slices(whole, entries, F, forms, np.array([0, n]), **how)
    for cut in (False, True):
        parts = start.copy()
        for low, high in ((0, 1), (1, 17), (17, 17), (17, 40)):
            some = replace(entries, places=entries.places.rows(low, high)) if cut else entries
            kernels.descend_slices(parts, some, F, forms, np.array([low, high]), **how)
        np.testing.assert_array_equal(parts, whole)
