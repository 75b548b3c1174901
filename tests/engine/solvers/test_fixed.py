"""Entries that are fixed: every solver leaves them alone to the bit, and still never rises."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

import oracles
from cofactor.engine.blockwise import Blocks
from cofactor.engine.objective import Objective
from cofactor.engine.solvers import (
    BlockDescent,
    CoordinateDescent,
    MultiplicativeUpdates,
    PaperUpdates,
)
from engine.solvers.test_monotone import N_EXAMPLES, assert_no_rise, settings, thorough
from strategies import DESCENT_PAIRS, PAIRS, SERIAL, STORAGES, draw, problems, short

# times 13 pairs of losses and solvers, times 3 storages: 1,053 problems
FEWER = settings(thorough, max_examples=-(-N_EXAMPLES // 2) - 1)
COMBINATIONS = [
    pytest.param(solver, losses, storage, id=f"{type(solver).__name__}-{short(losses)}-{storage}")
    for solver, pairs in ((MultiplicativeUpdates(), PAIRS), (CoordinateDescent(), DESCENT_PAIRS))
    for losses in pairs
    for storage in STORAGES
]


def with_fixed(problem, seed):
    """Fix some entries of features and targets, some of them at zero where no prior forbids it."""
    rng = np.random.default_rng(seed)
    share = rng.choice([0.1, 0.5, 0.9, 1.0])
    fixed = {}
    for name in ("features", "targets"):
        V = getattr(problem.start, name)
        if V is not None:
            fixed[name] = rng.random(V.shape) < share
            if not any(kind == "gamma" for kind, *_ in problem.priors.get(name, ())):
                V[fixed[name] & (rng.random(V.shape) < 0.3)] = 0.0
    return fixed


def assert_kept(factors, start, fixed):
    for name, mask in fixed.items():
        assert getattr(factors, name)[mask].tobytes() == getattr(start, name)[mask].tobytes()


@pytest.mark.parametrize(("solver", "losses", "storage"), COMBINATIONS)
def test_fixed_entries_stay_and_no_iteration_raises_the_objective(solver, losses, storage):
    @FEWER
    @given(problems(losses, storage), st.integers(0, 2**32 - 1))
    def check(problem, seed):
        fixed = with_fixed(problem, seed)
        objective = replace(problem.objective, fixed=fixed)
        state = solver.start(objective, problem.start, SERIAL)
        values = [problem.value(state.factors).total]
        for _ in range(5):
            state = solver.step(objective, state, SERIAL)
            values.append(problem.value(state.factors).total)
        assert_kept(state.factors, problem.start, fixed)
        if np.isfinite(values[0]):
            assert_no_rise(values)

    check()


SOLVERS = [CoordinateDescent(), BlockDescent(), MultiplicativeUpdates(), PaperUpdates()]


@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
def test_other_entries_move_and_float32_is_kept(solver, losses):
    problem = draw(3, losses, "sparse", shape=(30, 12, 4, 3))
    problem = replace(problem, start=problem.start.map(np.float32))
    fixed = with_fixed(problem, 0)
    fixed["features"][:] = False
    fixed["features"][:, 1] = True  # a frozen topic
    objective = replace(problem.objective, fixed=fixed)
    state = solver.start(objective, problem.start, SERIAL)
    for _ in range(3):
        state = solver.step(objective, state, SERIAL)
    assert_kept(state.factors, problem.start, fixed)
    assert state.factors.features.dtype == problem.start.features.dtype
    moved = (state.factors.features != problem.start.features).any(axis=0)
    assert moved.tolist() == [True, False, True]


@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
@pytest.mark.parametrize("solver", SOLVERS[1:], ids=lambda solver: type(solver).__name__)
def test_blocks_keep_fixed_entries(solver, losses):
    problem = draw(4, losses, "sparse", shape=(30, 12, 4, 3))
    fixed = with_fixed(problem, 1)
    whole = replace(problem.objective, fixed=fixed)
    blocks = Blocks(whole, np.array([0, 30]), lambda _: whole.as_block(whole.constants))
    states = []
    for objective in (whole, blocks):
        state = solver.start(objective, problem.start, SERIAL)
        values = [state.value.total]
        for _ in range(5):
            state = solver.step(objective, state, SERIAL)
            values.append(state.value.total)
        assert_kept(state.factors, problem.start, fixed)
        states.append(state)
        if not isinstance(solver, PaperUpdates):
            assert_no_rise(values)
    assert states[0].value.total == pytest.approx(states[1].value.total, rel=1e-10)


@pytest.mark.parametrize("loss", [oracles.FROBENIUS, oracles.KL])
@pytest.mark.parametrize(
    "solver", [CoordinateDescent(), MultiplicativeUpdates()], ids=lambda s: type(s).__name__
)
def test_the_others_reach_the_optimum_of_the_restricted_problem(solver, loss):
    """Features alone are free, so the problem is convex; a bounded quasi-Newton method agrees."""
    problem = draw(7, (loss, loss), "dense", shape=(25, 9, 4, 3), priors=False)
    rng = np.random.default_rng(1)
    start, A = problem.start, problem.start.features.copy()
    mask = rng.random(A.shape) < 0.4
    A[mask & (rng.random(A.shape) < 0.5)] = 0.0
    start = start.replace("features", A)
    objective = replace(problem.objective, fixed={"features": mask}, free=("features",))

    def value(free):
        V = A.copy()
        V[~mask] = free
        return problem.value(start.replace("features", V)).total

    direct = optimize.minimize(
        value,
        A[~mask],
        method="L-BFGS-B",
        bounds=[(0, None)] * int((~mask).sum()),
        options={"maxiter": 2000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-12},
    )
    state = solver.start(objective, start, SERIAL)
    for _ in range(3000 if isinstance(solver, MultiplicativeUpdates) else 300):
        state = solver.step(objective, state, SERIAL)
    assert_kept(state.factors, start, {"features": mask})
    assert problem.value(state.factors).total == pytest.approx(direct.fun, rel=1e-6)


def test_a_prior_does_not_lift_a_fixed_zero():
    problem = draw(5, (oracles.KL, oracles.KL), "sparse", shape=(20, 8, 3, 2))
    problem.priors["features"] = [("gamma", 2.0, 0.1)]
    A = problem.start.features
    A[3, 1] = 0.0
    mask = np.zeros(A.shape, bool)
    mask[3, 1] = True
    for solver in SOLVERS:
        objective: Objective = replace(problem.objective, fixed={"features": mask})
        state = solver.start(objective, problem.start, SERIAL)
        for _ in range(3):
            state = solver.step(objective, state, SERIAL)
        A = state.factors.features
        assert A[3, 1] == 0.0
        assert np.delete(A.ravel(), 3 * A.shape[1] + 1).min() > 0
