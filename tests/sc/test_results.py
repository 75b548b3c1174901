"""Results of `ssnmf`: what scanpy users find in obs, obsm, varm and uns, also when saved."""

import anndata
import numpy as np
import pytest
from scipy import sparse as sp

from cofactor import sc
from made_cells import TYPES, balanced_accuracy, draw_cells, planted


@pytest.fixture(scope="module")
def found():
    adata = draw_cells(seed=2)
    sc.ssnmf(adata, labels="cell_type")
    return adata


def test_cells_are_labelled(found):
    assert balanced_accuracy(found) > 0.93
    assert found.obs["ssnmf"].dtype == "category"
    assert list(found.obs["ssnmf"].cat.categories) == sorted(TYPES)
    confidence = found.obs["ssnmf_confidence"].to_numpy()
    assert ((confidence > 0.25) & (confidence <= 1)).all()
    assert confidence.mean() > 0.8


def test_topics_are_shares(found):
    shares, topics = found.obsm["X_ssnmf"], found.varm["ssnmf"]
    assert shares.shape == (300, 10)
    assert topics.shape == (600, 10)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.allclose(topics.sum(axis=0), 1)
    assert np.count_nonzero(topics.any(axis=1)) <= 200  # the variable genes


@pytest.mark.parametrize("name", TYPES)
def test_markers_of_classes_are_the_planted_genes(found, name):
    table = found.uns["ssnmf"]["markers"]["classes"]
    own = table[table["group"] == name]
    assert set(own["gene"][:10]) == planted(name)
    assert list(own["rank"]) == list(range(1, len(own) + 1))
    assert (np.diff(own["log2_ratio"]) <= 0).all()


def test_strong_genes_of_every_cell_are_no_markers(found):
    table = found.uns["ssnmf"]["markers"]["classes"]
    everywhere = {f"G{j}" for j in range(40, 70)}
    assert not everywhere & set(table[table["rank"] <= 10]["gene"])


def test_topics_have_the_markers_of_their_class():
    adata = draw_cells(seed=2)
    sc.ssnmf(adata, labels="cell_type", n_topics=4)
    facts = adata.uns["ssnmf"]
    own = facts["classes"][facts["topic_classes"].argmax(axis=1)]
    assert sorted(own) == sorted(TYPES)
    table = facts["markers"]["topics"]
    for k, name in enumerate(own):
        genes = set(table[table["group"] == str(k)]["gene"][:10])
        assert len(genes & planted(name)) >= 9, name


def test_results_survive_a_file(found, tmp_path):
    found.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert again.obs["ssnmf"].tolist() == found.obs["ssnmf"].tolist()
    assert np.array_equal(again.obsm["X_ssnmf"], found.obsm["X_ssnmf"])
    assert np.array_equal(again.varm["ssnmf"], found.varm["ssnmf"])
    before, after = found.uns["ssnmf"], again.uns["ssnmf"]
    assert set(after) == set(before)
    assert after["expected_score"] == before["expected_score"]
    assert after["versions"] == before["versions"]
    assert np.array_equal(after["history"]["objective"], before["history"]["objective"])
    for kind in ("classes", "topics"):
        assert after["markers"][kind]["gene"].tolist() == before["markers"][kind]["gene"].tolist()
    assert after["params"]["labels"] == "cell_type"
    assert after["params"]["labelled"] == 24


def test_depth_says_nothing(found):
    """A cell that was read four times as deeply gets the same label and the same topics."""
    model = sc.fit(draw_cells(seed=2), labels="cell_type")
    deeper = draw_cells(seed=2)
    deeper.X = deeper.X * 4
    sc.annotate(deeper, model)
    assert deeper.obs["ssnmf"].tolist() == found.obs["ssnmf"].tolist()
    confidence = deeper.obs["ssnmf_confidence"], found.obs["ssnmf_confidence"]
    assert np.allclose(*confidence, atol=1e-6)
    assert np.allclose(deeper.obsm["X_ssnmf"], found.obsm["X_ssnmf"], atol=1e-4)


