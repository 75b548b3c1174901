"""How far people who labelled the same things agree, beyond what chance would give."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from scipy import sparse as sp


def cohen_kappa(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    """Return Cohen's kappa of two people who labelled the same things in the same order.

    1 is perfect agreement, 0 what people who label by chance with the same frequencies reach. NaN
    if both gave the same single label throughout: then chance alone would agree as well.

    References
    ----------
    J. Cohen, A coefficient of agreement for nominal scales, 1960.

    Examples
    --------
    >>> cohen_kappa(["yes", "yes", "no", "no"], ["yes", "no", "no", "no"])
    0.5
    """
    pairs = list(zip(one, other, strict=True))
    if not pairs:
        return float("nan")
    numbers = {label: i for i, label in enumerate(dict.fromkeys(x for pair in pairs for x in pair))}
    table = np.zeros((len(numbers), len(numbers)))
    for a, b in pairs:
        table[numbers[a], numbers[b]] += 1 / len(pairs)
    expected = float(table.sum(axis=0) @ table.sum(axis=1))
    if expected >= 1.0:
        return float("nan")
    return (float(np.trace(table)) - expected) / (1 - expected)


def krippendorff_alpha(units: Iterable[Sequence[Hashable]]) -> float:
    """Return Krippendorff's alpha for nominal labels by any number of people.

    Each unit holds the labels that one thing was given, by whomever; units with fewer than two are
    left out. 1 is perfect agreement, 0 that of chance. NaN without two different labels.

    References
    ----------
    K. Krippendorff, Computing Krippendorff's alpha-reliability, 2011.

    Examples
    --------
    >>> round(krippendorff_alpha([["a", "b"], ["a", "a"], ["b", "b"], ["c", "c"]]), 3)
    0.667
    """
    paired = [[*unit] for unit in units if len(unit) > 1]
    numbers = {label: i for i, label in enumerate(dict.fromkeys(x for u in paired for x in u))}
    if len(numbers) < 2:
        return float("nan")
    rows = [i for i, unit in enumerate(paired) for _ in unit]
    columns = [numbers[label] for unit in paired for label in unit]
    counts = sp.csr_array((np.ones(len(rows)), (rows, columns))).toarray()
    sizes = counts.sum(axis=1)
    total, n = counts.sum(axis=0), float(sizes.sum())
    agreed = float((counts * (counts - 1) / (sizes - 1)[:, None]).sum())
    by_chance = float((total * (total - 1)).sum()) / (n - 1)
    return float(1 - (n - agreed) / (n - by_chance))
