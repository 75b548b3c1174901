"""Whoever has which block, the result has the same bits."""

import functools
import itertools
from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse as sp
from sklearn.base import clone

from cofactor import NMF, RowBlocks, SSNMFClassifier, SSNMFRegressor
from cofactor.engine.factors import Factors
from cofactor.targets.reading import labelled_mask

distributed = pytest.importorskip("cofactor.distributed", reason="needs cofactor[dask]")
LOSSES = ("frobenius", "kullback-leibler")


TOPICS = Factors.of_topics(np.random.default_rng(0).random((30, 4)) + 0.1)
FIXED = np.random.default_rng(1).random((4, 30)) < 0.5
CASES = [
    *({"data_loss": d, "target_loss": t} for d, t in itertools.product(LOSSES, LOSSES)),
    {"solver": "cd"},
    {"init": TOPICS, "fixed": {"features": FIXED}},
]


@pytest.fixture(scope="module")
def written(blocks, tmp_path_factory):
    """The blocks in a folder."""
    return RowBlocks.write(tmp_path_factory.mktemp("bits") / "blocks", blocks.held, rows=20)


@pytest.fixture(scope="module")
def fits(blocks, written):
    """A function that fits in this process; blocks in memory and on disk agree."""

    @functools.cache
    def fit(k):
        make = functools.partial(SSNMFClassifier, 4, max_iter=5, tol=0, random_state=0)
        case = {"solver": "mu", **CASES[k]}
        return make(**case).fit(blocks), make(**case).fit(written)

    return fit


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_workers_do_not_matter(n_workers, new_cluster, client, fits, written, same):
    with nullcontext(client) if n_workers == 2 else new_cluster(n_workers) as cluster:
        for k in range(len(CASES)):
            here, disk = fits(k)
            same(here, disk)
            same(here, distributed.fit(cluster, written, None, clone(here)))
            if here.fixed:
                kept = here.components_[FIXED].tobytes()
                assert kept == TOPICS.features.T[FIXED].tobytes()


def test_every_form_of_data(client, data, blocks, pieces, estimator, same):
    import dask
    import dask.array as da

    X, y = data
    expected = estimator().fit(blocks)
    only_X = [dask.delayed(X[i : i + 20]) for i in range(0, X.shape[0], 20)]
    parts = [y[i : i + 20] for i in range(0, X.shape[0], 20)]
    dense = da.from_array(X.toarray(), chunks=(20, 11))
    sparse = da.concatenate(
        [
            da.from_delayed(part, (len(some), X.shape[1]), dtype=X.dtype, meta=sp.csr_array((0, 0)))
            for part, some in zip(only_X, parts, strict=True)
        ]
    )
    for given in (
        (blocks, None),
        (blocks, parts),
        (pieces, None),
        (client.compute(pieces), None),
        (only_X, y),
        (only_X, parts),
        (only_X, [dask.delayed(part) for part in parts]),
        (dense, y),
        (dense, da.from_array(y, chunks=20)),
        (sparse, y),
    ):
        same(expected, distributed.fit(client, *given, estimator(), checkpoint_every=3))


