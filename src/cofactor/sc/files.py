"""Add results to a copy of an .h5ad file, without loading its matrices."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from cofactor.io.atomic import place_of
from cofactor.sc.annotate import check_key, predictions_of, write_results
from cofactor.sc.cells import anndata
from cofactor.sc.model import Answers, CellModel


def write_copy(
    path: Path,
    output: Path,
    model: CellModel,
    answers: Answers,
    key: str = "ssnmf",
    abstain: float = 0.0,
) -> list[str]:
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
    abstain : float, default=0.0
        Predict only what is at least so probable.

    Returns
    -------
    list of str
        What was written, such as "obs/ssnmf".
    """
    import h5py

    io = anndata().io
    with place_of(output) as place:
        shutil.copyfile(path, place)
        with h5py.File(place, "r+") as file:
            tables = {name: io.read_elem(file[name]) for name in ("obs", "var")}
            notes = file.get("uns", {})
            check_key(key, model.facts.get("labels"), tables["obs"], notes)
            results = anndata().AnnData(**tables)
            write_results(results, model, answers, key, notes, abstain)
            io.write_elem(file, "obs", results.obs)
            for group, name, value in _results(results):
                io.write_elem(file.require_group(group), name, value)
    columns = predictions_of(key) if model.classes else []
    return [f"obs/{name}" for name in columns] + [f"{g}/{name}" for g, name, _ in _results(results)]


def _results(results: Any) -> list[tuple[str, str, Any]]:
    groups = {"obsm": results.obsm, "varm": results.varm, "uns": results.uns}
    return [
        (group, name, value) for group, found in groups.items() for name, value in found.items()
    ]
