"""Tables of topics and classes over time: shares and words in each period."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cofactor.report.preparation.material import Material
from cofactor.report.preparation.selection import CLASSES, class_sizes, largest
from cofactor.text.over_time import OverTime, PeriodShare, describe_periods
from cofactor.text.periods import divide, read_days, suitable_unit

LINES, WORDS = 6, 6  # lines of a chart that shows several, words of a period


def over_time(material: Material, dates: Any, every: str | None) -> dict[str, Any] | None:
    """Return the content of the section on time; None without dates.

    Parameters
    ----------
    material : Material
    dates : iterable or None
        The dates of the documents, as `TopicModel.over_time` takes them.
    every : str, optional
        Length of a period; by default one that suits a chart.
    """
    if dates is None:
        return None
    if material.texts is None:
        raise ValueError("dates need their documents; pass documents too.")
    days = read_days(dates, len(material.texts))
    periods = divide(days, every or suitable_unit(days))
    found = describe_periods(
        material.model, material.X, material.S, material.scores, periods, WORDS
    )
    rows = _rows(found, material)
    counts = [row["documents"] for row in rows if row["kind"] == "topic" and row["topic"] == 0]
    return {
        "every": periods.every,
        "notes": list(found.doubts()),
        "periods": [
            {"period": name, "documents": count}
            for name, count in zip(periods.names, counts, strict=True)
        ],
        "empty": sum(count == 0 for count in counts),
        "rows": rows,
        "lines": {kind: most_changed(rows, kind) for kind in ("topic", "class", "number")},
    }


def _rows(found: OverTime, material: Material) -> list[dict[str, Any]]:
    """Return the rows of all topics and of the largest classes, with few digits."""
    names = [material.classes[c] for c in largest(class_sizes(material), CLASSES)]
    return [
        {"period": row.period, "documents": row.documents, "kind": row.kind, "topic": row.topic,
         "class": "" if row.kind == "topic" else str(row.name), **_shares(row),
         "words": ", ".join(row.words), "rising": ", ".join(row.rising)}
        for row in found.table if row.kind != "class" or str(row.name) in names
    ]  # fmt: skip


def _shares(row: PeriodShare) -> dict[str, float | None]:
    cells = {"share": row.share, "low": row.low, "high": row.high}
    return {name: None if cell is None else float(f"{cell:.4g}") for name, cell in cells.items()}


def most_changed(rows: Sequence[dict[str, Any]], kind: str) -> list[int | str]:
    """Return the topics or classes whose shares differ most between periods, the most first.

    A period counts by its documents, and the part that chance has in the differences is taken off,
    so that neither a period of few documents nor the largest topics decide.
    """
    parts: dict[int | str, list[tuple[float, int]]] = {}
    for row in rows:
        if row["kind"] == kind:
            cells = parts.setdefault(row["topic"] if kind == "topic" else row["class"], [])
            cells += [] if row["share"] is None else [(row["share"], row["documents"])]
    return sorted(parts, key=lambda name: -_spread(parts[name]))[:LINES]


def _spread(cells: list[tuple[float, int]]) -> float:
    """Return the variance between periods, less that of the mean of as many documents."""
    if not cells:
        return 0.0
    shares, weights = np.array(cells, dtype=float).T
    mean = np.average(shares, weights=weights)
    chance = mean * (1 - mean) / weights
    return float(np.average((shares - mean) ** 2 - chance, weights=weights))
