"""What cannot be fitted is refused in one sentence."""

import numpy as np
import pytest

distributed = pytest.importorskip("cofactor.distributed", reason="needs cofactor[dask]")


def refused(kind, match, client, *given, **settings):
    with pytest.raises(kind, match=match) as caught:
        distributed.fit(client, *given, **settings)
    assert "\n" not in str(caught.value)


def test_data_that_do_not_fit_together(client, data, estimator):
    import dask

    X, y = data
    one, two = dask.delayed(X[:50]), dask.delayed(X[50:])
    narrow, single = dask.delayed(X[50:, :7]), dask.delayed(X[50:].astype(np.float32))
    model = estimator()
    refused(ValueError, "Block 1: .* 7 columns, .* 30", client, [one, narrow], y, model)
    refused(ValueError, "Block 1: .*float32", client, [one, single], y, model)
    refused(ValueError, "y has 109 rows, but X has 110", client, [one, two], y[1:], model)
    refused(ValueError, "y has 1 parts.*2 blocks", client, [one, two], [y], model)
    refused(
        ValueError,
        "Block 0: y has 40 rows, but X has 50",
        client,
        [one, two],
        [y[:40], y[40:]],
        model,
    )
    refused(
        ValueError,
        "Some batches have y",
        client,
        [dask.delayed((X[:50], y[:50])), two],
        None,
        model,
    )
    refused(
        ValueError,
        "Block 0 has its own targets",
        client,
        [dask.delayed((X[:50], y[:50]))],
        [y[:50]],
        model,
    )
    refused(
        ValueError,
        f"Block 1: .*negative value -{X[50:].max():g};",
        client,
        [one, dask.delayed(-X[50:])],
        y,
        model,
    )
    refused(TypeError, "data is a csr_array", client, X, y, model)
    refused(ValueError, "data has no block", client, [], y, model)


def test_settings(client, blocks, estimator):
    for every in (0, 2.5):
        refused(
            ValueError,
            f"checkpoint_every={every}",
            client,
            blocks,
            None,
            estimator(),
            checkpoint_every=every,
        )


def test_a_plain_fit_points_here(data, estimator):
    import dask.array as da

    X, y = data
    with pytest.raises(TypeError, match=r"cofactor\.distributed\.fit\(client"):
        estimator().fit(da.from_array(X.toarray()), y)


def test_memory_that_runs_out_is_one_sentence(new_cluster, blocks, estimator):
    def less(dask_worker):
        manager = dask_worker.memory_manager
        manager.memory_pause_fraction = manager.memory_spill_fraction = False
        manager.memory_target_fraction = False
        manager.memory_limit = 1000

    def none_left(dask_worker):
        from cofactor.distributed import worker

        def load(here, i):
            raise MemoryError

        dask_worker.memory_manager.memory_limit = None
        worker.LocalExecutor.load = load

    needs = r"block \d: its 20 rows need about [\d,]+ bytes"
    with new_cluster(1) as client:
        client.run(less)
        refused(
            MemoryError,
            needs + " and it may use 1,000; make smaller blocks",
            client,
            blocks,
            None,
            estimator(),
        )
        client.run(none_left)
        refused(MemoryError, needs + "; make smaller blocks", client, blocks, None, estimator())
