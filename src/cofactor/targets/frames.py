"""Columns and tables of any library, read through narwhals: pandas, polars, pyarrow, DuckDB, ...

The lowest room that meets tables in memory: `reading` takes y from them, and `cofactor.text` takes
documents from them and returns tables of the same kind. It imports narwhals only, which
scikit-learn needs, too. Lists, arrays and sparse matrices are none of its business.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw

Frame = nw.DataFrame[Any]
Column = nw.Series[Any]


def as_frame(data: Any) -> Frame | Column | None:
    """Return a table or a column of any library as narwhals has it; None for anything else.

    Tables that are computed when needed, such as relations of DuckDB, are computed. Arrays of
    pandas and pyarrow and indices of pandas become columns.

    Examples
    --------
    >>> as_frame([1, 2]) is None
    True
    """
    found: Any = nw.from_native(_as_column(data), allow_series=True, pass_through=True)
    if isinstance(found, nw.LazyFrame):
        found = found.collect()
    return found if isinstance(found, nw.DataFrame | nw.Series) else None


def _as_column(data: Any) -> Any:
    """Return arrays and indices as columns of their library, and anything else unchanged."""
    pandas, pyarrow = nw.dependencies.get_pandas(), nw.dependencies.get_pyarrow()
    if pandas and isinstance(data, pandas.Index | pandas.api.extensions.ExtensionArray):
        return pandas.Series(data).reset_index(drop=True)
    if pyarrow and isinstance(data, pyarrow.Array):
        return pyarrow.chunked_array([data])
    return data


def native(data: Any) -> Any:
    """Return a table or a column as its own library has it, and anything else unchanged."""
    return nw.to_native(data, pass_through=True)
