"""Hostile arrays in a model folder: declared shapes, pickles, archives."""

import zipfile

import numpy as np
import pytest

from cofactor.io import npy
from model_folders import refuse, replace, resign


def test_huge_declared_shapes(folder):
    def grow(content):
        content["arrays"]["model.estimator_.components_"]["shape"] = [2**31, 2**31]

    resign(folder, grow)
    refuse(folder, r"declares the shape \(2147483648, 2147483648\), more than the \d+ bytes")


@pytest.mark.parametrize("shape", [[3, 8], [-2, -12], [2.0, 12], [True, 24], "ab", [[2], 12], [24]])
def test_wrong_declared_shapes(folder, shape):
    def change(content):
        content["arrays"]["model.estimator_.components_"]["shape"] = shape

    resign(folder, change)
    refuse(folder, "components_")


def test_swapped_arrays(folder):
    with np.load(folder / "factors.npz") as found:
        held = {name: found[name] for name in found.files}
    one, other = "model.coherence_", "model.probable_coherence_"
    held[one], held[other] = held[other], held[one] + 1
    replace(folder, "factors.npz", npy.pack(held))
    refuse(folder, "npy differs from when it was saved")


def test_pickles_are_refused(folder):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    with zipfile.ZipFile(folder / "factors.npz") as archive:
        names = archive.namelist()
    with zipfile.ZipFile(folder / "factors.npz", "w") as archive:
        for name in names:
            with archive.open(name, "w") as member:
                np.lib.format.write_array(member, np.array([Trap()] * 12), allow_pickle=True)
    replace(folder, "factors.npz", (folder / "factors.npz").read_bytes())
    refuse(folder, r"factors.npz")


@pytest.mark.slow
def test_deflated_bombs_are_refused(folder):
    with zipfile.ZipFile(folder / "factors.npz") as archive:
        names = archive.namelist()
    with zipfile.ZipFile(folder / "factors.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, bytes(2**26))
    replace(folder, "factors.npz", (folder / "factors.npz").read_bytes())
    refuse(folder, "factors.npz|declares")


def test_members_outside_the_archive_are_refused(folder):
    with zipfile.ZipFile(folder / "factors.npz", "a") as archive:
        archive.writestr("../../escape.npy", b"x")
    replace(folder, "factors.npz", (folder / "factors.npz").read_bytes())
    refuse(folder, "does not hold the arrays")
