"""What must not change a fit, what must, and by how much: scale, order, storage, threads, seeds."""

import pickle
from contextlib import nullcontext
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import oracles
from cofactor import NMF, Factors, SSNMFClassifier, SSNMFRegressor, noise
from cofactor.divergences import DIVERGENCES
from cofactor.priors import L1, L2, Gamma

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LOSSES = ("kullback-leibler", "frobenius", "itakura-saito")
PAIRS = list(product(LOSSES, LOSSES))
MODELS = [
    (losses, solver)
    for losses, solver in product(PAIRS, ("cd", "mu", "mu-paper"))
    if solver != "cd" or "itakura-saito" not in losses
]
IDS = ["-".join((*losses, solver)) for losses, solver in MODELS]
every_model = pytest.mark.parametrize(("losses", "solver"), MODELS, ids=IDS)
KINDS = [NMF, SSNMFClassifier, SSNMFRegressor]
every_kind = pytest.mark.parametrize("kind", KINDS)


def make(kind, losses=LOSSES[:1] * 2, solver="auto", **parameters):
    """Few iterations and no early end: what is compared is the path, not where it leads."""
    given = {"n_components": 3, "max_iter": 5, "tol": 0, "random_state": 0, **parameters}
    if kind is not NMF:
        given.setdefault("target_loss", losses[1])
    return kind(data_loss=given.pop("data_loss", losses[0]), solver=solver, **given)


def arrays(model):
    names = ("components_", "representation_", "target_components_")
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def assert_same_bits(model, other):
    assert arrays(model).keys() == arrays(other).keys()
    for name, array in arrays(model).items():
        assert_array_equal(array, arrays(other)[name], name)
        assert array.dtype == arrays(other)[name].dtype
    assert model.history_ == other.history_


def differ(model, other):
    one, two = arrays(model), arrays(other)
    return any(
        one[name].shape != two[name].shape or not np.array_equal(one[name], two[name])
        for name in one
    )


# --- scale ---------------------------------------------------------------------------------------


def assert_scaled(model, scaled, c, rtol):
    """The topics carry the scale; everything else stays."""
    assert_allclose(scaled.components_, model.components_ * c, rtol=rtol, atol=rtol * 10 * abs(c))
    for name in ("representation_", "target_components_"):
        if hasattr(model, name):
            assert_allclose(getattr(scaled, name), getattr(model, name), rtol=rtol, atol=rtol)
    for values in scaled.history_.values():
        assert not np.isnan(values).any()


def readable(X, losses):
    """Data for the losses: Itakura–Saito reads zeros as something else, which has its own test."""
    return X + X.dtype.type(0.5) if losses[0] == "itakura-saito" else X


@pytest.mark.parametrize("n_components", [3, 5])
def test_a_class_that_does_not_count_gets_no_topic(X, classes, n_components):
    """Samples of weight 0 are as good as absent, even if a whole class goes."""
    counts = (classes != 1).astype(float)
    model = make(SSNMFClassifier, n_components=n_components).fit(X, classes, sample_weight=counts)
    kept = counts > 0
    without = make(SSNMFClassifier, n_components=n_components).fit(X[kept], classes[kept])
    assert_array_equal(model.classes_, [0, 1, 2])
    assert_allclose(model.components_, without.components_, rtol=1e-6, atol=1e-9)
    assert_array_equal(model.predict(X), without.predict(X))


def told_if_small(solver, c):
    """Data that the paper's epsilon swamps are fitted with a warning, or rescaled if tiny."""
    if solver == "mu-paper" and 2.0**-100 < c < 1e-6:
        return pytest.warns(UserWarning, match=r"X is at most .*1e-10.*'mu-paper'.*scale it up")
    return nullcontext()


@every_model
@pytest.mark.parametrize("c", [1e-300, 1e-150, 1e-8, 1e8, 1e150, 1e300])
def test_scaled_data_give_the_scaled_fit(X, classes, losses, solver, c):
    X = readable(X, losses)
    known = np.where(np.arange(60) < 30, classes, -1)
    model = make(SSNMFClassifier, losses, solver, init="random").fit(X, known)
    with told_if_small(solver, c):
        scaled = make(SSNMFClassifier, losses, solver, init="random").fit(X * c, known)
    assert all(np.isfinite(array).all() for array in arrays(scaled).values())
    if solver == "mu-paper" and 1e-30 < c < 1e30:
        return  # the paper's epsilon is an absolute number
    assert_scaled(model, scaled, c, rtol=1e-5)
    assert_allclose(scaled.transform(X * c), model.transform(X), rtol=1e-4, atol=1e-4)
    assert_allclose(scaled.predict_proba(X * c), model.predict_proba(X), rtol=1e-3, atol=1e-4)


