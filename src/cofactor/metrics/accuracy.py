"""How far to trust an accuracy: intervals, differences and calibration."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def wilson_interval(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval for a share of n samples.

    Samples may have weights, so n need not be a whole number, as scipy's ``binomtest`` demands.

    Examples
    --------
    >>> [round(bound, 4) for bound in wilson_interval(0.9, 10)]
    [0.5958, 0.9821]
    """
    z = 1.96
    centre = share + z * z / (2 * n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = ((centre + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    return float(np.clip(low, 0.0, share)), float(np.clip(high, share, 1.0))


@dataclass(frozen=True)
class CalibrationBin:
    """Predictions of similar confidence: their number, mean confidence and accuracy."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def calibration_table(
    confidence: ArrayLike, right: ArrayLike, edges: ArrayLike
) -> list[CalibrationBin]:
    """Compare confidence with accuracy between edges; empty bins are left out.

    Examples
    --------
    >>> for bin in calibration_table([0.6, 0.8, 1.0], [False, True, True], [0.0, 0.5, 0.75, 1.0]):
    ...     print(bin.low, bin.high, bin.count, bin.confidence, bin.accuracy)
    0.5 0.75 1 0.6 0.0
    0.75 1.0 2 0.9 1.0
    """
    sure, hit, edges = (np.asarray(part, dtype=float) for part in (confidence, right, edges))
    place = np.clip(np.searchsorted(edges, sure, side="right") - 1, 0, len(edges) - 2)
    return [
        CalibrationBin(
            float(edges[b]),
            float(edges[b + 1]),
            int((place == b).sum()),
            float(sure[place == b].mean()),
            float(hit[place == b].mean()),
        )
        for b in np.unique(place)
    ]


@dataclass(frozen=True)
class Difference:
    """Accuracy of two classifiers on the same documents, and the interval of the difference."""

    documents: int
    first: float  # accuracy
    second: float
    difference: float  # second minus first
    low: float
    high: float
    level: float  # of confidence


def accuracy_difference(first: Any, second: Any, level: float = 0.95) -> Difference:
    """Compare two classifiers on the same documents.

    The interval is that of Agresti and Min for matched pairs (Statistics in Medicine, 2005): Wald's
    interval after adding half a document to each of the four cells. It keeps its level for few
    documents.

    Parameters
    ----------
    first, second : array of bool
        Whether each classifier got each document right.
    level : float
        Level of confidence.

    Returns
    -------
    Difference

    Examples
    --------
    >>> found = accuracy_difference([True] * 80 + [False] * 20, [True] * 90 + [False] * 10)
    >>> print(f"{found.difference:.2f} ({found.low:.3f} to {found.high:.3f})")
    0.10 (0.037 to 0.159)
    """
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    n = len(one)
    if n == 0 or other.shape != one.shape:
        raise ValueError(
            f"first has {n} documents, second {len(other)}; pass the same documents, at least one."
        )
    lost, won = float((one & ~other).sum()), float((other & ~one).sum())
    middle = (won - lost) / (n + 2)
    spread = np.sqrt((won + lost + 1) - (won - lost) ** 2 / (n + 2)) / (n + 2)
    reach = NormalDist().inv_cdf((1 + level) / 2) * float(spread)
    low, high = max(-1.0, middle - reach), min(1.0, middle + reach)
    return Difference(n, float(one.mean()), float(other.mean()), (won - lost) / n, low, high, level)
