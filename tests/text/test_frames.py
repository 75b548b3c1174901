"""Tables of any library: the same model from each, and answers in the caller's kind."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn

from cofactor import SSNMFClassifier, SSNMFRegressor, TopicModel

WORDS = {"space": "moon orbit rocket nasa", "food": "oven butter sugar flour"}
NAMES = list(WORDS)


def make(n=40):
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS[NAMES[i % 2]].split(), 4)) for i in range(n)]
    labels = [NAMES[i % 2] if i % 3 else None for i in range(n)]
    texts[5] = None
    return texts, labels


TEXTS, LABELS = make()


class Column:
    """As much of a column of Hugging Face datasets as is needed: a lazy sequence."""

    def __init__(self, values):
        self._values = values

    def __len__(self):
        return len(self._values)

    def __getitem__(self, place):
        return self._values[place]

    def __iter__(self):
        return iter(self._values)


def duck(data):
    duckdb = pytest.importorskip("duckdb")
    return duckdb.from_arrow(pa.table(data))


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas, other index": lambda data: pd.DataFrame(data, index=range(100, 140)),
    "pandas of arrow": lambda data: pa.table(data).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "duckdb": duck,
}
COLUMNS = {
    "list": list,
    "sequence": Column,
    "numpy": lambda values: np.array(values, dtype=object),
    "pandas": pd.Series,
    "pandas of strings": lambda values: pd.Series(values, dtype="string"),
    "pandas of categories": lambda values: pd.Series(values, dtype="category"),
    "pandas index": pd.Index,
    "polars": pl.Series,
    "pyarrow": pa.chunked_array,
    "array of pyarrow": pa.array,
}


def column(kind, values):
    if kind == "pyarrow":
        return pa.chunked_array([values[:7], values[7:]])
    return COLUMNS[kind](values)


@pytest.fixture(scope="module")
def model():
    return TopicModel(2, random_state=0).fit(TEXTS, LABELS)


def assert_same(one, other):
    assert np.array_equal(one.estimator_.components_, other.estimator_.components_)
    assert one.target_names_ == other.target_names_
    assert one.fingerprint_ == other.fingerprint_
    assert np.array_equal(one.document_scores_, other.document_scores_)


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_any_kind_give_the_same_model(model, kind):
    again = TopicModel(2, random_state=0).fit(column(kind, TEXTS), column(kind, LABELS))
    assert_same(model, again)
    assert again.predict(column(kind, TEXTS)).tolist() == model.predict(TEXTS).tolist()


@pytest.mark.parametrize("kind", [kind for kind in FRAMES if kind != "duckdb"])
def test_columns_of_frames_give_the_same_model(model, kind):
    frame = FRAMES[kind]({"body": TEXTS, "team": LABELS})
    assert_same(model, TopicModel(2, random_state=0).fit(frame["body"], frame["team"]))


@pytest.mark.parametrize("kind", FRAMES)
def test_tables_of_one_column_give_the_same_model(model, kind):
    frame = FRAMES[kind]({"body": TEXTS})
    assert_same(model, TopicModel(2, random_state=0).fit(frame, LABELS))
    with pytest.raises(ValueError, match=r"2 columns, \['a', 'b'\]; pass the one"):
        model.predict(FRAMES[kind]({"a": TEXTS, "b": TEXTS}))


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "array of pyarrow", "sequence"])
def test_integers_with_nulls_stay_integers(kind):
    """−1 is unlabelled in integers; most libraries turn nulls among them into floats."""
    X = np.random.default_rng(0).random((40, 6))
    y = [None if i % 5 == 0 else -1 if i % 5 == 1 else i % 2 for i in range(40)]
    if kind == "sequence":
        y = [-1 if one is None else one for one in y]
    found = SSNMFClassifier(2, random_state=0, tol=0.01).fit(X, column(kind, y))
    assert found.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("kind", FRAMES)
def test_several_numbers_in_a_table(kind):
    X = np.random.default_rng(0).random((40, 6))
    Y = {"a": [float(v) for v in X[:, 0]], "b": [None, *map(float, X[1:, 1])]}
    plain = np.column_stack([Y["a"], [np.nan, *Y["b"][1:]]])
    one = SSNMFRegressor(3, random_state=0, tol=0.01).fit(X, FRAMES[kind](Y))
    other = SSNMFRegressor(3, random_state=0, tol=0.01).fit(X, plain)
    assert np.array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize("kind", FRAMES)
def test_an_indicator_in_a_table_has_its_names(kind):
    texts = [text or "" for text in TEXTS]
    Y = {"out": [int(i % 2 == 0) for i in range(40)], "rare": [int(i % 8 == 0) for i in range(40)]}
    found = TopicModel(2, random_state=0, max_iter=3, tol=0.1).fit(texts, FRAMES[kind](Y))
    assert found.target_names_ == ["out", "rare"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "list"])
def test_columns_of_lists_are_sets_of_labels(kind):
    texts = [text or "" for text in TEXTS]
    sets = [[NAMES[i % 2], "all"] for i in range(40)]
    found = TopicModel(2, random_state=0, tol=0.1).fit(
        texts, COLUMNS[kind](sets) if kind != "pyarrow" else pa.array(sets)
    )
    other = TopicModel(2, random_state=0, tol=0.1).fit(texts, sets)
    assert_same(found, other)


def records(frame):
    """The rows of a table as dicts, without nulls of any kind."""
    if hasattr(frame, "arrow"):
        frame = frame.arrow()
        frame = frame.read_all() if hasattr(frame, "read_all") else frame
    rows = (
        frame.to_pylist()
        if isinstance(frame, pa.Table)
        else frame.to_dict("records")
        if (isinstance(frame, pd.DataFrame))
        else frame.to_dicts()
    )
    return [{name: _plain(cell) for name, cell in row.items()} for row in rows]


def _plain(cell):
    if isinstance(cell, list | tuple | np.ndarray):
        return list(cell)
    return None if cell is None or cell is pd.NA or cell != cell else cell


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("options", [{}, {"all_classes": True, "topics": True, "top": 2}])
def test_answers_come_back_in_the_kind_that_was_given(model, kind, options):
    given = FRAMES[kind]({"n": list(range(40)), "body": TEXTS})
    answer = model.annotate(given, "body", **options)
    assert type(answer) is type(given)
    expected = model.annotate(TEXTS, "body", **options)
    found = records(answer)
    assert list(found[0])[:6] == ["n", "body", "prediction", "confidence", "topic", "reason"]
    assert [row.pop("n") for row in found] == list(range(40))
    for row, plain in zip(found, expected, strict=True):
        assert row.pop("body") == (plain.pop("body") or None)
        assert row == plain
    if "index" in kind:
        assert answer.index.tolist() == list(range(100, 140))


@pytest.mark.parametrize("library", [pd, pl])
def test_a_table_without_rows_gets_the_columns(model, library):
    full = library.DataFrame({"body": TEXTS[:3]})
    none = model.annotate(full[:0], text="body")
    assert len(none) == 0
    assert list(none.columns) == list(model.annotate(full, text="body").columns)
    assert model.annotate([]) == []


def test_answers_are_those_of_the_model(model):
    rows = model.annotate(TEXTS, all_classes=True, abstain=0.9)
    P = model.predict_proba(TEXTS)
    for text, row, p in zip(TEXTS, rows, P, strict=True):
        if text is None:
            assert (row["prediction"], row["reason"]) == (None, "no known word")
            continue
        assert [row["probability_food"], row["probability_space"]] == pytest.approx(p.tolist())
        sure = p.max() >= 0.9
        assert row["prediction"] == (model.target_names_[p.argmax()] if sure else None)
        assert row["reason"] == (None if sure else "not sure enough")


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_several_labels_come_back_as_lists(kind):
    texts = [text or "" for text in TEXTS]
    sets = [{NAMES[i % 2], "all"} for i in range(40)]
    found = TopicModel(2, random_state=0, tol=0.1).fit(texts, sets)
    rows = records(found.annotate(FRAMES[kind]({"body": texts})))
    assert rows[0]["prediction"] == ["all", "space"]


def test_what_annotate_refuses(model):
    frame = pd.DataFrame({"a": TEXTS, "b": TEXTS})
    with pytest.raises(ValueError, match=r"text is None, but X has the columns \['a', 'b'\]"):
        model.annotate(frame)
    with pytest.raises(ValueError, match="text='c' is not a column of X"):
        model.annotate(frame, "c")
    plain = TopicModel(2, random_state=0, max_iter=2, tol=0.1).fit(TEXTS)
    with pytest.raises(ValueError, match="top=2 needs a model that predicts classes"):
        plain.annotate(TEXTS, top=2)
    assert plain.annotate(TEXTS)[0]["reason"] == "the fit had no labels"


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_transform_has_names_and_the_output_that_was_set(model, kind):
    names = ["topic0", "topic1"]
    assert model.get_feature_names_out().tolist() == names
    again = TopicModel(2, random_state=0).set_output(transform=kind).fit(TEXTS, LABELS)
    table = again.transform(TEXTS)
    assert type(table) is (pd.DataFrame if kind == "pandas" else pl.DataFrame)
    assert list(table.columns) == names
    assert np.array_equal(table.to_numpy(), model.transform(TEXTS))
    with_index = pd.Series(TEXTS, index=range(100, 140))
    if kind == "pandas":
        assert again.transform(with_index).index.tolist() == list(range(100, 140))
    assert np.array_equal(
        again.documents(TEXTS).column("topic"), model.documents(TEXTS).column("topic")
    )


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_the_output_that_is_set_for_all_estimators(model, kind):
    """Also the vectorizer and the estimator inside are asked for tables then."""
    with sklearn.config_context(transform_output=kind):
        again = TopicModel(2, random_state=0).fit(TEXTS, LABELS)
        table = again.transform(TEXTS)
        assert list(table.columns) == ["topic0", "topic1"]
        assert_same(model, again)
        assert again.documents(TEXTS) == model.documents(TEXTS)
        assert again.explain("moon").scores.tolist() == model.explain("moon").scores.tolist()
        assert again.score(TEXTS, LABELS) == model.score(TEXTS, LABELS)
