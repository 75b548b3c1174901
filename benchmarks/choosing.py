"""Does `choose` find the number of topics, and what does it cost?

    python -m benchmarks.choosing [--ranks 5 10 20] [--draws 10] [--sets plain ...] [--parts made]

Synthetic data.  Documents of Poisson counts.  Topics are Dirichlet draws around word frequencies
that fall like 1, 1/2, 1/3, ...; so are the shares of topics in a document, around equal shares;
lengths are lognormal.  A class has about two topics, and a document belongs to the class whose
topics have the largest share of it; a tenth of the documents are labelled.  `choose` tries all
numbers of topics from four below the true one to six above; the table has how often it finds the
true one or a neighbour.  The rule was settled on draws 100 to 103, on draws 0 to 3 of 20 topics
without labels, and on draws 0 and 1 of 5 and 10 topics; the other draws check it.

20 Newsgroups (five classes, tf-idf of 5000 words): how the choice predicts the test posts, with all
training labels and with one in ten, and the best of the grid.

Cost: the time of `choose` on one thread, relative to that of its fits.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp
from sklearn.exceptions import ConvergenceWarning

from benchmarks import data_sets, harness
from benchmarks.harness import timed
from cofactor import NMF, SSNMFClassifier
from cofactor.model_selection import Choice, choose

NUMBERS = [5, 8, 13, 20, 32]
"""Numbers of topics to try on 20 Newsgroups."""


class Kind(NamedTuple):
    """Parameters of synthetic documents."""

    documents: int = 1000
    words: int = 800
    length: float = 100.0
    concentration: float = 0.1
    """Of the shares of topics: smaller means fewer topics per document."""
    spread: float = 40.0
    """Of the topics around the word frequencies: smaller means more distinct topics."""
    labelled: float = 0.1


SETS = {
    "plain": Kind(),
    "short": Kind(documents=2000, length=40.0),
    "clear": Kind(concentration=0.05),
    "mixed": Kind(concentration=0.3, length=150.0),
    "close": Kind(spread=150.0, length=150.0),
}


class Made(NamedTuple):
    """Counts, and the classes of documents, None where unknown."""

    X: sp.csr_array
    y: np.ndarray


def documents(kind: Kind, rank: int, seed: int) -> Made:
    """Draw documents with a known number of topics."""
    random = np.random.default_rng([seed, rank])
    frequencies = 1.0 / np.arange(1, kind.words + 1)
    frequencies *= kind.spread / frequencies.sum()
    topics = random.dirichlet(random.permutation(frequencies) + 1e-3, rank)
    shares = random.dirichlet(np.full(rank, kind.concentration), kind.documents)
    lengths = kind.length * random.lognormal(-0.125, 0.5, kind.documents)
    X = random.poisson(lengths[:, None] * (shares @ topics))
    owners = random.permutation(rank) % max(2, rank // 2)
    y = (shares @ np.eye(rank)[owners]).argmax(axis=1).astype(object)
    y[random.random(kind.documents) > kind.labelled] = None
    kept = X.any(axis=1)
    return Made(sp.csr_array(X[kept].astype(float)), y[kept])


def grid(rank: int) -> list[int]:
    """Return the numbers of topics to try: from four below the true one to six above."""
    return list(range(max(1, rank - 4), rank + 7))


def found(kind: Kind, rank: int, seed: int, labels: bool, jobs: int = 1) -> Choice:
    """Choose the number of topics of synthetic documents."""
    made = documents(kind, rank, seed)
    if labels:
        model: Any = SSNMFClassifier(random_state=seed, n_jobs=jobs)
        return choose(model, made.X, made.y, n_components=grid(rank))
    return choose(NMF(random_state=seed, n_jobs=jobs), made.X, n_components=grid(rank))


def made_table(options: argparse.Namespace) -> tuple[list[list[str]], Counter[bool]]:
    """Return the lines for synthetic data, and how many choices are within one, by labels."""
    cases = list(product(options.sets, options.ranks, (False, True)))
    choices: dict[Any, list[int]] = {case: [] for case in cases}
    for draw, case in product(range(options.draws), cases):
        name, rank, labels = case
        seed = options.first_draw + draw
        choice = found(SETS[name], rank, seed, labels, options.jobs).n_components
        choices[case].append(choice)
        print(*case, f"draw {seed}: {choice} topics", file=sys.stderr, flush=True)
    near = Counter[bool]()
    for (_, rank, labels), chosen in choices.items():
        near[labels] += _close(chosen, rank, 1)
    return [_made_line(*case, chosen) for case, chosen in choices.items()], near


def _made_line(name: str, rank: int, labels: bool, chosen: list[int]) -> list[str]:
    counts = ", ".join(f"{k}: {n}" for k, n in sorted(Counter(chosen).items()))
    exact, close = _close(chosen, rank, 0), _close(chosen, rank, 1)
    return [name, str(rank), "some" if labels else "none", str(exact), str(close), counts]


def _close(chosen: list[int], rank: int, gap: int) -> int:
    """Return how many choices are within a gap of the true number."""
    return sum(abs(k - rank) <= gap for k in chosen)


def newsgroups_table(options: argparse.Namespace) -> list[list[str]]:
    """Return the lines for 20 Newsgroups, one for each share of labels."""
    data = data_sets.load_newsgroups(options)
    lines = []
    for every in (1, 10):
        y = np.where(np.random.default_rng(0).permutation(len(data.y)) % every == 0, data.y, -1)
        model = SSNMFClassifier(random_state=0, n_jobs=options.jobs)
        choice = choose(model, data.X, y, n_components=NUMBERS, runs=3)
        scores = [
            model.set_params(n_components=k).fit(data.X, y).score(data.X_test, data.y_test)
            for k in NUMBERS
        ]
        own = scores[NUMBERS.index(choice.n_components)]
        shown = ", ".join(f"{k}: {score:.1%}" for k, score in zip(NUMBERS, scores, strict=True))
        behind = 100 * (max(scores) - own)
        lines.append(
            [
                f"1 in {every}",
                str(choice.n_components),
                f"{own:.1%}",
                f"{max(scores):.1%}",
                f"{behind:.1f}",
                shown,
                choice.advice,
            ]
        )
    return lines


def cost_table(options: argparse.Namespace) -> list[list[str]]:
    """Return the lines for the cost: the time of `choose`, and of its fits."""
    data = data_sets.load_newsgroups(options)
    made = documents(SETS["plain"], 10, 0)
    y = np.where(np.arange(len(data.y)) % 10 == 0, data.y, -1)
    cases: dict[str, tuple[Any, ...]] = {
        "made": (NMF(random_state=0), made.X),
        "made, labels": (SSNMFClassifier(random_state=0), made.X, made.y),
        "20 Newsgroups": (NMF(random_state=0), data.X),
        "20 Newsgroups, labels": (SSNMFClassifier(random_state=0), data.X, y),
    }
    lines = []
    for name, arguments in cases.items():
        took, choice = timed(partial(choose, *arguments, n_components=[5, 10, 20], runs=3))
        fits = sum(row["seconds"] for row in choice.table)
        lines.append([name, harness.seconds(fits), harness.seconds(took), f"{took / fits:.2f}"])
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; the exit status says whether the choices are close often enough."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[5, 10, 20])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--draws", type=int, default=10, help="number of draws; default: 10")
    parser.add_argument("--first-draw", type=int, default=0, help="seed of the first draw")
    parser.add_argument("--jobs", type=int, default=1, help="number of threads; default: 1")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    data_sets.add_newsgroups_options(parser)
    options = parser.parse_args(arguments)
    if arguments is None:
        harness.restart_with_fixed_environment()
    warnings.simplefilter("ignore", ConvergenceWarning)
    harness.print_machine()
    passed = True
    for part in options.parts:
        passed &= PARTS[part](options)
    return 0 if passed else 1


def print_made(options: argparse.Namespace) -> bool:
    """Print how often the number of topics is found."""
    lines, near = made_table(options)
    print(f"\nSynthetic data, {options.draws} draws each:\n")
    harness.print_table(["set", "topics", "labels", "exact", "within 1", "choices"], lines)
    total = len(options.sets) * len(options.ranks) * options.draws
    print(f"\nWithin 1: {near[True]} of {total} with labels, {near[False]} of {total} without.")
    return near[True] >= 0.9 * total and near[False] >= 0.8 * total


def print_newsgroups(options: argparse.Namespace) -> bool:
    """Print how well the choice predicts."""
    lines = newsgroups_table(options)
    print("\n20 Newsgroups, accuracy on the test posts:\n")
    head = ["labels", "choice", "accuracy", "best", "points behind", "all", "advice"]
    harness.print_table(head, lines)
    return all(float(line[4]) <= 0.5 for line in lines)


def print_cost(options: argparse.Namespace) -> bool:
    """Print the cost of `choose` relative to its fits."""
    lines = cost_table(options)
    print("\nCost, 5, 10 and 20 topics, three runs, one thread:\n")
    harness.print_table(["data", "fits", "choose", "ratio"], lines)
    return all(float(line[3]) <= 1.5 for line in lines)


PARTS: dict[str, Callable[[argparse.Namespace], bool]] = {
    "newsgroups": print_newsgroups,
    "cost": print_cost,
    "made": print_made,
}

if __name__ == "__main__":
    sys.exit(main())
