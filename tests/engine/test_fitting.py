"""The loop: history, hooks, interruptions, states that are never changed in place."""

import math
import signal
import threading
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import oracles
from cofactor import NMF
from cofactor.divergences import Frobenius
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import State, minimise
from cofactor.engine.objective import Objective, Term, Value
from cofactor.engine.observations import dense
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates, PaperUpdates
from cofactor.engine.stopping import RelativeDecrease, Stop
from cofactor.estimators.base import FitInterruptedWarning
from strategies import DESCENT_PAIRS, SERIAL, assert_same_bits, draw, short

SOLVERS = [MultiplicativeUpdates(), CoordinateDescent(), PaperUpdates()]


# ---------------------------------------------------------------- the loop


@dataclass(frozen=True)
class Scripted:
    """A solver that reports given objectives, or raises what it finds among them."""

    values: tuple

    def start(self, objective, factors, threads):
        return State(factors, Value(1e9, {"data": 1e9}), memory=0)

    def step(self, objective, state, threads):
        value = self.values[state.memory]
        if isinstance(value, BaseException):
            raise value
        optimal = isinstance(value, str)
        number = state.memory + 1
        V = np.full((1, 1), float(number))
        return State(Factors(V, V), Value(float(value), {"data": float(value)}), optimal, number)


def scripted(*values, max_iter=50, **options):
    nothing = np.zeros((1, 1))
    objective = Objective((Term("data", "features", dense(nothing), Frobenius),))
    start, solver = Factors(nothing, nothing), Scripted(values)
    return minimise(objective, start, solver, max_iter=max_iter, threads=SERIAL, **options)


def test_history_has_every_iteration():
    fit = scripted(5.0, 4.0, 3.0, max_iter=3)
    assert fit.history.objective == [5.0, 4.0, 3.0]
    assert fit.history.terms == {"data": [5.0, 4.0, 3.0]}
    assert fit.n_iter == 3
    assert fit.factors.samples == 3


def test_running_out_of_iterations_worries_only_those_who_asked_for_convergence():
    fit = scripted(5.0, 4.0, 3.0, max_iter=3, rules=[RelativeDecrease(1e-4)])
    assert fit.stop.worrying
    assert not fit.stop.converged
    assert "Stopped after 3 iterations, before the fit converged; raise max_iter or tol" in str(
        fit.stop
    )
    fit = scripted(5.0, 4.0, 3.0, max_iter=3)
    assert not fit.stop.worrying
    assert not fit.stop.converged
    assert str(fit.stop) == "Completed all 3 iterations (tol=0 disables early stopping)."


class BelowFive:
    """A rule that stops when the objective is below 5."""

    def check(self, objectives):
        return Stop("Reached the target.", converged=True) if objectives[-1] < 5 else None


def test_the_first_rule_that_fires_stops():
    fit = scripted(5.0, 4.0, 3.0, rules=[RelativeDecrease(1e-4), BelowFive()])
    assert fit.n_iter == 2
    assert fit.stop.converged
    assert "Reached the target" in str(fit.stop)


def test_a_rise_is_not_convergence():
    fit = scripted(5.0, 5.1, 4.0, 4.0, rules=[RelativeDecrease(1e-4)])
    assert fit.n_iter == 4


def test_an_optimal_state_stops():
    fit = scripted(5.0, "4.0", 3.0)
    assert fit.n_iter == 2
    assert fit.stop.converged
    assert "Solved" in str(fit.stop)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("tol", [1e-4, math.nan, math.inf])
def test_a_value_that_is_not_finite_stops_before_it_is_taken(bad, tol):
    fit = scripted(5.0, 4.0, bad, 3.0, rules=[RelativeDecrease(tol if tol < 1 else math.nan)])
    assert fit.history.objective == [5.0, 4.0]
    assert fit.factors.samples == 2
    assert fit.stop.worrying
    assert not fit.stop.converged
    assert "not finite" in str(fit.stop)


def test_an_interruption_keeps_the_last_complete_iteration():
    fit = scripted(5.0, 4.0, KeyboardInterrupt(), 3.0)
    assert fit.interrupted
    assert fit.n_iter == 2
    assert fit.factors.samples == 2
    assert fit.stop.worrying
    assert not fit.stop.converged
    assert str(fit.stop) == (
        "Interrupted: the factors are those of iteration 2, the last complete one."
    )


def test_an_interruption_before_the_first_iteration_keeps_nothing():
    with pytest.raises(KeyboardInterrupt):
        scripted(KeyboardInterrupt(), 5.0)


def test_other_errors_pass_through():
    with pytest.raises(RuntimeError, match="broken"):
        scripted(5.0, RuntimeError("broken"))


class Watcher:
    """A hook that notes what it sees and stops after some iterations."""

    def __init__(self, stop_after=None, interrupt_after=None):
        self.stop_after, self.interrupt_after, self.seen = stop_after, interrupt_after, []

    def begin(self):
        self.seen.append("begin")

    def end(self, factors, history):
        self.seen.append((float(factors.samples[0, 0]), len(history.objective)))
        if len(history.objective) == self.interrupt_after:
            raise KeyboardInterrupt
        return len(history.objective) == self.stop_after


def test_hooks_see_every_iteration_and_can_stop():
    stopping, other = Watcher(stop_after=2), Watcher()
    fit = scripted(5.0, 4.0, 3.0, hooks=[stopping, other])
    assert fit.n_iter == 2
    assert str(fit.stop) == "A callback stopped the fit after 2 iterations."
    assert not fit.stop.converged
    assert stopping.seen == other.seen == ["begin", (1.0, 1), "begin", (2.0, 2)]


