"""From parameters to a fit: starts, solvers, noise models, supervision; each has an effect."""

from itertools import product

import numpy as np
import pytest

import oracles
from cofactor import NMF, Factors, SSNMFClassifier, SSNMFRegressor, noise
from cofactor.divergences import DIVERGENCES
from cofactor.priors import L1, L2, GammaPrior
from fits import KINDS, PAIRS, arrays, assert_same_bits, differ, every_kind, every_model, make

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


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
    ("priors", {"features": GammaPrior(1.5, 2.0)}),
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
        and not (kind is NMF and (value == "nndsvd" or (name == "priors" and "targets" in value)))
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


@pytest.mark.parametrize(
    ("kind", "parameters", "weights"),
    [
        ("nndsvd", {}, None),
        ("nndsvd", {"data_loss": "frobenius"}, None),
        ("nndsvd", {}, np.full((60, 12), 0.5)),
        ("nndsvd", {}, np.ones((60, 1))),
        ("random", {}, np.arange(1.0, 61.0)[:, None]),
        ("random", {}, np.arange(1.0, 13.0)[None]),
        ("random", {}, np.where(np.eye(60, 12), 0.0, 1.0)),
        ("random", {"solver": "mu"}, None),
        ("random", {"solver": "mu-paper"}, None),
        ("random", {"data_loss": "itakura-saito"}, None),
    ],
)
def test_automatic_starts_need_every_cell_and_coordinate_descent(X, kind, parameters, weights):
    (other,) = {"nndsvd", "random"} - {kind}
    auto, same, unlike = (
        make(NMF, init=init, **parameters).fit(X + 1.0, data_weights=weights)
        for init in ("auto", kind, other)
    )
    assert_same_bits(auto, same)
    assert differ(auto, unlike)


def test_missing_cells_start_at_random(X):
    data = np.where(np.eye(60, 12), np.nan, X)
    auto, drawn = (make(NMF, init=init).fit(data) for init in ("auto", "random"))
    assert_same_bits(auto, drawn)
