"""Are missing cells predicted better than by damped offsets and by topics alone?

    python -m benchmarks.missing_cells [--ranks 2 5 10 20] [--sets usual clear ...] [--seeds 3]

Synthetic ratings from 1 to 5 have a mean, offsets of rows and columns, a product of tastes and
noise; which cells are known depends on rows and columns. A fifth of them is hidden. The
table has the root mean squared error on the hidden cells, averaged over seeds, of

- offsets: a mean and damped offsets of rows and columns (damping 5);
- topics: ``representation_ @ components_`` of `NMF`, clipped to the range of the known cells;
- ours: ``NMF(rank, random_state=0).fit(X).predict_cells(rows, columns)``.

The set "digits" has the images of scikit-learn with 30 % of the pixels hidden.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from benchmarks import harness
from benchmarks.harness import timed
from cofactor import NMF

LOSSES = {"KL": "kullback-leibler", "Fr": "frobenius"}
DAMPING, OFFSET_ROUNDS = 5.0, 5


class Hidden(NamedTuple):
    """Data with missing cells, and the values of those that were hidden."""

    X: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray


def ratings(
    seed: int,
    shape: tuple[int, int] = (600, 900),
    known: int = 40_000,
    noise: float = 0.8,
    taste: float = 0.45,
    tastes: int = 5,
) -> Hidden:
    """Draw ratings; ``taste`` and ``noise`` are standard deviations."""
    random = np.random.default_rng(seed)
    n, m = shape
    rows, columns = 0.45 * random.normal(size=n), 0.5 * random.normal(size=m)
    product = random.normal(size=(n, tastes)) @ random.normal(size=(tastes, m)) / np.sqrt(tastes)
    chance = np.outer(random.lognormal(0, 1, n), random.lognormal(0, 1.2, m)).ravel()
    cells = random.choice(n * m, size=known, replace=False, p=chance / chance.sum())
    i, j = np.divmod(cells, m)
    exact = 3.5 + rows[i] + columns[j] + taste * product[i, j]
    values = np.clip(np.round(exact + noise * random.normal(size=known)), 1, 5)
    return _hide(shape, i, j, values, random.random(known) < 0.2)


def digits(seed: int) -> Hidden:
    """Hide 30 % of the pixels of images."""
    D = load_digits().data
    i, j = np.indices(D.shape).reshape(2, -1)
    chosen = np.random.default_rng(seed).random(D.size) < 0.3
    return _hide(D.shape, i, j, D.ravel(), chosen)


def _hide(shape: Any, i: Any, j: Any, values: Any, chosen: Any) -> Hidden:
    """Hide the chosen cells; leave out rows without any known cell."""
    X = np.full(shape, np.nan)
    X[i[~chosen], j[~chosen]] = values[~chosen]
    kept = ~np.isnan(X).all(axis=1)
    chosen = chosen & kept[i]
    place = np.cumsum(kept) - 1
    return Hidden(X[kept], place[i[chosen]], j[chosen], values[chosen])


SETS: dict[str, Callable[[int], Hidden]] = {
    "usual": ratings,
    "clear": partial(ratings, noise=0.5, taste=0.7),
    "noisy": partial(ratings, noise=1.1, taste=0.45),
    "thin": partial(ratings, shape=(400, 600), known=8_000, taste=0.6),
    "dense": partial(ratings, shape=(300, 200), known=20_000),
    "large": partial(ratings, shape=(943, 1682), known=100_000, tastes=8),
    "digits": digits,
}


def offsets(data: Hidden) -> np.ndarray:
    """Predict by a mean and damped offsets."""
    known = ~np.isnan(data.X)
    mean = data.X[known].mean()
    rows, columns = np.zeros((len(data.X), 1)), np.zeros(data.X.shape[1])
    for _ in range(OFFSET_ROUNDS):
        columns = np.nansum(data.X - mean - rows, axis=0) / (DAMPING + known.sum(axis=0))
        left = np.nansum(data.X - mean - columns, axis=1) / (DAMPING + known.sum(axis=1))
        rows = left[:, None]
    return (mean + rows + columns)[data.rows, data.columns]


def rmse(data: Hidden, predicted: np.ndarray) -> float:
    """Return the error of predictions, clipped to the range of the known cells."""
    clipped = np.clip(predicted, np.nanmin(data.X), np.nanmax(data.X))
    return float(np.sqrt(np.mean((clipped - data.values) ** 2)))


def measure(data: Hidden, loss: str, rank: int) -> list[float]:
    """Return the errors of offsets, topics and ours, the expected error of ours, and seconds."""
    model = NMF(rank, data_loss=loss, random_state=0)
    took, _ = timed(partial(model.fit, data.X))
    topics = (model.representation_ @ model.components_)[data.rows, data.columns]
    ours = model.predict_cells(data.rows, data.columns)
    errors = [rmse(data, predicted) for predicted in (offsets(data), topics, ours)]
    return [*errors, model.cells_.expected_rmse, took]


def table(options: argparse.Namespace) -> tuple[list[list[str]], bool]:
    """Return the lines of the table, and whether ours has the smallest error in each."""
    lines, best = [], True
    for name in options.sets:
        data = [SETS[name](seed) for seed in range(options.seeds)]
        for short, loss in LOSSES.items():
            for rank in options.ranks:
                numbers = np.mean([measure(each, loss, rank) for each in data], axis=0)
                lines.append([name, short, str(rank), *(f"{x:.3f}" for x in numbers[:4])])
                lines[-1].append(harness.seconds(float(numbers[4])))
                best &= bool(numbers[2] < min(numbers[:2]))
    return lines, best


def main(arguments: list[str] | None = None) -> int:
    """Print the table; the exit status says whether ours has the smallest error everywhere."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 5, 10, 20])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", type=int, default=3, help="number of draws; default: 3")
    options = parser.parse_args(arguments)
    if arguments is None:
        harness.restart_with_fixed_environment()
    warnings.simplefilter("ignore", ConvergenceWarning)
    harness.print_machine()
    print(f"Root mean squared error on hidden cells, mean of {options.seeds} draws:\n")
    head = ["set", "loss", "rank", "offsets", "topics", "ours", "expected", "fit"]
    lines, best = table(options)
    harness.print_table(head, lines)
    print(f"\nOurs is the best of the three in {'every' if best else 'not every'} line.")
    return 0 if best else 1


if __name__ == "__main__":
    sys.exit(main())
