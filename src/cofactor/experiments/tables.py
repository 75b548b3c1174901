"""Tables of results as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev
from typing import Any

from cofactor.io.json_text import to_json

Cell = str | int | float | None


@dataclass(frozen=True)
class ResultTable:
    """A table of results with a title and a note.

    Parameters
    ----------
    name : str
        File name without ending.
    title : str
        Line above the table.
    columns : sequence of str
        Column headings; the first column names the rows.
    rows : sequence of sequences
        Text, numbers, or None for an empty cell.
    digits : int
        Number of decimals, in Markdown only.
    bold : set of (row, column)
        Cells in bold, in Markdown only.
    note : str
        Text below the table.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    digits: int = 4
    bold: frozenset[tuple[int, int]] = field(default_factory=frozenset)
    note: str = ""

    def __post_init__(self) -> None:
        if len(set(self.columns)) < len(self.columns):
            raise ValueError(f"columns of {self.name} are not all different: {self.columns}")

    @classmethod
    def from_records(
        cls, name: str, title: str, records: Sequence[Mapping[str, Cell]], **options: Any
    ) -> ResultTable:
        """Return a table with a row for each record; its keys are the columns."""
        rows = [list(record.values()) for record in records]
        return cls(name, title, list(records[0]), rows, **options)

    def markdown(self) -> str:
        """Return the table with its title and note."""
        right = ["---:" if self._numeric(j) else "---" for j in range(len(self.columns))]
        lines = [self._line(self.columns), self._line(right)]
        lines += [
            self._line([self._shown(i, j, cell) for j, cell in enumerate(row)])
            for i, row in enumerate(self.rows)
        ]
        note = ["", self.note] if self.note else []
        return "\n".join([f"**{self.title}**", "", *lines, *note]) + "\n"

    def csv(self) -> str:
        """Return headings and rows with all digits."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([self.columns, *self.rows])
        return file.getvalue()

    def json(self) -> str:
        """Return title, note and one object per row."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        content = {"title": self.title, "note": self.note, "rows": rows}
        return to_json(content, indent=2, ensure_ascii=False) + "\n"

    def _numeric(self, column: int) -> bool:
        return any(isinstance(row[column], int | float) for row in self.rows)

    def _shown(self, row: int, column: int, cell: Cell) -> str:
        text = "" if cell is None else str(cell)
        if isinstance(cell, float):
            text = f"{cell:.{self.digits}f}"
        return f"**{text}**" if (row, column) in self.bold and text else text

    @staticmethod
    def _line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def best(values: Sequence[float | None], largest: bool) -> set[int]:
    """Return the indices of the best value (all of them in a tie)."""
    known = [value for value in values if value is not None]
    top = (max if largest else min)(known, default=None)
    return {i for i, value in enumerate(values) if value is not None and value == top}


def best_cells(
    rows: Sequence[Sequence[Any]], columns: Iterable[int], largest: bool
) -> frozenset[tuple[int, int]]:
    """Return row and column of the best value of each column (all of them in a tie)."""
    return frozenset(
        (row, column)
        for column in columns
        for row in best([line[column] for line in rows], largest)
    )


def mean_and_sd(values: Sequence[float]) -> tuple[float, float | None]:
    """Return mean and standard deviation, which is None for a single value."""
    return mean(values), stdev(values) if len(values) > 1 else None


def as_cell(value: Any) -> Cell:
    """Return a plain Python number, or None for one that is not finite."""
    number = float(value)
    return number if number == number and abs(number) != float("inf") else None


def compared(
    name: str,
    title: str,
    fits: Mapping[str, Sequence[Mapping[str, Any]]],
    measures: Sequence[str],
    *,
    largest: bool,
) -> ResultTable:
    """Return mean and standard deviation of each measure for each model; the best is in bold."""
    columns = ["model", *(text for m in measures for text in (m, f"{m} sd"))]
    rows: list[list[Cell]] = []
    for model, results in fits.items():
        pairs = [mean_and_sd([result[measure] for result in results]) for measure in measures]
        rows.append([model, *(cell for pair in pairs for cell in pair)])
    bold = best_cells(rows, range(1, 1 + 2 * len(measures), 2), largest)
    trials = max(len(results) for results in fits.values())
    return ResultTable(name, f"{title}: mean and sd of {trials} trials", columns, rows, bold=bold)
