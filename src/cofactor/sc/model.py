"""A model of cells: an estimator, the genes it uses, and the markers it found."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor._types import FloatArray, IntArray
from cofactor._warnings import warn
from cofactor.errors import Parameter, ParameterWarning
from cofactor.estimators.inference import topic_shares
from cofactor.io.errors import InputError
from cofactor.io.models import load_model, read_facts, save
from cofactor.linear.familiar import UNLIKE_LEVEL, left_out
from cofactor.sc.cells import CellMatrix, check_counts, check_names
from cofactor.sc.markers import Marker
from cofactor.text.describe.answers import ABSTAINED, NO_LABELS

NO_COUNT = "no count of a known gene"
UNLIKE = "unlike the labelled cells"
KINDS = ("classes", "nearest", "topics")
"""Kinds of markers."""
SHARES = ("share", "share_against")
NOTED = {"genes": "gene"} | {name: name for name in ("log2_ratio", *SHARES, "against")}
"""Fields of markers by the names that model folders have for them."""


@dataclass(frozen=True, eq=False)
class CellPredictions:
    """The predictions of a model for cells.

    Parameters
    ----------
    shares : array (n_cells, n_topics)
        Share of each topic in each cell; 0 for a cell without counts.
    probabilities : array (n_cells, n_classes)
        Probability of each class; no columns if the model was fitted without labels.
    unlike : array (n_cells,)
        Share of true cells of the predicted class that are nearer to its labelled cells, estimated
        from these; NaN if it is not known.
    """

    shares: FloatArray
    probabilities: FloatArray
    unlike: FloatArray

    @property
    def empty(self) -> Any:
        """Which cells have no count of a known gene; nothing is predicted for them."""
        return ~self.shares.any(axis=1)

    def predictions(self, abstain: float = 0.0) -> tuple[IntArray, FloatArray]:
        """Return the number of the predicted class of each cell, and the probability of the most
        probable one.

        They are −1 and NaN for a cell without counts, and if the model has no classes. The number
        is also −1 if the class is less probable than ``abstain``, or if the cell is unlike the
        labelled ones and ``abstain`` is not 0.
        """
        n, classes = self.probabilities.shape
        if not classes:
            return np.full(n, -1), np.full(n, np.nan)
        confidence = np.where(self.empty, np.nan, self.probabilities.max(axis=1))
        unsure = self.empty | left_out(confidence, self.unlike, abstain)
        return np.where(unsure, -1, self.probabilities.argmax(axis=1)), confidence

    def reasons(self, abstain: float = 0.0) -> list[str | None]:
        """Return why each cell has no prediction, or a doubtful one; None if it has a usual one."""
        if not self.probabilities.shape[1]:
            return [NO_LABELS] * len(self.shares)
        found = np.full(len(self.shares), None, dtype=object)
        found[self.unlike >= UNLIKE_LEVEL] = UNLIKE
        found[self.probabilities.max(axis=1) < abstain] = ABSTAINED
        found[self.empty] = NO_COUNT
        return list(found)


@dataclass(eq=False, repr=False)
class CellModel:
    """A fitted model of cells, as `fit` returns it.

    Parameters
    ----------
    estimator : SSNMFClassifier or NMF
        NMF if it was fitted without labels.
    genes : array of str
        The genes that the model uses, in the order of the estimator's features.
    markers : dict of str to list of Marker
        Markers of "classes" among all classes, of classes against the class that is "nearest", and
        of "topics", the most specific first.
    facts : dict
        Facts about the fit, in plain types.

    Examples
    --------
    >>> from cofactor import sc
    >>> from cofactor.datasets import make_cells
    >>> adata = make_cells()
    >>> model = sc.fit(adata, labels="cell_type", n_topics=3)
    >>> model.classes, model.topics.shape
    (['B cell', 'T cell', 'monocyte'], (3, 200))
    """

    estimator: Any
    genes: np.ndarray
    markers: dict[str, list[Marker]]
    facts: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        classes = f", classes {', '.join(self.classes)}" if self.classes else ""
        topics, genes = self.estimator.components_.shape
        return f"CellModel({topics} topics, {genes} genes{classes})"

    @property
    def classes(self) -> list[str]:
        """Names of the classes; empty if the model was fitted without labels."""
        return [str(name) for name in getattr(self.estimator, "classes_", ())]

    @property
    def topics(self) -> FloatArray:
        """Topics as shares of genes; rows sum to 1."""
        A = np.asarray(self.estimator.components_, dtype=np.float64)
        return np.asarray(A / np.maximum(A.sum(axis=1, keepdims=True), 1e-300))

    @property
    def topic_classes(self) -> FloatArray:
        """Probability of each class for a cell made only of one topic, topics × classes."""
        if not self.classes:
            return np.zeros((len(self.estimator.components_), 0))
        return np.asarray(self.estimator.probabilities(self.estimator.topic_scores()))

    @property
    def mean_shares(self) -> FloatArray:
        """Mean share of each topic in the cells of the fit."""
        if noted := self.facts.get("topics"):
            return np.array(noted["shares"])
        S = np.asarray(self.estimator.representation_, dtype=np.float64)  # of earlier versions
        return np.asarray(topic_shares(S, self.estimator.components_).mean(axis=0))

    @property
    def topic_support(self) -> IntArray | None:
        """Number of labelled cells that are mostly of each topic; earlier versions counted none."""
        noted = self.facts.get("topics")
        return None if noted is None else np.array(noted["topic_support"])

    @property
    def shown_links(self) -> FloatArray:
        """Mean probability of each class in the cells of each topic, topics × classes.

        Earlier versions did not note it; their models show `topic_classes`.
        """
        noted = self.facts.get("topics", {}).get("links")
        return self.topic_classes if noted is None else np.array(noted)

    def marker_genes(self, kind: str, group: str, n: int = 10) -> list[str]:
        """Return the names of the first markers of a class or of a topic.

        Parameters
        ----------
        kind : {"classes", "nearest", "topics"}
            Kind of group; "nearest" are markers of a class against the class most like it.
        group : str
            The name of the class, or the number of the topic.
        n : int, default=10
            Maximum number of genes. A class without a clear marker has none.

        Examples
        --------
        >>> import cofactor
        >>> from cofactor.datasets import make_cells
        >>> adata = make_cells()
        >>> model = cofactor.sc.fit(adata, labels="cell_type", n_topics=3)
        >>> sorted(model.marker_genes("classes", "T cell", 3))  # of GENE10 to GENE19
        ['GENE10', 'GENE12', 'GENE15']
        """
        return [m.gene for m in self.markers[kind] if m.group == group][:n]

    def nearest(self, name: str) -> str:
        """Return the class that is most like a class; "" if no gene tells them apart.

        Examples
        --------
        >>> from cofactor import sc
        >>> from cofactor.datasets import make_cells
        >>> adata = make_cells()
        >>> sc.fit(adata, labels="cell_type", n_topics=3).nearest("B cell")
        'monocyte'
        """
        return next((m.against for m in self.markers["nearest"] if m.group == name), "")

    def report(
        self, path: str | os.PathLike[str], adata: Any, *, truth: str | None = None, **options: Any
    ) -> Path:
        """Write a report: one HTML file that works offline. Requires ``cofactor[report]``.

        Parameters
        ----------
        path : str or path
            The file.
        adata : AnnData or path
            Cells to show and to test on, such as those of the fit; the counts of the model's genes
            are loaded.
        truth : str, optional
            Column of ``obs`` with labels that the fit did not see, to test on.
        **options
            ``layer`` (by default that of the fit), ``title`` and ``source``, the name of the data.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> from cofactor import sc
        >>> from cofactor.datasets import make_cells
        >>> adata = make_cells()
        >>> model = sc.fit(adata, labels="cell_type", n_topics=3)
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.report(f"{folder}/report.html", adata, title="Three types").name
        'report.html'
        """
        from cofactor.report.html import write_page
        from cofactor.sc.report import prepare_cell_report

        return write_page(prepare_cell_report(self, adata, truth=truth, **options), path)

    def answer(self, cells: CellMatrix) -> CellPredictions:
        """Return predictions for cells; genes are matched by name."""
        columns, known = self.match(cells.genes)
        weights = None if known.all() else known[None, :].astype(np.float64)
        parts = [
            answer_rows(self.estimator, _spread(rows, known), weights)
            for rows in checked(cells, columns)
        ]
        return joined(parts)

    def match(self, names: Any) -> tuple[IntArray, Any]:
        """Return the columns of the model's genes among names, and which genes were found."""
        check_names(names)
        place = {name: j for j, name in enumerate(names)}
        known = np.array([gene in place for gene in self.genes])
        if not known.any():
            raise InputError(
                f"No gene of the model is among the names of var: the model knows names like "
                f"{self.genes[0]!r}, var has names like {next(iter(names), '')!r}; if a column of "
                "var has names like those of the model, set adata.var_names to it."
            )
        return np.array([place[gene] for gene in self.genes[known]]), known

    def doubt(self, known: Any) -> ParameterWarning | None:
        """Return a warning of genes that cells lack; None if they have at least half of them.

        ``known`` says which genes of the model the cells have.
        """
        n, m = int(known.sum()), len(known)
        if 2 * n >= m:
            return None
        carried = ""
        if (head := getattr(self.estimator, "pooled_head", None)) is not None:
            weight = np.linalg.norm(head.weights, axis=1) * np.sqrt(self.mean_shares @ self.topics)
            part = float(weight[known].sum() / max(float(weight.sum()), 1e-300))
            carried = f", which carry {part:.0%} of the weight of its predictions"
        has = f"The cells have {n:,} of the {m:,} genes of the model{carried}"
        remedy = "do not trust the predictions, or fit a model on the genes that both have ("
        return ParameterWarning(has, (remedy, Parameter("genes"), ")"))

    def save(self, path: str | os.PathLike[str], notes: dict[str, Any] | None = None) -> None:
        """Save the model to a folder, for `cofactor.sc.load` and `cofactor topics`.

        Parameters
        ----------
        path : str or path
            The folder; an earlier model in it is replaced.
        notes : dict, optional
            Further JSON values to save with the model.

        Examples
        --------
        >>> from cofactor import sc
        >>> from cofactor.datasets import make_cells
        >>> adata = make_cells()
        >>> model = sc.fit(adata, labels="cell_type", n_topics=3)
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model")
        ...     sc.load(f"{folder}/model").classes
        ['B cell', 'T cell', 'monocyte']
        """
        named = copy.copy(self.estimator)
        named.feature_names_in_ = self.genes
        markers = {kind: _noted(found) for kind, found in self.markers.items()}
        save(named, path, notes={**(notes or {}), "cells": {**self.facts, "markers": markers}})


