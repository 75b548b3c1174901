"""Problems for the engine's tests: dense arrays for the oracle, and the same things for the engine.

A ``Problem`` holds both sides.  ``draw`` makes one from a numpy generator and a few choices;
``problems`` lets hypothesis make the choices.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import strategies as st
from scipy import sparse as sp

import oracles
from cofactor.divergences import DIVERGENCES, FLOOR
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import minimise
from cofactor.engine.kernels import EPSILON
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import Observations, dense, observe, sparse
from cofactor.engine.threads import Threads
from cofactor.estimators.validation import as_penalties
from cofactor.priors import L1, L2, GammaPrior

PAIRS = list(product(oracles.LOSSES, repeat=2))
DESCENT_PAIRS = list(product((oracles.FROBENIUS, oracles.KL), repeat=2))
STORAGES = ("dense", "sparse", "masked")
SERIAL = Threads()
_PRIORS = {"l1": L1, "l2": L2, "gamma": GammaPrior}


def short(pair):
    """A test id: F-KL for the losses of data and targets."""
    names = {oracles.FROBENIUS: "F", oracles.KL: "KL", oracles.IS: "IS", None: "none"}
    return "-".join(names[loss] for loss in pair)


@dataclass(frozen=True)
class Observed:
    """One matrix, as the engine stores it and as dense values and weights."""

    engine: Observations
    values: np.ndarray
    weights: np.ndarray

    def read_by(self, loss):
        """The values as the loss reads them."""
        return np.maximum(self.values, FLOOR) if DIVERGENCES[loss].positive else self.values


@dataclass(frozen=True)
class Problem:
    """Data, targets (or None), and everything else that an objective consists of."""

    data: Observed
    target: Observed | None
    losses: tuple[str, str]
    lam: float
    priors: dict
    sample_weight: np.ndarray | None
    start: Factors

    @property
    def objective(self) -> Objective:
        terms = [Term("data", "features", self.data.engine, DIVERGENCES[self.losses[0]])]
        if self.target is not None:
            loss = DIVERGENCES[self.losses[1]]
            terms.append(Term("target", "targets", self.target.engine, loss, self.lam))
        penalties = as_penalties(
            {
                name: [_PRIORS[kind](*parameters) for kind, *parameters in given]
                for name, given in self.priors.items()
            }
        )
        return Objective(tuple(terms), penalties, self.sample_weight)

    @property
    def matrices(self) -> dict:
        """The oracle's X, Y, W, L, losses and lam."""
        found = {
            "X": self.data.read_by(self.losses[0]),
            "W": self.data.weights,
            "Y": None,
            "data_loss": self.losses[0],
            "target_loss": self.losses[1],
            "lam": self.lam,
        }
        if self.target is not None:
            found["Y"] = self.target.read_by(self.losses[1])
            found["L"] = self.target.weights
        return found

    @property
    def cells(self) -> dict:
        """How many cells each term has, counted with their weights."""
        counts = 1.0 if self.sample_weight is None else self.sample_weight[:, None]
        sizes = {"data": float(np.sum(counts * self.data.weights)), "target": 0.0}
        if self.target is not None:
            sizes["target"] = float(np.sum(counts * self.target.weights))
        return sizes

    def value(self, factors: Factors) -> oracles.Value:
        """The oracle's objective."""
        return oracles.objective(
            **self.matrices, **named(factors), epsilon=EPSILON, **self._priors_and_counts
        )

    def kkt(self, factors: Factors) -> float:
        """The oracle's relative KKT residual."""
        parts = self._priors_and_counts
        return oracles.kkt_residual(
            **self.matrices, **named(factors), epsilon=EPSILON, **parts
        ).relative

    @property
    def _priors_and_counts(self) -> dict:
        return {"priors": self.priors, "sample_weight": self.sample_weight}

    def surrogate_updates(self, n_iter: int) -> Factors:
        """The oracle's monotone updates."""
        A, B, S, _ = oracles.surrogate_updates(
            **self.matrices,
            **named(self.start),
            n_iter=n_iter,
            eps=EPSILON,
            **self._priors_and_counts,
        )
        return Factors(S, A, B)

    def paper_updates(self, n_iter: int, eps: float = 1e-10) -> Factors:
        """The oracle's literal updates of the paper."""
        A, B, S, _ = oracles.paper_updates(
            **self.matrices, **named(self.start), n_iter=n_iter, eps=eps
        )
        return Factors(S, A, B)

    def run(self, solver, n_iter: int, threads: Threads = SERIAL, **options):
        """The engine's fit after ``n_iter`` iterations."""
        return minimise(
            self.objective, self.start, solver, max_iter=n_iter, threads=threads, **options
        )


def named(factors: Factors) -> dict:
    """The oracle's A, B and S."""
    return {"A": factors.features, "B": factors.targets, "S": factors.samples}


