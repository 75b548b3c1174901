"""Write a model as an AnnData file (.h5ad); needs the package anndata."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cofactor.io.atomic import place_of
from cofactor.io.tables.labels import one_cell

MISSING = "AnnData files need a package that is not installed: pip install anndata."


def write_anndata(
    model: Any, path: Path, documents: list[str] | None, facts: str, names: list[str] | None = None
) -> None:
    """Write documents × words with topics beside both.

    Parameters
    ----------
    model : TopicModel
        A fitted model.
    path : Path
        The file; an older one is replaced in one step.
    documents : list of str or None
        The documents of the fit, whose tf-idf weights go into ``X``; None leaves ``X`` out.
    facts : str
        How the model was made, as JSON; kept in ``uns``.
    names : list of str, optional
        Names of the documents; by default they are numbered from 0.
    """
    try:
        from anndata import AnnData
    except ImportError as error:
        raise ImportError(MISSING, name="anndata") from error
    table = AnnData(
        X=None if documents is None else model.vectorizer_.transform(documents),
        obs=_observations(model, names),
        var=_words(model),
        obsm={"X_topics": np.asarray(model.document_topics_)},
        varm={"topics": np.ascontiguousarray(model.estimator_.components_.T)},
        uns={"topic_names": [str(name) for name in model.topic_names_], "cofactor": facts},
    )
    with place_of(path) as new:
        table.write_h5ad(new)


def _observations(model: Any, names: list[str] | None) -> Any:
    """Return the documents as anndata expects them: names and plain columns."""
    documents = model.documents()
    table = documents.to_pandas().drop(columns="document")
    table.index = table.index.astype(str) if names is None else names
    table["prediction"] = [
        str(one_cell("" if p is None else p)) for p in documents.column("prediction")
    ]
    table["name"] = table["name"].astype(str)
    table["confidence"] = table["confidence"].astype(float)
    return table


def _words(model: Any) -> Any:
    from pandas import DataFrame

    return DataFrame(index=[str(word) for word in model.vectorizer_.get_feature_names_out()])