def test_an_interruption_in_a_hook_keeps_the_iteration():
    fit = scripted(5.0, 4.0, 3.0, hooks=[Watcher(interrupt_after=2)])
    assert fit.interrupted
    assert fit.n_iter == 2
    assert fit.factors.samples == 2


# ---------------------------------------------------------------- with real solvers


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
def test_history_is_the_objective_of_each_iterate(solver):
    problem = draw(1, (oracles.KL, oracles.FROBENIUS), "sparse", shape=(12, 9, 3, 3))
    fit = problem.run(solver, 12)
    assert fit.n_iter == 12
    for n_iter in (1, 5, 12):
        value = problem.value(problem.run(solver, n_iter).factors)
        assert fit.history.objective[n_iter - 1] == pytest.approx(value.total, rel=1e-9)
        assert fit.history.terms["data"][n_iter - 1] == pytest.approx(value.data, rel=1e-9)
        assert fit.history.terms["target"][n_iter - 1] == pytest.approx(value.target, rel=1e-9)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
def test_states_are_never_changed_in_place(solver):
    """Not even where coordinate descent goes too far, takes the step back and makes another."""
    problem = draw(1, (oracles.KL, oracles.FROBENIUS), shape=(12, 9, 3, 4))
    objective = problem.objective
    state = solver.start(objective, problem.start, SERIAL)
    lengths = []
    for _ in range(60):
        kept = state.factors.copy()
        new = solver.step(objective, state, SERIAL)
        assert_same_bits(state.factors, kept)
        for name in ("samples", "features", "targets"):
            seen = new.factors.padded(name)
            assert not seen.wide[:, seen.array.shape[1] :].any()
        lengths.append(getattr(state.memory, "length", None))
        state = new
    if isinstance(solver, CoordinateDescent):
        assert np.any(np.diff(lengths) < 0)  # steps were taken back


@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
def test_descent_records_no_rise_at_its_end(losses):
    """Not by a bit: where rounding is all that moves, the iterate before is kept."""
    problem = draw(3, losses, shape=(12, 9, 3, 2))
    objectives = problem.run(CoordinateDescent(), 400).history.objective
    assert np.diff(objectives).max() <= 0
    assert objectives[-1] == pytest.approx(objectives[-50], rel=1e-6)


class Interrupting:
    """A solver whose given step is cut short after some factors have been updated."""

    def __init__(self, solver, at):
        self.solver, self.at, self.count = solver, at, 0

    def start(self, objective, factors, threads):
        return self.solver.start(objective, factors, threads)

    def step(self, objective, state, threads):
        self.count += 1
        if self.count < self.at:
            return self.solver.step(objective, state, threads)
        self.solver.step(replace(objective, free=("features",)), state, threads)
        raise KeyboardInterrupt


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
def test_a_step_cut_short_leaves_no_trace(solver):
    """The features were already updated when the user pressed Ctrl-C."""
    problem = draw(2, (oracles.KL, oracles.KL), shape=(12, 9, 3, 3))
    fit = problem.run(Interrupting(solver, 4), 10)
    assert fit.interrupted
    assert fit.n_iter == 3
    assert_same_bits(fit.factors, problem.run(solver, 3).factors)


def interrupt_soon(event):
    event.wait(30)
    time.sleep(0.05)
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_leaves_a_usable_model(n_jobs):
    """A real SIGINT in the middle of a long fit: the model of the last complete iteration."""
    rng = np.random.default_rng(3)
    X = rng.poisson(1.0, (300, 60)).astype(float) + 0.1
    options = {"random_state": 0, "tol": 0, "n_jobs": n_jobs}
    NMF(5, max_iter=1, **options).fit(X)  # compiled
    running = threading.Event()

    class Signal:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...
        def on_fit_task_end(self, estimator, context, **_):
            running.set()

    threading.Thread(target=interrupt_soon, args=[running], daemon=True).start()
    model = NMF(5, max_iter=1_000_000, **options)
    model.set_callbacks(Signal())
    with pytest.warns(FitInterruptedWarning, match=r"factors are those of iteration \d+, the last"):
        model.fit(X)
    assert 0 < model.n_iter_ == len(model.history_["objective"]) < 1_000_000
    again = NMF(5, max_iter=model.n_iter_, **options).fit(X)
    assert np.array_equal(model.components_, again.components_)
    assert np.array_equal(model.representation_, again.representation_)
    assert np.all(np.isfinite(model.transform(X)))


def test_estimators_say_why_they_stopped():
    X = np.random.default_rng(4).random((20, 8))
    model = NMF(2, random_state=0, tol=1e-3).fit(X)
    assert model.stop_reason_.startswith(f"Converged after {model.n_iter_} iterations")
    with pytest.warns(ConvergenceWarning, match="after 2 iterations, before the fit converged"):
        NMF(2, random_state=0, tol=1e-12, max_iter=2).fit(X)
    assert NMF(2, random_state=0, tol=0, max_iter=7).fit(X).n_iter_ == 7


@pytest.mark.parametrize("c", [2.0**-30, 2.0**-7, 2.0**20])
@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_convergence_does_not_depend_on_units(loss, c):
    """fit(cX) makes as many iterations as fit(X), and its topics are c times as large."""
    X = np.random.default_rng(5).poisson(2.0, (30, 9)).astype(float) + 0.5
    plain, scaled = (NMF(3, data_loss=loss, random_state=0).fit(Z) for Z in (X, c * X))
    assert scaled.n_iter_ == plain.n_iter_
    np.testing.assert_allclose(scaled.components_, c * plain.components_, rtol=1e-9)


@pytest.mark.parametrize("solver", [MultiplicativeUpdates, PaperUpdates])
def test_updates_without_rounds_are_refused(solver):
    with pytest.raises(ValueError, match="rounds=0 updates nothing; use at least 1"):
        solver(rounds=0)