def assert_close(actual: Factors, expected: Factors, rtol, atol=0.0):
    """Compare all factors; ``atol`` is relative to a factor's largest entry."""
    for name in oracles.FACTORS:
        given, wanted = getattr(actual, name), getattr(expected, name)
        assert (given is None) == (wanted is None), name
        if wanted is not None:
            largest = np.abs(wanted).max()
            np.testing.assert_allclose(given, wanted, rtol, atol * largest, err_msg=name)


def assert_same_bits(actual: Factors, expected: Factors):
    for given, wanted in zip(actual.each(), expected.each(), strict=True):
        assert (given is None and wanted is None) or np.array_equal(given, wanted)


# ---------------------------------------------------------------- drawing


def positive(rng, shape, spread=1.0):
    return np.exp(spread * rng.standard_normal(shape))


def observed(rng, storage, shape, *, weighted, spread=1.0, density=0.6, binary_rows=False):
    """A random matrix in one of the storages: largest value 1, zeros, weights if wanted.

    Dense and sparse matrices have weights of rows and of columns, masked ones also of cells.
    ``binary_rows`` gives the rows weights 0 and 1, as unlabelled samples do.
    """
    X = positive(rng, shape, spread) * (rng.random(shape) < density)
    X /= X.max() or 1.0
    rows = columns = None
    if weighted:
        rows = rng.exponential(size=shape[0]) if rng.random() < 0.6 else None
        columns = rng.exponential(size=shape[1]) * (rng.random(shape[1]) < 0.9)
        columns = columns if rng.random() < 0.6 else None
    if binary_rows:
        rows = (rng.random(shape[0]) < 0.6).astype(float)
    W = np.ones(shape) if rows is None else np.repeat(rows[:, None], shape[1], axis=1)
    W = W if columns is None else W * columns
    if storage == "masked":
        cells = (rng.random(shape) < 0.75) * (rng.exponential(size=shape) if weighted else 1.0)
        hidden = np.where((cells == 0) & (rng.random(shape) < 0.5), np.nan, X)
        engine = observe(hidden, cells, row_weights=rows, column_weights=columns)
        return Observed(engine, X, W * cells)
    store = dense if storage == "dense" else lambda Z: sparse(sp.csr_array(Z))
    return Observed(store(X).weighted(rows, columns), X, W)


def random_priors(rng, probability=0.5):
    """No, one or two priors on each factor."""
    makers = [
        lambda: ("l1", rng.exponential()),
        lambda: ("l2", rng.exponential()),
        lambda: ("gamma", 1 + rng.exponential(), rng.exponential()),
    ]
    priors = {}
    for name in oracles.FACTORS:
        kinds = [maker for maker in makers if rng.random() < probability / 2]
        if kinds:
            priors[name] = [maker() for maker in kinds]
    return priors


def draw(
    seed,
    losses,
    storage="dense",
    *,
    shape=(6, 5, 3, 2),
    target_storage="dense",
    lam=0.7,
    weighted=False,
    priors=False,
    counts=False,
    spread=1.0,
    density=0.6,
    unlabelled=False,
) -> Problem:
    """One problem; ``shape`` is (samples, features, targets, rank), without targets if 0."""
    rng = np.random.default_rng(seed)
    n, m, k, r = shape
    common = {"weighted": weighted, "spread": spread, "density": density}
    target = None
    data = observed(rng, storage, (n, m), **common)
    if k:
        target = observed(rng, target_storage, (n, k), binary_rows=unlabelled, **common)
    found = random_priors(rng) if priors else {}
    if not k:
        found.pop("targets", None)
    start = Factors(
        positive(rng, (n, r), spread),
        positive(rng, (m, r), spread),
        positive(rng, (k, r), spread) if k else None,
    )
    sample_weight = rng.exponential(size=n) if counts else None
    return Problem(data, target, losses, lam, found, sample_weight, start)


@st.composite
def problems(draw_choice, losses, storage):
    """Hypothesis chooses shape, weights, priors, scales and seed."""
    whole = st.integers
    return draw(
        draw_choice(whole(0, 2**32 - 1)),
        losses,
        storage,
        shape=(
            draw_choice(whole(1, 8)),
            draw_choice(whole(1, 9)),
            draw_choice(whole(0, 3)),
            draw_choice(whole(1, 5)),
        ),
        target_storage=draw_choice(st.sampled_from(STORAGES)),
        lam=draw_choice(st.sampled_from([0.0, 0.01, 0.3, 1.0, 2.0, 100.0])),
        weighted=draw_choice(st.booleans()),
        priors=draw_choice(st.booleans()),
        counts=draw_choice(st.booleans()),
        spread=draw_choice(st.sampled_from([0.3, 1.0, 3.0])),
        density=draw_choice(st.sampled_from([0.2, 0.6, 1.0])),
        unlabelled=draw_choice(st.booleans()),
    )
