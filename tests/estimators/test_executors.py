"""Fits over blocks of rows: in memory and on disk they are the same, to the bit."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse as sp

from cofactor import NMF, RowBlocks, SSNMFClassifier, SSNMFRegressor
from cofactor.divergences import KullbackLeibler
from cofactor.engine.blockwise import Blocks, Tree
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import observe
from cofactor.engine.threads import Threads
from cofactor.estimators.base import FitInterruptedWarning

KL, F, IS = "kullback-leibler", "frobenius", "itakura-saito"
PAIRS = list(itertools.product((KL, F), repeat=2))
FITTED = ("components_", "target_components_", "representation_")


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(40, 0.1), size=4)
    subjects = rng.integers(0, 4, 230)
    X = sp.csr_array(np.array([rng.multinomial(30, topics[k]) for k in subjects]) / 30.0)
    kinds = np.minimum(subjects, 2)  # as many subjects as the models have topics, in three classes
    y = np.array(["sun", "moon", "star"], dtype=object)[kinds]
    y[rng.random(230) < 0.5] = None
    return X, y, kinds


def model(kind=SSNMFClassifier, **options):
    return kind(4, **{"max_iter": 15, "tol": 0, "random_state": 0, **options})


def assert_same_bits(a, b, names=FITTED):
    for name in names:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert a.history_ == b.history_


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["mu", "mu-paper", "cd"])
@pytest.mark.parametrize(("data_loss", "target_loss"), PAIRS)
def test_memory_and_disk_give_the_same_bits(corpus, tmp_path, solver, data_loss, target_loss):
    X, y, _ = corpus
    options = {"solver": solver, "data_loss": data_loss, "target_loss": target_loss}
    in_memory = RowBlocks.split(X, y, rows=50)
    batches = ((X[i : i + 30], y[i : i + 30]) for i in range(0, 230, 30))
    on_disk = RowBlocks.write(tmp_path / "b", batches, rows=50)
    a = model(**options).fit(in_memory)
    assert_same_bits(a, model(**options, n_jobs=2).fit(on_disk))
    if solver != "mu-paper":
        objective = np.array(a.history_["objective"])
        assert (np.diff(objective) <= 1e-10 * objective[:-1]).all()


@pytest.mark.parametrize(("data_loss", "target_loss"), PAIRS)
def test_multiplicative_updates_over_blocks_are_those_of_one_array(corpus, data_loss, target_loss):
    """From the same start: statistics of blocks add up to those of all rows."""
    X, y, _ = corpus
    losses = {"data_loss": data_loss, "target_loss": target_loss}
    options = {"solver": "mu", "head": "joint", **losses}
    one = model(**options).fit(RowBlocks.split(X, y, rows=230))
    many = model(**options).fit(RowBlocks.split(X, y, rows=37))
    for name in FITTED:
        np.testing.assert_allclose(getattr(many, name), getattr(one, name), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(many.history_["objective"], one.history_["objective"], rtol=1e-12)


@pytest.mark.parametrize("loss", [KL, F, IS])
def test_topics_without_labels(corpus, tmp_path, loss):
    X = corpus[0] if loss != IS else sp.csr_array(corpus[0][:60])
    a = model(NMF, data_loss=loss, max_iter=5).fit(RowBlocks.split(X, rows=25))
    b = model(NMF, data_loss=loss, max_iter=5).fit(RowBlocks.write(tmp_path / "b", [X], rows=25))
    assert_same_bits(a, b, ("components_", "representation_"))
    assert a.representation_.shape == (X.shape[0], 4)


def test_numbers_as_targets(corpus, tmp_path):
    X, _, kinds = corpus
    y = np.where(np.arange(230) % 4 == 0, np.nan, kinds - 5.0)
    a = model(SSNMFRegressor).fit(RowBlocks.split(X, y, rows=60))
    b = model(SSNMFRegressor).fit(RowBlocks.write(tmp_path / "b", [(X, y)], rows=60))
    assert_same_bits(a, b)
    assert a.score(X, kinds - 5.0) > 0.5


@pytest.mark.slow
def test_several_labels_with_unknown_cells(corpus, tmp_path):
    X, _, kinds = corpus
    Y = np.eye(3)[kinds]
    Y[::3, 1] = np.nan
    Y[1::7] = np.nan
    a = model().fit(RowBlocks.split(X, Y, rows=60))
    assert_same_bits(a, model().fit(RowBlocks.write(tmp_path / "b", [(X, Y)], rows=60)))


@pytest.mark.parametrize("loss", [KL, F])
def test_blocks_with_and_without_unknown_cells(corpus, loss):
    """A block without missing cells has other statistics than one with them; they must add up."""
    X, _, kinds = corpus
    Y = np.eye(3)[kinds]
    Y[:60, 1] = np.nan
    options = {"solver": "mu", "init": "random", "supervision": 1.0, "target_loss": loss}
    one = model(**options).fit(RowBlocks.split(X, Y, rows=230))
    many = model(**options).fit(RowBlocks.split(X, Y, rows=60))
    np.testing.assert_allclose(many.history_["objective"], one.history_["objective"], rtol=1e-10)
    np.testing.assert_allclose(many.components_, one.components_, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1024.0])
def test_zeros_of_itakura_saito_are_read_alike(corpus, scale):
    X = sp.csr_array(corpus[0][:60] * scale)
    options = {"data_loss": IS, "solver": "mu", "max_iter": 1}
    blocks = model(NMF, **options).fit(RowBlocks.split(X, rows=60))
    whole = model(NMF, **options).fit(X)
    assert blocks.history_["objective"][0] == pytest.approx(whole.history_["objective"][0], rel=0.2)
    again = model(NMF, **options).fit(RowBlocks.split(corpus[0][:60], rows=60))
    assert blocks.history_["objective"] == pytest.approx(again.history_["objective"], rel=1e-9)


def test_the_papers_updates_are_literal_over_blocks(corpus):
    X, y, _ = corpus
    with pytest.warns(UserWarning, match="small beside the 1e-10"):
        fitted = model(solver="mu-paper").fit(RowBlocks.split(X * 1e-8, y, rows=60))
    assert fitted.fitted.units.data == 0


def test_what_is_said_of_rows_is_refused(corpus):
    from cofactor.priors import L1

    X, y, _ = corpus
    blocks = RowBlocks.split(X, y, rows=60)
    with pytest.raises(ValueError, match=r"priors\['samples'\] is a matrix"):
        model(priors={"samples": L1(np.ones((230, 4)))}).fit(blocks)


def test_targets_may_be_passed_apart(corpus):
    X, y, _ = corpus
    a = model().fit(RowBlocks.split(X, y, rows=60))
    b = model().fit(RowBlocks.split(X, rows=60), y)
    assert_same_bits(a, b)


def test_blocks_predict_as_well_as_one_array(corpus):
    X, y, kinds = corpus
    truth = np.array(["sun", "moon", "star"], dtype=object)[kinds]
    blocks = model(max_iter=50).fit(RowBlocks.split(X, y, rows=40))
    assert blocks.score(X, truth) >= model(max_iter=50).fit(X, y).score(X, truth) - 0.03


def test_a_block_without_a_label(corpus):
    X, y, _ = corpus
    order = np.argsort([label is None for label in y], kind="stable")
    fitted = model().fit(RowBlocks.split(X[order], y[order], rows=40))
    assert np.isfinite(fitted.target_components_).all()
    assert fitted.score(X, y) > 0.9


def test_a_start_from_a_sample_is_as_good(corpus, monkeypatch):
    X, y, kinds = corpus
    monkeypatch.setattr("cofactor.estimators.validation.SAMPLE_CELLS", corpus[0].nnz // 3)
    fitted = model(max_iter=50).fit(RowBlocks.split(X, y, rows=40))
    assert fitted.representation_.shape == (230, 4)
    assert fitted.score(X, np.array(["sun", "moon", "star"], dtype=object)[kinds]) > 0.9


@pytest.mark.parametrize("scale", [1e-200, 1e-5, 1e5, 1e100])
def test_any_scale(corpus, scale):
    X, y, _ = corpus
    a = model(solver="mu").fit(RowBlocks.split(X, y, rows=60))
    b = model(solver="mu").fit(RowBlocks.split(X * scale, y, rows=60))
    np.testing.assert_allclose(b.components_ / scale, a.components_, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("name", ["sample_weight", "data_weights", "target_weights"])
def test_weights_are_refused(corpus, name):
    X, y, _ = corpus
    with pytest.raises(ValueError, match=f"{name} cannot be used with RowBlocks"):
        model().fit(RowBlocks.split(X, y, rows=60), **{name: np.ones(230)})


def test_no_targets_anywhere(corpus):
    with pytest.raises(ValueError, match="requires y"):
        model().fit(RowBlocks.split(corpus[0], rows=60))


def test_ctrl_c_keeps_the_last_complete_iteration(corpus, tmp_path, monkeypatch):
    X, y, _ = corpus
    blocks = RowBlocks.write(tmp_path / "b", [(X, y)], rows=50)
    whole = model(solver="mu", max_iter=3).fit(blocks)
    read, count = RowBlocks.block, itertools.count()

    def interrupted(self, i):
        # sample, shares and start take the blocks twice, an iteration once more
        if next(count) == 2 * 5 + 5 + 3 * 5 + 2:
            raise KeyboardInterrupt
        return read(self, i)

    monkeypatch.setattr(RowBlocks, "block", interrupted)
    with pytest.warns(FitInterruptedWarning):
        cut = model(solver="mu", max_iter=100).fit(blocks)
    assert cut.n_iter_ == 3
    with warnings.catch_warnings():
        assert_same_bits(whole, cut)


# ---------------------------------------------------------------- sums


def test_a_tree_does_not_depend_on_who_adds_what():
    leaves = list(np.random.default_rng(0).random(11) * 10.0 ** np.arange(11))
    alone = Tree(float.__add__)
    for i, leaf in enumerate(leaves):
        alone.put((0, i), leaf)
    rng = np.random.default_rng(1)
    for _ in range(50):
        workers = [Tree(float.__add__) for _ in range(3)]
        for i in rng.permutation(11).tolist():
            workers[rng.integers(3)].put((0, i), leaves[i])
        joint = Tree(float.__add__)
        for worker in workers:
            for node, value in worker.nodes.items():
                joint.put(node, value)
        assert joint.total() == alone.total()
    assert alone.total() == pytest.approx(sum(leaves))


def test_blocks_are_added_over_the_tree():
    """Whoever has a pair of blocks can add them, because everybody does."""
    rng = np.random.default_rng(2)
    X = rng.random((50, 6)) * 10.0 ** rng.integers(-6, 6, (50, 1))
    factors = Factors(rng.random((50, 2)), rng.random((6, 2)))
    objectives, parts = [], []
    for low in range(0, 50, 10):
        term = Term("data", "features", observe(X[low : low + 10]), KullbackLeibler)
        objectives.append(Objective((term,)))
        some = factors.replace("samples", factors.samples[low : low + 10])
        parts.append(objectives[-1].advance(some, None, Threads(), 1e-12).statistics["features"])
    blocks = Blocks(objectives[0], np.arange(0, 51, 10), objectives.__getitem__)
    found = blocks.advance(factors, None, Threads(), 1e-12).statistics["features"]
    a, b, c, d, e = parts
    expected = a.plus(b).plus(c.plus(d)).plus(e)
    np.testing.assert_array_equal(found.surrogate.c, expected.surrogate.c)
    assert found.cost == expected.cost
    other = a.plus(b).plus(c).plus(d).plus(e)
    assert not np.array_equal(
        other.surrogate.c, expected.surrogate.c
    )  # the order shows in the last bits


def test_blocks_are_represented_and_predicted_block_by_block(corpus):
    X, y, _ = corpus
    fitted = model().fit(X, y)
    blocks = RowBlocks.split(X, y, rows=37)
    for name in ("transform", "predict", "predict_proba"):
        np.testing.assert_array_equal(getattr(fitted, name)(blocks), getattr(fitted, name)(X))
    assert fitted.score(blocks, y) == fitted.score(X, y)
    with pytest.raises(ValueError, match="data_weights cannot be used with RowBlocks"):
        fitted.transform(blocks, data_weights=np.ones(X.shape))
