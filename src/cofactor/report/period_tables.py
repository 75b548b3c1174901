"""Tables over time: shares and words of topics and classes in each period."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cofactor.errors import Parameter, ParameterError
from cofactor.report.material import Material
from cofactor.text.over_time import (
    MIN_RISE,
    OverTime,
    PeriodShare,
    describe_periods,
    divide,
    read_days,
    suitable_unit,
)

MIN_LINES, MAX_LINES = 3, 6  # of a chart
PERIOD_WORDS = 6
CHANCE = "No topic’s share changed by more than chance explains."


def over_time(
    material: Material, dates: Any, every: str | None, also: Sequence[int | str] = ()
) -> dict[str, Any] | None:
    """Return the content of the section on time; None without dates.

    Parameters
    ----------
    material : Material
    dates : iterable or None
        The dates of the documents, as `TopicModel.over_time` takes them.
    every : str, optional
        Length of a period; by default one that suits a chart.
    also : sequence
        Names of classes to show in addition to the largest.
    """
    if dates is None:
        if every is not None:
            raise ParameterError(
                (Parameter("every", every), " needs dates"), ("pass ", Parameter("dates"), ", too")
            )
        return None
    if material.X is None:
        raise ValueError("dates need their documents; pass documents too.")
    days = read_days(dates, len(material.S))
    periods = divide(days, every or suitable_unit(days))
    found = describe_periods(
        material.model, material.X, material.S, material.scores, periods, PERIOD_WORDS
    )
    rows = _rows(found, material, also)
    lines = {kind: most_changed(rows, kind) for kind in ("topic", "class", "number")}
    same = [CHANCE] if len(periods.starts) > 1 and not _changed(rows, "topic") else []
    counts = [row["documents"] for row in rows if row["kind"] == "topic" and row["topic"] == 0]
    return {
        "every": periods.every,
        "notes": [*same, *found.doubts()],
        "periods": [
            {"period": name, "documents": count}
            for name, count in zip(periods.names, counts, strict=True)
        ],
        "empty": sum(count == 0 for count in counts),
        "rows": rows,
        "lines": lines,
    }


def _rows(found: OverTime, material: Material, also: Sequence[int | str]) -> list[dict[str, Any]]:
    """Return the rows of all topics, of the largest classes and of those in ``also``, rounded."""
    names = [*also, *(material.classes[c] for c in material.chart_classes)]
    return [
        {
            "period": row.period,
            "documents": row.documents,
            "kind": row.kind,
            "topic": row.topic,
            "class": "" if row.kind == "topic" else str(row.name),
            **_shares(row),
            "words": ", ".join(row.words),
            "rising": ", ".join(row.rising),
        }
        for row in found.table
        if row.kind != "class" or str(row.name) in names
    ]


def _shares(row: PeriodShare) -> dict[str, float | None]:
    cells = {"share": row.share, "low": row.low, "high": row.high}
    return {name: None if cell is None else float(f"{cell:.4g}") for name, cell in cells.items()}


def most_changed(rows: Sequence[dict[str, Any]], kind: str) -> list[int | str]:
    """Return the topics or classes whose shares differ most between periods, the most first.

    Periods are weighted by their documents, and what chance explains is subtracted, so that neither
    small periods nor the largest topics decide. Those that differ no more than by chance are left
    out if there are enough others.
    """
    spreads = _spreads(rows, kind)
    order = sorted(spreads, key=lambda name: -spreads[name])
    return order[: min(MAX_LINES, max(MIN_LINES, len(_changed(rows, kind))))]


def _changed(rows: Sequence[dict[str, Any]], kind: str) -> list[int | str]:
    """Return the topics or classes that differ between periods by more than chance explains."""
    return [name for name, spread in _spreads(rows, kind).items() if spread > 0]


def _spreads(rows: Sequence[dict[str, Any]], kind: str) -> dict[int | str, float]:
    parts: dict[int | str, list[tuple[float, int]]] = {}
    for row in rows:
        if row["kind"] == kind:
            cells = parts.setdefault(row["topic"] if kind == "topic" else row["class"], [])
            cells += [] if row["share"] is None else [(row["share"], row["documents"])]
    return {name: _spread(cells) for name, cells in parts.items()}


def _spread(cells: list[tuple[float, int]]) -> float:
    """Return the variance between periods, minus what chance explains: the mean variance, and three
    standard deviations of it, if each document were either all of this topic or not at all."""
    if not cells:
        return 0.0
    shares, weights = np.array(cells, dtype=float).T
    mean, free = np.average(shares, weights=weights), len(cells) - 1
    chance = max(mean * (1 - mean), 0.0) * (free + MIN_RISE * np.sqrt(2 * free)) / weights.sum()
    return float(np.average((shares - mean) ** 2, weights=weights) - chance)
