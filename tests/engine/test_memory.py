"""Peak memory: nothing of the size of n × m, and no temporary of the size of nnz × r."""

import json
import sys

import numpy as np
import pytest
from scipy import sparse as sp

import oracles

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self")

MEASURE = """
    import json
    import re
    import sys
    import tracemalloc

    import numpy as np
    from scipy import sparse as sp

    from cofactor import NMF, SSNMFClassifier

    def status(key):
        with open("/proc/self/status") as file:
            return 1024 * int(re.search(key + r":\\s+(\\d+)", file.read())[1])

    def peaks(model, X, y):
        '''Resident memory above what it was, and what numpy allocated, each at its highest.'''
        small = sp.random_array((40, 30), density=0.5, rng=0, dtype=X.dtype).tocsr()
        model.fit(small, np.arange(40) % 3)  # loads the compiled code
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # resets the high-water mark
        before = status("VmRSS")
        tracemalloc.start()
        model.fit(X, y)
        allocated = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return status("VmHWM") - before, allocated

    folder, runs = sys.argv[1], json.loads(sys.argv[2])
    X, y = sp.load_npz(folder + "/X.npz"), np.load(folder + "/y.npy")
    models = {"NMF": NMF, "SSNMFClassifier": SSNMFClassifier}
    found = [
        peaks(models[name](random_state=0, tol=0, **settings), X, y) for name, settings in runs
    ]
    print(json.dumps(found))
"""


@pytest.fixture
def measure(run_script, tmp_path):
    """Peak memory of fits in a fresh process, each as (resident, allocated by numpy)."""

    def peaks(X, y, *runs):
        sp.save_npz(tmp_path / "X.npz", sp.csr_array(X))
        np.save(tmp_path / "y.npy", y)
        return json.loads(run_script(MEASURE, tmp_path, json.dumps(runs)))

    return peaks


def test_newsgroups(newsgroups, measure):
    """A dense copy of the paper's matrix would take 287 MB."""
    X, y, *_ = newsgroups
    n, m = X.shape
    assert n * m * 8 > 280e6
    settings = {"n_components": 13, "max_iter": 5}
    for resident, allocated in measure(X, y, ("NMF", settings), ("SSNMFClassifier", settings)):
        assert resident < 150e6
        assert allocated < n * m * 8 / 4


def test_very_wide(measure):
    """2,000 × 1,000,000 with 20,000 nonzeros: a dense copy would take 16 GB.

    A topic takes 8 MB, and a solver keeps a few copies of the topics.
    """
    n, m, r = 2_000, 1_000_000, 2
    rng = np.random.default_rng(0)
    cells = rng.integers(0, n, 20_000), rng.integers(0, m, 20_000)
    X = sp.csr_array((rng.random(20_000) + 0.1, cells), shape=(n, m))
    runs = [
        ("SSNMFClassifier", {"n_components": r, "max_iter": 1, "data_loss": loss})
        for loss in (oracles.KL, oracles.FROBENIUS)
    ]
    for resident, allocated in measure(X, np.arange(n) % 2, *runs):
        assert max(resident, allocated) < 20 * 8 * m * r < n * m * 8 / 40


def test_no_temporary_of_nonzeros_times_rank(measure):
    """scikit-learn #15242: 400,000 nonzeros and 100 topics would be 320 MB."""
    n, m, r = 4_000, 500, 100
    X = sp.random_array((n, m), density=0.2, rng=0).tocsr()
    settings = {"n_components": r, "max_iter": 1}
    ((resident, allocated),) = measure(X, np.zeros(n), ("NMF", settings))
    assert max(resident, allocated) < X.nnz * r * 8 / 4


def test_itakura_saito_expands_sparse_rows_block_by_block(measure):
    """Its zeros count, but the n × m cells are never all listed at once."""
    n, m = 5_000, 4_000
    X = sp.random_array((n, m), density=0.002, rng=0).tocsr()
    settings = {"n_components": 2, "max_iter": 1, "data_loss": oracles.IS}
    ((resident, allocated),) = measure(X, np.zeros(n), ("NMF", settings))
    assert max(resident, allocated) < n * m * 8 / 4
