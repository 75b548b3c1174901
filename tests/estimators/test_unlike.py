"""Samples unlike the labelled ones: found, saved, streamed, left out; views of exposed samples."""

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack
from sklearn.metrics import roc_auc_score

from cofactor import SSNMFClassifier, SSNMFRegressor, load_model, save
from cofactor.outofcore import RowBlocks

K = 4


def drawn(n=240, seed=0, depth=60.0):
    """Return counts of four classes with words of their own, and the classes."""
    random = np.random.default_rng(seed)
    rates = np.full((K, 80), 0.3)
    for c in range(K):
        rates[c, 15 * c : 15 * c + 15] += 2.0
    y = np.arange(n) % K
    rates = rates[y] / rates[y].sum(axis=1, keepdims=True)
    totals = depth * np.exp(random.normal(0, 0.3, (n, 1)))
    return csr_array(random.poisson(totals * rates).astype(float)), y


def labels(y, each=8, hidden=None):
    shown = np.where(np.arange(len(y)) < each * K, y, -1)
    return np.where(y == hidden, -1, shown)


@pytest.fixture(scope="module")
def model():
    X, y = drawn()
    return SSNMFClassifier(4, random_state=0).fit(X, labels(y, hidden=3))


@pytest.mark.parametrize("exposure", [None, "total"])
@pytest.mark.parametrize("storage", [csr_array, lambda X: X.toarray()])
def test_a_class_without_labels_is_found(exposure, storage):
    X, y = drawn()
    model = SSNMFClassifier(4, exposure=exposure, random_state=0)
    model.fit(storage(X), labels(y, hidden=3))
    new, truth = drawn(seed=1)
    unlike = model.unlike(storage(new))
    assert roc_auc_score(truth == 3, unlike) > 0.95
    assert np.mean(unlike[truth != 3] > 0.95) < 0.12
    assert ((unlike >= 0) & (unlike <= 1)).all()


def test_unlike_samples_are_left_out_with_abstain(model):
    new, truth = drawn(seed=1)
    unlike = model.unlike(new)
    plain, careful = model.predict(new), model.predict(new, abstain=0.01)
    far = unlike >= 0.95
    assert far[truth == 3].mean() > 0.5
    assert [one is None for one in careful] == far.tolist()
    assert (careful[~far] == plain[~far]).all()


def test_it_is_the_same_after_saving_and_for_blocks(model, tmp_path):
    new, _ = drawn(n=40, seed=2)
    unlike = model.unlike(new)
    save(model, tmp_path / "model")
    np.testing.assert_allclose(load_model(tmp_path / "model").unlike(new), unlike, rtol=1e-12)
    blocks = RowBlocks.write(tmp_path / "blocks", [new[:25], new[25:]])
    np.testing.assert_allclose(model.unlike(blocks), unlike, rtol=1e-12)
    np.testing.assert_allclose(model.unlike(new, scores=model.scores(new)), unlike)


@pytest.mark.parametrize("exposure", ["total", None])
def test_the_order_of_samples_does_not_matter(exposure):
    X, y = drawn(n=120)
    shown, new = labels(y), drawn(n=20, seed=4)[0]
    heads, unlike = [], []
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(120)
        model = SSNMFClassifier(4, exposure=exposure, random_state=0, max_iter=3, tol=0)
        heads.append(model.fit(X[order], shown[order]).pooled_head)
        unlike.append(model.unlike(new))
    for head, one in zip(heads[1:], unlike[1:], strict=True):
        assert head.view.scale == heads[0].view.scale
        assert np.array_equal(head.weights, heads[0].weights)
        assert np.array_equal(head.familiar.samples, heads[0].familiar.samples)
        np.testing.assert_allclose(one, unlike[0], rtol=1e-9)


def test_a_stream_knows_its_labelled_samples():
    X, y = drawn()
    stream = SSNMFClassifier(4, random_state=0)
    for low in range(0, 240, 80):
        part = slice(low, low + 80)
        stream.partial_fit(X[part], labels(y, 20, hidden=3)[part], classes=np.arange(3))
    new, truth = drawn(seed=1)
    assert roc_auc_score(truth == 3, stream.unlike(new)) > 0.9


def test_empty_labelled_samples_do_not_count():
    X, y = drawn(depth=12.0)  # so few counts that the rows are sparse
    known, new = labels(y), drawn(seed=1, depth=12.0)[0]
    full = SSNMFClassifier(4, random_state=0).fit(X, known)
    assert full.pooled_head.familiar.samples.shape[0] == 8 * K
    empty = csr_array(vstack([X, csr_array((1, 80))]))
    model = SSNMFClassifier(4, random_state=0).fit(empty, np.r_[known, 0])
    assert model.pooled_head.familiar.samples.shape[0] == 8 * K
    same = model.predict(new) == full.predict(new)
    assert same.mean() > 0.95
    np.testing.assert_allclose(model.unlike(new)[same], full.unlike(new)[same], atol=0.02)


def test_a_held_out_sample_is_not_compared_with_itself(model):
    """Otherwise labelled samples would never be unlike the others of their class."""
    unlike = model.pooled_head.held_out_unlike
    assert unlike.shape == model.pooled_head.held_out.shape[1:]
    X, y = drawn()
    known = np.flatnonzero(labels(y, hidden=3) >= 0)
    itself = model.unlike(X[known])
    assert np.nanmean(unlike) > np.nanmean(itself) + 0.2


def test_where_it_is_not_known():
    X, y = drawn(n=60)
    single = SSNMFClassifier(4, random_state=0).fit(X, labels(y, 1))
    assert np.isnan(single.unlike(X)).all()
    several = SSNMFClassifier(4, random_state=0).fit(X, np.eye(K)[y])
    assert np.isnan(several.unlike(X)).all()
    exposed = SSNMFClassifier(4, exposure="total", random_state=0).fit(X, labels(y, 4))
    assert np.isnan(exposed.unlike(csr_array((1, 80)))).all()
    assert not hasattr(SSNMFClassifier(4, head="refit", random_state=0).fit(X, y), "unlike")
    assert not hasattr(SSNMFRegressor(4).fit(X, y.astype(float)), "unlike")


def test_columns_are_not_standardised_where_totals_are_scales():
    """Dense counts with even totals would be, and deep samples would differ from shallow ones."""
    X, y = drawn(depth=600.0)
    D = X.toarray()
    assert np.count_nonzero(D) > D.size / 2
    plain = SSNMFClassifier(4, random_state=0).fit(D, labels(y))
    exposed = SSNMFClassifier(4, exposure="total", random_state=0).fit(D, labels(y))
    assert plain.pooled_head.view.kind == "columns"
    assert exposed.pooled_head.view.kind == "roots"
    np.testing.assert_allclose(
        exposed.view(2.0 * D[:5]).toarray(), exposed.view(D[:5]).toarray(), rtol=1e-12
    )
