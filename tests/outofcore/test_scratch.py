"""Scratch files: rows written, read again, shared by threads and closed."""

import gc
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse as sp

from cofactor.engine.observations import observe
from cofactor.outofcore.scratch import Scratch, ScratchFiles, Shelf


def test_scratch_rows():
    scratch = Scratch((10, 3), np.float64)
    rng = np.random.default_rng(0)
    A = rng.random((10, 3))
    scratch[0:4] = A[:4]
    scratch[4:10] = A[4:]
    np.testing.assert_array_equal(scratch[2:7], A[2:7])
    np.testing.assert_array_equal(scratch[:], A)
    assert scratch[3:3].shape == (0, 3)
    whole = np.asarray(scratch)
    del scratch
    np.testing.assert_array_equal(whole, A)


def test_a_scratch_file_serves_again_once_nobody_looks_at_it():
    files = ScratchFiles()
    first = files.matrix((4, 2), np.float64)
    first[:] = np.ones((4, 2))
    mapped = np.asarray(first)[1:]
    number = first._file
    del first
    second = files.matrix((4, 2), np.float64)
    second[:] = np.zeros((4, 2))
    np.testing.assert_array_equal(mapped, np.ones((3, 2)))  # still mapped: not handed out
    del mapped
    assert files.matrix((4, 2), np.float64)._file == number


def test_a_scratch_file_has_the_size_that_is_asked_for():
    files = ScratchFiles()
    files.matrix((1, 2), np.float64)  # given back at once
    assert files.matrix((4, 2), np.float64)[:].shape == (4, 2)


@pytest.mark.parametrize("form", ["dense", "sparse", "weighted"])
def test_a_shelf_returns_what_it_got_both_ways(form):
    rng = np.random.default_rng(0)
    matrices = [
        observe(
            sp.csr_array(Y) if form == "sparse" else Y,
            row_weights=rng.random(len(Y)) if form == "weighted" else None,
        )
        for Y in (np.round(rng.random((7, 3)), 1), np.eye(5)[:, :2], np.zeros((1, 3)))
    ]
    shelf = Shelf()
    for number, matrix in enumerate(matrices):
        shelf.put(number, matrix)
    for number in (2, 0, 1):
        got, given = shelf.get(number), matrices[number]
        for one, other in ((got, given), (got.transposed, given.transposed)):
            assert (one.shape, one.zeros) == (other.shape, other.zeros)
            for name in ("values", "indices", "start", "first"):
                a, b = getattr(one.layout, name), getattr(other.layout, name)
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(a, b)
            for name in ("weights", "row_weights", "column_weights"):
                a, b = getattr(one, name), getattr(other, name)
                assert (a is None) == (b is None)
                if a is not None:
                    np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_files_that_nobody_needs_are_closed():
    def count():
        return len(os.listdir("/proc/self/fd"))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("open files are counted in /proc, which this system does not have")
    gc.collect()  # what earlier tests left open
    before = count()
    files = ScratchFiles()
    first, second = (files.matrix((4, 2), np.float64) for _ in range(2))
    mapped = np.asarray(first)
    del first, second, files
    gc.collect()
    assert count() == before + 2  # the file that is mapped, and the map of it
    del mapped
    gc.collect()
    assert count() == before


def test_threads_may_share_a_shelf():
    rng = np.random.default_rng(0)
    matrices = [observe(rng.random((50, 3))) for _ in range(60)]
    shelf = Shelf()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(shelf.put, range(60), matrices))
    for number, matrix in enumerate(matrices):
        np.testing.assert_array_equal(shelf.get(number).layout.values, matrix.layout.values)
