"""Any number of threads gives the same bits; processes and threads of the user's own do too."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np
import pytest
from scipy import sparse as sp
from threadpoolctl import threadpool_info

import oracles
from cofactor import NMF, SSNMFClassifier
from cofactor.engine import threads as threads_module
from cofactor.engine.factors import cross, pad
from cofactor.engine.fitting import minimise
from cofactor.engine.observations import sparse
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates, PaperUpdates
from cofactor.engine.threads import (
    N_SLICES,
    Threads,
    balanced_slices,
    count_threads,
    even_slices,
    one_blas_thread,
)
from cofactor.priors import Penalty
from strategies import DESCENT_PAIRS, PAIRS, STORAGES, assert_same_bits, draw, short

CASES = [
    pytest.param(solver, losses, id=f"{type(solver).__name__}-{short(losses)}")
    for solver, pairs in (
        (MultiplicativeUpdates(), PAIRS),
        (CoordinateDescent(), DESCENT_PAIRS),
        (PaperUpdates(), DESCENT_PAIRS),
    )
    for losses in pairs
]


@pytest.mark.slow
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(("solver", "losses"), CASES)
def test_number_of_threads_does_not_matter(solver, losses, storage):
    problem = draw(
        5,
        losses,
        storage,
        shape=(150, 90, 4, 5),
        target_storage=storage,
        weighted=True,
        counts=True,
        priors=not isinstance(solver, PaperUpdates),
    )
    fits = []
    for n_jobs in (1, 2, 4):
        with Threads(n_jobs) as threads:
            fits.append(problem.run(solver, 4, threads))
    for fit in fits[1:]:
        assert_same_bits(fit.factors, fits[0].factors)
        assert fit.history.objective == fits[0].history.objective


@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
@pytest.mark.parametrize("solver", [CoordinateDescent(), MultiplicativeUpdates()], ids=repr)
def test_a_barrier_on_one_row_does_not_depend_on_threads(solver, losses):
    """Rows may not work otherwise because their share of the work has a barrier."""
    problem = draw(5, losses, "masked", shape=(150, 90, 4, 5), target_storage="masked")
    barrier = np.zeros(problem.start.samples.shape)
    barrier[70, 1] = 0.5
    objective = replace(problem.objective, priors={"samples": Penalty(barrier=barrier)})
    fits = []
    for n_jobs in (1, 2, 3, 8):
        with Threads(n_jobs) as threads:
            fits.append(minimise(objective, problem.start, solver, max_iter=4, threads=threads))
    for fit in fits[1:]:
        assert_same_bits(fit.factors, fits[0].factors)


def labelled_counts(rng, n=200, m=60):
    y = rng.integers(0, 4, n)
    X = rng.poisson(rng.gamma(0.5, size=(4, m))[y] * 2)
    X[:, 0] += 1
    y[rng.random(n) < 0.5] = -1
    return sp.csr_array(X.astype(float)), y


def results(model, X):
    return [
        model.components_,
        model.target_components_,
        model.representation_,
        model.predict_proba(X),
        np.array(model.history_["objective"]),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("init", ["labels", "random", "nndsvd"])
@pytest.mark.parametrize("loss", [oracles.KL, oracles.FROBENIUS])
def test_n_jobs_does_not_matter(loss, init):
    X, y = labelled_counts(np.random.default_rng(0))
    options = {"data_loss": loss, "init": init, "max_iter": 10, "tol": 0, "random_state": 0}
    runs = [
        results(SSNMFClassifier(6, n_jobs=n_jobs, **options).fit(X, y), X)
        for n_jobs in (None, 1, 2, 4, -1)
    ]
    for run in runs[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(run, runs[0], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_eight_threads_on_one_model(loss):
    """Concurrent transforms of one fitted model, itself threaded: no hang, the same bits."""
    X, _ = labelled_counts(np.random.default_rng(1), n=80)
    model = NMF(5, data_loss=loss, n_jobs=2, max_iter=5, tol=0, random_state=0).fit(X)
    expected = model.transform(X)
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(model.transform, X) for _ in range(24)]
        for future in futures:
            assert np.array_equal(future.result(timeout=60), expected)


def test_concurrent_products_do_not_share_memory():
    random = np.random.default_rng(3)
    X = sp.csr_array(random.poisson(0.3, (300, 50)).astype(float))
    layout = sparse(X).layout
    factors = [random.random((50, 4)) for _ in range(8)]
    with Threads(2) as threads, ThreadPoolExecutor(8) as pool:
        run = lambda F: cross(layout, pad(F), 4, threads)  # noqa: E731
        found = list(pool.map(run, factors * 5))
    for F, product in zip(factors * 5, found, strict=True):
        np.testing.assert_allclose(product, X @ F, rtol=1e-12)


@pytest.mark.slow
def test_concurrent_fits_do_not_disturb_each_other():
    X, y = labelled_counts(np.random.default_rng(2))

    def fit(seed):
        model = SSNMFClassifier(4, n_jobs=2, max_iter=5, tol=0, random_state=seed)
        return model.fit(X, y).components_

    expected = [fit(seed) for seed in range(4)]
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(fit, seed % 4) for seed in range(12)]
        for seed, future in enumerate(futures):
            assert np.array_equal(future.result(timeout=60), expected[seed % 4])


PROCESSES = """
    import multiprocessing
    import warnings

    import numpy as np

    from cofactor import NMF

    def fit(n_jobs):
        X = np.random.default_rng(0).poisson(1.0, (200, 40)).astype(float) + 0.1
        model = NMF(5, n_jobs=n_jobs, max_iter=10, tol=0, random_state=0).fit(X)
        return model.components_, model.transform(X)

    def elsewhere(method):
        if method == "loky":
            from joblib import Parallel, delayed

            return Parallel(n_jobs=2, backend="loky")([delayed(fit)(2), delayed(fit)(1)])
        with multiprocessing.get_context(method).Pool(1) as pool:
            return pool.map_async(fit, [1, 2]).get(timeout=60)

    if __name__ == "__main__":
        expected = fit(2)  # with threads, before any process is started
        warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
        for method in ("fork", "spawn", "loky"):
            for results in [*elsewhere(method), fit(2)]:
                assert all(map(np.array_equal, results, expected)), method
            print(method)
