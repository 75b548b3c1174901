"""Speed against peers: one thread, float64, the same data and objective on both sides.

Both sides start from the same factors, except in the rows that say "own default start": there each
side makes its own, and the time for that counts.

Run ``python benchmarks/quick.py``.  The rows against ssnmf need
``pip install --no-deps ssnmf==1.0.3`` (torch is not needed).
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, too

from benchmarks import measuring, peers
from benchmarks.measuring import Row, alternate, faster, seconds, timed
from benchmarks.newsgroups import Newsgroups
from benchmarks.ours import as_factors, our_default_fit, our_fit, our_objective, start, warm_up
from cofactor import NMF, SSNMFClassifier
from cofactor.engine.fitting import Fit, Solver
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates, PaperUpdates

Options = argparse.Namespace
KL, FROBENIUS = "kullback-leibler", "frobenius"
SLACK = 1e-3  # "within 1e-3 of scikit-learn's objective"
SSNMF_RANK, SSNMF_MODELS = 13, {KL: 6, FROBENIUS: 3}
SSNMF_ITERATIONS, OUR_ITERATIONS = 2, 100
SSNMF_TIMES = 6  # as many repeats as elsewhere: these runs are short, and disturbances are not

DEMANDS: dict[str, Any] = {
    "multiplicative": 200,
    "fit " + KL: {13: 25, 50: 12},
    "fit " + FROBENIUS: {13: 1.3, 50: 3},
    "transform " + KL: {13: 20},
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what to measure to a command line."""
    parser.add_argument("--ranks", type=int, nargs="+", default=[13, 50], help="default: 13 50")
    parser.add_argument("--repeats", type=int, default=3, help="best of so many; default: 3")
    about = "cpu counts processor time only, for a machine in use; default: wall"
    parser.add_argument("--clock", choices=measuring.CLOCKS, default="wall", help=about)


def run(data: Newsgroups, options: Options) -> list[Row]:
    """Measure everything and print the table."""
    warm_up()
    rows = []
    rows += multiplicative(data, options)
    for rank in options.ranks:
        rows += kl_fit(data, rank, options)
        rows += frobenius_fit(data, rank, options)
        rows += own_starts(data, rank, options)
        rows += transform(data, rank, options)
    rows += same_bits(data)
    best = f"best of {options.repeats} (against ssnmf: of {SSNMF_TIMES * options.repeats})"
    print(f"One thread, {best}, {options.clock} time:\n")
    measuring.print_rows(rows)
    return rows


# ---- a: multiplicative iterations against ssnmf --------------------------------------------------


def multiplicative(data: Newsgroups, options: Options) -> list[Row]:
    """Time one multiplicative iteration of data and labels together, value and all.

    Both sides hold their matrices ready before the clock starts. Ours is the time of a whole fit,
    the value of its start included, over its number of iterations; so is the peer's, which makes
    fewer, because each takes so long.
    """
    ssnmf = peers.ssnmf_class()
    if ssnmf is None:
        print(
            "The rows against ssnmf are left out, because the package is not installed: "
            "pip install --no-deps ssnmf==1.0.3\n"
        )
        return []
    Y, (W, H) = np.eye(data.n_classes)[data.y], start(data.X, SSNMF_RANK)
    B = np.random.default_rng(1).random((data.n_classes, SSNMF_RANK))
    # Its matrices are dense, with a column for each sample.
    tall = {"A": np.ascontiguousarray(H.T), "S": np.ascontiguousarray(W.T), "B": B}
    model = ssnmf(data.X.toarray().T.copy(), SSNMF_RANK, Y=Y.T.copy(), lam=1.0, tol=-np.inf, **tall)

    def peer(loss: str) -> np.ndarray:
        vars(model).update(tall, modelNum=SSNMF_MODELS[loss])
        model.mult(numiters=SSNMF_ITERATIONS)
        return model.S.T

    objectives = {loss: our_objective(data.X, loss, Y) for loss in (KL, FROBENIUS)}

    def ours(loss: str, solver: Solver, iterations: int = OUR_ITERATIONS) -> np.ndarray:
        fit = our_fit(objectives[loss], as_factors(W, H, B), solver, max_iter=iterations)
        return fit.factors.samples

    rows = []
    for loss in (KL, FROBENIUS):
        runs = [partial(ours, loss, solver) for solver in (PaperUpdates(), MultiplicativeUpdates())]
        (t_peer, S), *times = alternate(options, partial(peer, loss), *runs, times=SSNMF_TIMES)
        gap = np.max(np.abs(ours(loss, PaperUpdates(), SSNMF_ITERATIONS) - S)) / np.max(S)
        remarks = f"same factors as ssnmf's, to {gap:.0e}", ""
        for name, (t, _), remark in zip(("mu-paper", "mu"), times, remarks, strict=True):
            what = f"one iteration of {name}, both {loss}, r = {SSNMF_RANK}, against ssnmf's"
            per = t / OUR_ITERATIONS, t_peer / SSNMF_ITERATIONS
            rows.append(faster(what, *per, DEMANDS["multiplicative"], remark))
    return rows


