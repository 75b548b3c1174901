"""The objective never rises, in the oracle's own arithmetic: thousands of drawn problems."""

import inspect
import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cofactor.engine.solvers import (
    BlockDescent,
    CoordinateDescent,
    MultiplicativeUpdates,
    PaperUpdates,
)
from cofactor.engine.subproblem.problem import Descent
from strategies import DESCENT_PAIRS, PAIRS, SERIAL, STORAGES, Factors, draw, problems, short

# times 13 pairs of losses and solvers, times 3 storages: 2145 problems; `make quick` draws fewer
N_EXAMPLES = int(os.environ.get("COFACTOR_EXAMPLES", 55))
N_STEPS = 5
COMBINATIONS = [
    pytest.param(solver, losses, storage, id=f"{name}-{short(losses)}-{storage}")
    for name, solver, pairs in (
        ("mu", MultiplicativeUpdates(), PAIRS),
        ("cd", CoordinateDescent(), DESCENT_PAIRS),
    )
    for losses in pairs
    for storage in STORAGES
]
thorough = settings(
    max_examples=N_EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def assert_no_rise(values):
    """1e-10 relative; the floor is for exact fits, where the objective is rounding."""
    values = np.asarray(values)
    assert np.all(np.isfinite(values))
    allowed = 1e-10 * np.abs(values[:-1]) + 1e-12 * abs(values[0])
    rises = np.diff(values) - allowed
    assert rises.max() <= 0, f"step {rises.argmax()} of {values.tolist()}"


def assert_same_value(problem, value, expected):
    """The engine's value and parts against the oracle's.

    Near an exact fit the engine's sums cancel, and it adds EPSILON only under logarithms; values
    are at most 1, so what that can cost is measured in cells.
    """
    cells = problem.cells
    total = cells["data"] + problem.lam * cells["target"]
    assert value.total == pytest.approx(expected.total, rel=1e-9, abs=3e-12 * total)
    for name, part in value.terms.items():
        wanted = getattr(expected, name)
        assert part == pytest.approx(wanted, rel=1e-9, abs=3e-12 * cells[name]), name


@pytest.mark.parametrize(("solver", "losses", "storage"), COMBINATIONS)
def test_no_iteration_raises_the_objective(solver, losses, storage):
    @thorough
    @given(problems(losses, storage))
    def check(problem):
        objective = problem.objective
        state = solver.start(objective, problem.start, SERIAL)
        values = [problem.value(state.factors)]
        assert_same_value(problem, state.value, values[0])
        for _ in range(N_STEPS):
            state = solver.step(objective, state, SERIAL)
            values.append(problem.value(state.factors))
            assert_same_value(problem, state.value, values[-1])
        assert_no_rise([value.total for value in values])

    check()


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
def test_no_unguarded_sweep_raises_the_objective(losses, storage):
    """The solver undoes a sweep that rose; here nobody does: each factor, each number of sweeps."""

    @settings(thorough, max_examples=N_EXAMPLES)
    @given(problems(losses, storage), st.sampled_from([1, 2, 5]), st.sampled_from([1, 3]))
    def check(problem, sweeps, rounds):
        objective, factors = problem.objective, problem.start
        values = [problem.value(factors).total]
        for _ in range(2):
            for name in objective.free:
                row_problem = objective.problem(name, factors, SERIAL)
                V, _ = row_problem.descend(factors.padded(name), SERIAL, Descent(rounds, sweeps))
                factors = factors.with_padded(name, V)
                values.append(problem.value(factors).total)
        assert_no_rise(values)

    check()


@pytest.mark.parametrize("losses", PAIRS, ids=short)
def test_factors_stay_finite_with_dead_topics_and_empty_rows(losses):
    """Zeros in the start, an empty sample, an empty feature and an unlabelled sample."""

    @settings(thorough, max_examples=10)
    @given(problems(losses, "sparse"), st.integers(0, 2**32 - 1))
    def check(problem, seed):
        rng = np.random.default_rng(seed)
        start = problem.start.map(lambda V: V * (rng.random(V.shape) < 0.7))
        start.features[:, 0] = 0.0
        solvers = [MultiplicativeUpdates(), CoordinateDescent()]
        priors = problem.priors  # a Gamma prior is infinite at 0, so such starts have none
        if any(kind == "gamma" for given in priors.values() for kind, *_ in given):
            return
        for solver in solvers[: 1 + problem.objective.coordinate_descent]:
            state = solver.start(problem.objective, Factors(*start.each()), SERIAL)
            values = [problem.value(state.factors).total]
            for _ in range(N_STEPS):
                state = solver.step(problem.objective, state, SERIAL)
                values.append(problem.value(state.factors).total)
                for V in state.factors.each():
                    assert V is None or (np.all(np.isfinite(V)) and V.min() >= 0)
            if np.isfinite(values[0]):
                assert_no_rise(values)

    check()


SOLVERS = [CoordinateDescent, BlockDescent, MultiplicativeUpdates, PaperUpdates]


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_improves_a_factor_the_same_way(solver):
    """``improve(problem, V, threads, *, costs)`` returns the factor that a step would return."""
    signatures = [inspect.signature(one().improve) for one in (solver, BlockDescent)]
    assert signatures[0] == signatures[1]
    problem = draw(4, ("kullback-leibler", "kullback-leibler"), "sparse", shape=(12, 9, 3, 3))
    objective, start = replace(problem.objective, free=("samples",)), problem.start
    rows = objective.problem("samples", start, SERIAL)
    V = solver().improve(rows, start.padded("samples"), SERIAL)[0]
    swept = objective.sweep(start, solver().improve, SERIAL)
    assert np.array_equal(V.array, swept.factors.samples)
    assert swept.value.total == pytest.approx(problem.value(swept.factors).total, rel=1e-10)


@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
def test_noted_costs_are_those_of_the_entries(losses):
    problem = draw(5, losses, "masked", shape=(12, 9, 3, 3), target_storage="masked", counts=True)
    objective, start = problem.objective, problem.start
    rows = objective.problem("samples", start, SERIAL)
    V, _ = CoordinateDescent().improve(rows, start.padded("samples"), SERIAL, costs=True)
    factors = start.with_padded("samples", V)
    assert sorted(rows.costs) == [0, 1]
    noted, anew = objective.value(factors, SERIAL, rows), objective.value(factors, SERIAL)
    assert noted.terms == pytest.approx(anew.terms, rel=1e-10)
