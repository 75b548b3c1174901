"""A cluster of processes, and data in blocks."""

import logging
from contextlib import contextmanager
from functools import cache
from multiprocessing import forkserver

import numpy as np
import pytest
from scipy import sparse as sp

from cofactor import RowBlocks, SSNMFClassifier

ROWS = 20


@cache
def import_once():
    """Let workers be forked from a process that has imported all they need: a quarter of a second
    in place of four."""
    forkserver.set_forkserver_preload(["distributed", "cofactor.distributed"])
    forkserver.ensure_running()


@contextmanager
def started(n_workers, **settings):
    """A client of a local cluster of worker processes."""
    import dask
    from distributed import Client, LocalCluster

    import_once()
    config = {
        "distributed.worker.multiprocessing-method": "forkserver",
        "distributed.deploy.lost-worker-timeout": "60s",  # else it gives up on them
    }
    settings = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", **settings}
    with (
        dask.config.set(config),
        LocalCluster(n_workers=n_workers, silence_logs=logging.CRITICAL, **settings) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def new_cluster():
    return started


@pytest.fixture(scope="session")
def client():
    """Two workers that the tests share."""
    with started(2) as client:
        yield client


@pytest.fixture(scope="session")
def data():
    """Sparse counts of four subjects in three classes; half of the labels are missing."""
    draw = np.random.default_rng(0)
    subject = draw.integers(0, 4, 110)
    rates = 0.2 + 2.0 * (np.arange(30) % 4 == subject[:, None])
    X, y = sp.csr_array(draw.poisson(rates).astype(float)), np.minimum(subject, 2)
    y[::2] = -1
    return X, y


@pytest.fixture(scope="session")
def blocks(data):
    """Six blocks of twenty rows (the last has ten), in memory."""
    return RowBlocks.split(*data, rows=ROWS)


@pytest.fixture
def pieces(data):
    """The same blocks as promises."""
    import dask

    X, y = data
    return [dask.delayed((X[i : i + ROWS], y[i : i + ROWS])) for i in range(0, X.shape[0], ROWS)]


@pytest.fixture
def estimator():
    """A function that makes an estimator."""

    def make(kind=SSNMFClassifier, **settings):
        return kind(4, **{"solver": "mu", "max_iter": 6, "tol": 0, "random_state": 0, **settings})

    return make


@pytest.fixture
def same():
    """A function that compares two fitted estimators, to the bit."""

    def compare(one, other):
        names = ("components_", "representation_", "target_components_")
        for name in names:
            if hasattr(one, name):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
        assert one.history_ == other.history_
        assert one.stop_reason_ == other.stop_reason_

    return compare
