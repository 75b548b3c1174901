"""Answers beside the rows of a table in memory, in the kind of table that the caller has.

`TopicModel.annotate` calls it. The columns are those that `cofactor predict` writes
(`describe.answers`). It meets tables through `targets.reading` only; a list of texts becomes a list
of dicts.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw

from cofactor.io.tables.writers import free_name
from cofactor.targets.reading import Column, Frame, as_frame
from cofactor.text.describe.answers import AnswerColumns, answer_documents
from cofactor.text.documents import read_documents


def annotate(model: Any, X: Any, text: str | None, asked: dict[str, Any]) -> Any:
    """Return a table with the answers of a fitted model beside its rows."""
    columns = AnswerColumns.of(model, **asked)
    for name in columns.needs_classes:
        raise ValueError(
            f"{name}={asked[name]!r} needs a model that predicts classes, but this one predicts "
            f"{'numbers' if columns.kind == 'numbers' else 'nothing'}; leave {name} out."
        )
    found = as_frame(X)
    texts = read_documents(X if found is None else _texts(found, text))
    answers = list(columns.rows(answer_documents(model, texts)))
    cells = dict(zip(columns.names, map(list, zip(*answers, strict=True)), strict=True))
    if found is None:
        return _records(texts, text or "text", cells)
    frame = found.to_frame() if isinstance(found, nw.Series) else found
    return _as_given(_with_columns(frame, columns, cells), X)


def _texts(found: Frame | Column, text: str | None) -> Any:
    """Return the column that holds the texts."""
    if isinstance(found, nw.Series) or (text is None and found.shape[1] == 1):
        return found
    if text is None:
        raise ValueError(
            f"text is None, but X has the columns {found.columns}; name the one that holds the "
            "texts."
        )
    if text not in found.columns:
        raise ValueError(f"text={text!r} is not a column of X, which has {found.columns}.")
    return found[text]


def _records(texts: list[str], name: str, cells: dict[str, list[Any]]) -> list[dict[str, Any]]:
    names = [name, *cells]
    rows = zip(texts, *cells.values(), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _with_columns(frame: Frame, columns: AnswerColumns, cells: dict[str, list[Any]]) -> Frame:
    added: dict[str, Any] = {}
    for name, values in cells.items():
        free = free_name(name, [*frame.columns, *added])
        dtype = _dtype(columns, name, frame)
        lists = [list(one) if isinstance(one, tuple) else one for one in values]
        added[free] = nw.new_series(free, lists, dtype, backend=frame.implementation)
    return frame.with_columns(*added.values())


def _dtype(columns: AnswerColumns, name: str, frame: Frame) -> Any:
    """Return the type of a column, since missing cells alone have none; None lets it be found."""
    if name in ("topic", "reason"):
        return nw.String()
    if name == "topic_number":
        return None if frame.implementation.is_pandas_like() else nw.Int64()
    if name == "confidence" or name.endswith(("_share", "_probability")):
        return nw.Float64()
    if name.startswith("probability_") or columns.kind == "numbers":
        return nw.Float64()
    named = nw.String() if all(isinstance(one, str) for one in columns.targets) else None
    if columns.kind != "sets" or name != "prediction":
        return None if columns.apart else named
    return nw.List(named) if named and not frame.implementation.is_pandas_like() else None


def _as_given(frame: Frame, X: Any) -> Any:
    """Return a table in the kind of X, which may be computed when needed."""
    given: Any = nw.from_native(X, allow_series=True, pass_through=True)
    if isinstance(given, nw.LazyFrame):
        return frame.lazy(backend=given.implementation).to_native()
    return frame.to_native()
