"""The documents of a report: the map, and those to review."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from cofactor import TopicModel
from cofactor.report import document_tables
from cofactor.report.html import safe_json
from cofactor.report.page_content import prepare


def test_pure_documents_lie_at_their_topics(model):
    A = model.estimator_.components_
    spots = document_tables.place(np.eye(4), A, seed=0)
    np.testing.assert_allclose(spots, document_tables.anchors(A), atol=0.4)
    np.testing.assert_allclose(np.hypot(*document_tables.anchors(A).T), 1.0)


def test_alike_topics_are_neighbours():
    A = np.eye(6) + 0.9 * np.roll(np.eye(6), 1, axis=1)
    A = A[[0, 3, 1, 4, 2, 5]]
    order = [[0, 3, 1, 4, 2, 5][k] for k in document_tables.circle_order(A)]
    steps = np.diff([*order, order[0]]) % 6
    assert set(steps) in ({1}, {5})


def test_map_is_a_sample_of_many_documents():
    chosen = document_tables.choose_points(10_000, 0, 500)
    assert len(np.unique(chosen)) == 500
    assert (np.diff(chosen) > 0).all()
    assert len(document_tables.choose_points(80, 0, 500)) == 80


def test_points(held, model, corpus):
    table = model.documents()
    assert len(held.points) == 120
    assert "All 120 documents of the fit" in held.map_note
    for row, document in zip(held.points, table, strict=True):
        assert row["topic"] == document.topic
        assert row["prediction"] == document.prediction
        assert row["confidence"] == pytest.approx(document.confidence, abs=1e-3)
        assert row["class"] == corpus[1][row["document"]]


def test_documents_are_called_by_their_rows(held, model, corpus, some):
    rows = list(range(102, 342, 2))
    numbered = prepare(model, corpus[0], some, corpus[1], rows=rows)
    assert (held.number, numbered.number) == ("document", "row")
    assert "Rows are those of the table" in numbered.map_note
    assert "Rows" not in held.map_note
    pairs = [
        (held.points, numbered.points),
        (held.uncertain, numbered.uncertain),
        (held.mistaken, numbered.mistaken),
        *((a["typical"], b["typical"]) for a, b in zip(held.topics, numbered.topics, strict=True)),
    ]
    for before, after in pairs:
        assert [row["document"] for row in after] == [rows[row["document"]] for row in before]
    shuffled = pd.Series(rows, index=range(len(rows))[::-1])  # places count, not its index
    assert prepare(model, corpus[0], some, corpus[1], rows=shuffled).points == numbered.points
    with pytest.raises(ValueError, match="rows has 3 entries, but there are 120 documents"):
        prepare(model, corpus[0], some, rows=[1, 2, 3])


def test_explanations_are_those_of_the_model(held, model, corpus):
    assert held.uncertain
    for row in held.uncertain:
        told = model.explain(corpus[0][row["document"]])
        for sign, side in zip((1, -1), row["sides"], strict=True):
            assert side["class"] == (told.contrast.target if sign == 1 else told.contrast.rival)
            place = told.classes.index(side["class"])
            assert side["probability"] == pytest.approx(softmax(told.scores)[place])
            places = [told.words.index(word["word"]) for word in side["words"]]
            parts = sign * told.contrast.words[places]  # for this class and against the other one
            assert [word["part"] for word in side["words"]] == pytest.approx(parts, abs=1e-3)
            assert min(parts, default=1) > 0
            assert not len(parts) or parts[0] == max(sign * told.contrast.words)
            for word, part in zip(side["words"], parts, strict=True):
                assert word["shown"] == f"×{np.exp(part):.1f}"
        for change in row["without"]:
            text = corpus[0][row["document"]].replace(change["word"], "")
            assert model.predict([text]).tolist() == [change["prediction"]]
            assert change["prediction"] != told.prediction


def test_texts_to_review_are_coloured_as_the_app_colours_them(held, model, corpus):
    for row in held.uncertain:
        pieces, text = row["pieces"], corpus[0][row["document"]]
        assert "".join(piece for piece, _ in pieces) == row["text"] == text
        sides = [side["class"] for side in row["sides"]]
        told = model.explain(text, target=sides[0], rival=sides[1])
        assert pieces == told.coloured_text
        strongest = told.words[int(np.argmax(np.abs(told.contrast.words)))]
        assert abs(dict(pieces)[strongest]) == 3


@pytest.mark.slow
def test_mistaken_are_wrong(corpus, some):
    wrong = some.copy()
    wrong[:9] = ["faith", "space", "sport"] * 3
    model = TopicModel(3, random_state=0).fit(corpus[0], wrong)
    prepared = prepare(model, corpus[0], wrong)
    assert prepared.mistaken
    for row in prepared.mistaken:
        assert row["truth"] == wrong[row["document"]]
        assert row["sides"][0]["class"] != row["truth"]
        assert row["sides"][1]["class"] == row["truth"]


def test_labels_that_look_wrong_are_listed(model, corpus):
    texts, labels = corpus
    planted = labels.copy()
    planted[[7, 20]] = "space"  # 7 is of sport, 20 of faith
    found = prepare(model, texts, planted, rows=range(1, 121)).doubtful
    assert {row["document"]: row["looks_like"] for row in found[:2]} == {8: "sport", 21: "faith"}
    assert {row["label"] for row in found[:2]} == {"space"}
    assert found[0]["text"] in (texts[7], texts[20])
    assert prepare(model, texts).doubtful == []
    assert prepare(model, texts, planted, text=False).doubtful[0]["text"] == ""


def test_labels_that_the_fit_held_out_are_judged_without_another_fit(corpus, monkeypatch):
    texts, labels = corpus
    planted = labels.copy()
    planted[[7, 20]] = "space"
    model = TopicModel(3, random_state=0).fit(texts, planted)
    monkeypatch.setattr(document_tables, "judge_labels", None)  # it fits all folds again
    found = prepare(model, texts, planted).doubtful
    asked = {row.document: row for row in model.doubtful_labels(texts, planted)}
    assert {7, 20} <= {row["document"] for row in found}
    for row in found:
        assert row["looks_like"] == asked[row["document"]].suggestion
        assert row["probability"] == pytest.approx(asked[row["document"]].probability, abs=1e-3)


def test_short_texts_stay_whole_and_long_ones_share_the_rest():
    texts = ["a" * n for n in (10, 500, 20, 900, 100)]
    cut, is_cut = document_tables.cut_texts(texts, limit=730)
    assert is_cut
    assert [len(text) for text in cut] == [10, 301, 20, 301, 100]  # with the sign of a cut
    assert sum(len(text.rstrip("…")) for text in cut) == 730
    for text, short in zip(texts, cut, strict=True):
        assert text.startswith(short.rstrip("…"))
    assert document_tables.cut_texts(texts, limit=1530) == (texts, False)
    assert document_tables.cut_texts([], limit=5) == ([], False)


def test_texts_fit_as_bytes_of_the_page():
    texts = ["<&>" * 400, "木" * 700, "line\n" * 200, "plain " * 500]
    cut, _ = document_tables.cut_texts(texts, limit=3000)
    assert len(safe_json(cut).encode()) < 3000 * 1.05
    assert min(map(len, cut)) > 100
