"""Speed against scikit-learn: one thread, float64, the same data and objective on both sides.

    python -m benchmarks.quick [--ranks 13 50] [--repeats 3] [--clock cpu]

Both sides start from the same factors, except in the rows that say "own default start": there each
side computes its own, and the time for that counts. ``benchmarks.compare_trees`` compares two
versions of cofactor.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import harness, nmf_fits
from benchmarks.data_sets import Newsgroups
from benchmarks.harness import Row, alternate, faster, seconds, timed
from benchmarks.nmf_fits import as_factors, our_default_fit, our_fit, start
from cofactor import NMF, SSNMFClassifier
from cofactor.engine.fitting import Fit

Options = argparse.Namespace
KL, FROBENIUS = "kullback-leibler", "frobenius"
SLACK = 1e-3  # "within 1e-3 of scikit-learn's objective"

DEMANDS: dict[str, Any] = {
    "fit " + KL: {13: 25, 50: 12},
    "fit " + FROBENIUS: {13: 1.3, 50: 3},
    "transform " + KL: {13: 20},
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to a command line."""
    parser.add_argument("--ranks", type=int, nargs="+", default=[13, 50], help="default: 13 50")
    harness.add_repeats(parser, clock="wall")


def run(data: Newsgroups, options: Options) -> list[Row]:
    """Measure everything and print the table."""
    rows = []
    for rank in options.ranks:
        rows += kl_fit(data, rank, options)
        rows += frobenius_fit(data, rank, options)
        rows += own_starts(data, rank, options)
        rows += transform(data, rank, options)
    rows += same_bits(data)
    print(f"One thread, best of {options.repeats}, {options.clock} time:\n")
    harness.print_rows(rows)
    return rows


def timed_fits(
    data: Newsgroups, rank: int, loss: str, target: float, max_iter: int, options: Options
) -> tuple[float, float, Fit]:
    """Time ours to the target and scikit-learn's ``max_iter`` iterations, from the same start."""
    W, H = start(data.X, rank)
    factors = as_factors(W, H)
    copies = iter([(W.copy(), H.copy()) for _ in range(options.repeats)])
    (ours, fit), (peer, _) = alternate(
        options,
        lambda: our_fit(data.X, loss, factors, target),
        lambda: nmf_fits.sklearn_fit(data.X, *next(copies), loss, max_iter),
    )
    reached = nmf_fits.loss_value(data.X, fit.factors.samples, fit.factors.features.T, loss)
    if not reached <= target * (1 + 1e-9):
        raise SystemExit(f"{loss}, r = {rank}: reached {reached:.6g}, not the target {target:.6g}.")
    return ours, peer, fit


def sklearn_objective(data: Newsgroups, rank: int, loss: str, max_iter: int) -> float:
    W, H = start(data.X, rank)
    return nmf_fits.loss_value(data.X, *nmf_fits.sklearn_fit(data.X, W, H, loss, max_iter), loss)


def kl_fit(data: Newsgroups, rank: int, options: Options, max_iter: int = 200) -> list[Row]:
    """Time until the objective of scikit-learn's multiplicative solver after 200 iterations."""
    target = sklearn_objective(data, rank, KL, max_iter)
    ours, peer, fit = timed_fits(data, rank, KL, target, max_iter, options)
    what = f"cd to the objective of scikit-learn's mu after {max_iter} iterations, {KL}, r = {rank}"
    remark = f"objective {target:.6g}, our {fit.n_iter} iterations"
    return [faster(what, ours, peer, DEMANDS["fit " + KL].get(rank), remark)]


def frobenius_fit(data: Newsgroups, rank: int, options: Options, max_iter: int = 100) -> list[Row]:
    """Time until within 1e-3 of the objective of scikit-learn's solver after 100 iterations.

    Three figures: against the time of those 100 iterations (which has a demand), against
    scikit-learn's own time to the same target, and to exactly the objective of the 100 iterations.
    """
    exact = sklearn_objective(data, rank, FROBENIUS, max_iter)
    near = exact * (1 + SLACK)
    needed = needed_iterations(data, rank, FROBENIUS, near, max_iter)
    goal = f"{FROBENIUS}, r = {rank}"
    readings = (
        (
            f"cd to within {SLACK:g} of scikit-learn's cd after {max_iter} iterations",
            near,
            max_iter,
        ),
        ("the same, against scikit-learn's own time to it", near, needed),
        (f"cd to exactly the objective of scikit-learn's {max_iter} iterations", exact, max_iter),
    )
    demands, rows = (DEMANDS["fit " + FROBENIUS].get(rank), None, None), []
    for (what, target, count), demanded in zip(readings, demands, strict=True):
        ours, peer, fit = timed_fits(data, rank, FROBENIUS, target, count, options)
        remark = f"our {fit.n_iter} iterations, the peer's {count}"
        rows.append(faster(f"{what}, {goal}", ours, peer, demanded, remark))
    return rows