def load(path: str | os.PathLike[str]) -> CellModel:
    """Load a model of cells from a folder written by `CellModel.save`.

    Parameters
    ----------
    path : str or path
        The folder.

    Returns
    -------
    CellModel

    Examples
    --------
    >>> from cofactor import sc
    >>> from cofactor.datasets import make_cells
    >>> adata = make_cells()
    >>> model = sc.fit(adata, labels="cell_type", n_topics=3)
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model")
    ...     again = sc.load(f"{folder}/model")
    >>> sc.annotate(adata, again)  # the labels are in adata.obs
    """
    facts = dict(read_facts(path)["notes"].get("cells") or {})
    named = load_model(path)
    genes: Any = getattr(named, "feature_names_in_", None)
    if genes is not None:
        del named.feature_names_in_  # the estimator is fitted on arrays
    try:
        noted = facts.pop("markers")
        markers = {kind: list(_read(noted.get(kind, {}))) for kind in KINDS}
        model = CellModel(named, genes, markers, facts)
        _check_topics(model)
    except (KeyError, TypeError, ValueError, AttributeError):
        genes = None
    if genes is None:
        raise InputError(
            f"{os.fspath(path)!r} holds no model of cells; fit one with cofactor.sc.fit, or with "
            "cofactor fit data.h5ad."
        )
    return model