"""


def test_processes_started_after_a_threaded_fit(run_script):
    """No hang (the timeouts would tell) and the same bits in parent and children."""
    assert run_script(PROCESSES).split() == ["fork", "spawn", "loky"]


# ---------------------------------------------------------------- slices


def test_n_jobs_is_read_as_scikit_learn_does(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert [count_threads(n) for n in (None, 1, 3, -1, -2, -100)] == [1, 1, 3, 8, 7, 1]
    with pytest.raises(ValueError, match="n_jobs=0"):
        count_threads(0)


@pytest.mark.parametrize("n", [0, 1, 5, 16, 17, 1000])
def test_slices_cover_every_row_once(n):
    lengths = np.random.default_rng(n).integers(0, 50, n)
    start = np.concatenate([[0], np.cumsum(lengths)])
    for bounds in (even_slices(n), balanced_slices(start), balanced_slices(start * 0)):
        assert bounds[0] == 0
        assert bounds[-1] == n
        assert len(bounds) <= N_SLICES + 1
        assert np.all(np.diff(bounds) > 0)


def test_slices_are_balanced():
    lengths = np.concatenate([np.full(100, 1000), np.full(10_000, 1)])
    bounds = balanced_slices(np.concatenate([[0], np.cumsum(lengths)]))
    work = np.add.reduceat(lengths + 8, bounds[:-1])
    assert work.max() < 2 * work.mean()


def test_results_come_in_the_order_of_the_slices():
    with Threads(4) as threads:
        pairs = threads.over(np.arange(9), lambda bounds: tuple(bounds.tolist()))
        assert pairs == [(i, i + 1) for i in range(8)]
        assert threads.map(str, range(9)) == [str(i) for i in range(9)]


def test_an_error_in_a_slice_is_raised_and_ends_the_pool():
    def broken(bounds):
        raise RuntimeError(f"slice {bounds[0]}")

    with Threads(2) as threads, pytest.raises(RuntimeError, match="slice 0"):
        threads.over(np.arange(3), broken)


def test_the_second_of_two_calls_finds_the_pool_free():
    both_at_work = Barrier(2, timeout=10)

    def second():
        until = time.monotonic() + 10
        while threads.over(np.arange(9), len, join=True) == [9]:  # the first still has the thread
            assert time.monotonic() < until
        return threads.map(lambda _: both_at_work.wait(), range(2))

    with Threads(2) as threads:
        first, found = threads.both(lambda: None, second)
    assert first is None
    assert sorted(found) == [0, 1]  # two threads met there


def test_calls_inside_calls_wait_for_no_thread_that_waits_for_them():
    with Threads(2) as threads:
        inside = lambda i: sum(threads.map(lambda j: i * j, range(20)))  # noqa: E731
        outside = lambda i: threads.map(inside, range(i, i + 9))  # noqa: E731
        assert threads.map(outside, range(9)) == [
            [190 * k for k in range(i, i + 9)] for i in range(9)
        ]


def test_slices_stay_whole_where_no_thread_is_idle():
    both_busy, both_done = Barrier(2, timeout=10), Barrier(2, timeout=10)

    def inside(_):
        both_busy.wait()
        parts = threads.over(np.arange(9), len, join=True)
        both_done.wait()
        return parts

    with Threads(2) as threads:
        assert threads.map(inside, range(2)) == [[9], [9]]
        assert threads.over(np.arange(9), len, join=True) == [3, 3, 3, 3]


@pytest.mark.parametrize(("n_jobs", "calls"), [(1, 1), (2, 4), (4, 8), (16, 8)])
def test_joined_slices_cover_all_rows_in_few_calls(n_jobs, calls):
    bounds = np.array([0, 3, 4, 9, 10, 12, 20, 21, 30])
    with Threads(n_jobs) as threads:
        parts = threads.over(bounds, lambda part: part.tolist(), join=True)
    pairs = [(part[0], part[-1]) for part in parts]
    assert len(pairs) == calls
    assert [low for low, _ in pairs] == [0, *(high for _, high in pairs[:-1])]
    assert pairs[-1][1] == 30
    assert {low for low, _ in pairs} <= set(bounds.tolist())


def blas_threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_fits_side_by_side_keep_the_limit_of_the_other():
    """The first that ends must not give threads back to the library while another one computes."""
    before = blas_threads()
    with one_blas_thread():
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == before


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_linear_algebra_library_has_one_thread_while_a_pool_is_open(n_jobs):
    before = blas_threads()
    with Threads(n_jobs) as threads:
        assert threads.map(lambda _: blas_threads(), range(3)) == [{1}] * 3
    assert blas_threads() == before
    with pytest.raises(KeyError), Threads(n_jobs) as threads:
        threads.map({}.__getitem__, range(3))
    assert blas_threads() == before


def test_a_child_process_lifts_the_limit_of_its_parent():
    """After a fork nobody is inside but those who enter in the child."""
    before = blas_threads()
    with one_blas_thread():
        threads_module._ONE_BLAS_THREAD.process = 0  # as if this were another process
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == before
    assert blas_threads() == before


def test_an_interrupt_after_a_call_is_no_error_of_the_call():
    class Interrupted(Future):
        def set_result(self, result):
            super().set_result(result)
            raise KeyboardInterrupt

    done = [Interrupted()]
    with pytest.raises(KeyboardInterrupt):
        threads_module._work(lambda item: item, iter([(0, "answer")]), done)
    assert done[0].result() == "answer"