# ---- b, c: fits against scikit-learn -------------------------------------------------------------


def timed_fits(
    data: Newsgroups, rank: int, loss: str, target: float, max_iter: int, options: Options
) -> tuple[float, float, Fit]:
    """Time ours to the target and scikit-learn's ``max_iter`` iterations, from the same start."""
    W, H = start(data.X, rank)
    factors = as_factors(W, H)
    copies = iter([(W.copy(), H.copy()) for _ in range(options.repeats)])
    (ours, fit), (peer, _) = alternate(
        options,
        lambda: our_fit(our_objective(data.X, loss), factors, CoordinateDescent(), target=target),
        lambda: peers.sklearn_fit(data.X, *next(copies), loss, max_iter),
    )
    reached = peers.loss_value(data.X, fit.factors.samples, fit.factors.features.T, loss)
    if not reached <= target * (1 + 1e-9):
        raise SystemExit(f"{loss}, r = {rank}: reached {reached:.6g}, not the target {target:.6g}.")
    return ours, peer, fit


def sklearn_objective(data: Newsgroups, rank: int, loss: str, max_iter: int) -> float:
    W, H = start(data.X, rank)
    return peers.loss_value(data.X, *peers.sklearn_fit(data.X, W, H, loss, max_iter), loss)


def kl_fit(data: Newsgroups, rank: int, options: Options, max_iter: int = 200) -> list[Row]:
    """Time until the objective of scikit-learn's multiplicative solver after 200 iterations."""
    target = sklearn_objective(data, rank, KL, max_iter)
    ours, peer, fit = timed_fits(data, rank, KL, target, max_iter, options)
    what = f"cd to the objective of scikit-learn's mu after {max_iter} iterations, {KL}, r = {rank}"
    remark = f"objective {target:.6g}, our {fit.n_iter} iterations"
    return [faster(what, ours, peer, DEMANDS["fit " + KL].get(rank), remark)]


def frobenius_fit(data: Newsgroups, rank: int, options: Options, max_iter: int = 100) -> list[Row]:
    """Time until within 1e-3 of the objective of scikit-learn's solver after 100 iterations.

    Three readings: against the time of those 100 iterations (what is demanded), against
    scikit-learn's own time to the same target, and to the very objective of the 100 iterations.
    """
    exact = sklearn_objective(data, rank, FROBENIUS, max_iter)
    near = exact * (1 + SLACK)
    needed = fewest_iterations(data, rank, FROBENIUS, near, max_iter)
    goal = f"{FROBENIUS}, r = {rank}"
    readings = (
        (
            f"cd to within {SLACK:g} of scikit-learn's cd after {max_iter} iterations",
            near,
            max_iter,
        ),
        ("the same, against scikit-learn's own way there", near, needed),
        (f"cd to the very objective of scikit-learn's {max_iter} iterations", exact, max_iter),
    )
    demands, rows = (DEMANDS["fit " + FROBENIUS].get(rank), None, None), []
    for (what, target, count), demanded in zip(readings, demands, strict=True):
        ours, peer, fit = timed_fits(data, rank, FROBENIUS, target, count, options)
        remark = f"our {fit.n_iter} iterations, the peer's {count}"
        rows.append(faster(f"{what}, {goal}", ours, peer, demanded, remark))
    return rows


def fewest_iterations(data: Newsgroups, rank: int, loss: str, target: float, most: int) -> int:
    """Return how many iterations scikit-learn needs to reach a target, by bisection."""
    return first_count(lambda count: sklearn_objective(data, rank, loss, count) <= target, most)


def first_count(reached: Callable[[int], bool], most: int) -> int:
    """Return the lowest count that is enough, by bisection; ``most`` is known to be."""
    low, high = 0, most  # reached after ``high``, not after ``low``
    while high - low > 1:
        middle = (low + high) // 2
        if reached(middle):
            high = middle
        else:
            low = middle
    return high


# ---- fits from each side's own start -------------------------------------------------------------


def own_starts(data: Newsgroups, rank: int, options: Options) -> list[Row]:
    """Time whole fits from each side's own default start, the making of that start included.

    scikit-learn's Kullback-Leibler fit runs until it stops by default, and ours until it has the
    same objective. Frobenius fits from two starts rarely end in the very same place: there both
    run until they are within 1e-3 of where scikit-learn's stops.
    """
    return [own_start(data, rank, *aim, options) for aim in ((KL, 0.0), (FROBENIUS, SLACK))]


