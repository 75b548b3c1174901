"""Pictures: what they draw is what the model says, whatever its words and labels are."""

import io
import warnings
from datetime import date

import numpy as np
import pytest

from cofactor import TopicModel
from cofactor.model_selection import Choice
from cofactor.report.plots import spread
from hostile import HOSTILE, hostile_model

pyplot = pytest.importorskip("matplotlib.pyplot", reason="needs the extra cofactor[plot]")
DATES = [date(2024, 1 + i // 20 + (i >= 60), 2) for i in range(120)]  # April is empty
FEW = "ignore:n_components=. is less than the . classes:UserWarning"


@pytest.fixture(autouse=True)
def agg():
    """Draw without a window, and close what was drawn."""
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


def rendered(ax):
    """Draw a picture to its end; return all its texts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        ax.figure.savefig(io.BytesIO(), format="png", dpi=50)
    return [text.get_text() for text in ax.findobj(pyplot.Text) if text.get_text()]


def mean_probabilities(model, texts):
    """Return the mean probabilities of the documents of each topic, by the public methods."""
    S = model.document_topics_ * model.estimator_.components_.sum(axis=1)
    shares = S / S.sum(axis=1, keepdims=True)
    return (shares.T @ model.predict_proba(texts)) / shares.sum(axis=0)[:, None]


# --- values ----------------------------------------------------------------------------------


def test_words_are_drawn_with_their_probabilities(model):
    axes = model.plot_topics(n_words=5)
    A = model.estimator_.components_
    P = A / A.sum(axis=1, keepdims=True)
    column = {word: j for j, word in enumerate(model.vectorizer_.get_feature_names_out())}
    largest = sorted(range(4), key=lambda k: -model.topics()[k].share)
    assert len(axes) == 4
    for ax, k in zip(axes, largest, strict=True):
        words = [text.get_text() for text in ax.texts[:5]]
        assert words == list(model.topics(5)[k].words)  # those of the title first
        expected = [P[k, column[word]] for word in words]
        np.testing.assert_allclose([bar.get_width() for bar in ax.patches], expected, rtol=1e-12)
        assert ax.get_title("left") == model.topic_names_[k]


def test_a_class_called_zero_is_shown(corpus, some):
    numbers = {name: place for place, name in enumerate(dict.fromkeys(one for one in some if one))}
    y = [numbers.get(one, -1) for one in some]
    axes = TopicModel(4, random_state=0, max_iter=5, tol=0).fit(corpus[0], y).plot_topics()
    titles = [text.get_text() for ax in axes for text in ax.texts] + [
        ax.get_title(side) for ax in axes for side in ("left", "right", "center")
    ]
    assert any("· 0 " in title for title in titles)


def test_topics_are_drawn_by_number_or_name(model):
    axes = model.plot_topics(topics=[2, model.topic_names_[0]])
    assert [ax.get_title("left") for ax in axes] == [model.topic_names_[k] for k in (2, 0)]
    with pytest.raises(ValueError, match="topic 4 does not exist"):
        model.plot_topics(topics=4)


def test_a_choice_of_nothing_is_refused(model, corpus):
    with pytest.raises(ValueError, match="topics is empty; name at least one"):
        model.plot_topics(topics=[])
    for kind in ("topic", "class"):
        with pytest.raises(ValueError, match="names is empty; name at least one"):
            model.plot_over_time(corpus[0], DATES, "month", kind=kind, names=[])


def test_cells_are_the_shares_of_classes_in_topics(model, corpus):
    ax = model.plot_classes()
    P = mean_probabilities(model, corpus[0])
    order = sorted(range(4), key=lambda k: (P[k].argmax(), -P[k].max()))
    np.testing.assert_allclose(ax.collections[0].get_array(), P[order], rtol=1e-9)
    assert [t.get_text() for t in ax.get_yticklabels()] == [model.topic_names_[k] for k in order]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["faith", "space", "sport"]
    assert P.max(axis=1).tolist() == pytest.approx([row.label_weight for row in model.topics()])
    assert ax.get_ylim() == (4, 0)  # the first topic is at the top


@pytest.mark.parametrize("kind", ["topic", "class"])
def test_lines_are_the_shares_over_time(model, corpus, kind):
    names = [1, 3] if kind == "topic" else ["sport", "faith"]
    ax = model.plot_over_time(corpus[0], DATES, "month", kind=kind, names=names)
    table = model.over_time(corpus[0], DATES)
    for line, band, name in zip(ax.lines, ax.collections[::2], names, strict=True):
        rows = [row for row in table if row.kind == kind and name in (row.topic, row.name)]
        expected = np.array([row.share for row in rows], dtype=float)
        assert np.isnan(expected).tolist() == [False] * 3 + [True] + [False] * 3
        np.testing.assert_allclose(line.get_ydata(), expected, rtol=1e-3, atol=1e-9)
        drawn = band.get_paths()[0].vertices[:, 1]
        assert drawn.max() == pytest.approx(max(r.high for r in rows[:3]), rel=1e-3)
    assert [text.get_text() for text in ax.texts[: len(names)]] == [
        model.topic_names_[name] if kind == "topic" else name for name in names
    ]
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        f"2024-0{m}" for m in range(1, 8)
    ]


def test_lines_are_those_that_changed(model, corpus):
    """All texts of the last period are about one subject: its class is drawn, and rises."""
    late = [date(2024, 1 + (label == "sport"), 3) for label in corpus[1]]
    ax = model.plot_over_time(corpus[0], late, kind="class")
    ends = {
        text.get_text(): line.get_ydata() for text, line in zip(ax.texts, ax.lines, strict=False)
    }
    assert ends["sport"][0] < 0.1 < 0.9 < ends["sport"][-1]


def test_a_period_between_gaps_has_its_interval(model, corpus):
    """May has neighbours without documents, so no band shows its interval: a stroke does."""
    dates = [date(2024, 1 + i % 3 if i < 90 else 5, 2) for i in range(100)] + [None] * 20
    ax = model.plot_over_time(corpus[0], dates, "month", names=[2])
    row = model.over_time(corpus[0][:100], dates[:100])
    row = next(r for r in row if r.period == "2024-05" and r.topic == 2)
    (stroke,) = ax.collections[1].get_segments()
    np.testing.assert_allclose(stroke, [[4, row.low], [4, row.high]], rtol=1e-3)
    assert "20 of 120 documents have no date and are in no period." in " ".join(rendered(ax))


def test_dots_are_the_stability_of_the_topics(corpus, some):
    model = TopicModel(4, random_state=0).fit(corpus[0], some)
    with pytest.raises(ValueError, match=r"call stability\(documents, y\) first"):
        model.plot_stability()
    model.amend(stability=np.array([[0.2, 0.9, 0.5, 1.0], [0.4, 0.9, 0.7, 1.0]]))
    ax = model.plot_stability()
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [1.0, 0.9, 0.6, 0.3])
    names = [model.topic_names_[k] for k in (3, 1, 2, 0)]
    assert [label.get_text() for label in ax.get_yticklabels()] == names
    lows = [segment[0, 0] for segment in ax.collections[0].get_segments()]
    np.testing.assert_allclose(lows, np.quantile(model.stability_, 0.025, axis=0)[[3, 1, 2, 0]])


def test_a_choice_is_drawn_with_the_number_of_this_model(model):
    table = [
        {
            "n_components": k,
            "cell_divergence": c,
            "cell_divergence_error": 0.01,
            "stability": s,
            "chosen": k == 3,
        }
        for k, c, s in [(2, 0.9, 0.5), (3, 0.4, 0.9), (4, 0.39, 0.6)]
    ]
    choice = Choice(3, None, "Take 3 topics.", table)
    axes = model.plot_choice(choice)
    assert [ax.get_title("left") for ax in axes] == [
        "Held-out cells (relative divergence)",
        "Stability",
    ]
    marks = [line.get_xdata()[0] for line in axes[0].lines[:2]]
    assert marks == [3, 4]  # chosen, and that of the model
    np.testing.assert_allclose(axes[1].lines[2].get_ydata(orig=False), [0.5, 0.9, 0.6])
    same = TopicModel(3).plot_choice(choice)
    assert "dotted" not in same[-1].get_xlabel()
    assert len(choice.figure().axes) == 2
    assert len(pyplot.get_fignums()) == 2  # the figure of the choice alone is not shown by itself


# --- where, and what else --------------------------------------------------------------------


def test_axes_that_are_passed_are_drawn_into(model, corpus):
    figure, (left, right) = pyplot.subplots(1, 2)
    assert model.plot_classes(ax=left) is left
    assert model.plot_over_time(corpus[0], DATES, ax=right) is right
    assert pyplot.get_fignums() == [figure.number]


@pytest.mark.parametrize("k", [1, 40])
@pytest.mark.filterwarnings(FEW)
def test_one_topic_and_forty(corpus, some, k):
    model = TopicModel(k, random_state=0, max_iter=2, tol=0).fit(corpus[0], some)
    axes = model.plot_topics()
    assert len(axes) == min(k, 12)
    assert any(
        "the 12 largest of 40 topics" in text.get_text()
        for text in axes[0].figure.findobj(pyplot.Text)
    ) == (k == 40)
    ax = model.plot_classes()
    assert len(ax.get_yticks()) == min(k, 30)
    assert ("the 30 largest of 40 topics" in rendered(ax)) == (k == 40)
    assert len(model.plot_over_time(corpus[0], DATES).lines) <= 6
    rendered(axes[0])


def test_models_without_classes(corpus):
    plain = TopicModel(3, random_state=0).fit(corpus[0])
    with pytest.raises(ValueError, match="fitted with no labels; use plot_topics"):
        plain.plot_classes()
    with pytest.raises(ValueError, match="kind='class' must be 'topic' here"):
        plain.plot_over_time(corpus[0], DATES, kind="class")
    assert "of texts" in " ".join(rendered(plain.plot_topics()[0]))


def test_models_of_numbers(corpus):
    y = np.where(corpus[1] == "space", 3.5, 0.25)
    model = TopicModel(3, random_state=0).fit(corpus[0], y)
    with pytest.raises(ValueError, match="fitted with numbers; use plot_topics"):
        model.plot_classes()
    ax = model.plot_over_time(corpus[0], DATES, "month", kind="number")
    rows = [row for row in model.over_time(corpus[0], DATES) if row.kind == "number"]
    expected = np.array([row.share for row in rows], dtype=float)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), expected, rtol=1e-3)


def test_models_of_several_labels(corpus):
    y = [{label, "urgent"} if i % 3 else {label} for i, label in enumerate(corpus[1])]
    model = TopicModel(4, random_state=0).fit(corpus[0], y)
    ax = model.plot_classes()
    P = mean_probabilities(model, corpus[0])
    order = sorted(range(4), key=lambda k: (P[k].argmax(), -P[k].max()))
    np.testing.assert_allclose(ax.collections[0].get_array(), P[order], rtol=1e-9)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["faith", "space", "sport", "urgent"]


def test_classes_beyond_the_largest_can_be_asked_for():
    random = np.random.default_rng(0)
    names = [f"class{i:02}" for i in range(28)]
    labels = np.array([name for i, name in enumerate(names) for _ in range(4 + (i > 0))])
    texts = [f"{name} word{random.integers(5)}" for name in labels]
    model = TopicModel(28, random_state=0, max_iter=3, tol=0).fit(texts, labels)
    dates = [date(2024, 1 + i % 2, 1) for i in range(len(texts))]
    ax = model.plot_over_time(texts, dates, "month", kind="class", names="class00")
    assert np.isfinite(ax.lines[0].get_ydata()).all()
    assert "the 25 largest of 28 classes" in rendered(model.plot_classes())
    with pytest.raises(
        ValueError, match="names contains 'class99', which the model does not predict"
    ):
        model.plot_over_time(texts, dates, kind="class", names=["class99"])


MATHEMATICS = ["$x^2$", r"$\frac{$", "100$ and 5$", r"\textbf{x}", "_hidden", "中文", "%", "^_{}"]


def test_hostile_words_and_classes_are_drawn_as_text():
    vocabulary = [*MATHEMATICS, *(word for word in HOSTILE if not word.isprintable())]
    model, texts, _ = hostile_model(vocabulary)
    names = [r"$\frac{$", "$x$ and $y", "_hidden", "a\nb\x00\ud800"]
    model.amend(topic_names=names, stability=np.full((2, 4), 0.5))
    dates = [date(2024, 1 + i % 3, 1) for i in range(len(texts))]
    drawn = rendered(model.plot_topics(n_words=25, by="probability")[0])
    assert {r"$\frac{$", "_hidden", "100$ and 5$"} & set(drawn)
    for ax in (model.plot_classes(), model.plot_stability()):
        assert {r"$\frac{$", "$x$ and $y", "_hidden", "a b"} <= set(rendered(ax))
    ax = model.plot_over_time(texts, dates, "month", names=range(4))
    assert {r"$\frac{$", "$x$ and $y", "_hidden", "a b"} <= set(rendered(ax))


def test_a_missing_library_is_named_with_the_remedy(model, corpus, monkeypatch):
    monkeypatch.setattr("cofactor.model_selection.figure.find_spec", lambda name: None)
    for draw in (
        model.plot_topics,
        model.plot_classes,
        model.plot_stability,
        lambda: model.plot_over_time(corpus[0], DATES),
        lambda: model.plot_choice(None),
    ):
        with pytest.raises(ImportError, match=r"needs matplotlib: pip install 'cofactor\[plot\]'"):
            draw()


def test_names_at_the_ends_of_lines_keep_their_distance():
    random = np.random.default_rng(0)
    for _ in range(20):
        places = random.random(7).round(2).tolist()
        moved = spread(places, 0.1)
        assert np.diff(np.sort(moved)).min() >= 0.1 - 1e-12
        assert sum(moved) == pytest.approx(sum(places))
        order = np.argsort(places, kind="stable")
        assert (np.diff(np.array(moved)[order]) > 0).all()
    assert spread([0.1, 0.9], 0.1) == [0.1, 0.9]
    assert spread([], 0.1) == []


def test_dots_of_few_different_numbers_are_faint():
    from cofactor.report.figures import pairs

    ratings = [{"truth": i % 5, "prediction": i / 99, "error": 0.0} for i in range(200)]
    others = [{"truth": i / 7, "prediction": i / 99, "error": 0.0} for i in range(200)]
    shown = [pairs(rows, False).to_dict()["layer"][1]["mark"] for rows in (ratings, others)]
    assert [mark["opacity"] for mark in shown] == [0.2, 0.6]
