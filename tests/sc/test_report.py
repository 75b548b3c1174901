"""Reports on models of cells: the page of topic models, with genes for words."""

import numpy as np
import pytest

pytest.importorskip("altair")

from cofactor import sc
from cofactor.report.nouns import CELLS
from cofactor.report.page_content import downloads, prepare_page
from cofactor.sc.cells import open_cells
from cofactor.sc.report import read_cells
from made_cells import TYPES, draw_cells, planted


@pytest.fixture(scope="module")
def adata():
    return draw_cells()


@pytest.fixture(scope="module")
def model(adata):
    return sc.fit(adata, labels="cell_type", n_topics=4)


def prepared(model, adata, truth=None):
    with open_cells(adata) as cells:
        return prepare_page(read_cells(model, cells, truth))


@pytest.fixture(scope="module")
def page(model, adata):
    return prepared(model, adata)


def test_cards_show_the_markers_of_topics(page, model):
    for card in page.topics:
        first = [word["word"] for word in card["words"][:10]]
        assert first == model.marker_genes("topics", str(card["topic"]))
        assert len(planted(card["label"]) & set(first)) >= 8


def test_types_have_their_markers(page):
    assert [row["class"] for row in page.markers] == sorted(TYPES)
    for row in page.markers:
        assert {word["word"] for word in row["words"]} == planted(row["class"])
        assert row["nearest"] in TYPES
    assert "gene" in downloads(page)["markers"]["columns"]


def test_the_score_is_that_of_the_fit(page, model):
    [own] = [row for row in page.evaluation["methods"] if row["own"]]
    assert own["score"] == pytest.approx(model.estimator.expected_score_.value)
    assert "genes" in page.evaluation["how"]


def test_cells_of_the_fit_are_recognised(model, adata):
    with open_cells(adata) as cells:
        assert read_cells(model, cells).from_fit
    with open_cells(adata[::-1].copy()) as cells:
        assert not read_cells(model, cells).from_fit


def test_cells_have_names_predictions_and_marks(model, adata):
    hidden = adata.copy()
    hidden.obs.loc[hidden.obs["cell_type"] == "monocyte", "cell_type"] = None
    fitted = sc.fit(hidden, labels="cell_type", n_topics=4)
    page = prepared(fitted, hidden)
    found = sc.annotate(hidden, fitted, copy=True).obs
    assert [row["document"] for row in page.points] == hidden.obs_names.tolist()
    assert [row["prediction"] for row in page.points] == found["ssnmf"].tolist()
    unlike = np.array([row["unlike"] for row in page.points])
    assert np.allclose(unlike, found["ssnmf_unlike"], atol=1e-3)
    assert any("cells without a label are unlike" in row["text"] for row in page.notices)


def test_a_page_about_cells_has_no_documents(model, adata, tmp_path):
    model.report(tmp_path / "report.html", adata, truth="truth", title="Blood")
    body = (tmp_path / "report.html").read_text("utf-8").split('<script type="application/json"')[0]
    seen = body.split("<body>")[1].casefold().replace("document.document", "")
    for word in ("documents", " words", "texts", "tf-idf", "corpus", "cofactor edit"):
        assert word not in seen
    assert CELLS.first.casefold() in seen
    assert "cofactor.sc.fit(adata, labels=" in seen


def test_topics_without_labels_are_reported(adata):
    page = prepared(sc.fit(adata, n_topics=3), adata)
    assert (page.kind, page.evaluation, page.markers) == ("topics", None, [])