@every_model
@pytest.mark.parametrize("c", [1e-30, 1e-15, 1e15, 1e30])
def test_scaled_single_precision(X, classes, losses, solver, c):
    X, c = readable(X.astype(np.float32), losses), np.float32(c)
    model = make(SSNMFClassifier, losses, solver, init="random").fit(X, classes)
    with told_if_small(solver, c):
        scaled = make(SSNMFClassifier, losses, solver, init="random").fit(X * c, classes)
    assert scaled.components_.dtype == np.float32
    assert all(np.isfinite(array).all() for array in arrays(scaled).values())
    assert np.isfinite(scaled.predict_proba(X * c)).all()
    if solver == "mu-paper":
        return  # the paper's epsilon is an absolute number
    assert_scaled(model, scaled, float(c), rtol=1e-3)
    assert_allclose(scaled.predict_proba(X * c), model.predict_proba(X), rtol=0.01, atol=1e-3)


@every_kind
@pytest.mark.parametrize("init", ["auto", "nndsvd"])
@pytest.mark.parametrize("c", [1.9, 1e-8])
def test_every_start_scales_with_the_data(X, classes, kind, init, c):
    model = make(kind, init=init).fit(X, classes)
    assert_scaled(model, make(kind, init=init).fit(X * c, classes), c, rtol=1e-6)


@pytest.mark.parametrize("c", [1.9, 2.0**-27])
def test_what_stands_for_a_zero_scales_with_the_data(X, c):
    model = make(NMF, ("itakura-saito",)).fit(X)
    assert_scaled(model, make(NMF, ("itakura-saito",)).fit(X * c), c, rtol=1e-6)


