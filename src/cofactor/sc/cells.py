"""Cells: a matrix of counts, read in chunks of rows, and their labels; both are checked."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor._types import FloatArray, IntArray
from cofactor._warnings import warn
from cofactor.errors import Clause, Parameter, ParameterError, ParameterWarning
from cofactor.io.errors import InputError, at, printable, suggestion
from cofactor.io.tables.label_advice import marks, names
from cofactor.io.tables.labels import LabelCounts
from cofactor.targets.missing import is_missing
from cofactor.targets.reading import known_labels
from cofactor.targets.task import have_fractions

MISSING = "Single cells need the package anndata; install with: pip install 'cofactor[sc]'"
RAW = "adata.raw"
FURTHER_TABLES = ("uns", "obsm", "varm", "obsp", "varp")
SPARSE_CHUNK_ENTRIES, DENSE_CHUNK_ENTRIES = 1 << 24, 1 << 22
"""Entries of the matrix (rows × genes) in a chunk of rows."""
MAX_LOG_COUNT = 20.0
"""log1p of normalised counts is smaller."""
MAX_TOTALS_VARIATION = 0.02
"""Coefficient of variation of totals that are equal up to rounding."""
MAX_CELL_TYPES = 500
"""A column with more classes does not hold cell types."""


@dataclass(frozen=True, eq=False)
class CellMatrix:
    """A matrix of cells × genes and the tables beside it.

    Parameters
    ----------
    matrix : object
        CSR matrix, array or dataset on disk; ``matrix[i:j]`` reads rows into memory.
    obs, var : DataFrame
        The tables of cells and of genes.
    place : str
        Name of the matrix in messages, such as ``adata.X``.
    elsewhere : tuple of str
        Other layers, which may hold the counts.
    on_disk : bool
        Whether the matrix is on disk.
    uns : mapping
        The ``uns`` of the object or file, with earlier results; open as long as the cells are.
    source : AnnData or open file
        What the cells were opened from.
    """

    matrix: Any
    obs: Any
    var: Any
    place: str
    elsewhere: tuple[str, ...] = ()
    on_disk: bool = False
    uns: Any = field(default_factory=dict)
    source: Any = None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.obs), len(self.var)

    @property
    def genes(self) -> np.ndarray:
        """Names of the genes."""
        return np.array([str(name) for name in self.var.index], dtype=object)

    def without_matrices(self) -> Any:
        """Return an AnnData object with copies of all tables, but without X and layers."""
        package = anndata()
        if isinstance(self.source, package.AnnData):
            tables = {name: deepcopy(dict(getattr(self.source, name))) for name in FURTHER_TABLES}
        else:
            found = [name for name in FURTHER_TABLES if name in self.source]
            tables = {name: package.io.read_elem(self.source[name]) for name in found}
        return package.AnnData(obs=self.obs.copy(), var=self.var.copy(), **tables)

    def chunks(self, columns: IntArray | None = None) -> Iterator[tuple[slice, sp.csr_array]]:
        """Yield chunks of rows as float matrices of all genes or of some ``columns``."""
        n, m = self.shape
        step = max(
            1,
            (SPARSE_CHUNK_ENTRIES if _is_sparse(self.matrix) else DENSE_CHUNK_ENTRIES) // max(m, 1),
        )
        for low in range(0, n, step):
            rows = slice(low, min(low + step, n))
            with _readable(self.place):
                chunk = _as_csr(self.matrix[rows], self.place)
            yield rows, chunk if columns is None else sp.csr_array(chunk[:, columns])


def _is_sparse(matrix: Any) -> bool:
    """Return whether a matrix, in memory or on disk, is sparse."""
    return hasattr(matrix, "format")


def _as_csr(rows: Any, place: str) -> sp.csr_array:
    rows = rows if sp.issparse(rows) else np.asarray(rows)
    if rows.dtype.kind not in "biuf":
        raise InputError(f"{place} holds {rows.dtype}, not numbers; pass a matrix of counts.")
    kept = rows.dtype if rows.dtype in (np.float32, np.float64) else np.float64
    found = sp.csr_array(rows, dtype=kept)
    found.sum_duplicates()
    return found


@contextmanager
def open_cells(
    data: Any, layer: str | None = None, fitted: str | None = None
) -> Iterator[CellMatrix]:
    """Open an AnnData object, in memory or backed, or its file or folder.

    Parameters
    ----------
    data : AnnData or path
        A path must end with .h5ad or .zarr; its matrix stays on disk.
    layer : str, optional
        Layer to read; "X" is X.
    fitted : str, optional
        Layer of the cells that a model was fitted to. It is read if no other is named and these
        cells have it; else X.
    """
    AnnData = anndata().AnnData
    if isinstance(data, AnnData):
        yield _of_object(data, _layer_to_read(layer, fitted, data.layers, "adata"))
    elif isinstance(data, str | os.PathLike):
        with ExitStack() as stack:
            yield _of_path(Path(data), layer, fitted, stack)
    else:
        raise TypeError(
            f"adata is a {type(data).__name__}; pass an AnnData object, or the path of an .h5ad "
            "file or a .zarr folder."
        )


def anndata() -> Any:
    """Return the package anndata, or raise an ImportError with the command that installs it."""
    try:
        import anndata
    except ImportError as error:
        raise ImportError(MISSING, name="anndata") from error
    return anndata


def cell_digest(names: Any, totals: FloatArray) -> str:
    """Return a digest of cells: their names, and their totals of the fitted genes."""
    digest = hashlib.sha256("\n".join(map(str, names)).encode("utf-8", "surrogatepass"))
    digest.update(np.ascontiguousarray(totals, dtype="<f8").tobytes())
    return digest.hexdigest()


def check_names(names: Any) -> None:
    """Reject names of genes that are not unique."""
    if len(set(names)) < len(names):
        raise InputError(
            "Gene names occur more than once in var; make them unique with "
            "adata.var_names_make_unique()."
        )


def _of_object(adata: Any, layer: str | None) -> CellMatrix:
    others = tuple(map(str, adata.layers))
    if layer is None:
        if adata.X is None:
            raise InputError(f"adata.X is empty; name a layer{_of(others)}.")
        others = others if others or adata.raw is None else (RAW,)
        matrix, place, on_disk = adata.X, "adata.X", adata.isbacked
    else:
        matrix, place, on_disk = adata.layers[layer], f"adata.layers[{layer!r}]", False
        others = (*_without(others, layer), "X")
    rows = _by_rows(matrix, place)
    return CellMatrix(rows, adata.obs, adata.var, place, others, on_disk, adata.uns, adata)


def _of_store(store: Any, path: Path, layer: str | None, fitted: str | None) -> CellMatrix:
    read = anndata().io.read_elem
    if "obs" not in store or "var" not in store:
        raise InputError(f"{at(path)} is not an AnnData file: it has no obs and var.")
    others = tuple(store["layers"]) if "layers" in store else ()
    layer = _layer_to_read(layer, fitted, others, at(path))
    if layer is None and "X" not in store:
        raise InputError(f"{at(path)} has no X; name a layer{_of(others)}.")
    element = store["X"] if layer is None else store["layers"][layer]
    place = f"{at(path)}, {'X' if layer is None else f'layer {layer!r}'}"
    matrix = anndata().io.sparse_dataset(element) if hasattr(element, "keys") else element
    rest = others if layer is None else (*_without(others, layer), "X")
    obs, var, notes = read(store["obs"]), read(store["var"]), store.get("uns", {})
    return CellMatrix(_by_rows(matrix, place), obs, var, place, rest, True, notes, store)


def _of_path(path: Path, layer: str | None, fitted: str | None, stack: ExitStack) -> CellMatrix:
    """Open an .h5ad file or a .zarr folder for reading; ``stack`` closes it."""
    if not path.exists():
        raise InputError(f"{at(path)} does not exist; check the path.")
    with _readable(at(path)):
        if path.is_dir():
            import zarr

            return _of_store(zarr.open_group(path, mode="r"), path, layer, fitted)
        import h5py

        return _of_store(stack.enter_context(h5py.File(path, "r")), path, layer, fitted)


@contextmanager
def _readable(place: str) -> Iterator[None]:
    """Turn errors of reading into an InputError; only wrap code that reads."""
    try:
        yield
    except (OSError, KeyError) as error:
        raise InputError(
            f"{place} cannot be read as AnnData ({printable(str(error))}); write it again with "
            "adata.write_h5ad."
        ) from error


def _by_rows(matrix: Any, place: str) -> Any:
    """Return a matrix that can be read by rows; reject one stored by columns on disk."""
    if sp.issparse(matrix):
        return sp.csr_array(matrix)
    if getattr(matrix, "format", "csr") != "csr":
        raise InputError(
            f"{place} is stored by genes (CSC), so its cells cannot be read one after the other; "
            "convert it with .tocsr() and write the file again."
        )
    return matrix


def _layer_to_read(
    layer: str | None, fitted: str | None, others: Collection[str], where: str
) -> str | None:
    """Return the layer to read; None is X."""
    if layer is None and fitted not in (None, "X", *others):
        warn(f"{where} has no layer {fitted!r}, on which the model was fitted, so X is read.")
        return None
    layer = fitted if layer is None else layer
    if layer is None or layer in others:
        return layer
    if layer == "X":
        return None
    known = suggestion(layer, list(others)) if others else f"{where} has no layers; leave it out."
    raise ParameterError((Parameter("layer", layer), f" is not a layer of {where}"), known)


def _without(names: tuple[str, ...], one: str) -> tuple[str, ...]:
    return tuple(name for name in names if name != one)


def _of(names: tuple[str, ...]) -> str:
    return f": {', '.join(map(repr, names))}" if names else ""


def check_counts(rows: sp.csr_array, place: str, elsewhere: tuple[str, ...] = ()) -> None:
    """Reject rows with values that are not whole and nonnegative.

    Parameters
    ----------
    rows : csr_array
        Some cells.
    place : str
        Name of the matrix in messages.
    elsewhere : tuple of str
        Layers that may hold the counts.
    """
    values = rows.data
    if not len(values):
        return
    if not np.isfinite(values).all():
        raise InputError(f"{place} has values that are not finite; pass raw counts.")
    if values.min() < 0:
        raise ParameterError(
            f"{place} has negative values, the smallest is {values.min():.3g}, as scaled data have;"
            " the model needs raw counts",
            _find_counts_remedy(elsewhere),
        )
    fractions = values[values != np.floor(values)]
    if len(fractions):
        what = _kind_of_fractions(rows)
        raise ParameterError(
            f"{place} holds {what}, such as {fractions[0]:.4g}, not raw counts; the model scales "
            "for the depth of cells itself",
            _find_counts_remedy(elsewhere),
        )


def _kind_of_fractions(rows: sp.csr_array) -> str:
    """Name what fractions seem to be: normalised counts, their logarithms, or neither."""
    if rows.data.max() < MAX_LOG_COUNT and _equal_totals(rows.expm1()):
        return "log-normalised values"
    return "normalised values" if _equal_totals(rows) else "fractions"


def _equal_totals(rows: Any) -> bool:
    totals = np.asarray(rows.sum(axis=1)).ravel()
    totals = totals[totals > 0]
    return len(totals) > 1 and float(totals.std()) < MAX_TOTALS_VARIATION * float(totals.mean())


def _find_counts_remedy(elsewhere: tuple[str, ...]) -> Clause:
    if not elsewhere:
        return (
            "Keep a copy before you normalise: adata.layers['counts'] = adata.X.copy(), then pass "
            "layer='counts'; round corrected counts first."
        )
    if elsewhere == ("adata.raw",):
        return (
            "If adata.raw holds them: adata.layers['counts'] = adata.raw[:, adata.var_names].X, "
            "then pass layer='counts'."
        )
    named = [part for o in elsewhere for part in (" or ", _place(o))]
    return "Try ", *named[1:], "; round corrected counts first"


def _place(layer: str) -> str | Parameter:
    return "X (no layer)" if layer == "X" else Parameter("layer", layer)


def check_column(name: str, column: Any) -> None:
    """Reject anything but the name of a column of obs."""
    if not isinstance(column, str):
        raise InputError(f"{name} is a {type(column).__name__}; pass the name of a column of obs.")


def read_labels(obs: Any, column: str, unlabelled: str | Sequence[str] = ()) -> np.ndarray:
    """Return the label of each cell as text, None for cells that are not labelled.

    Parameters
    ----------
    obs : DataFrame
        The table of cells.
    column : str
        Its column of labels. Missing values, None and "" are unlabelled, and so is −1 among whole
        numbers.
    unlabelled : str or sequence of str
        Further values that mean "not labelled".
    """
    check_column("labels", column)
    if column not in obs:
        known = suggestion(column, [str(name) for name in obs.columns])
        raise ParameterError((Parameter("labels", column), " is not a column of obs"), known)
    marked = {unlabelled} if isinstance(unlabelled, str) else set(map(str, unlabelled))
    cells = obs[column].astype(object).to_numpy()
    if have_fractions(cells.tolist()):
        raise ParameterError(
            (Parameter("labels", column), " holds fractions, so it is a measurement"),
            "name a column of classes",
        )
    texts = [None if is_missing(cell) else _label_text(cell) for cell in cells]
    unused = marked - set(texts)
    if unused:
        known = suggestion(min(unused), sorted({text for text in texts if text is not None}))
        raise ParameterError(
            (Parameter("unlabelled", min(unused)), f" is not a value of obs[{column!r}]"), known
        )
    labels = np.array([None if text in marked else text for text in texts], dtype=object)
    labelled = known_labels(np.array(cells, dtype=object), None)[1]
    if n_marks := int(sum(labels[~labelled] == "-1")):
        warn(
            f"Cells whose obs[{column!r}] is -1 ({n_marks:,}) are unlabelled, as -1 is among whole "
            "numbers; if it is a class, give it a name."
        )
    labels[~labelled] = None
    _check_labels(labels, column)
    return labels


def _label_text(cell: Any) -> str:
    """Return a label as text; whole numbers, which missing values turn into floats, stay whole."""
    whole = isinstance(cell, float | np.floating)
    return str(int(cell)) if whole else str(cell)


def _check_labels(labels: np.ndarray, column: str) -> None:
    counts = Counter(label for label in labels if label is not None)
    if not counts:
        raise ParameterError(
            (Parameter("labels", column), " has no labelled cell"),
            "label some, or leave it out to find topics without labels",
        )
    if len(counts) > MAX_CELL_TYPES:
        raise ParameterError(
            (
                Parameter("labels", column),
                f" has {len(counts):,} classes for {counts.total():,} cells",
            ),
            "name a column of cell types",
        )
    found = marks(LabelCounts([counts], documents=len(labels), labelled=counts.total()))
    if found:
        mean = "means" if len(found) == 1 else "mean"
        reason = f"If {names(found)} in obs[{column!r}] {mean} not labelled, add "
        warn(
            ParameterWarning(
                (reason, Parameter("unlabelled", found[0] if len(found) == 1 else found))
            )
        )