@pytest.mark.parametrize("head", ["refit", "joint"])
def test_depth_says_nothing_with_other_heads(head):
    adata = draw_cells(n=120)
    model = sc.fit(adata, labels="cell_type", n_topics=4, head=head)
    assert model.estimator.exposure == "total"
    deeper = adata.copy()
    deeper.X = deeper.X * 4
    first, second = (sc.annotate(cells, model, copy=True) for cells in (adata, deeper))
    assert first.obs["ssnmf"].tolist() == second.obs["ssnmf"].tolist()
    assert balanced_accuracy(first) > 0.8


def test_a_copy_and_another_key_leave_the_object_alone():
    adata = draw_cells(n=120)
    other = sc.ssnmf(adata, labels="cell_type", n_topics=4, key_added="mine", copy=True)
    assert list(adata.obs) == ["truth", "cell_type"]
    assert "mine" not in adata.uns
    assert "X_mine" not in adata.obsm
    assert {"mine", "mine_confidence"} <= set(other.obs)
    assert other.obsm["X_mine"].shape == (120, 4)


@pytest.mark.filterwarnings("ignore:Writing zarr v2")
@pytest.mark.parametrize("ending", [".h5ad", ".zarr"])
def test_a_path_keeps_all_tables(tmp_path, ending):
    adata, path = draw_cells(n=120), tmp_path / f"cells{ending}"
    adata.obsm["X_umap"], adata.uns["note"] = np.arange(240.0).reshape(120, 2), {"a": 1}
    adata.obsp["near"] = sp.eye_array(120, format="csr")
    (adata.write_h5ad if ending == ".h5ad" else adata.write_zarr)(path)
    found = sc.ssnmf(path, labels="cell_type", n_topics=2)
    assert np.array_equal(found.obsm["X_umap"], adata.obsm["X_umap"])
    assert found.uns["note"] == {"a": 1}
    assert (found.obsp["near"] != adata.obsp["near"]).nnz == 0
    assert {"X_umap", "X_ssnmf"} == set(found.obsm)
    if ending == ".h5ad":
        backed = anndata.read_h5ad(path, backed="r")
        again = sc.ssnmf(backed, labels="cell_type", n_topics=2, copy=True)
        assert again.uns["note"] == {"a": 1}
        assert "ssnmf" not in backed.uns


def test_layers_dense_arrays_and_integers_give_the_same_labels():
    adata = draw_cells(n=120)
    first = sc.ssnmf(adata, labels="cell_type", copy=True).obs["ssnmf"].tolist()
    adata.layers["counts"] = adata.X.astype(np.int32)
    adata.layers["dense"] = adata.X.toarray()
    adata.X = adata.X.log1p()
    for layer in ("counts", "dense"):
        assert sc.ssnmf(adata, "cell_type", layer=layer, copy=True).obs["ssnmf"].tolist() == first


def test_unlabelled_cells_may_have_a_name():
    adata = draw_cells(n=120)
    first = sc.ssnmf(adata, labels="cell_type", copy=True).obs["ssnmf"].tolist()
    adata.obs["cell_type"] = adata.obs["cell_type"].fillna("other").astype("category")
    named = sc.ssnmf(adata, labels="cell_type", unlabelled="other", copy=True)
    assert named.obs["ssnmf"].tolist() == first
    adata.obs["cell_type"] = adata.obs["cell_type"].cat.rename_categories({"other": "Unknown"})
    with pytest.warns(UserWarning, match="unlabelled='Unknown'") as caught:
        sc.ssnmf(adata, labels="cell_type", n_topics=5)
    assert caught[0].filename == __file__


def test_topics_without_labels():
    adata = draw_cells(n=120)
    sc.ssnmf(adata, n_topics=4)
    assert "ssnmf" not in adata.obs
    assert adata.obsm["X_ssnmf"].shape == (120, 4)
    assert set(adata.uns["ssnmf"]["markers"]["topics"]["group"]) <= set("0123")