@pytest.mark.parametrize("exponent", [-1000, -500, -90, 90, 500, 1000])
@pytest.mark.parametrize("losses", PAIRS, ids="-".join)
def test_powers_of_two_change_no_bit(X, classes, losses, exponent):
    model = make(SSNMFClassifier, losses).fit(X, classes)
    scaled = make(SSNMFClassifier, losses).fit(np.ldexp(X, exponent), classes)
    assert_array_equal(scaled.representation_, model.representation_)
    assert_array_equal(scaled.target_components_, model.target_components_)
    assert_array_equal(scaled.components_, np.ldexp(model.components_, exponent))
    assert_array_equal(scaled.transform(np.ldexp(X, exponent)), model.transform(X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("losses", PAIRS, ids="-".join)
def test_denormal_data(X, classes, losses, dtype):
    """Counts in units of the smallest number there is: exact, so the fit is the same."""
    smallest = np.finfo(dtype).smallest_subnormal
    counts = X.astype(dtype)
    model = make(SSNMFClassifier, losses).fit(counts, classes)
    tiny = make(SSNMFClassifier, losses).fit(counts * smallest, classes)
    assert_array_equal(tiny.representation_, model.representation_)
    assert_array_equal(tiny.target_components_, model.target_components_)
    assert np.isfinite(tiny.components_).all()
    assert_array_equal(tiny.predict(counts * smallest), model.predict(counts))


@pytest.mark.parametrize("losses", PAIRS, ids="-".join)
@pytest.mark.parametrize("c", [1e-200, 2.0**-30, 2.0**30, 1e200])
@pytest.mark.parametrize("init", ["random", "auto"])
def test_scaled_targets_give_the_scaled_head(X, classes, losses, c, init):
    y = classes + 1.0
    model = make(SSNMFRegressor, losses, init=init).fit(X, y)
    scaled = make(SSNMFRegressor, losses, init=init).fit(X, y * c)
    assert_allclose(scaled.target_components_ / c, model.target_components_, rtol=1e-5, atol=1e-5)
    assert_allclose(scaled.components_, model.components_, rtol=1e-5, atol=1e-5)
    assert_allclose(scaled.predict(X) / c, model.predict(X), rtol=1e-4)


@pytest.mark.parametrize(
    "dtype",
    ["bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2"],
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_counts_of_every_dtype(classes, dtype, form):
    """Large counts: sums and squares in the dtype itself would overflow."""
    top = (
        2
        if dtype is bool
        else min(np.iinfo(dtype).max if np.dtype(dtype).kind in "iu" else 2000, 60000)
    )
    X = np.random.default_rng(0).integers(0, top, size=(60, 12)).astype(dtype)
    for losses in (PAIRS[0], ("frobenius", "frobenius")):
        model = make(SSNMFClassifier, losses).fit(X if dtype == "f2" else form(X), classes)
        expected = make(SSNMFClassifier, losses).fit(form(X.astype(float)), classes)
        assert_allclose(model.components_, expected.components_, rtol=1e-4, atol=1e-3)
        assert_allclose(model.history_["objective"], expected.history_["objective"], rtol=1e-4)
        assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("losses", PAIRS[::4], ids="-".join)
@pytest.mark.parametrize("c", [1e-300, 1e-100, 1e-10, 1e10, 1e100, 1e300])
def test_new_data_of_another_scale(X, classes, losses, c):
    model = make(SSNMFClassifier, losses).fit(X, classes)
    representation, probabilities = model.transform(X * c), model.predict_proba(X * c)
    assert np.isfinite(representation).all()
    assert np.isfinite(probabilities).all()
    if losses[0] != "itakura-saito":  # whose zeros are read in units of the training data
        expected = model.transform(X)
        assert_allclose(representation / c, expected, rtol=1e-4, atol=1e-4 * expected.max())
        assert_allclose(probabilities, model.predict_proba(X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("losses", PAIRS[::4], ids="-".join)
@pytest.mark.parametrize("c", [1e-200, 1e200])
def test_a_sample_of_another_scale_leaves_the_others_alone(X, classes, losses, c):
    model = make(SSNMFClassifier, losses).fit(X, classes)
    together = np.array(X)
    together[7] *= c
    others = np.arange(60) != 7
    found = model.transform(together)
    assert_allclose(found[others], model.transform(X)[others], rtol=1e-9, atol=1e-12)
    assert_allclose(found[7] / c, model.transform(together[7:8])[0] / c, rtol=1e-9, atol=1e-12)


# --- same data, told otherwise -------------------------------------------------------------------


@every_kind
@every_model
def test_storages_agree(X, classes, kind, losses, solver):
    model = make(kind, losses, solver).fit(X, classes)
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array, pd.DataFrame):
        given = form(X)
        other = make(kind, losses, solver).fit(given, classes)
        for name, array in arrays(model).items():
            assert_allclose(arrays(other)[name], array, rtol=1e-6, atol=1e-8, err_msg=str(form))
        assert_allclose(other.history_["objective"], model.history_["objective"], rtol=1e-9)


@every_kind
def test_memory_order_changes_no_bit(X, classes, kind):
    model = make(kind).fit(X, classes)
    wide = np.zeros((60, 24))
    wide[:, ::2] = X
    for other in (np.asfortranarray(X), wide[:, ::2], X[::-1][::-1], X.tolist()):
        assert_same_bits(make(kind).fit(other, classes), model)


@every_kind
@pytest.mark.parametrize("init", ["auto", "random", "nndsvd"])
def test_permuted_samples_permute(X, classes, kind, init):
    order = np.random.default_rng(1).permutation(60)
    model = make(kind, init=init).fit(X, classes)
    permuted = make(kind, init=init).fit(X[order], classes[order])
    assert_allclose(permuted.components_, model.components_, rtol=1e-6, atol=1e-8)
    assert_allclose(permuted.representation_, model.representation_[order], rtol=1e-6, atol=1e-8)


@every_kind
@pytest.mark.parametrize("losses", PAIRS[::4], ids="-".join)
@pytest.mark.parametrize("priors", [None, {"samples": L1(0.1)}], ids=["no prior", "prior"])
def test_doubled_samples_give_the_same_topics(X, classes, kind, losses, priors):
    """From a random start; the class-wise one counts pseudo-labels, of which there are no more."""
    parameters = {"priors": priors, "init": "random"}
    once = make(kind, losses, **parameters).fit(X, classes)
    twice = make(kind, losses, **parameters).fit(np.vstack([X, X]), np.r_[classes, classes])
    assert_allclose(twice.components_, once.components_, rtol=1e-6, atol=1e-8)
    assert_allclose(twice.representation_[60:], once.representation_, rtol=1e-6, atol=1e-8)
    assert_allclose(
        twice.history_["objective"], 2 * np.array(once.history_["objective"]), rtol=1e-9
    )


# --- transform -----------------------------------------------------------------------------------


@every_model
@every_kind
def test_transform_is_fit_transform(X, classes, kind, losses, solver):
    model = make(kind, losses, solver)
    representation = model.fit_transform(X, classes)
    assert_array_equal(model.transform(X), representation)
    assert_array_equal(make(kind, losses, solver).fit(X, classes).transform(X), representation)


@pytest.mark.parametrize("losses", PAIRS[::4], ids="-".join)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_batches_change_no_bit(X, classes, losses, form, dtype):
    X = X.astype(dtype)
    model = make(SSNMFClassifier, losses).fit(X, classes)
    whole, probabilities = model.transform(form(X)), model.predict_proba(form(X))
    for size in (1, 7, 59):
        batches = [form(X[i : i + size]) for i in range(0, 60, size)]
        assert_array_equal(np.vstack([model.transform(batch) for batch in batches]), whole)
        found = np.vstack([model.predict_proba(batch) for batch in batches])
        assert_allclose(found, probabilities, rtol=1e-6)
        assert_array_equal(np.hstack([model.predict(batch) for batch in batches]), model.predict(X))


@pytest.mark.parametrize("losses", PAIRS[::4], ids="-".join)
def test_representations_are_optimal(X, classes, losses):
    """No label seen, A fixed: a convex problem, whose optimality conditions hold."""
    data = X + 0.5
    model = make(SSNMFClassifier, losses, max_iter=50).fit(data, classes)
    S, A = model.transform(data), model.components_.T
    kkt = oracles.kkt_residual(data, None, A, None, S, data_loss=losses[0], factors=("samples",))
    assert kkt.relative < (1e-4 if losses[0] == "itakura-saito" else 1e-6)


# --- starts, seeds, threads ----------------------------------------------------------------------


@every_model
def test_a_given_start_is_used(X, classes, losses, solver):
    random = np.random.default_rng(2)
    starts = [
        Factors(*(random.uniform(0.5, 1.5, size=(rows, 3)) for rows in (60, 12, 3)))
        for _ in range(2)
    ]
    models = [
        make(SSNMFClassifier, losses, solver, init=start, max_iter=1, head="joint").fit(X, classes)
        for start in (*starts, starts[0])
    ]
    assert_same_bits(models[0], models[2])
    for name, array in arrays(models[0]).items():
        assert not np.allclose(array, arrays(models[1])[name], rtol=1e-3), name
    new = models[0].transform(X[:5])
    assert new.shape == (5, 3)
    assert np.isfinite(new).all()


@pytest.mark.parametrize("solver", ["cd", "mu", "mu-paper"])
@pytest.mark.parametrize("name", ["samples", "features", "targets"])
def test_every_given_factor_is_used(X, classes, solver, name):
    random = np.random.default_rng(2)
    sizes = {"samples": 60, "features": 12, "targets": 3}
    start = {each: random.uniform(0.5, 1.5, size=(rows, 3)) for each, rows in sizes.items()}
    other = {**start, name: random.uniform(0.5, 1.5, size=(sizes[name], 3))}
    one, two = (
        make(SSNMFClassifier, solver=solver, init=Factors(**each), max_iter=1, head="joint")
        for each in (start, other)
    )
    assert differ(one.fit(X, classes), two.fit(X, classes))


def test_a_start_without_targets_is_completed(X, classes):
    random = np.random.default_rng(3)
    start = Factors(*(random.uniform(0.5, 1.5, size=(rows, 3)) for rows in (60, 12)))
    one = make(SSNMFClassifier, init=start, max_iter=1).fit(X, classes)
    assert_same_bits(one, make(SSNMFClassifier, init=start, max_iter=1).fit(X, classes))
    plain = make(NMF, init=start, max_iter=1).fit(X)
    assert differ(plain, make(NMF, max_iter=1).fit(X))


@every_kind
@pytest.mark.parametrize("init", ["auto", "random", "nndsvd", "labels"])
def test_same_seed_same_bits_other_seed_other_bits(X, classes, kind, init):
    if (kind, init) == (NMF, "labels"):
        init = "auto"
    models = [
        make(kind, init=init, n_components=7, random_state=seed).fit(X, classes)
        for seed in (1, 1, 2, np.random.RandomState(1))
    ]
    assert_same_bits(models[0], models[1])
    assert_same_bits(models[0], models[3])
    assert differ(models[0], models[2])


def test_global_random_state_is_neither_used_nor_changed(X, classes):
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    make(SSNMFClassifier).fit(X, classes)
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@every_model
def test_threads_change_no_bit(losses, solver):
    X = np.random.default_rng(4).poisson(1.0, size=(150, 20)).astype(float)
    y = np.arange(150) % 3
    one, two, three = (
        make(SSNMFClassifier, losses, solver, max_iter=3, n_jobs=n).fit(X, y) for n in (1, 2, 3)
    )
    assert_same_bits(one, two)
    assert_same_bits(one, three)
    assert_array_equal(one.transform(X[:40]), two.transform(X[:40]))


@pytest.mark.parametrize("losses", PAIRS, ids="-".join)
@every_kind
def test_auto_solver_is_descent_where_it_can_be(X, classes, kind, losses):
    used = losses[:1] if kind is NMF else losses
    solver = "mu" if "itakura-saito" in used else "cd"
    auto = make(kind, losses, "auto").fit(X, classes)
    assert_same_bits(auto, make(kind, losses, solver).fit(X, classes))
    assert differ(auto, make(kind, losses, "mu-paper").fit(X, classes))


# --- parameters ----------------------------------------------------------------------------------

CHANGES = [
    ("n_components", 4),
    ("data_loss", "frobenius"),
    ("data_loss", DIVERGENCES["itakura-saito"]),
    ("data_loss", noise.Gaussian(2.0)),
    ("target_loss", "itakura-saito"),
    ("target_loss", noise.Gamma(3.0)),
    ("supervision", 0.3),
    ("solver", "mu"),
    ("solver", "mu-paper"),
    ("init", "nndsvd"),
    ("init", "random"),
    ("init", Factors(np.ones((60, 3)), np.ones((12, 3)) + np.eye(12, 3), np.eye(3) + 1)),
    ("max_iter", 3),
    ("tol", 0.5),
    ("priors", {"samples": L1(0.5)}),
    ("priors", {"samples": L2(0.5)}),
    ("priors", {"features": Gamma(1.5, 2.0)}),
    ("priors", {"features": [L1(0.5), L2(0.5)]}),
    ("priors", {"targets": L1(5.0)}),
    ("head", "joint"),
    ("random_state", 5),
]


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (kind, name, value)
        for kind, (name, value) in product(KINDS, CHANGES)
        if name in kind().get_params()
        and not (kind is NMF and (value == "random" or (name == "priors" and "targets" in value)))
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value)[:25],
)
def test_every_parameter_has_an_effect(X, classes, kind, name, value):
    known = np.where(np.arange(60) < 40, classes, np.nan)
    if isinstance(value, Factors) and kind is SSNMFRegressor:
        value = Factors(value.samples, value.features, np.ones((1, 3)))
    parameters = {"n_components": 3, "init": "auto", "max_iter": 5, "tol": 0, "random_state": 0}
    parameters["solver"] = "auto"
    plain = kind(**parameters).fit(X, known)
    if name == "random_state" and kind is not NMF:
        parameters["n_components"] = 7  # with one topic per class nothing is drawn
        plain = kind(**parameters).fit(X, known)
    changed = kind(**{**parameters, name: value}).fit(X, known)
    assert differ(plain, changed)


def test_noise_models_set_the_maximum_likelihood_supervision(X, classes):
    for data, target, expected in [
        (noise.Gaussian(0.5), noise.Gaussian(2.0), 0.25),
        (noise.Gaussian(0.5), noise.Poisson(), 2 * 3 * 0.5),
        (noise.Poisson(), noise.Gaussian(2.0), 1 / (2 * 3 * 2.0)),
        (noise.Poisson(), noise.Poisson(), 1.0),
    ]:
        model = make(SSNMFClassifier, data_loss=data, target_loss=target).fit(X, classes)
        assert model.supervision_ == pytest.approx(expected)
        names = [noise_.divergence.name for noise_ in (data, target)]
        same = make(SSNMFClassifier, names, supervision=expected).fit(X, classes)
        assert_same_bits(model, same)


def test_automatic_supervision_makes_the_mean_models_terms_equal(X, classes):
    Y = np.eye(3)[classes]
    for losses in PAIRS[:2] + PAIRS[3:5]:
        model = make(SSNMFClassifier, losses).fit(X, classes)
        means = [np.broadcast_to(Z.mean(axis=0), Z.shape) for Z in (X, Y)]
        data = oracles.divergence(losses[0], X, means[0])
        target = oracles.divergence(losses[1], Y, means[1])
        assert model.supervision_ == pytest.approx(data / target, rel=1e-6)


# --- history -------------------------------------------------------------------------------------

PRIORS = {"samples": ("l1", 0.2), "features": ("gamma", 1.5, 0.5), "targets": ("l2", 0.3)}
OURS = {"samples": L1(0.2), "features": Gamma(1.5, 0.5), "targets": [L2(0.3)]}


@every_model
@pytest.mark.parametrize("prior", [False, True], ids=["no priors", "priors"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_history_is_the_objective_of_the_factors(losses, solver, prior, weighted):
    random = np.random.default_rng(5)
    X, Y = random.gamma(2, size=(15, 6)), random.gamma(2, size=(15, 2))
    weights, oracle_weights = {}, {}
    if weighted:
        W, L, counts = random.random((15, 6)) + 0.1, random.random((15, 2)), random.random(15)
        weights = {"data_weights": W, "target_weights": L, "sample_weight": counts}
        oracle_weights = {"W": W, "L": L, "sample_weight": counts}
    model = make(
        SSNMFRegressor, losses, solver, head="joint", max_iter=7, priors=OURS if prior else None
    ).fit(X, Y, **weights)
    assert set(model.history_) == {"objective", "data", "target"}
    assert model.n_iter_ == 7
    assert {len(values) for values in model.history_.values()} == {7}
    assert all(type(value) is float for value in model.history_["objective"])
    expected = oracles.objective(
        X, Y, model.components_.T, model.target_components_.T, model.representation_,
        data_loss=losses[0], target_loss=losses[1], lam=model.supervision_,
        priors={name: [value] for name, value in PRIORS.items()} if prior else None,
        **oracle_weights,
    )  # fmt: skip
    assert model.history_["data"][-1] == pytest.approx(expected.data, rel=1e-6)
    assert model.history_["target"][-1] == pytest.approx(expected.target, rel=1e-6)
    assert model.history_["objective"][-1] == pytest.approx(expected.total, rel=1e-6)
    if not prior:
        parts = np.array(model.history_["data"]) + model.supervision_ * np.array(
            model.history_["target"]
        )
        assert_allclose(model.history_["objective"], parts, rtol=1e-12)
    if solver != "mu-paper":
        rises = np.diff(model.history_["objective"]) > 1e-12 * model.history_["objective"][0]
        assert not rises.any()


@every_kind
def test_a_converged_fit_says_so_and_one_that_is_not_warns(X, classes, kind):
    model = kind(3, random_state=0, max_iter=500).fit(X, classes)
    assert model.n_iter_ < 500
    assert model.stop_reason_.startswith("Converged after")
    assert str(model.n_iter_) in model.stop_reason_
    with pytest.warns(match=r"max_iter=1 .*raise max_iter or tol"):
        model = kind(3, random_state=0, max_iter=1).fit(X, classes)
    assert "max_iter=1" in model.stop_reason_


# --- as scikit-learn's ecosystem has it ----------------------------------------------------------


@every_kind
def test_clone_and_parameters(X, classes, kind):
    start = Factors(np.ones((60, 3)), np.ones((12, 3)))
    model = kind(3, init=start, priors={"samples": L1(0.1)}, data_loss=noise.Poisson(), tol=1e-3)
    copied = clone(model)
    assert copied.get_params().keys() == model.get_params().keys()
    assert copied.priors == model.priors
    assert not hasattr(clone(model.fit(X, classes)), "components_")
    copied.set_params(n_components=5, init="random")
    assert (copied.n_components, copied.init) == (5, "random")
    with pytest.raises(ValueError, match=r"rank.*n_components"):
        copied.set_params(rank=3)


@every_kind
def test_fit_does_not_touch_parameters(X, classes, kind):
    model = kind(3)
    before = dict(model.get_params())
    assert model.fit(X, classes) is model
    assert model.get_params() == before


@every_kind
def test_pickle_round_trip(X, classes, kind):
    model = make(kind).fit(X, classes)
    again = pickle.loads(pickle.dumps(model))
    assert_same_bits(again, model)
    assert_array_equal(again.transform(X), model.transform(X))
    if kind is not NMF:
        assert_array_equal(again.predict(X), model.predict(X))


@every_kind
def test_representations_for_people(X, classes, kind):
    model = make(kind, n_components=4).fit(X, classes)
    assert kind.__name__ in repr(model)
    assert "n_components=4" in repr(model)
    assert kind.__name__ in model._repr_html_()


@every_kind
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_output_as_tables(X, classes, kind, library):
    frame = pd.DataFrame(X, columns=[f"word{j}" for j in range(12)], index=np.arange(60) + 100)
    model = make(kind).set_output(transform=library).fit(frame, classes)
    assert_array_equal(model.feature_names_in_, frame.columns)
    assert model.n_features_in_ == 12
    names = [f"{kind.__name__.lower()}{t}" for t in range(3)]
    assert_array_equal(model.get_feature_names_out(), names)
    table = model.transform(frame)
    assert type(table).__module__.startswith(library)
    assert list(table.columns) == names
    assert_array_equal(table.to_numpy(), make(kind).fit(X, classes).transform(X))
    if library == "pandas":
        assert_array_equal(table.index, frame.index)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[frame.columns[::-1]])


@every_kind
def test_dtype_is_kept(X, classes, kind):
    for dtype in (np.float32, np.float64):
        model = make(kind).fit(X.astype(dtype), classes)
        assert {array.dtype for array in arrays(model).values()} == {np.dtype(dtype)}
        assert model.transform(X.astype(dtype)).dtype == dtype


@every_kind
def test_inverse_transform_is_the_model_of_the_data(X, classes, kind):
    model = make(kind, max_iter=100).fit(X, classes)
    fitted = model.inverse_transform(model.transform(X))
    assert_allclose(fitted, model.transform(X) @ model.components_)
    assert np.linalg.norm(fitted - X) < 0.5 * np.linalg.norm(X)


REQUESTED = {"sample_weight": 60, "data_weights": (60, 12), "target_weights": 60}


@pytest.mark.parametrize("name", REQUESTED)
@pytest.mark.parametrize("kind", [SSNMFClassifier, SSNMFRegressor])
def test_weights_are_routed_through_a_pipeline(X, classes, kind, name):
    weights = np.random.default_rng(6).random(REQUESTED[name]) + 0.1
    direct = make(kind).fit(X, classes, **{name: weights})
    with config_context(enable_metadata_routing=True):
        model = make(kind).set_fit_request(**{name: True})
        pipeline = make_pipeline(FunctionTransformer(), model).fit(X, classes, **{name: weights})
        assert_same_bits(pipeline[-1], direct)
        silent = make_pipeline(FunctionTransformer(), make(kind))
        with pytest.raises(Exception, match=f"{name}.*not explicitly set|{name}"):
            silent.fit(X, classes, **{name: weights})
    assert differ(direct, make(kind).fit(X, classes))


@pytest.mark.parametrize("name", REQUESTED)
def test_weights_are_routed_through_a_search(X, classes, name):
    seen = []

    class Recorder(SSNMFClassifier):
        def fit(self, X, y, *, sample_weight=None, data_weights=None, target_weights=None):
            weights = {
                "sample_weight": sample_weight,
                "data_weights": data_weights,
                "target_weights": target_weights,
            }
            seen.append(
                (X.shape[0], {k: None if w is None else w.shape for k, w in weights.items()})
            )
            return super().fit(X, y, **weights)

    weights = np.random.default_rng(7).random(REQUESTED[name]) + 0.1
    with config_context(enable_metadata_routing=True):
        model = Recorder(random_state=0, max_iter=3, tol=0).set_fit_request(**{name: True})
        if name == "sample_weight":
            model.set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"n_components": [3, 4]}, cv=2)
        search.fit(X, classes, **{name: weights})
    assert len(seen) == 5
    for rows, shapes in seen:
        assert shapes.pop(name)[0] == rows
        assert set(shapes.values()) == {None}
    assert search.best_estimator_.components_.shape[1] == 12


def test_weights_reach_transform_and_predict_by_routing(X, classes):
    weights = np.random.default_rng(8).random((60, 12)) + 0.1
    model = make(SSNMFClassifier).fit(X, classes)
    with config_context(enable_metadata_routing=True):
        inner = make(SSNMFClassifier).set_predict_request(data_weights=True)
        inner.set_fit_request(data_weights=False)
        pipeline = make_pipeline(FunctionTransformer(), inner).fit(X, classes)
        found = pipeline.predict(X, data_weights=weights)
    assert_array_equal(found, model.predict(X, data_weights=weights))
