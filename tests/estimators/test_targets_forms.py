"""Targets and weights in every form: what they are read as, and that the fit heeds them."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from cofactor import NMF, SSNMFClassifier, SSNMFRegressor

NAN = float("nan")
LOSSES = ("kullback-leibler", "frobenius", "itakura-saito")
NUMBERS, WORDS, TRUTHS = np.array([10, 20, 30]), np.array(["a", "b", "c"]), np.array([False, True])


def classifier(**parameters):
    return SSNMFClassifier(**{"n_components": 3, "random_state": 0, **parameters})


def regressor(**parameters):
    return SSNMFRegressor(**{"n_components": 3, "random_state": 0, **parameters})


def fitted(model):
    names = ("components_", "representation_", "target_components_", "history_")
    return {name: getattr(model, name, None) for name in names}


def assert_same_fit(model, other, rtol=None):
    """Bit for bit, or to a tolerance."""
    one, two = fitted(model), fitted(other)
    for name in ("components_", "representation_", "target_components_"):
        if rtol is None:
            assert_array_equal(one[name], two[name], name)
        else:
            assert_allclose(one[name], two[name], rtol=rtol, atol=rtol, err_msg=name)
    for name in one["history_"]:
        assert_allclose(one["history_"][name], two["history_"][name], rtol=rtol or 1e-15)


def hide(labels, known, mark, dtype=object):
    y = np.array(labels, dtype=dtype)
    y[~known] = mark
    return y


# --- classes -------------------------------------------------------------------------------------

# name: (what classes 0, 1, 2 are called, how to write them, dtype of classes_)
LABELS = {
    "int, -1": (NUMBERS, lambda y, known: np.where(known, y, -1), np.int64),
    "int8, -1": (NUMBERS, lambda y, known: np.where(known, y, -1).astype(np.int8), np.int8),
    "list of int": (NUMBERS, lambda y, known: np.where(known, y, -1).tolist(), np.int64),
    "float, NaN": (NUMBERS, lambda y, known: np.where(known, y, NAN), np.float64),
    "float32, NaN": (NUMBERS, lambda y, known: hide(y, known, NAN, np.float32), np.float32),
    "object int, None": (NUMBERS, lambda y, known: hide(y, known, None), np.int64),
    "object str, None": (WORDS, lambda y, known: hide(y, known, None), object),
    "object str, NaN": (WORDS, lambda y, known: hide(y, known, NAN), object),
    "object str, empty": (WORDS, lambda y, known: hide(y, known, ""), object),
    "str, empty": (WORDS, lambda y, known: np.where(known, y, ""), "<U1"),
    "object bool, None": (TRUTHS, lambda y, known: hide(y, known, None), bool),
    "pandas Categorical": (
        WORDS,
        lambda y, known: pd.Categorical(hide(y, known, None), categories=["c", "z", "a", "b"]),
        object,
    ),
    "pandas category": (
        WORDS,
        lambda y, known: pd.Series(hide(y, known, None), index=np.arange(60)[::-1]).astype(
            "category"
        ),
        object,
    ),
    "pandas Int64": (
        NUMBERS,
        lambda y, known: pd.Series(hide(y, known, None), dtype="Int64"),
        np.int64,
    ),
    "pandas string": (
        WORDS,
        lambda y, known: pd.Series(hide(y, known, None), dtype="string"),
        object,
    ),
    "pandas boolean": (
        TRUTHS,
        lambda y, known: pd.Series(hide(y, known, None), dtype="boolean"),
        bool,
    ),
    "polars Int64": (
        NUMBERS,
        lambda y, known: pl.Series(hide(y, known, None).tolist(), dtype=pl.Int64),
        np.int64,
    ),
    "polars String": (WORDS, lambda y, known: pl.Series(hide(y, known, None).tolist()), object),
    "polars Categorical": (
        WORDS,
        lambda y, known: pl.Series(hide(y, known, None).tolist(), dtype=pl.Categorical),
        object,
    ),
    "polars Boolean": (TRUTHS, lambda y, known: pl.Series(hide(y, known, None).tolist()), bool),
}


@pytest.mark.parametrize(("names", "write", "dtype"), LABELS.values(), ids=LABELS)
def test_partly_labelled_classes(X, classes, known, names, write, dtype):
    codes = np.minimum(classes, len(names) - 1)
    truth = names[codes]
    y = write(truth, known)
    model = classifier().fit(X, y)
    assert model.classes_.tolist() == names.tolist()
    assert model.classes_.dtype == dtype
    predicted = model.predict(X)
    assert predicted.dtype == model.classes_.dtype
    assert_array_equal(predicted, truth)
    probabilities = model.predict_proba(X)
    assert_allclose(probabilities.sum(axis=1), 1)
    assert probabilities[np.arange(60), codes].min() > 0.8
    assert model.score(X, y) == 1
    assert_same_fit(model, classifier().fit(X, np.where(known, codes, -1)))


@pytest.mark.parametrize("losses", list(product(LOSSES, LOSSES)), ids="-".join)
def test_every_pair_of_losses_learns_the_classes(X, classes, known, losses):
    model = classifier(data_loss=losses[0], target_loss=losses[1], max_iter=1000)
    model.fit(X, np.where(known, classes, -1))
    assert np.mean(model.predict(X) == classes) > 0.95


def test_column_vector_is_read_as_labels_with_a_warning(X, classes, known):
    y = np.where(known, classes, -1)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = classifier().fit(X, y[:, None])
    assert_same_fit(model, classifier().fit(X, y))


def test_score_counts_labelled_samples_only(X, classes):
    model = classifier().fit(X, classes)
    y = np.where(np.arange(60) < 4, (classes + 1) % 3, np.where(np.arange(60) < 10, classes, -1))
    assert model.score(X, y) == pytest.approx(0.6)
    assert model.score(X, y, sample_weight=np.where(np.arange(60) < 4, 1.0, 0.5)) == pytest.approx(
        3 / 7
    )


# --- matrices of targets -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tagged():
    """Documents with one or two of three tags, and the indicator of these."""
    tags = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1]] * 10)
    rates = np.where(np.repeat(tags, 4, axis=1), 12.0, 0.1)
    return np.random.default_rng(1).poisson(rates).astype(float), tags


@pytest.fixture(scope="module")
def hidden():
    """Cells that are not told: some rows whole, others in part."""
    cells = np.random.default_rng(2).random((60, 3)) < 0.3
    cells[:6] = True
    return cells


INDICATORS = {
    "float, NaN": lambda tags, hidden: np.where(hidden, NAN, tags),
    "float32, NaN": lambda tags, hidden: np.where(hidden, NAN, tags).astype(np.float32),
    "int, -1": lambda tags, hidden: np.where(hidden, -1, tags),
    "object, None": lambda tags, hidden: np.where(hidden, None, tags.astype(object)),
    "list": lambda tags, hidden: np.where(hidden, NAN, tags).tolist(),
    "pandas": lambda tags, hidden: pd.DataFrame(np.where(hidden, NAN, tags), columns=[*"xyz"]),
    "polars": lambda tags, hidden: pl.DataFrame(np.where(hidden, NAN, tags), schema=[*"xyz"]),
}


@pytest.mark.parametrize("form", INDICATORS)
def test_multilabel_with_unknown_cells(tagged, hidden, form):
    X, tags = tagged
    y = INDICATORS[form](tags, hidden)
    model = classifier(max_iter=1000).fit(X, y)
    assert model.classes_.tolist() == ([*"xyz"] if hasattr(y, "columns") else [0, 1, 2])
    predicted = model.predict(X)
    assert predicted.shape == tags.shape
    assert np.mean(predicted[hidden] == tags[hidden]) > 0.95
    assert np.mean(predicted[~hidden] == tags[~hidden]) > 0.95
    probabilities = model.predict_proba(X)
    assert probabilities.min() > 0
    assert probabilities.max() < 1
    assert model.score(X, y) > 0.9
    told = classifier(max_iter=1000).fit(X, np.where(hidden, NAN, tags))
    assert_same_fit(model, told)


@pytest.mark.parametrize(
    "form", [np.asarray, np.bool_, sparse.csr_array, sparse.csc_matrix, pd.DataFrame, pl.DataFrame]
)
def test_complete_indicators(tagged, form):
    X, tags = tagged
    model = classifier().fit(X, form(tags))
    assert np.mean(model.predict(X) == tags) > 0.97
    assert_same_fit(model, classifier().fit(X, tags.astype(float)), rtol=1e-9)


@pytest.mark.parametrize(("head", "atol"), [("pooled", 0.17), ("refit", 0.1)])
def test_soft_labels(X, classes, known, head, atol):
    shares = np.full((60, 3), 0.1)
    shares[np.arange(60), classes] = 0.8
    y = np.where(known[:, None], shares, NAN)
    model = classifier(head=head).fit(X, y)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert_array_equal(model.predict(X), classes)
    probabilities = model.predict_proba(X)
    assert_allclose(probabilities.sum(axis=1), 1)
    assert_allclose(probabilities, shares, atol=atol)
    assert model.score(X, y) == 1


# --- numbers -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixtures():
    """Exact mixtures of three topics, and two numbers that are linear in the shares."""
    S = np.random.default_rng(3).dirichlet([0.5] * 3, size=60) + 0.01
    A = np.random.default_rng(4).gamma(0.5, size=(12, 3))
    return S @ A.T, S @ np.array([[1.0, 4.0], [2.0, 0.0], [6.0, 3.0]])


VALUES = {
    "float": lambda y: y,
    "float32": lambda y: y.astype(np.float32),
    "object, None": lambda y: np.where(np.isnan(y), None, y.astype(object)),
    "list": lambda y: y.tolist(),
    "pandas": lambda y: (pd.Series if y.ndim == 1 else pd.DataFrame)(y),
    "pandas Float64": lambda y: (pd.Series if y.ndim == 1 else pd.DataFrame)(y, dtype="Float64"),
    "polars": lambda y: (pl.Series if y.ndim == 1 else pl.DataFrame)(y),
}


@pytest.mark.parametrize("form", VALUES)
@pytest.mark.parametrize("shape", ["one", "column", "two"])
@pytest.mark.parametrize("shift", [0.0, -5.0], ids=["positive", "negative"])
def test_partly_known_numbers(mixtures, form, shape, shift):
    X, truth = mixtures
    truth = {"one": truth[:, 0], "column": truth[:, :1], "two": truth}[shape] + shift
    hidden = np.random.default_rng(5).random(truth.shape) < 0.4
    y = VALUES[form](np.where(hidden, NAN, truth))
    model = regressor(max_iter=1000, tol=1e-6).fit(X, y)
    predicted = model.predict(X)
    assert predicted.shape == truth.shape
    error = (predicted - truth)[hidden]
    assert np.mean(error**2) < 0.05 * np.var(truth[hidden])
    assert model.score(X, np.where(hidden, truth, NAN)) > 0.9
    assert model.target_components_.shape == (3, 2 if shape == "two" else 1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("losses", list(product(LOSSES, LOSSES)), ids="-".join)
def test_every_pair_of_losses_learns_numbers(mixtures, losses):
    X, truth = mixtures
    y = np.where(np.arange(60) < 40, truth[:, 0], NAN)
    model = regressor(data_loss=losses[0], target_loss=losses[1], max_iter=300)
    assert model.fit(X, y).score(X[40:], truth[40:, 0]) > 0.8


def test_whole_numbers_are_targets_and_minus_one_is_a_number(X, classes):
    y = 10 * classes - 1
    model = regressor().fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.predict(X).min() < 0
    assert regressor(head="refit").fit(X, y).predict(X).min() == -1


# --- weights -------------------------------------------------------------------------------------

HOLES = np.random.default_rng(6).random((60, 12)) < 0.2
HOLES[:, 0] = False


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("data_loss", LOSSES)
@pytest.mark.parametrize("filling", [0.0, 1e6, NAN])
def test_cells_of_weight_zero_may_hold_anything(X, classes, known, form, data_loss, filling):
    y = np.where(known, classes, -1)
    weights = np.where(HOLES, 0.0, 1.5)
    parameters = {"data_loss": data_loss, "max_iter": 10, "tol": 0}
    model = classifier(**parameters).fit(X, y, data_weights=form(weights))
    other = np.where(HOLES, filling, X)
    assert_same_fit(model, classifier(**parameters).fit(other, y, data_weights=form(weights)))
    assert_array_equal(
        model.transform(X, data_weights=form(weights)),
        model.transform(other, data_weights=form(weights)),
    )
    assert_array_equal(
        model.predict_proba(X, data_weights=weights),
        model.predict_proba(other, data_weights=weights),
    )


def test_missing_cells_are_cells_of_weight_zero(X, classes, known):
    y = np.where(known, classes, -1)
    holed, weights = np.where(HOLES, NAN, X), np.where(HOLES, 0.0, 1.0)
    model = classifier().fit(holed, y)
    assert_same_fit(model, classifier().fit(X, y, data_weights=weights))
    assert_array_equal(model.transform(holed), model.transform(X, data_weights=weights))
    assert_array_equal(model.predict(holed), classes)


def test_missing_cells_are_filled_by_the_topics():
    random = np.random.default_rng(7)
    X = random.gamma(1, size=(60, 2)) @ random.gamma(0.5, size=(2, 12))
    holed = np.where(HOLES, NAN, X)
    model = NMF(2, random_state=0, max_iter=5000, tol=1e-9).fit(holed)
    filled = model.inverse_transform(model.transform(holed))
    assert_allclose(filled[HOLES], X[HOLES], rtol=0.01, atol=0.01)


def test_stored_cells_of_sparse_weights_are_the_observed_ones(X, classes):
    """An observed zero counts; a cell that the weights do not store does not."""
    weights = np.where(HOLES, 0.0, 2.0)
    of_sparse = classifier().fit(
        sparse.csr_array(X), classes, data_weights=sparse.coo_array(weights)
    )
    assert_same_fit(of_sparse, classifier().fit(X, classes, data_weights=weights), rtol=1e-9)
    without_zeros = classifier().fit(X, classes, data_weights=np.where(X > 0, weights, 0.0))
    assert not np.allclose(of_sparse.components_, without_zeros.components_, rtol=1e-2)


@pytest.mark.parametrize("shape", [(60, 1), (1, 12)], ids=["rows", "columns"])
@pytest.mark.parametrize("data_loss", LOSSES)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_weights_of_rows_or_columns_stand_for_a_matrix(X, classes, shape, data_loss, form):
    weights = np.random.default_rng(8).uniform(0.2, 3, size=shape)
    parameters = {"data_loss": data_loss, "solver": "mu", "max_iter": 10, "tol": 0}
    model = classifier(**parameters).fit(form(X), classes, data_weights=weights)
    full = np.broadcast_to(weights, X.shape)
    assert_same_fit(
        model, classifier(**parameters).fit(form(X), classes, data_weights=full), rtol=1e-7
    )
    plain = classifier(**parameters).fit(form(X), classes)
    assert not np.allclose(model.components_, plain.components_, rtol=1e-3)
    assert_allclose(
        model.transform(X, data_weights=weights),
        model.transform(X, data_weights=full),
        rtol=1e-4,
        atol=1e-6,
    )


@pytest.mark.parametrize("data_loss", LOSSES)
def test_columns_of_weight_zero_may_hold_anything(X, classes, data_loss):
    weights = np.where(np.arange(12) == 5, 0.0, 1.0)[None]
    parameters = {"data_loss": data_loss, "max_iter": 10, "tol": 0}
    model = classifier(**parameters).fit(X, classes, data_weights=weights)
    other = np.where(weights == 0, 50.0 - X, X)
    assert_same_fit(model, classifier(**parameters).fit(other, classes, data_weights=weights))
    assert_array_equal(
        model.transform(X, data_weights=weights), model.transform(other, data_weights=weights)
    )


@pytest.mark.parametrize("data_loss", LOSSES)
def test_samples_of_weight_zero_may_hold_anything(X, classes, data_loss):
    counts = np.where(np.arange(60) < 9, 0.0, 1.0)
    other = np.where(counts[:, None] == 0, 50.0 - X, X)
    for init in ("auto", "random", "nndsvd"):
        model = classifier(data_loss=data_loss, init=init, max_iter=5, tol=0)
        one = model.fit(X, classes, sample_weight=counts).components_
        two = model.fit(other, classes, sample_weight=counts).components_
        removed = model.fit(X[9:], classes[9:]).components_
        assert_allclose(one, two, rtol=1e-10, atol=1e-12, err_msg=init)
        assert_allclose(one, removed, rtol=1e-7, atol=1e-9, err_msg=init)


def test_a_row_of_weight_zero_is_treated_alike_in_either_shape(X, classes):
    """As a column of weights or as a matrix: both fit, or both say why not."""
    column = np.where(np.arange(60) == 7, 0.0, 1.0)[:, None]
    answers = []
    for weights in (column, np.broadcast_to(column, X.shape)):
        try:
            model = classifier().fit(X, classes, data_weights=weights)
            answers.append(np.isfinite(model.representation_).all())
        except ValueError as error:
            answers.append(str(error))
    assert answers[0] == answers[1]


MODELS = {"NMF": NMF, "classifier": SSNMFClassifier, "regressor": SSNMFRegressor}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("solver", ["auto", "mu", "mu-paper"])
def test_whole_sample_weights_are_repeated_samples(X, classes, kind, solver):
    counts = np.arange(60) % 4
    parameters = {"solver": solver, "max_iter": 20, "tol": 0, "random_state": 0}
    weighted = MODELS[kind](3, **parameters).fit(X, classes, sample_weight=counts)
    repeated = MODELS[kind](3, **parameters).fit(X.repeat(counts, 0), classes.repeat(counts))
    # An objective known to 16 digits, which the solver goes by, tells factors apart to 8 of them.
    assert_allclose(weighted.components_, repeated.components_, rtol=1e-6, atol=1e-7)
    assert_allclose(weighted.history_["objective"], repeated.history_["objective"], rtol=1e-9)
    assert_allclose(
        weighted.representation_.repeat(counts, 0), repeated.representation_, rtol=1e-6, atol=1e-7
    )
    if kind != "NMF":
        assert_allclose(
            weighted.target_components_, repeated.target_components_, rtol=1e-6, atol=1e-8
        )


@pytest.mark.parametrize("init", ["random", "auto"])
@pytest.mark.parametrize("labels", [classifier, regressor], ids=["classifier", "regressor"])
def test_labels_without_confidence_are_no_labels(X, classes, known, init, labels):
    model = labels(init=init)
    wrong = np.where(known, classes, (classes + 1) % 3).astype(float)
    doubted = model.fit(X, wrong, target_weights=known.astype(float))
    unlabelled = labels(init=init).fit(X, np.where(known, classes, NAN))
    assert_same_fit(doubted, unlabelled)
    believed = labels(init=init).fit(X, wrong)
    assert not np.allclose(doubted.target_components_, believed.target_components_, rtol=1e-2)


def test_cells_without_confidence_are_unknown_cells(tagged, hidden):
    X, tags = tagged
    wrong = np.where(hidden, 1 - tags, tags)
    doubted = classifier().fit(X, wrong, target_weights=np.where(hidden, 0.0, 1.0))
    assert_same_fit(doubted, classifier().fit(X, np.where(hidden, NAN, tags)))


def test_confidence_decides_between_labels_that_contradict(X):
    """Every document twice, with both labels: the trusted one wins."""
    twice = np.vstack([X, X])
    y = np.r_[np.arange(60) % 3, (np.arange(60) + 1) % 3]
    for trusted in (0, 1):
        confidence = np.where(np.arange(120) // 60 == trusted, 1.0, 0.1)
        model = classifier().fit(twice, y, target_weights=confidence)
        assert_array_equal(model.predict(X), (np.arange(60) + trusted) % 3)


@pytest.mark.parametrize("name", ["sample_weight", "data_weights", "target_weights"])
def test_every_weight_changes_the_fit(X, classes, name):
    shape = X.shape if name == "data_weights" else 60
    weights = np.random.default_rng(9).uniform(0.1, 3, size=shape)
    y = np.where(np.arange(60) % 5 == 0, (classes + 1) % 3, classes)
    plain, weighed = classifier().fit(X, y), classifier().fit(X, y, **{name: weights})
    assert not np.allclose(plain.target_components_, weighed.target_components_, rtol=1e-3)