@pytest.mark.filterwarnings("ignore:Writing zarr v2")
@pytest.mark.parametrize("place", ["object", "h5ad", "zarr"])
def test_a_run_without_labels_leaves_no_older_predictions(found, tmp_path, place):
    """Columns of obs that no run wrote stay, even if they are named like results."""
    adata = found.copy()
    adata.obs["mine"] = "kept"
    if place != "object":
        getattr(adata, f"write_{place}")(tmp_path / f"cells.{place}")
        again = sc.ssnmf(tmp_path / f"cells.{place}", n_topics=2)
    else:
        again = sc.ssnmf(adata, n_topics=2, copy=True)
        sc.ssnmf(adata, n_topics=2, key_added="mine")
        sc.ssnmf(adata, n_topics=2, key_added="mine")
        assert adata.obs["mine"].tolist() == ["kept"] * 300
    assert list(again.obs) == ["truth", "cell_type", "mine"]
    assert "classes" not in again.uns["ssnmf"]


def test_labels_are_not_overwritten(found):
    adata = found.copy()
    for key, labels in (("cell_type", "cell_type"), ("ssnmf", "ssnmf")):
        with pytest.raises(ValueError, match=rf"overwrite obs\['{labels}'\].*key_added"):
            sc.ssnmf(adata, labels=labels, key_added=key)
    adata.obs["x_confidence"] = adata.obs["cell_type"]
    with pytest.raises(ValueError, match="x_confidence"):
        sc.ssnmf(adata, labels="x_confidence", key_added="x")
    model = sc.fit(adata, labels="cell_type", n_topics=4)
    with pytest.raises(ValueError, match="overwrite"):
        sc.annotate(adata, model, key_added="cell_type")
    new = draw_cells(n=40)
    del new.obs["cell_type"]
    for _ in range(2):  # the second time these are own results
        sc.annotate(new, model, key_added="cell_type")
    assert new.obs["cell_type"].notna().all()


def test_variable_genes_of_scanpy_are_used():
    adata = draw_cells(n=120)
    adata.var["highly_variable"] = np.arange(600) < 50
    sc.ssnmf(adata, labels="cell_type")
    assert np.array_equal(adata.varm["ssnmf"].any(axis=1), np.arange(600) < 50)
    assert adata.uns["ssnmf"]["params"]["genes"] == "var['highly_variable']"
    sc.ssnmf(adata, labels="cell_type", genes=100)
    assert np.count_nonzero(adata.varm["ssnmf"].any(axis=1)) <= 100


def test_empty_cells_get_no_label():
    adata = draw_cells(n=120)
    counts = adata.X.tolil()
    counts[5] = 0
    adata.X = sp.csr_matrix(counts)
    with pytest.warns(UserWarning, match="1 cell has no count") as caught:
        sc.ssnmf(adata, labels="cell_type")
    assert caught[0].filename == __file__
    assert adata.obs["ssnmf"].isna().tolist() == [i == 5 for i in range(120)]
    assert not adata.obsm["X_ssnmf"][5].any()


def test_genes_of_another_species_are_renamed_by_a_table():
    model = sc.fit(draw_cells(), labels="cell_type", n_topics=4)
    here, other = draw_cells(n=80, seed=3), draw_cells(n=80, seed=3)
    other.var_names = [name.replace("G", "g") for name in other.var_names]
    with pytest.raises(ValueError, match="No gene of the model is among the names of var"):
        sc.annotate(other, model)
    table = {f"g{j}": f"G{j}" for j in range(500)}  # the last genes have no counterpart
    other.var_names = [table.get(name, name) for name in other.var_names]
    sc.annotate(here, model)
    sc.annotate(other, model)
    assert balanced_accuracy(other) > balanced_accuracy(here) - 0.02
