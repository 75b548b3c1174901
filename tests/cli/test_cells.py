"""AnnData files at the command line: check, fit, topics, predict, report, export."""

import sys

import anndata
import numpy as np
import pytest

from cofactor import sc
from commands import answer, cofactor, make_rows, read_table, write_table
from made_cells import TYPES, balanced_accuracy, draw_cells, planted


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with cells.h5ad, new.h5ad, which lacks a fourth of the genes, and a model."""
    place = tmp_path_factory.mktemp("cells")
    adata = draw_cells(seed=2)
    adata.layers["counts"] = adata.X.copy()
    adata.X = adata.X.log1p()
    adata.write_h5ad(place / "cells.h5ad")
    new = draw_cells(n=80, seed=3)[:, 150:].copy()
    new = anndata.concat([draw_cells(n=80, seed=3)[:, :100], new], axis=1, merge="same")
    new.layers["counts"] = new.X.copy()
    new.write_h5ad(place / "new.h5ad")
    fit = ("fit", place / "cells.h5ad", "--layer", "counts", "--label", "cell_type")
    cofactor(*fit, "-k", "4", "-o", place / "model")
    return place


def test_check_says_what_a_file_holds(folder):
    done = cofactor("check", folder / "cells.h5ad", "--layer", "counts", "--label", "cell_type")
    assert "24 (8.0%), 4 classes" in done.stdout
    assert "Next: cofactor fit" in done.stdout
    facts = answer("check", folder / "cells.h5ad", "--layer", "counts")
    assert facts["cells"] == 300
    assert facts["fitted_genes"] == 200
    assert any("cell_type" in sentence for sentence in facts["advice"])
    refused = cofactor("check", folder / "cells.h5ad", code=2)
    assert "Try --layer counts" in refused.stderr


def test_check_and_fit_take_the_same_genes(tmp_path):
    adata = draw_cells(n=120)
    adata.var["highly_variable"] = np.arange(600) < 50
    adata.write_h5ad(tmp_path / "cells.h5ad")
    assert "600, of which a fit takes 50" in cofactor("check", tmp_path / "cells.h5ad").stdout
    cofactor("fit", tmp_path / "cells.h5ad", "-k", "2", "-o", tmp_path / "model")
    assert len(sc.load(tmp_path / "model").genes) == 50


def test_fit_says_what_was_found(folder, tmp_path):
    fit = ("fit", folder / "cells.h5ad", "--layer", "counts", "--label", "cell_type")
    done = cofactor(*fit, "-o", tmp_path / "model")
    assert "10 topics in 300 cells, 4 classes learned from 24 labelled cells" in done.stderr
    assert "Expected on new cells like these: accuracy" in done.stderr
    facts = answer(*fit, "-k", "4", "-o", tmp_path / "model")
    assert facts["n_topics"] == 4
    assert facts["classes"] == sorted(TYPES)


def test_the_same_genes_can_be_chosen_as_in_python(tmp_path):
    adata = draw_cells(n=150)
    adata.var["mine"] = np.arange(600) % 4 == 0
    adata.obs["donor"] = np.repeat(["a", "b", "c"], 50)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    names = [f"G{j}" for j in range(0, 600, 7)]
    (tmp_path / "genes.txt").write_text("\n\n ".join(names))
    chosen = {
        "70": {"genes": 70},
        "mine": {"genes": "mine"},
        str(tmp_path / "genes.txt"): {"genes": names},
        "80": {"genes": 80, "batch_key": "donor"},
    }
    for word, same in chosen.items():
        options = ["--genes", word, *(["--batch", "donor"] if "batch_key" in same else [])]
        facts = answer("check", tmp_path / "cells.h5ad", *options)
        assert f"--genes {word}" in facts["next"]
        cofactor("fit", tmp_path / "cells.h5ad", *options, "-k", "2", "-o", tmp_path / "model")
        own = sc.load(tmp_path / "model")
        here = sc.fit(adata, n_topics=2, **same)
        assert own.genes.tolist() == here.genes.tolist()
        assert len(own.genes) == facts["fitted_genes"]
        assert own.facts["batch_key"] == same.get("batch_key")


def test_the_remedy_for_missing_genes_names_the_option(folder, tmp_path):
    new = anndata.read_h5ad(folder / "new.h5ad")
    few = sc.load(folder / "model").genes[:60]
    new[:, new.var_names.isin(few)].copy().write_h5ad(tmp_path / "few.h5ad")
    said = cofactor("predict", folder / "model", tmp_path / "few.h5ad").stderr
    assert "of the 200 genes of the model, which carry" in said
    assert "fit a model on the genes that both have (--genes)." in said


def test_topics_tell_the_shares_of_cells_that_have_a_marker(folder):
    facts = answer("topics", folder / "model")
    for row, found in zip(facts["classes"], sorted(TYPES), strict=True):
        own = [m for m in sc.load(folder / "model").markers["classes"] if m.group == found]
        shares = [[m.share, m.share_against] for m in own][:10]
        assert row["genes_shares"] == shares
        assert all(share > against for share, against in shares)
    first, (share, against) = row["genes"][0], row["genes_shares"][0]
    shown = cofactor("topics", folder / "model").stdout
    assert f"{first} {100 * share:.0f}/{100 * against:.0f}%" in " ".join(shown.split())


def test_topics_and_the_report_tell_the_same_of_topics(folder, tmp_path):
    pytest.importorskip("altair")
    from cofactor.sc.cells import open_cells
    from cofactor.sc.report import read_cells

    model = sc.load(folder / "model")
    with open_cells(folder / "cells.h5ad", "counts") as cells:
        own = {topic.topic: topic for topic in read_cells(model, cells).model.topics(10)}
    for row in answer("topics", folder / "model")["topics"]:
        topic = own[row["topic"]]
        assert row["share"] == pytest.approx(topic.share, abs=1e-6)
        assert (row["class"], row["labels"]) == (topic.label, topic.labels)
        assert row["link"] == pytest.approx(topic.label_weight, abs=1e-6)
    assert sum(row["labels"] for row in answer("topics", folder / "model")["topics"]) == 24


def test_topics_show_markers(folder):
    facts = answer("topics", folder / "model")
    for row in facts["topics"]:
        assert len(set(row["genes"]) & planted(row["class"])) >= 8
    assert sum(row["share"] for row in facts["topics"]) == pytest.approx(1)
    for row in facts["classes"]:
        assert set(row["genes"]) == planted(row["class"])
    assert "monocyte" in cofactor("topics", folder / "model", "--words", "3").stdout


def test_predictions_as_a_table(folder, tmp_path):
    done = cofactor(
        "predict",
        folder / "model",
        folder / "new.h5ad",
        "-o",
        tmp_path / "out.csv",
        "--all-classes",
        "--topics",
    )
    assert "genes of the model are not in the file" in done.stderr
    header, rows = read_table(tmp_path / "out.csv")
    assert header[:6] == ["cell", "prediction", "confidence", "topic", "reason", "unlike"]
    truth = anndata.read_h5ad(folder / "new.h5ad").obs["truth"].astype(str).tolist()
    assert np.mean([row[1] == name for row, name in zip(rows, truth, strict=True)]) > 0.9
    for row in rows:
        P, S = np.array(row[6:10], float), np.array(row[10:], float)
        assert P.sum() == pytest.approx(1, abs=1e-3)
        assert float(row[2]) == P.max()
        assert int(row[3]) == S.argmax()
    sure = cofactor("predict", folder / "model", folder / "new.h5ad", "--abstain", "1").stdout
    assert sure.splitlines()[1].split(",")[1] == ""


def test_predictions_in_a_copy_of_the_file(folder, tmp_path):
    cofactor("predict", folder / "model", folder / "new.h5ad", "-o", tmp_path / "out.h5ad")
    found, before = (anndata.read_h5ad(p) for p in (tmp_path / "out.h5ad", folder / "new.h5ad"))
    assert balanced_accuracy(found) > 0.9
    assert (found.layers["counts"] != before.layers["counts"]).nnz == 0
    assert found.obsm["X_ssnmf"].shape == (80, 4)
    assert "ssnmf" not in before.obs


def test_a_copy_abstains_and_says_what_it_holds(folder, tmp_path):
    predict = ("predict", folder / "model", folder / "new.h5ad", "--abstain", "0.9")
    facts = answer(*predict, "-o", tmp_path / "out.h5ad")
    assert facts["cells"] == 80
    assert 0 < facts["abstained"] < 80
    found = anndata.read_h5ad(tmp_path / "out.h5ad")
    assert found.obs["ssnmf"].isna().sum() == facts["abstained"]
    left_out = found.obs["ssnmf"].isna()
    unlike, confidence = found.obs["ssnmf_unlike"], found.obs["ssnmf_confidence"]
    assert ((confidence < 0.9) | (unlike >= 0.95)).tolist() == left_out.tolist()
    assert facts["added"] == [
        "obs/ssnmf",
        "obs/ssnmf_confidence",
        "obs/ssnmf_unlike",
        "obsm/X_ssnmf",
        "varm/ssnmf",
        "uns/ssnmf",
    ]
    table = answer(*predict, "-o", tmp_path / "out.csv")
    assert table["abstained"] == facts["abstained"]
    rows = read_table(tmp_path / "out.csv")[1]
    assert sum(row[1] == "" for row in rows) == facts["abstained"]
    reasons = np.where(confidence < 0.9, "not sure enough", "unlike the labelled cells")
    assert [row[4] for row in rows] == np.where(left_out, reasons, "").tolist()
    assert all(row[2] for row in rows)  # a confidence
    assert "--abstain leaves out" in cofactor(*predict).stderr


def test_a_copy_without_labels_has_no_older_predictions(folder, tmp_path):
    cofactor("predict", folder / "model", folder / "new.h5ad", "-o", tmp_path / "first.h5ad")
    fit = ("fit", folder / "cells.h5ad", "--layer", "counts", "-k", "2", "-o", tmp_path / "plain")
    cofactor(*fit)
    predict = ("predict", tmp_path / "plain", tmp_path / "first.h5ad")
    assert answer(*predict, "-o", tmp_path / "second.h5ad")["added"][0] == "obsm/X_ssnmf"
    found = anndata.read_h5ad(tmp_path / "second.h5ad")
    assert not {"ssnmf", "ssnmf_confidence"} & set(found.obs)
    assert found.obsm["X_ssnmf"].shape == (80, 2)
    for option in ("--all-classes", "--abstain=0.5"):
        assert "has no labels" in cofactor(*predict, option, code=2).stderr


def test_tables_of_a_model(folder, tmp_path):
    found = answer("export", folder / "model", "-o", tmp_path / "tables")
    assert len(found["files"]) == 3
    header, rows = read_table(tmp_path / "tables" / "genes.csv")
    assert len(header) == 5
    assert np.allclose(np.array([row[1:] for row in rows], float).sum(axis=0), 1)
    done = cofactor("export", folder / "model", "--to", "anndata", code=2)
    assert "cofactor predict" in done.stderr


def test_a_report_speaks_of_cells_and_genes(folder, tmp_path):
    pytest.importorskip("altair")
    report = ("report", folder / "model", "-o", tmp_path / "report.html")
    assert answer(*report, "--truth", "truth")["data"].endswith("cells.h5ad")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Tested on 276 cells of the fit whose labels were held out" in page
    cofactor("fit", folder / "cells.h5ad", "--layer", "counts", "-k", "2", "-o", tmp_path / "m")
    gone = cofactor("report", tmp_path / "m", "--truth", "truth", code=2)
    assert "this one was fitted without labels" in gone.stderr


@pytest.mark.filterwarnings("ignore:Writing zarr v2:UserWarning")  # of anndata
def test_folders_of_zarr(tmp_path):
    adata = draw_cells(seed=2)
    adata.layers["counts"], adata.X = adata.X.copy(), adata.X.log1p()
    adata.write_zarr(tmp_path / "cells.zarr")
    adata.write_h5ad(tmp_path / "cells.h5ad")
    found = []
    for name in ("cells.zarr", "cells.h5ad"):
        options = ("--layer", "counts", "--label", "cell_type", "-k", "4")
        cofactor("fit", tmp_path / name, *options, "-o", tmp_path / "model")
        predict = ("predict", tmp_path / "model", tmp_path / name, "--layer", "counts")
        found.append(cofactor(*predict).stdout)
    assert found[0] == found[1]
    copy = ("predict", tmp_path / "model", tmp_path / "cells.zarr", "--layer", "counts")
    cofactor(*copy, "-o", tmp_path / "out.zarr")
    cofactor(*copy[:2], tmp_path / "cells.h5ad", *copy[3:], "-o", tmp_path / "out.h5ad")
    one, other = anndata.read_zarr(tmp_path / "out.zarr"), anndata.read_h5ad(tmp_path / "out.h5ad")
    assert one.obs["ssnmf"].tolist() == other.obs["ssnmf"].tolist()
    assert (one.obsm["X_ssnmf"] == other.obsm["X_ssnmf"]).all()
    assert (one.layers["counts"] != adata.layers["counts"]).nnz == 0
    assert "ssnmf" not in anndata.read_zarr(tmp_path / "cells.zarr").obs


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fit", "cells.h5ad", "--text", "body", "-o", "m"), "--text is for texts"),
        (("fit", "cells.h5ad", "--label", "a", "--label", "b", "-o", "m"), "given once"),
        (("fit", "cells.h5ad", "--label", "celltype", "-o", "m"), "Did you mean 'cell_type'"),
        (("fit", "cells.h5ad", "--jobs", "0", "-o", "m"), "--jobs 0"),
        (("fit", "posts.csv", "--layer", "counts", "-o", "m"), "--layer needs an .h5ad"),
        (("fit", "posts.csv", "--genes", "10", "-o", "m"), "--genes needs an .h5ad"),
        (("check", "posts.csv", "--batch", "day"), "--batch needs an .h5ad"),
        (("fit", "cells.h5ad", "--batch", "doner", "-o", "m"), "--batch 'doner'"),
        (("fit", "cells.h5ad", "--genes", "0", "-o", "m"), "--genes 0"),
        (("fit", "cells.h5ad", "--genes", "hvg", "-o", "m"), "--genes 'hvg'"),
        (("fit", "cells.h5ad", "--genes", "posts.csv", "-o", "m"), "names in --genes are not in"),
        (("predict", "model", "new.h5ad", "-o", "out.zarr"), "must have the same ending"),
        (("predict", "model", "new.h5ad", "-o", "new.h5ad"), "is the table itself"),
        (("predict", "model", "new.h5ad", "-o", "o.h5ad", "--all-classes"), "is for tables"),
        (("predict", "model", "posts.csv"), "model of single cells"),
        (("report", "model", "--without-texts"), "--without-texts is for texts"),
        (("report", "model", "--data", "new.h5ad"), "but a report needs all"),
        (("report", "model", "--truth", "a", "--truth", "b"), "--truth names 2 columns"),
        (("explain", "model", "CD3D"), "model of single cells"),
        (("predict", "posts", "new.h5ad"), "posts"),
    ],
)
def test_refusals(folder, monkeypatch, arguments, said):
    monkeypatch.chdir(folder)
    write_table(folder / "posts.csv", make_rows(12))
    assert said in cofactor(*arguments, code=2).stderr


def test_a_missing_package_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    done = cofactor("check", folder / "cells.h5ad", code=2)
    assert "pip install 'cofactor[sc]'" in done.stderr
