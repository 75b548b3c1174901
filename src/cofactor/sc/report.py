"""A report on a model of cells: the page of topic models, with genes for words."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.preprocessing import normalize

from cofactor.errors import Parameter, ParameterError
from cofactor.estimators.inference import topic_shares
from cofactor.report.html import check_extra
from cofactor.report.material import Material, material_of
from cofactor.report.nouns import CELLS
from cofactor.report.page_content import Prepared, prepare_page
from cofactor.sc.cells import CellMatrix, cell_digest, open_cells, read_labels
from cofactor.sc.genes import TOTAL
from cofactor.sc.markers import Marker, topic_markers
from cofactor.sc.model import CellModel, checked
from cofactor.text import TopicModel
from cofactor.text.describe.summaries import count_labels, describe_topics
from cofactor.text.describe.topic_words import Words
from cofactor.text.documents import Corpus
from cofactor.text.fitted_topics import FittedTopics


def prepare_cell_report(
    model: CellModel,
    adata: Any,
    *,
    truth: str | None = None,
    layer: str | None = None,
    title: str | None = None,
    source: str | None = None,
) -> Prepared:
    """Return the content of a report on cells; the parameters are those of `CellModel.report`."""
    check_extra()
    with open_cells(adata, layer, model.facts.get("layer")) as cells:
        material = read_cells(model, cells, truth)
    return prepare_page(material, title=title, source=source)


def read_cells(model: CellModel, cells: CellMatrix, truth: str | None = None) -> Material:
    """Return the material of a report: the counts of the model's genes, and labels."""
    columns, known = model.match(cells.genes)
    if not known.all():
        raise ParameterError(
            f"The cells have {int(known.sum()):,} of the {len(known):,} genes of the model, but a "
            "report needs all",
            ("fit a model on the genes that both have (", Parameter("genes"), ")"),
        )
    X = sp.csr_array(sp.vstack(list(checked(cells, columns)), format="csr"))
    y, totals = _labels(model, cells), np.asarray(X.sum(axis=1)).ravel()
    digest = cell_digest(cells.obs.index, totals)
    return material_of(
        topic_model(model, X, y, digest),
        None,
        X,
        y,
        None if truth is None else read_labels(cells.obs, truth, _marks(model)),
        digest,
        rows=[str(name) for name in cells.obs.index],
        nouns=CELLS,
        normalised=log_normalised(X),
        rank=partial(rank_genes, model),
        markers=marker_table(model),
        call=_call(model),
    )


def _labels(model: CellModel, cells: CellMatrix) -> np.ndarray | None:
    """Return the labels that the fit learned from, or those of other cells in the same column."""
    column = model.facts.get("labels")
    if column is None or column not in cells.obs or not model.classes:
        return None
    return read_labels(cells.obs, column, _marks(model, cells.obs[column]))


def _marks(model: CellModel, column: Any = None) -> list[str]:
    """Return the values that mean "not labelled", as far as a column has them."""
    noted = model.facts.get("unlabelled") or []
    marks = [noted] if isinstance(noted, str) else list(noted)
    present = set() if column is None else set(map(str, column.unique()))
    return [mark for mark in marks if mark in present]


def topic_model(model: CellModel, X: sp.csr_array, y: np.ndarray | None, digest: str) -> TopicModel:
    """Return a topic model with the estimator, whose words are genes; cells X describe it.

    ``digest`` stands in for the one of the fit, which models of before did not keep.
    """
    estimator = model.estimator
    own = estimator.get_params(deep=False)
    shared = {n: own[n] for n in TopicModel().get_params(deep=False) if n in own}
    words = Words(np.asarray(model.genes, dtype=object))
    ranking = marker_columns(model.markers["topics"], model)
    described = describe_topics(estimator, X, words, {}, ranking)
    S = described.pop("document_topics")
    described |= count_labels(estimator, S, y)
    seed, links = model.facts.get("random_state"), model.shown_links if model.classes else None
    state = FittedTopics(
        **described,
        estimator=estimator,
        vectorizer=GeneNames(words.names),
        target_names=model.classes,
        seed=0 if seed is None else int(seed),
        timings={},
        fingerprint=str(model.facts.get("fingerprint") or digest),
        forgotten=replace(Corpus.of(S, estimator.components_), links=links),
    )
    return TopicModel(**shared).set_fitted(state)


class GeneNames:
    """The names of genes, in the place of a vectorizer."""

    def __init__(self, names: np.ndarray) -> None:
        self.names = names

    def get_feature_names_out(self) -> np.ndarray:
        return self.names


def rank_genes(model: CellModel, X: sp.csr_array, S: np.ndarray, topics: np.ndarray) -> np.ndarray:
    """Return the columns of the markers of other topics, given the representations S of cells."""
    use = np.asarray(X.sum(axis=1)).ravel() @ topic_shares(S, topics)
    return marker_columns(topic_markers(topics, use, None, model.genes), model)


def marker_columns(markers: list[Marker], model: CellModel) -> np.ndarray:
    """Return the columns of the markers of each topic, the most specific first, then −1."""
    place = {gene: j for j, gene in enumerate(model.genes)}
    rows: list[list[int]] = [[] for _ in model.estimator.components_]
    for marker in markers:
        rows[int(marker.group)].append(place[marker.gene])
    width = max(map(len, rows), default=0)
    return np.array([row + [-1] * (width - len(row)) for row in rows], dtype=np.int64)


def marker_table(model: CellModel) -> list[dict[str, Any]]:
    """Return for each type its markers, the type most like it, and the markers against that."""
    return [
        {
            "class": name,
            "words": _marking(model, "classes", name),
            "nearest": model.nearest(name),
            "against": _marking(model, "nearest", name),
        }
        for name in model.classes
    ]


def _marking(model: CellModel, kind: str, name: str) -> list[dict[str, Any]]:
    return [
        {"word": m.gene, "share": m.share, "share_against": m.share_against}
        for m in model.markers[kind]
        if m.group == name
    ]


def log_normalised(X: sp.csr_array) -> sp.csr_array:
    """Return logarithms of counts per 10,000, each cell scaled to length one."""
    totals = np.maximum(np.asarray(X.sum(axis=1)).ravel(), 1.0)
    scaled = sp.csr_array(sp.diags_array(TOTAL / totals) @ X)
    return sp.csr_array(normalize(scaled.log1p()))


def _call(model: CellModel) -> str:
    """Return the Python call that fits such a model."""
    facts = model.facts
    given = {"n_topics": facts.get("n_topics"), "random_state": facts.get("random_state")}
    given |= {n: facts[n] for n in ("layer", "batch_key", "unlabelled") if facts.get(n)}
    column = "" if facts.get("labels") is None else f", labels={facts['labels']!r}"
    rest = "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)
    return f"cofactor.sc.fit(adata{column}{rest})"
