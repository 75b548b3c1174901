"""Models of cells: other cells, missing genes, saved folders."""

import re
from dataclasses import replace

import numpy as np
import pytest

from cofactor import NMF, save, sc
from complaints import assert_says
from made_cells import balanced_accuracy, draw_cells


@pytest.fixture(scope="module")
def model():
    return sc.fit(draw_cells(seed=2), labels="cell_type")


@pytest.fixture
def new():
    return draw_cells(n=150, seed=3)[:, ::-1].copy()  # genes in another order


def test_a_model_is_shown_in_one_line(model):
    shown = "CellModel(10 topics, 200 genes, classes B cell, NK/T, T cell, monocyte)"
    assert repr(model) == shown


def test_genes_are_matched_by_name(model, new):
    sc.annotate(new, model)
    assert balanced_accuracy(new) > 0.9
    j = list(model.genes).index("G0")
    assert np.allclose(new.varm["ssnmf"][list(new.var_names).index("G0")], model.topics[:, j])


def test_missing_genes_count_as_not_measured(model, new):
    some = new[:, np.arange(600) % 3 > 0].copy()
    sc.annotate(some, model)
    assert balanced_accuracy(some) > 0.85
    known = np.isin(model.genes, some.var_names)
    components = np.ascontiguousarray(model.estimator.components_[:, known])
    fewer = model.estimator.with_fitted(replace(model.estimator.fitted, components=components))
    S = fewer.transform(some[:, model.genes[known]].X) * model.estimator.components_.sum(axis=1)
    assert np.allclose(some.obsm["X_ssnmf"], S / S.sum(axis=1, keepdims=True), atol=1e-5)


def test_few_genes_are_told_with_their_number_and_a_remedy(model, new):
    first = model.genes[: len(model.genes) // 2]
    sc.annotate(new[:, first].copy(), model)  # no warning: half of them suffice
    with pytest.warns(UserWarning, match="The cells have 60 of the 200 genes of the model") as told:
        sc.annotate(new[:, model.genes[:60]].copy(), model)
    assert len(told) == 1
    said = str(told[0].message)
    share = float(re.search(r"which carry (\d+) % of the weight", said.replace("%", " %"))[1])
    assert 0 < share < 100
    assert "fit a model on the genes that both have" in said


def test_counts_may_be_in_another_place_than_those_of_the_fit(new):
    cells = draw_cells(seed=2)
    cells.layers["counts"] = cells.X
    model = sc.fit(cells, labels="cell_type", layer="counts")
    with pytest.warns(UserWarning, match="no layer 'counts', on which the model was fitted, so X"):
        sc.annotate(new, model)
    own = new.obs["ssnmf"].tolist()
    assert balanced_accuracy(new) > 0.9
    new.layers["counts"] = new.X.copy()
    new.X = new.X * 0.5  # which is not counts
    sc.annotate(new, model)
    assert new.obs["ssnmf"].tolist() == own
    assert_says(lambda: sc.annotate(new, model, layer="X"), r"adata\.X", "fractions")
    model.facts["layer"] = "X"  # as a fit with layer="X" notes it
    assert_says(lambda: sc.annotate(new, model), r"adata\.X", "fractions")
    assert_says(lambda: sc.annotate(new, model, layer="raw"), "layer='raw'", "counts")


def test_a_score_of_the_fit_is_not_told_of_other_cells(model, new):
    sc.annotate(new, model)
    assert "expected_score" not in new.uns["ssnmf"]
    assert model.estimator.expected_score_ is not None


def test_annotate_needs_a_model(model, new):
    assert_says(lambda: sc.annotate(model, new), "model is of type AnnData", "sc.load")
    assert_says(lambda: sc.annotate(new, "model"), "model is of type str", "sc.load")


def test_one_type_alone_says_nothing(new):
    new.obs["one"] = new.obs["cell_type"].where(new.obs["cell_type"] == "B cell", None)
    with pytest.warns(UserWarning, match="All labels are 'B cell', so every cell gets this one"):
        sc.fit(new, labels="one", n_topics=2)


def test_cells_to_annotate_must_be_counts(model, new):
    totals = np.asarray(new.X.sum(axis=1)).ravel()
    new.X = new.X.multiply(1e4 / totals[:, None]).tocsr().log1p()
    assert_says(lambda: sc.annotate(new, model), "log-normalised")


def test_other_genes_are_refused(model, new):
    new.var_names = [f"X{j}" for j in range(600)]
    assert_says(lambda: sc.annotate(new, model), "No gene of the model", "'G", "'X0'")


def test_a_saved_model_says_the_same(model, new, tmp_path):
    model.save(tmp_path / "model")
    again = sc.load(tmp_path / "model")
    first, second = (sc.annotate(new, one, copy=True) for one in (model, again))
    assert first.obs["ssnmf_confidence"].tolist() == second.obs["ssnmf_confidence"].tolist()
    assert [m.gene for m in again.markers["topics"]] == [m.gene for m in model.markers["topics"]]
    assert again.facts == model.facts
    card = (tmp_path / "model" / "README.md").read_text()
    assert "cells markers classes T cell genes" in card


def test_parameters_of_numpy_are_kept_with_a_model(tmp_path):
    adata = draw_cells(n=120)
    adata.obs["cell_type"] = adata.obs["cell_type"].fillna("other")
    numbers = {"n_topics": np.int64(4), "random_state": np.int64(3)}
    model = sc.fit(adata, "cell_type", unlabelled=np.array(["other"]), **numbers)
    model.save(tmp_path / "model")
    facts = sc.load(tmp_path / "model").facts
    assert facts == model.facts
    assert facts["unlabelled"] == ["other"]
    assert (facts["n_topics"], facts["random_state"]) == (4, 3)


def test_a_folder_with_another_model_is_refused(tmp_path):
    save(NMF(2, random_state=0).fit(np.eye(4)), tmp_path / "other")
    assert_says(lambda: sc.load(tmp_path / "other"), "no model of cells")


def test_what_topics_say_is_saved_and_checked(model, new, tmp_path):
    shares = sc.annotate(draw_cells(seed=0), model, copy=True).obsm["X_ssnmf"]
    assert model.mean_shares.sum() == pytest.approx(1)
    assert shares.shape[1] == len(model.mean_shares) == len(model.topic_support)
    assert model.topic_support.sum() == model.facts["labelled"]
    assert np.allclose(model.topic_classes.sum(axis=1), 1)
    before = dict(model.facts)
    del before["topics"]  # as earlier versions saved it
    older = replace(model, facts=before)
    older.save(tmp_path / "older")
    again = sc.load(tmp_path / "older")
    assert again.topic_support is None
    assert np.array_equal(again.shown_links, again.topic_classes)
    assert again.mean_shares.sum() == pytest.approx(1)
    broken = replace(model, facts=before | {"topics": before | {"shares": [1.0]}})
    broken.save(tmp_path / "broken")
    assert_says(lambda: sc.load(tmp_path / "broken"), "no model of cells")