def needed_iterations(data: Newsgroups, rank: int, loss: str, target: float, limit: int) -> int:
    """Return how many iterations scikit-learn needs to reach a target, by bisection."""
    return first_count(lambda count: sklearn_objective(data, rank, loss, count) <= target, limit)


def first_count(reached: Callable[[int], bool], limit: int) -> int:
    """Return the lowest count that reaches the target, by bisection; ``limit`` is known to."""
    low, high = 0, limit  # reached after ``high``, not after ``low``
    while high - low > 1:
        middle = (low + high) // 2
        if reached(middle):
            high = middle
        else:
            low = middle
    return high


def own_starts(data: Newsgroups, rank: int, options: Options) -> list[Row]:
    """Time whole fits, including the computation of each side's own default start.

    scikit-learn's Kullback-Leibler fit runs until it stops by default, and ours until it has the
    same objective. Frobenius fits from two starts rarely end at the same objective: both run until
    they are within 1e-3 of where scikit-learn's stops.
    """
    return [own_start(data, rank, *aim, options) for aim in ((KL, 0.0), (FROBENIUS, SLACK))]


def own_start(data: Newsgroups, rank: int, loss: str, slack: float, options: Options) -> Row:
    W, peer = nmf_fits.sklearn_default_fit(data.X, rank, loss)
    target = nmf_fits.loss_value(data.X, W, peer.components_, loss) * (1 + slack)
    ours, theirs, goal = our_iterations(data, rank, loss, target), peer.n_iter_, ""
    if slack:
        theirs = default_iterations(data, rank, loss, target, limit=theirs)
        goal = f"within {slack:g} of "
    (t_ours, _), (t_peer, _) = alternate(
        options,
        lambda: our_default_fit(data.X, rank, loss, ours),
        lambda: nmf_fits.sklearn_default_fit(data.X, rank, loss, theirs),
    )
    what = f"cd to {goal}where scikit-learn stops, each from its own default start"
    remark = f"objective {target:.6g}, our {ours} iterations, the peer's {theirs}"
    return faster(f"{what}, {loss}, r = {rank}", t_ours, t_peer, remark=remark)


def default_iterations(data: Newsgroups, rank: int, loss: str, target: float, limit: int) -> int:
    """Return how many iterations scikit-learn needs from its own start to reach a target."""

    def reached(count: int) -> bool:
        W, model = nmf_fits.sklearn_default_fit(data.X, rank, loss, count)
        return nmf_fits.loss_value(data.X, W, model.components_, loss) <= target

    return first_count(reached, limit)


def our_iterations(data: Newsgroups, rank: int, loss: str, target: float, limit: int = 500) -> int:
    """Return how many iterations our default start needs to reach a target."""
    model = our_default_fit(data.X, rank, loss, limit)
    below = np.flatnonzero(np.array(model.history_["objective"]) <= target * (1 + 1e-9))
    if not len(below):
        end = model.history_["objective"][-1]
        raise SystemExit(f"{loss}, r = {rank}: reached {end:.6g}, not the target {target:.6g}.")
    return int(below[0]) + 1


def transform(data: Newsgroups, rank: int, options: Options, max_iter: int = 200) -> list[Row]:
    """Time representing the test posts in terms of the components of scikit-learn's fit.

    Ours solves each row. scikit-learn reaches the same objective, within 1e-6, if it runs all of
    its 200 iterations; with its default tolerance it stops well before, which is a second row.
    """
    W, H = start(data.X, rank)
    _, components = nmf_fits.sklearn_fit(data.X, W.copy(), H.copy(), KL, max_iter)
    ours = NMF(rank, init=as_factors(W, H), tol=0, max_iter=1).fit(data.X)
    ours.amend(components=components)
    solved, hurried = (
        nmf_fits.sklearn_transformer(data.X, components, max_iter, tol) for tol in (0.0, 1e-4)
    )
    runs = [lambda model=model: model.transform(data.X_test) for model in (ours, solved, hurried)]
    (t_ours, S), *theirs = alternate(options, *runs)
    what = f"documents per second of transform, {KL}, r = {rank}, against scikit-learn's "
    kinds = (
        ("at equal objective", DEMANDS["transform " + KL].get(rank)),
        ("as it stops by default", None),
    )
    value = partial(nmf_fits.loss_value, data.X_test, H=components, loss=KL)
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
    """Return a short hash of everything that a fit learned."""
    total = hashlib.sha256()
    for array in (model.components_, model.target_components_, model.representation_):
        total.update(np.ascontiguousarray(array).tobytes())
    total.update(repr(model.history_).encode())
    return total.hexdigest()[:12]


if __name__ == "__main__":
    sys.exit(harness.main(__doc__, {"quick": sys.modules[__name__]}))
