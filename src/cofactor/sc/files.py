"""Add results to a copy of an .h5ad file, without loading its matrices."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from cofactor.io.atomic import place_of
from cofactor.sc.annotate import write_results
from cofactor.sc.cells import anndata
from cofactor.sc.model import Answers, CellModel


def write_copy(
    path: Path, output: Path, model: CellModel, answers: Answers, key: str = "ssnmf"
) -> None:
    """Write a copy of an .h5ad file that has the results of a model as well.

    Parameters
    ----------
    path, output : Path
        The file, and the copy, which appears when all is written.
    model : CellModel
    answers : Answers
        What the model says of the cells of the file.
    key : str, default="ssnmf"
        Name of the results.
    """
    import h5py

    io = anndata().io
    with place_of(output) as place:
        shutil.copyfile(path, place)
        with h5py.File(place, "r+") as file:
            tables = {name: io.read_elem(file[name]) for name in ("obs", "var")}
            results = anndata().AnnData(**tables)
            write_results(results, model, answers, key)
            io.write_elem(file, "obs", results.obs)
            for group, found in _results(results):
                for name, value in found.items():
                    io.write_elem(file.require_group(group), name, value)


def _results(results: Any) -> list[tuple[str, Any]]:
    return [("obsm", results.obsm), ("varm", results.varm), ("uns", results.uns)]