def _check_topics(model: CellModel) -> None:
    """Reject notes about topics that do not fit the topics and classes of a model."""
    if (noted := model.facts.get("topics")) is not None:
        r, k = len(model.estimator.components_), len(model.classes)
        shapes = {"shares": (r,), "topic_support": (r,), "topic_labels": (r, k), "links": (r, k)}
        for name, shape in shapes.items():
            if name == "links" and name not in noted:  # of earlier versions
                continue
            if np.asarray(noted[name], dtype=np.float64).shape != shape:
                raise ValueError(name)


def _noted(markers: list[Marker]) -> dict[str, Any]:
    """Return markers as JSON, by group."""
    found: dict[str, Any] = {}
    for marker in markers:
        row = found.setdefault(marker.group, {name: [] for name in NOTED})
        for name, field_name in NOTED.items():
            value = getattr(marker, field_name)
            row[name].append(round(value, 4) if isinstance(value, float) else value)
    return found


def _read(noted: dict[str, Any]) -> Iterator[Marker]:
    """Yield noted markers; earlier versions noted genes and ratios only."""
    for group, row in noted.items():
        n = len(row["genes"])
        columns = row["genes"], row["log2_ratio"], *(row.get(x, [None] * n) for x in SHARES)
        for rank, (gene, ratio, share, next_share, against) in enumerate(
            zip(*columns, row.get("against", [""] * n), strict=True), start=1
        ):
            shares = [None if x is None else float(x) for x in (share, next_share)]
            yield Marker(
                str(group), rank, str(gene), float(ratio), shares[0], str(against), shares[1]
            )


