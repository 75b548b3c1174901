"""Tables that the reader of a report can save as CSV: columns and rows of plain values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cofactor.report.preparation.prepare import Prepared

Sheet = dict[str, list[Any]]  # its columns and rows


def downloads(prepared: Prepared) -> dict[str, Sheet]:
    """Return the tables by name, except those that the page's script makes itself."""
    scores = prepared.evaluation or {}
    methods = scores.get("by_method", [])
    sheets = {
        "methods": sheet(_methods(scores)),
        "confusion": sheet(scores.get("confusion_pairs", [])),
        "classes_scores": sheet(map(_named, scores.get("per_class", []))),
        "calibration": sheet(scores.get("calibration", [])),
        "pairs": sheet(scores.get("pairs", [])),
        "labels_scores": sheet(_by_method(scores.get("per_label", []), methods)),
        "targets_scores": sheet(_by_method(scores.get("per_target", []), methods)),
        "changes": sheet(map(_change, (prepared.changes or {}).get("topics", []))),
        "review": sheet([*_reviewed(prepared.mistaken), *_reviewed(prepared.uncertain)]),
        "doubtful": sheet(prepared.doubtful),
        "training": sheet(prepared.curves),
    }
    return {name: each for name, each in sheets.items() if each["rows"]}


def sheet(rows: Iterable[dict[str, Any]]) -> Sheet:
    """Return rows as a list of columns and lists of values.

    Examples
    --------
    >>> sheet([{"a": 1}, {"a": 2, "b": 3}])
    {'columns': ['a', 'b'], 'rows': [[1, None], [2, 3]]}
    """
    rows = list(rows)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return {"columns": columns, "rows": [[row.get(name) for name in columns] for row in rows]}


def _methods(scores: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "method": row["method"],
            scores["metric"]: row["score"],
            **dict(zip(scores["more"], row["more"], strict=True)),
            "low": row["low"],
            "high": row["high"],
        }
        for row in scores.get("methods", [])
    ]


NAMES = {"f1": "F1"}  # of columns that are called otherwise on the page
APART = ("by_method", "average_precision")  # the scores of all methods, and that of the model


def _named(row: dict[str, Any]) -> dict[str, Any]:
    return {NAMES.get(name, name): value for name, value in row.items() if name not in APART}


def _by_method(rows: list[dict[str, Any]], methods: list[str]) -> list[dict[str, Any]]:
    """Write the scores of each method to columns of their own."""
    return [
        {
            **_named(row),
            **{
                column: value
                for name, found in zip(methods, row["by_method"], strict=True)
                for column, value in _columns(name, found)
            },
        }
        for row in rows
    ]


def _columns(method: str, found: Any) -> list[tuple[str, Any]]:
    if isinstance(found, dict):
        scores = [("R²", found["r2"]), ("mean error", found["mean_error"])]
        return [(f"{name} of {method}", score) for name, score in scores]
    return [(f"average precision of {method}", found)]


def _change(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: ", ".join(value) if isinstance(value, list) else value for name, value in row.items()
    }


def _reviewed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the documents to review, one line each."""
    return [
        {
            "document": row["document"],
            "true class": row.get("truth", ""),
            "text": row["text"],
            **{
                f"{name} {n}": value
                for n, side in enumerate(row["sides"], 1)
                for name, value in (
                    ("class", side["class"]),
                    ("probability", side["probability"]),
                    ("words", ", ".join(word["word"] for word in side["words"])),
                )
            },
            "without": "; ".join(
                f"{each['word']}: {each['prediction']}" for each in row["without"]
            ),
        }
        for row in rows
    ]