def test_a_sample_is_the_same_wherever_it_is_taken(client, blocks, pieces):
    from cofactor.distributed.cluster_rows import as_rows
    from cofactor.distributed.watch import WatchedClient

    rows = as_rows(WatchedClient(client), pieces, None)
    assert list(rows.facts) == list(blocks.facts)
    for cells, known in itertools.product((blocks.nnz // 3, blocks.nnz), (labelled_mask, None)):
        samples = (some.sample(cells, known) for some in (rows, blocks))
        for ours, theirs in zip(*samples, strict=True):
            if theirs is None:
                assert ours is None
            else:
                ours, theirs = (sp.coo_array(a).toarray() for a in (ours, theirs))
                np.testing.assert_array_equal(ours, theirs)


def test_labels_that_are_words_and_numbers_to_predict(client, data, pieces, estimator, same):
    import dask

    X, y = data
    words = np.array([None, "cat", "dog", "cow"], dtype=object)[y + 1]
    values = np.where(y < 0, np.nan, y + 0.5)
    X_only = [dask.delayed(pair[0]) for pair in pieces]
    for kind, targets in ((None, words), (SSNMFRegressor, values)):
        make = estimator if kind is None else lambda kind=kind: estimator(kind)
        expected = make().fit(RowBlocks.split(X, targets, rows=20))
        same(expected, distributed.fit(client, X_only, targets, make()))
    same(
        estimator(NMF).fit(RowBlocks.split(X, rows=20)),
        distributed.fit(client, X_only, None, estimator(NMF)),
    )


def test_names_of_target_columns(client, data, pieces, estimator, same):
    import dask
    import dask.array as da

    from cofactor.targets.reading import NamedMatrix

    X, y = data
    Y = NamedMatrix((y[:, None] == [0, 1, 2]).astype(float), ["cat", "dog", "cow"])
    blocks = RowBlocks.split(X, Y, rows=20)
    X_only = [dask.delayed(pair[0]) for pair in pieces]
    pairs = [dask.delayed(pair) for pair in blocks.held]
    parts = [dask.delayed(NamedMatrix(part, Y.columns)) for _, part in blocks.held]
    expected = estimator().fit(blocks)
    assert expected.classes_.tolist() == Y.columns
    for given in ((blocks, None), (X_only, Y), (X_only, parts), (RowBlocks.split(X, rows=20), Y)):
        fitted = distributed.fit(client, *given, estimator())
        same(expected, fitted)
        assert fitted.classes_.tolist() == Y.columns
    unnamed = distributed.fit(client, pairs, None, estimator())
    assert unnamed.classes_.tolist() == [0, 1, 2]
    lazy = da.from_array(Y.values, chunks=(20, 3))
    same(expected, distributed.fit(client, RowBlocks.split(X, rows=20), lazy, estimator()))


def test_callbacks_see_the_samples_and_stopping_rules_hold(client, blocks, estimator, same):
    from cofactor.callbacks import EarlyStop

    seen = []
    model = estimator().set_callbacks(
        EarlyStop(lambda fitted: seen.append(fitted.representation_.sum()) or 0.0, patience=2)
    )
    distributed.fit(client, blocks, None, model)
    assert len(seen) == model.n_iter_ == 3
    assert len(set(seen)) == 3
    loose = {"tol": 0.02, "max_iter": 100}
    same(estimator(**loose).fit(blocks), distributed.fit(client, blocks, None, estimator(**loose)))


def test_samples_can_stay(client, blocks, estimator):
    here = estimator().fit(blocks)
    model = distributed.fit(client, blocks, None, estimator(), gather_samples=False)
    assert model.representation_.shape == (0, 4)
    np.testing.assert_array_equal(model.components_, here.components_)
    np.testing.assert_array_equal(model.predict(blocks.held[0][0]), here.predict(blocks.held[0][0]))


def test_workers_forget_a_fit(client, blocks, estimator):
    distributed.fit(client, blocks, None, estimator())
    kept = client.run(lambda dask_worker: len(vars(dask_worker).get("_cofactor_fits", {})))
    assert set(kept.values()) == {0}


@pytest.mark.parametrize("method", ["predict", "transform"])
def test_mapping_over_blocks_equals_the_plain_methods(method, client, data, blocks, estimator):
    import dask
    import dask.array as da

    X, y = data
    for model in (
        estimator().fit(blocks),
        estimator(SSNMFRegressor).fit(X, np.where(y < 0, np.nan, y + 0.5)),
        estimator().fit(X, np.eye(3)[y] * (y >= 0)[:, None]),
    ):
        plain = getattr(model, method)(X)
        mapped = getattr(distributed, method)
        array = mapped(model, da.from_array(X.toarray(), chunks=(30, 7)))
        assert array.shape == plain.shape
        assert array.dtype == plain.dtype
        np.testing.assert_array_equal(client.compute(array).result(timeout=60), plain)
        promised = mapped(model, [dask.delayed(X[:50]), dask.delayed(X[50:])])
        np.testing.assert_array_equal(np.concatenate(dask.compute(*promised)), plain)
        futures = mapped(model, client.scatter([X[:50], X[50:]], hash=False))
        found = [future.result(timeout=60) for future in futures]
        np.testing.assert_array_equal(np.concatenate(found), plain)
