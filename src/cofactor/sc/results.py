"""Write predictions, topics and markers into AnnData objects and copies of .h5ad files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from cofactor._versions import version_of, versions
from cofactor._warnings import warn
from cofactor.io.atomic import place_of, replacing_folder
from cofactor.io.errors import InputError
from cofactor.sc.cells import CellMatrix, anndata, open_cells
from cofactor.sc.fitting import CellFitOptions, fit_opened
from cofactor.sc.markers import Marker
from cofactor.sc.model import CellModel, CellPredictions, warn_of_empty

EXPECTED = "expected_score"


def ssnmf(
    adata: Any,
    labels: str | None = None,
    *,
    layer: str | None = None,
    n_topics: int | None = None,
    key_added: str = "ssnmf",
    unlabelled: str | Sequence[str] = (),
    genes: Any = None,
    batch_key: str | None = None,
    random_state: Any = 0,
    copy: bool = False,
    **parameters: Any,
) -> Any:
    """Find topics in counts of cells, and predict the labels of all cells from those of some.

    Counts are modelled as they are: the depth of a cell is a scale inside the model
    (``exposure="total"`` of :class:`cofactor.SSNMFClassifier`), so do not normalise them.

    Parameters
    ----------
    adata : AnnData or path
        Cells × genes. The matrix of a backed object, or of a path that ends with .h5ad or .zarr,
        stays on disk: the fit reads it in chunks and writes blocks to a temporary folder.
    labels : str, optional
        Column of ``obs`` with the labels. Missing values, None and "" mean "not labelled". Without
        labels, topics are found and nothing is predicted.
    layer : str, optional
        Layer that holds the raw counts; by default they are in ``X``.
    n_topics : int, optional
        Number of topics; by default one for each class, and at least ten.
    key_added : str, default="ssnmf"
        Name of the results; earlier results of this name are replaced. It must differ from the
        column of the labels.
    unlabelled : str or sequence of str, optional
        Labels that mean "not labelled", such as "Unknown".
    genes : str, list of str, array of bool or int, optional
        Genes to fit: a boolean column of ``var``, names of genes, a flag for each gene, or how many
        of the most variable genes to choose (scanpy's rule "seurat"). By default the column
        "highly_variable", if ``var`` has it; else the most variable third of the genes, but at
        least 200 and at most 2000.
    batch_key : str, optional
        Column of ``obs`` that names the batches. Genes are then chosen that vary within batches,
        and "highly_variable" is ignored. Batch effects are not corrected.
    random_state : int, default=0
        Seed of the fit.
    copy : bool, default=False
        Return a copy with the results, and leave ``adata`` unchanged.
    **parameters
        Further parameters of :class:`cofactor.SSNMFClassifier`, such as ``max_iter``.

    Returns
    -------
    AnnData or None
        The copy if ``copy=True``. For a path, an AnnData with the tables of the file and the
        results, but without matrices; the file is not changed. A backed object that is open for
        writing ("r+") saves the results in its file.

    Notes
    -----
    The results:

    - ``obsm["X_ssnmf"]``: share of each topic in each cell; rows sum to 1.
    - ``varm["ssnmf"]``: topics as shares of genes, 0 for genes that were not fitted; columns sum
      to 1.
    - ``obs["ssnmf"]``, ``obs["ssnmf_confidence"]``: predicted label and its probability; missing
      for cells without counts.
    - ``obs["ssnmf_unlike"]``: share of true cells of the predicted type that are nearer to its
      labelled cells, estimated from these. From 0.95 on, the cell may be of a type that has no
      labels.
    - ``uns["ssnmf"]``: ``markers`` of classes (among all classes, and against the "nearest" one)
      and of topics, with the share of cells that have them; ``topic_classes`` (the
      probability of each class for a cell of one topic alone) and ``topic_shares`` (their means);
      ``expected_score`` on new cells from held-out labels, ``params``, ``history``, ``versions``.

    Examples
    --------
    >>> import cofactor
    >>> from cofactor.datasets import make_cells
    >>> adata = make_cells()
    >>> cofactor.sc.ssnmf(adata, labels="cell_type", n_topics=3)
    >>> adata.obs["ssnmf"].value_counts().to_dict()
    {'B cell': 82, 'T cell': 81, 'monocyte': 77}
    >>> adata.obsm["X_ssnmf"].shape, adata.varm["ssnmf"].shape
    ((240, 3), (300, 3))
    """
    options = CellFitOptions(
        labels, layer, n_topics, unlabelled, genes, batch_key, random_state, parameters
    )
    _check_target(adata, copy)
    with open_cells(adata, layer) as cells:
        check_key(key_added, labels, cells.obs)
        model, answers = fit_opened(cells, options)
        target, written = _target(adata, cells, copy)
        write_results(target, model, answers, key_added, cells.uns)
    return _finished(target, written)


def annotate(
    adata: Any,
    model: CellModel,
    *,
    key_added: str = "ssnmf",
    layer: str | None = None,
    copy: bool = False,
) -> Any:
    """Write the predictions of a fitted model for other cells; genes are matched by name.

    Genes of the model that ``adata`` lacks count as not measured; a warning says so if they are
    more than half. Genes that the model does not know are ignored.

    Parameters
    ----------
    adata : AnnData or path
        Cells × genes, raw counts.
    model : CellModel
        A model from `fit` or `load`.
    key_added : str, default="ssnmf"
        Name of the results, which are those of `ssnmf`.
    layer : str, optional
        Layer that holds the raw counts; by default that of the fit if ``adata`` has it, else X.
    copy : bool, default=False
        Return a copy with the results, and leave ``adata`` unchanged.

    Returns
    -------
    AnnData or None
        As for `ssnmf`.

    Examples
    --------
    >>> import cofactor
    >>> from cofactor.datasets import make_cells
    >>> cells = make_cells()
    >>> model = cofactor.sc.fit(cells[:60].copy(), labels="cell_type", n_topics=3)
    >>> new = cells[60:].copy()
    >>> cofactor.sc.annotate(new, model)
    >>> new.obs["ssnmf"].tolist()[:4]
    ['B cell', 'T cell', 'monocyte', 'B cell']
    """
    _check_target(adata, copy)
    _check_model(model)
    with open_cells(adata, layer, model.facts.get("layer")) as cells:
        check_key(key_added, model.facts.get("labels"), cells.obs, cells.uns)
        if doubt := model.doubt(model.match(cells.genes)[1]):
            warn(doubt)
        answers = model.answer(cells)
        target, written = _target(adata, cells, copy)
        write_results(target, model, answers, key_added, cells.uns, new=True)
    warn_of_empty(int(answers.empty.sum()))
    return _finished(target, written)


def _check_model(model: Any) -> None:
    if not isinstance(model, CellModel):
        raise TypeError(
            f"model is of type {type(model).__name__}; pass annotate(adata, model) a model of "
            "cofactor.sc.fit or cofactor.sc.load."
        )


def predictions_of(key: str) -> list[str]:
    """Return the names of the columns of obs that hold predictions."""
    return [key, f"{key}_confidence", f"{key}_unlike"]


def predicted(uns: Any, key: str) -> bool:
    """Return whether earlier results of this name hold predictions."""
    found = uns.get(key)
    return hasattr(found, "keys") and "classes" in found


def check_key(key: str, labels: str | None, obs: Any, uns: Any = MappingProxyType({})) -> None:
    """Reject a name of results that would overwrite the labels a model learns from.

    Earlier predictions, which ``uns`` lists, may be overwritten.
    """
    if labels in predictions_of(key) and labels in obs and not predicted(uns, key):
        raise InputError(
            f"The results would overwrite obs[{labels!r}], which holds the labels; pass another "
            "key_added, or rename that column."
        )


def write_results(
    target: Any,
    model: CellModel,
    answers: CellPredictions,
    key: str,
    uns: Any,
    abstain: float = 0.0,
    new: bool = False,
) -> None:
    """Write predictions, topics and facts about the fit into an AnnData object.

    Parameters
    ----------
    target : AnnData
        The object; predictions of an earlier model are removed.
    model : CellModel
    answers : CellPredictions
    key : str
        Name of the results.
    uns : mapping
        The ``uns`` of the object or file that the tables come from; it lists earlier results.
    abstain : float, default=0.0
        Leave cells unpredicted whose most probable class has a lower probability.
    new : bool, default=False
        Whether the cells are not those of the fit. The score that the fit expects may not hold for
        them, so it is left out.
    """
    from pandas import Categorical

    target.obsm[f"X_{key}"] = answers.shares
    target.varm[key] = _topics(target, model)
    if predicted(uns, key):
        target.obs = target.obs.drop(columns=predictions_of(key), errors="ignore")
    if model.classes:
        codes, confidence = answers.predictions(abstain)
        target.obs[key] = Categorical.from_codes(codes, model.classes)
        target.obs[f"{key}_confidence"] = confidence
        target.obs[f"{key}_unlike"] = answers.unlike
    facts = facts_of(model) | ({"abstain": abstain} if abstain else {})
    if new:
        facts.pop(EXPECTED, None)
    target.uns[key] = facts


def _topics(target: Any, model: CellModel) -> np.ndarray:
    """Return topics by gene for the genes of an object; 0 for genes that the model lacks."""
    place = {gene: j for j, gene in enumerate(model.genes)}
    found = np.array([place.get(str(name), -1) for name in target.var_names])
    topics = np.zeros((len(found), len(model.topics)))
    topics[found >= 0] = model.topics.T[found[found >= 0]]
    return topics


def facts_of(model: CellModel) -> dict[str, Any]:
    """Return facts about a fit and its findings, in types that AnnData files can hold."""
    estimator, expected = model.estimator, getattr(model.estimator, "expected_score_", None)
    facts: dict[str, Any] = {
        "params": {n: _storable(value) for n, value in model.facts.items() if n != "topics"},
        "topic_shares": model.mean_shares,
        "markers": {kind: _table(found) for kind, found in model.markers.items()},
        "history": {name: np.array(values) for name, values in estimator.history_.items()},
        "stop_reason": estimator.stop_reason_,
        "versions": {**versions(), "anndata": version_of("anndata") or ""},
    }
    if model.classes:
        facts["classes"] = np.array(model.classes, dtype=object)
        facts["topic_classes"] = model.topic_classes
    if expected is not None:
        names = ("measure", "value", "low", "high", "n_samples")
        facts[EXPECTED] = {name: getattr(expected, name) for name in names}
    return facts


def _storable(value: Any) -> Any:
    if isinstance(value, list):
        return np.array(list(map(str, value)), dtype=object)
    return "" if value is None else value


def _table(markers: list[Marker]) -> Any:
    from pandas import DataFrame

    table = DataFrame(
        [vars(marker) for marker in markers], columns=[x.name for x in fields(Marker)]
    )
    return table.astype({"share": float, "share_against": float})


def _check_target(adata: Any, copy: bool) -> None:
    """Reject an object that cannot be written to, before any work is done."""
    if not copy and getattr(adata, "is_view", False) and adata.isbacked:
        raise InputError(
            "adata is a part of a backed object, which cannot be changed; pass copy=True, or load "
            "it with adata.to_memory()."
        )


def _target(adata: Any, cells: CellMatrix, copy: bool) -> tuple[Any, bool]:
    """Return the object to write the results to, and whether it is the user's own."""
    if isinstance(adata, str | os.PathLike):
        return cells.without_matrices(), False
    if not copy:
        return adata, True
    return cells.without_matrices() if adata.isbacked else adata.copy(), False


def _finished(target: Any, written: bool) -> Any:
    """Save a backed object that is open for writing; return the target if it is a new object."""
    if written and target.isbacked and target.file.filename and _is_writable(target):
        target.write_h5ad()
    return None if written else target


def _is_writable(adata: Any) -> bool:
    matrix = adata.X
    group = getattr(matrix, "group", matrix)
    return getattr(group.file, "mode", "r") == "r+"


def write_copy(
    path: Path,
    output: Path,
    model: CellModel,
    answers: CellPredictions,
    key: str = "ssnmf",
    abstain: float = 0.0,
) -> list[str]:
    """Write a copy of a file or a .zarr folder with results, without loading its matrices.

    Parameters
    ----------
    path, output : Path
        The file, and the copy, which appears once it is complete.
    model : CellModel
    answers : CellPredictions
        Predictions for the cells of the file.
    key : str, default="ssnmf"
        Name of the results.
    abstain : float, default=0.0
        Leave cells unpredicted whose most probable class has a lower probability.

    Returns
    -------
    list of str
        The places that were written, such as "obs/ssnmf".
    """
    io = anndata().io
    with _copied(path, output) as store:
        tables = {name: io.read_elem(store[name]) for name in ("obs", "var")}
        notes = store.get("uns", {})
        check_key(key, model.facts.get("labels"), tables["obs"], notes)
        results = anndata().AnnData(**tables)
        write_results(results, model, answers, key, notes, abstain, new=True)
        io.write_elem(store, "obs", results.obs)
        for group, name, value in _results(results):
            io.write_elem(store.require_group(group), name, value)
    columns = predictions_of(key) if model.classes else []
    return [f"obs/{name}" for name in columns] + [f"{g}/{name}" for g, name, _ in _results(results)]


@contextmanager
def _copied(path: Path, output: Path) -> Iterator[Any]:
    """Yield a copy of a file or folder that can be changed; it appears once it is complete."""
    if path.is_dir():
        import zarr

        with replacing_folder(output) as place:
            shutil.copytree(path, place, dirs_exist_ok=True)
            yield zarr.open_group(place, mode="r+", use_consolidated=False)
            zarr.consolidate_metadata(place)  # else readers would see the old list of contents
        return
    import h5py

    with place_of(output) as place:
        shutil.copyfile(path, place)
        with h5py.File(place, "r+") as file:
            yield file


def _results(results: Any) -> list[tuple[str, str, Any]]:
    groups = {"obsm": results.obsm, "varm": results.varm, "uns": results.uns}
    return [
        (group, name, value) for group, found in groups.items() for name, value in found.items()
    ]
