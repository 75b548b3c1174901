"""Cells × genes, in memory or on disk, read in chunks of rows by one loop."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor._types import IntArray
from cofactor.errors import Parameter, ParameterError
from cofactor.io.errors import InputError, at, printable, suggestion

MISSING = "Single cells need the package anndata; install with: pip install 'cofactor[sc]'"
RAW = "adata.raw"
STORED_CHUNK, DENSE_CHUNK = 1 << 24, 1 << 22
"""Number of cells of the matrix in a chunk of rows, for sparse and for dense matrices."""


@dataclass(frozen=True, eq=False)
class Cells:
    """A matrix of cells × genes and the tables beside it.

    Parameters
    ----------
    matrix : object
        CSR matrix, array, or rows on disk: ``matrix[i:j]`` are rows in memory.
    obs, var : DataFrame
        The tables of cells and of genes.
    place : str
        How messages call the matrix, such as ``adata.X``.
    elsewhere : tuple of str
        Layers that the matrix could have been taken from.
    on_disk : bool
        Whether the matrix is on disk.
    uns : mapping
        Notes beside the tables, such as those of earlier results; open as long as the cells are.
    """

    matrix: Any
    obs: Any
    var: Any
    place: str
    elsewhere: tuple[str, ...] = ()
    on_disk: bool = False
    uns: Any = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.obs), len(self.var)

    @property
    def genes(self) -> np.ndarray:
        """Names of the genes."""
        return np.array([str(name) for name in self.var.index], dtype=object)

    def chunks(self, columns: IntArray | None = None) -> Iterator[tuple[slice, sp.csr_array]]:
        """Yield all rows, some at a time, as float matrices of all genes or of some ``columns``."""
        n, m = self.shape
        step = max(1, (STORED_CHUNK if _is_sparse(self.matrix) else DENSE_CHUNK) // max(m, 1))
        for low in range(0, n, step):
            rows = slice(low, min(low + step, n))
            with _readable(self.place):
                chunk = _as_csr(self.matrix[rows], self.place)
            yield rows, chunk if columns is None else sp.csr_array(chunk[:, columns])


def _is_sparse(matrix: Any) -> bool:
    """Tell whether a matrix, in memory or on disk, stores counts other than zero only."""
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
def open_cells(data: Any, layer: str | None = None) -> Iterator[Cells]:
    """Open an AnnData object, in memory or backed, or the file or folder of one.

    Parameters
    ----------
    data : AnnData or path
        A path ends with .h5ad or .zarr; its matrix stays on disk.
    layer : str, optional
        The layer to read; None is X.
    """
    AnnData = anndata().AnnData
    if isinstance(data, AnnData):
        yield _of_object(data, layer)
    elif isinstance(data, str | os.PathLike):
        with ExitStack() as stack:
            yield _of_path(Path(data), layer, stack)
    else:
        raise TypeError(
            f"adata is a {type(data).__name__}; pass an AnnData object, or the path of an .h5ad "
            "file or a .zarr folder."
        )


def anndata() -> Any:
    """Return the package anndata, or raise an ImportError that says how to install it."""
    try:
        import anndata
    except ImportError as error:
        raise ImportError(MISSING, name="anndata") from error
    return anndata


def check_names(names: Any) -> None:
    """Refuse names of genes that are not unique."""
    if len(set(names)) < len(names):
        raise InputError(
            "Genes occur twice among the names of var; name them apart with "
            "adata.var_names_make_unique()."
        )


def _of_object(adata: Any, layer: str | None) -> Cells:
    others = tuple(map(str, adata.layers))
    if layer is None:
        if adata.X is None:
            raise InputError(f"adata.X is empty; name a layer{_of(others)}.")
        others = others if others or adata.raw is None else (RAW,)
        matrix, place, on_disk = adata.X, "adata.X", adata.isbacked
    else:
        _check_layer(layer, others, "adata")
        matrix, place, on_disk = adata.layers[layer], f"adata.layers[{layer!r}]", False
        others = (*_without(others, layer), "X")
    rows = _by_rows(matrix, place)
    return Cells(rows, adata.obs, adata.var, place, others, on_disk, adata.uns)


def _of_store(store: Any, path: Path, layer: str | None) -> Cells:
    read = anndata().io.read_elem
    if "obs" not in store or "var" not in store:
        raise InputError(f"{at(path)} is not an AnnData file: it has no obs and var.")
    others = tuple(store["layers"]) if "layers" in store else ()
    if layer is None and "X" not in store:
        raise InputError(f"{at(path)} has no X; name a layer{_of(others)}.")
    if layer is not None:
        _check_layer(layer, others, at(path))
    element = store["X"] if layer is None else store["layers"][layer]
    place = f"{at(path)}, {'X' if layer is None else f'layer {layer!r}'}"
    matrix = anndata().io.sparse_dataset(element) if hasattr(element, "keys") else element
    rest = others if layer is None else (*_without(others, layer), "X")
    obs, var, notes = read(store["obs"]), read(store["var"]), store.get("uns", {})
    return Cells(_by_rows(matrix, place), obs, var, place, rest, True, notes)


def _of_path(path: Path, layer: str | None, stack: ExitStack) -> Cells:
    """Open an .h5ad file or a .zarr folder for reading; ``stack`` closes it."""
    if not path.exists():
        raise InputError(f"{at(path)} does not exist; check the path.")
    with _readable(at(path)):
        if path.is_dir():
            import zarr

            return _of_store(zarr.open_group(path, mode="r"), path, layer)
        import h5py

        return _of_store(stack.enter_context(h5py.File(path, "r")), path, layer)


@contextmanager
def _readable(place: str) -> Iterator[None]:
    """Say that a file is broken if it cannot be read; only reading may stand inside."""
    try:
        yield
    except (OSError, KeyError) as error:
        raise InputError(
            f"{place} cannot be read as AnnData ({printable(str(error))}); write it anew with "
            "adata.write_h5ad."
        ) from error


def _by_rows(matrix: Any, place: str) -> Any:
    """Return a matrix whose rows can be read; refuse one that is stored by columns on disk."""
    if sp.issparse(matrix):
        return sp.csr_array(matrix)
    if getattr(matrix, "format", "csr") != "csr":
        raise InputError(
            f"{place} is stored by genes (CSC), so its cells cannot be read one after the other; "
            "convert it with .tocsr() and write the file again."
        )
    return matrix


def _check_layer(layer: str, others: tuple[str, ...], where: str) -> None:
    if layer in others:
        return
    known = suggestion(layer, list(others)) if others else f"{where} has no layers; leave it out."
    raise ParameterError((Parameter("layer", layer), f" is not a layer of {where}"), known)


def _without(names: tuple[str, ...], one: str) -> tuple[str, ...]:
    return tuple(name for name in names if name != one)


def _of(names: tuple[str, ...]) -> str:
    return f": {', '.join(map(repr, names))}" if names else ""
