"""Input that cannot be used: matrices that hold no counts, wrong columns, wrong parameters."""

import sys

import numpy as np
import pytest

from cofactor import sc
from complaints import assert_says
from made_cells import draw_cells


@pytest.fixture
def adata():
    return draw_cells(n=120)


def fit(adata, **options):
    return lambda: sc.ssnmf(adata, **{"labels": "cell_type", **options})


def test_log_normalised_values_are_noticed(adata):
    adata.layers["counts"] = adata.X.copy()
    totals = np.asarray(adata.X.sum(axis=1)).ravel()
    adata.X = adata.X.multiply(1e4 / totals[:, None]).tocsr().log1p()
    assert_says(fit(adata), r"adata\.X", "log-normalised", "layer='counts'")
    del adata.layers["counts"]
    assert_says(fit(adata), "log-normalised", r"adata\.layers\['counts'\] = adata\.X\.copy")
    adata.raw = adata.copy()
    assert_says(fit(adata), "log-normalised", r"adata\.raw\[:, adata\.var_names\]")


def test_normalised_and_scaled_values_are_refused(adata):
    totals = np.asarray(adata.X.sum(axis=1)).ravel()
    counts = adata.X
    adata.X = counts.multiply(1e4 / totals[:, None]).tocsr()
    assert_says(fit(adata), "normalised values", "raw counts")
    adata.X = counts * 0.5
    assert_says(fit(adata), r"fractions, such as \d+\.5", "round")
    adata.X = counts.toarray() - 1
    assert_says(fit(adata), "negative", "-1", "scaled")
    adata.X = counts * np.float32(np.nan)
    assert_says(fit(adata), "not finite")


def test_names_that_are_not_there(adata):
    assert_says(fit(adata, labels="celltype"), "celltype", "Did you mean 'cell_type'")
    assert_says(fit(adata, layer="counts"), "layer.*'counts'", "no layers")
    adata.layers["raw_counts"] = adata.X
    assert_says(fit(adata, layer="counts"), "raw_counts")
    assert_says(fit(adata, unlabelled="Unknwon"), "unlabelled.*'Unknwon'", "cell_type")
    assert_says(fit(adata, genes="hvg"), "genes='hvg'", "var has no columns; pass a number")
    adata.var["variable"] = True
    assert_says(fit(adata, genes="variabel"), "genes='variabel'", "Did you mean 'variable'")
    assert_says(fit(adata, genes=np.ones(3, bool)), "genes", r"\(3,\)", "600")
    assert_says(fit(adata, genes=np.zeros(600, bool)), "genes is False for every gene")
    assert_says(fit(adata, genes=["CD3D", "G0"]), "1 of 2 names in genes", "'CD3D'", "like 'G0'")
    unknown = [f"CD{j}" for j in range(9)]
    assert_says(fit(adata, genes=["G0", *unknown]), "9 of 10 names", "'CD0', .*'CD4';")
    assert_says(fit(adata, genes=[]), "genes is empty")
    assert_says(fit(adata, genes=2.5), "genes is 2.5", "column of var")


def test_columns_that_hold_no_classes(adata):
    adata.obs["score"] = np.linspace(0, 1, 120)
    assert_says(fit(adata, labels="score"), "'score'", "measurement")
    adata.obs["none"] = None
    assert_says(fit(adata, labels="none"), "'none'", "no labelled cell")


def test_parameters_that_are_none(adata):
    assert_says(fit(adata, n_topics=0), "n_topics=0", "at least 1")
    assert_says(fit(adata, genes=-5), "genes=-5", "at least 1")
    assert_says(fit(adata, n_top_genes=20), "n_top_genes is called genes here", "genes=20")
    assert_says(fit(adata, labels=["cell_type"]), "labels is a list", "name of a column")
    assert_says(fit(adata, labels=adata.obs["cell_type"].values), "labels is a", "name of a column")
    assert_says(fit(adata, label="cell_type"), "label is called labels here")
    assert_says(fit(adata, n_topics=300, genes=250), "n_topics=300", "250 fitted genes", "smaller")
    assert_says(fit(adata, n_iter=3), "n_iter", "SSNMFClassifier")
    assert_says(fit(adata, n_components=2), "pass n_topics=2")
    assert_says(fit(adata, labels=None, class_weight="balanced"), "class_weight", "without labels")


def test_cells_that_are_too_few(adata):
    few = adata[:2].copy()
    few.obs["cell_type"] = "B cell"
    assert_says(fit(few), "at least 3 cells of adata.X, which has 2", "name the genes")
    model = sc.fit(adata, n_topics=2)
    assert_says(lambda: sc.annotate(adata[:0].copy(), model), "adata.X has no cells")
    assert_says(fit(adata[:0].copy(), labels=None), "adata.X has no cells")


def test_missing_values_among_the_genes_of_scanpy(adata):
    adata.var["highly_variable"] = [True] * 40 + [None] + [False] * 559
    assert_says(fit(adata), r"var\['highly_variable'\]", "missing values", "600 genes")
    adata.var["highly_variable"] = adata.var["highly_variable"].astype("boolean")
    assert_says(fit(adata), r"var\['highly_variable'\]", "missing values")
    adata.var["highly_variable"] = adata.var["highly_variable"].fillna(False)
    assert len(sc.fit(adata, "cell_type", n_topics=4).genes) == 40


def test_genes_with_one_name(adata):
    adata.var_names = ["G"] * 600
    assert_says(fit(adata), "var_names_make_unique")


def test_other_objects_and_files(tmp_path):
    assert_says(lambda: sc.ssnmf(np.ones((3, 3))), "adata", "ndarray", "h5ad")
    assert_says(lambda: sc.ssnmf(tmp_path / "no.h5ad"), "no.h5ad", "does not exist")
    (tmp_path / "bad.h5ad").write_text("no file")
    assert_says(lambda: sc.ssnmf(tmp_path / "bad.h5ad"), "bad.h5ad", "cannot be read")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(ImportError, match=r"pip install 'cofactor\[sc\]'"):
        sc.ssnmf("cells.h5ad")
