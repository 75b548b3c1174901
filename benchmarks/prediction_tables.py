"""Outcomes of ``benchmarks.predictions`` and the tables made from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks import harness

Budget = int | None  # None: all
Scores = dict[str, float]
SORT_ALL = 1 << 62  # "all" comes after every number
EXTRAS = {"ECE": "{:.3f}", "seconds": "{:.1f}"}  # columns of ours beside the score
HEADLINE = {
    "logistic regression": ("logistic regression",),
    "linear SVM": ("linear SVM",),
    "linear SVM, texts by `TfidfVectorizer`": ("linear SVM on TfidfVectorizer", "linear SVM"),
    "naive Bayes with expectation maximisation": ("EM naive Bayes",),
    "label spreading": ("label spreading",),
}
"""Rivals of the headline, and the columns that hold them; the first that a set has counts."""


@dataclass(frozen=True)
class Cell:
    """One set, one budget, one draw of the labels."""

    part: str
    set: str
    budget: Budget
    draw: int

    def key(self, rival: str) -> str:
        return "/".join((self.part, self.set, budget_text(self.budget), str(self.draw), rival))


def budget_text(budget: Budget) -> str:
    return "all" if budget is None else str(budget)


@dataclass
class Outcome:
    """The scores of a cell; ``missing`` is why all are missing, ``note`` why ours are."""

    cell: Cell
    ours: Scores | None = None
    rivals: dict[str, dict[str, Any]] = field(default_factory=dict)
    missing: str = ""
    note: str = ""


@dataclass(frozen=True)
class Metric:
    """How a score is written, and the distance (in the written unit) that counts as behind."""

    name: str
    scale: float = 100.0  # percent
    digits: int = 1
    near: float = 1.0
    lower_is_better: bool = False

    def write(self, value: float | None, signed: bool = False) -> str:
        if value is None:
            return "–"
        return f"{self.scale * value:{'+' if signed else ''}.{self.digits}f}"

    def ahead(self, ours: float, theirs: float) -> float:
        """Return by how much our score is better."""
        return theirs - ours if self.lower_is_better else ours - theirs

    def best(self, scores: Scores) -> str | None:
        """Return the rival with the best score."""
        return max(scores, key=lambda name: self.ahead(scores[name], 0.0), default=None)


@dataclass(frozen=True)
class Line:
    """One set and one budget: means over the draws."""

    set: str
    budget: Budget
    metric: Metric
    ours: float | None
    extra: Scores
    rivals: Scores

    @property
    def best(self) -> float | None:
        name = self.metric.best(self.rivals)
        return None if name is None else self.rivals[name]

    @property
    def distance(self) -> float | None:
        if self.ours is None or self.best is None:
            return None
        return self.metric.ahead(self.ours, self.best)

    @property
    def behind(self) -> bool:
        metric = self.metric
        return self.distance is not None and metric.scale * self.distance < -metric.near

    def cells(self, rivals: Sequence[str], extras: Sequence[str]) -> list[str]:
        best, write = self.metric.best(self.rivals), self.metric.write
        theirs = (write(self.rivals.get(name)) for name in rivals)
        return [
            self.set,
            budget_text(self.budget),
            write(self.ours),
            *(EXTRAS[key].format(self.extra[key]) if key in self.extra else "–" for key in extras),
            *(f"**{t}**" if name == best else t for name, t in zip(rivals, theirs, strict=True)),
            write(self.distance, signed=True),
        ]


def summarise(outcomes: Iterable[Outcome], metric: Metric) -> list[Line]:
    """Average over the draws; where both sides are known for some draws only, over those."""
    groups: dict[tuple[str, Budget], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.cell.set, outcome.cell.budget].append(outcome)
    return [_line(*key, group, metric) for key, group in groups.items()]


def _line(name: str, budget: Budget, group: Sequence[Outcome], metric: Metric) -> Line:
    group = [o for o in group if o.ours and o.rivals] or group
    ours = _means([outcome.ours for outcome in group if outcome.ours])
    rivals = {rival: None for outcome in group for rival in outcome.rivals}
    theirs = {
        rival: _mean(o.rivals[rival][metric.name] for o in group if rival in o.rivals)
        for rival in rivals
    }
    return Line(name, budget, metric, ours.pop(metric.name, None), ours, theirs)


def _means(scores: Sequence[Scores]) -> Scores:
    return {key: _mean(score[key] for score in scores) for key in (scores[0] if scores else ())}


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def print_tables(heading: str, lines: Sequence[Line]) -> None:
    """Print every cell, the means over the sets, and the cells behind the best rival."""
    rivals = list({name: None for line in lines for name in line.rivals})
    extras = [key for key in EXTRAS if any(key in line.extra for line in lines)]
    head = ["set", heading, "ours", *extras, *rivals, "distance"]
    harness.print_table(head, [line.cells(rivals, extras) for line in lines])
    if len({line.set for line in lines}) > 1:
        print()
        harness.print_table(*_table_of_means(heading, lines, rivals))
    print()
    print(_sentence_of_behind(lines))


def _table_of_means(
    heading: str, lines: Sequence[Line], rivals: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    """Return the means over the sets for each budget; a rival that lacks a set has none."""
    write, rows = lines[0].metric.write, []
    for budget in sorted(
        {line.budget for line in lines}, key=lambda b: SORT_ALL if b is None else b
    ):
        part = [line for line in lines if line.budget == budget]
        columns = [
            [line.ours for line in part],
            *([line.rivals.get(name) for line in part] for name in rivals),
            [line.best for line in part],
        ]
        means = [write(_mean_if_complete(column)) for column in columns]
        distance = write(_mean_if_complete([line.distance for line in part]), signed=True)
        ece = _mean_if_complete([line.extra.get("ECE") for line in part])
        calibration = [] if ece is None else [EXTRAS["ECE"].format(ece)]
        rows.append([budget_text(budget), str(len(part)), *means, distance, *calibration])
    width = max(map(len, rows))
    head = [heading, "sets", "ours", *rivals, "best of each cell", "distance", "our ECE"][:width]
    return head, [row + ["–"] * (width - len(row)) for row in rows]


def headline(lines: Sequence[Line]) -> list[list[str]]:
    """Return the means over the sets for each budget: ours, and some rivals."""
    budgets = sorted({line.budget or SORT_ALL for line in lines})
    parts = [[line for line in lines if (line.budget or SORT_ALL) == b] for b in budgets]

    def row(name: str, score: Callable[[Line], float | None]) -> list[str]:
        means = (_mean_if_complete([score(line) for line in part]) for part in parts)
        return [name, *map(lines[0].metric.write, means)]

    def of(columns: Sequence[str]) -> Callable[[Line], float | None]:
        return lambda line: next((line.rivals[c] for c in columns if c in line.rivals), None)

    rivals = [row(name, of(columns)) for name, columns in HEADLINE.items()]
    found = [row("cofactor", lambda line: line.ours), *rivals]
    columns = list(zip(*found, strict=True))[1:]
    best = [max((v for v in column if v != "–"), key=float, default="") for column in columns]
    return [
        [name, *(f"**{v}**" if v == top else v for v, top in zip(values, best, strict=True))]
        for name, *values in found
    ]


def _mean_if_complete(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _mean(known) if len(known) == len(values) else None


def _sentence_of_behind(lines: Sequence[Line]) -> str:
    compared = [line for line in lines if line.distance is not None]
    behind = [line for line in compared if line.behind]
    count = f"{len(behind)} of {len(compared)} cells are behind the best rival by more than"
    each = (
        f"{line.set} at {budget_text(line.budget)} ({line.metric.write(line.distance, True)})"
        for line in behind
    )
    return f"{count} {lines[0].metric.near:g}" + (f": {', '.join(each)}." if behind else ".")
