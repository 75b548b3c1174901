"""export: tables, AnnData, topicwizard."""

import json

import numpy as np

from cofactor import load_model
from cofactor.io.models import read_facts
from commands import answer, cofactor, make_rows, read_table


def test_export_writes_tables(model, tmp_path):
    found = answer("export", model, "-o", tmp_path / "tables")
    assert len(found["files"]) == 4
    loaded = load_model(model)
    header, rows = read_table(tmp_path / "tables" / "documents.csv")
    strengths = np.array([row[6:] for row in rows], dtype=float)
    assert np.array_equal(strengths, loaded.document_topics_)
    _, topics = read_table(tmp_path / "tables" / "topics.csv")
    assert [row[1] for row in topics] == loaded.topic_names_
    made = json.loads((tmp_path / "tables" / "manifest.json").read_text())
    assert made["model"]["digest"] == read_facts(model)["digest"]
    assert header[0] == "row"
    assert [row[0] for row in rows] == [str(i + 2) for i in range(90)]


def test_export_to_anndata_or_say_what_is_missing(model, tmp_path):
    path = tmp_path / "m.h5ad"
    try:
        import anndata
    except ImportError:
        done = cofactor("export", model, "--to", "anndata", "-o", path, code=2)
        assert "pip install anndata" in done.stderr
        return
    cofactor("export", model, "--to", "anndata", "-o", path)
    table, loaded = anndata.read_h5ad(path), load_model(model)
    assert np.array_equal(table.obsm["X_topics"], loaded.document_topics_)
    assert np.array_equal(table.varm["topics"].T, loaded.estimator_.components_)
    assert table.shape == (90, len(loaded.vectorizer_.words_))


def test_export_to_topicwizard_writes_what_its_script_reads(model, tmp_path, monkeypatch):
    import runpy
    import sys
    from types import SimpleNamespace

    cofactor("export", model, "--to", "topicwizard", "-o", tmp_path / "w")
    seen = {}
    monkeypatch.setitem(sys.modules, "topicwizard", SimpleNamespace(visualize=seen.update))
    monkeypatch.setattr(sys.modules["topicwizard"], "visualize", lambda **given: seen.update(given))
    runpy.run_path(str(tmp_path / "w" / "show.py"))
    data, loaded = seen["topic_data"], load_model(model)
    assert data["corpus"] == [row[1] for row in make_rows()]
    assert np.array_equal(data["topic_term_matrix"], loaded.estimator_.components_)
    assert np.allclose(data["document_topic_matrix"], loaded.document_topics_)
    assert data["document_term_matrix"].shape == (90, len(data["vocab"]))
    assert seen["group_labels"].shape == (90,)  # pandas 3 refuses lists