def checked(cells: CellMatrix, columns: IntArray | None = None) -> Iterator[sp.csr_array]:
    """Yield rows of all genes, or of some columns, after checking that all values are counts."""
    if not cells.shape[0]:
        raise InputError(f"{cells.place} has no cells; pass at least one.")
    for _, rows in cells.chunks():
        check_counts(rows, cells.place, cells.elsewhere)
        yield rows if columns is None else sp.csr_array(rows[:, columns])


def answer_rows(estimator: Any, X: sp.csr_array, weights: Any = None) -> CellPredictions:
    """Return predictions for some cells; ``weights`` are 0 for genes that were not measured."""
    S = estimator.transform(X, data_weights=weights)
    shares = topic_shares(np.asarray(S, dtype=np.float64), estimator.components_)
    shares[np.asarray(X.sum(axis=1)).ravel() == 0] = 0.0
    if not hasattr(estimator, "classes_"):
        return CellPredictions(shares, np.zeros((len(shares), 0)), np.full(len(shares), np.nan))
    scores = estimator.scores(X, representation=S, data_weights=weights)
    unlike = np.full(len(shares), np.nan)
    if estimator.pooled_head is not None:
        unlike = estimator.unlike(X, scores=scores, data_weights=weights)
    return CellPredictions(shares, np.asarray(estimator.probabilities(scores)), unlike)


def joined(parts: list[CellPredictions]) -> CellPredictions:
    """Concatenate the predictions of several chunks."""
    return CellPredictions(
        np.concatenate([part.shares for part in parts]),
        np.concatenate([part.probabilities for part in parts]),
        np.concatenate([part.unlike for part in parts]),
    )


def _spread(rows: sp.csr_array, known: Any) -> sp.csr_array:
    """Insert empty columns for the genes of the model that are missing."""
    if known.all():
        return rows
    places = np.flatnonzero(known)
    shape = rows.shape[0], len(known)
    return sp.csr_array((rows.data, places[rows.indices], rows.indptr), shape)


def warn_of_empty(number: int) -> None:
    """Warn of cells that have no count of a gene of the model."""
    if number:
        cells = "1 cell has" if number == 1 else f"{number:,} cells have"
        warn(
            f"{cells} no count of a gene of the model, so nothing is predicted there; filter such "
            "cells, or choose more genes."
        )