def own_start(data: Newsgroups, rank: int, loss: str, slack: float, options: Options) -> Row:
    W, peer = peers.sklearn_default_fit(data.X, rank, loss)
    target = peers.loss_value(data.X, W, peer.components_, loss) * (1 + slack)
    ours, theirs, goal = our_iterations(data, rank, loss, target), peer.n_iter_, ""
    if slack:
        theirs = default_iterations(data, rank, loss, target, most=theirs)
        goal = f"within {slack:g} of "
    (t_ours, _), (t_peer, _) = alternate(
        options,
        lambda: our_default_fit(data.X, rank, loss, ours),
        lambda: peers.sklearn_default_fit(data.X, rank, loss, theirs),
    )
    what = f"cd to {goal}where scikit-learn stops, each from its own default start"
    remark = f"objective {target:.6g}, our {ours} iterations, the peer's {theirs}"
    return faster(f"{what}, {loss}, r = {rank}", t_ours, t_peer, remark=remark)


def default_iterations(data: Newsgroups, rank: int, loss: str, target: float, most: int) -> int:
    """Return how many iterations scikit-learn needs from its own start to reach a target."""

    def reached(count: int) -> bool:
        W, model = peers.sklearn_default_fit(data.X, rank, loss, count)
        return peers.loss_value(data.X, W, model.components_, loss) <= target

    return first_count(reached, most)


def our_iterations(data: Newsgroups, rank: int, loss: str, target: float, most: int = 500) -> int:
    """Return how many iterations our default start needs to reach a target."""
    model = our_default_fit(data.X, rank, loss, most)
    below = np.flatnonzero(np.array(model.history_["objective"]) <= target * (1 + 1e-9))
    if not len(below):
        end = model.history_["objective"][-1]
        raise SystemExit(f"{loss}, r = {rank}: reached {end:.6g}, not the target {target:.6g}.")
    return int(below[0]) + 1


# ---- d: transform --------------------------------------------------------------------------------


def transform(data: Newsgroups, rank: int, options: Options, max_iter: int = 200) -> list[Row]:
    """Time representing the test posts in terms of the components of scikit-learn's fit.

    Ours solves each row.  scikit-learn comes to the same objective (but for less than 1e-6 of it)
    when it makes all of its 200 iterations; with its default tolerance it stops well before, which
    is a row of its own.
    """
    W, H = start(data.X, rank)
    _, components = peers.sklearn_fit(data.X, W.copy(), H.copy(), KL, max_iter)
    ours = NMF(rank, init=as_factors(W, H), tol=0, max_iter=1).fit(data.X)
    ours.components_ = components
    solved, hurried = (
        peers.sklearn_transformer(data.X, components, max_iter, tol) for tol in (0.0, 1e-4)
    )
    runs = [lambda model=model: model.transform(data.X_test) for model in (ours, solved, hurried)]
    (t_ours, S), *theirs = alternate(options, *runs)
    what = f"documents a second of transform, {KL}, r = {rank}, against scikit-learn's "
    kinds = (
        ("at equal objective", DEMANDS["transform " + KL].get(rank)),
        ("as it stops by default", None),
    )
    value = partial(peers.loss_value, data.X_test, H=components, loss=KL)
    n = data.X_test.shape[0]
    return [
        faster(
            what + kind,
            t_ours,
            t_peer,
            demanded,
            f"objective {value(S):.8g} (ours), {value(T):.8g} (peer)",
            write=lambda t: f"{n / t:.0f} docs/s",
        )
        for (t_peer, T), (kind, demanded) in zip(theirs, kinds, strict=True)
    ]


# ---- e: threads ----------------------------------------------------------------------------------


def same_bits(data: Newsgroups, counts: tuple[int, ...] = (1, 2, 4)) -> list[Row]:
    """Fit with several numbers of threads and compare the bits of everything learned."""
    times, digests = {}, set()
    for count in counts:
        model = SSNMFClassifier(13, n_jobs=count, random_state=0)
        times[count], fitted = timed(lambda model=model: model.fit(data.X, data.y))
        digests.add(digest(fitted))
    return [
        Row(
            f"fits with {', '.join(map(str, counts))} threads have the same bits",
            ", ".join(sorted(digests)),
            "",
            f"{len(digests)} distinct",
            "1",
            len(digests) == 1,
            "; ".join(f"n_jobs={count}: {seconds(t)}" for count, t in times.items()),
            {f"seconds with n_jobs={count}": t for count, t in times.items()},
        )
    ]


def digest(model: SSNMFClassifier) -> str:
    """Return a short hash of all that a fit learned."""
    total = hashlib.sha256()
    for array in (model.components_, model.target_components_, model.representation_):
        total.update(np.ascontiguousarray(array).tobytes())
    total.update(repr(model.history_).encode())
    return total.hexdigest()[:12]


if __name__ == "__main__":
    sys.exit(measuring.main(__doc__, {"quick": sys.modules[__name__]}))
