"""Sets of labels as y."""

import numpy as np
import pandas as pd
import pytest

from cofactor import TopicModel, load_model
from cofactor.targets.classes import holds_sets, read_targets
from cofactor.targets.reading import NamedMatrix
from cofactor.text.documents import fingerprint

TEXTS = ["moon orbit rocket", "rocket orbit moon", "goal puck team", "puck goal team"] * 6
SETS = [{"space", "science"}, None, ("sport",), None] * 6


def test_sets_equal_an_indicator_with_named_columns():
    frame = pd.DataFrame(
        {
            "science": [1, None, 0, None] * 6,
            "space": [1, None, 0, None] * 6,
            "sport": [0, None, 1, None] * 6,
        },
        dtype=float,
    )
    one = TopicModel(3, random_state=0).fit(TEXTS, SETS)
    other = TopicModel(3, random_state=0).fit(TEXTS, frame)
    assert np.array_equal(one.estimator_.components_, other.estimator_.components_)
    assert one.target_names_ == other.target_names_ == ["science", "space", "sport"]
    assert one.documents(["moon rocket"])[0].prediction == ("science", "space")
    assert one.predict(["puck"]).tolist() == [[0, 0, 1]]
    assert one.score(TEXTS, SETS) == other.score(TEXTS, frame) == 1.0


def test_sets_survive_saving(tmp_path):
    model = TopicModel(3, random_state=0).fit(TEXTS, SETS)
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").documents(TEXTS) == model.documents(TEXTS)


@pytest.mark.parametrize("read", [list, tuple, pd.Series, lambda y: np.array(y, dtype=object)])
def test_sets_in_any_container(read):
    found = read_targets(read(SETS))
    assert found.columns == ["science", "space", "sport"]
    assert found.sets()[:3] == [("science", "space"), None, ("sport",)]
    assert found.shape == (24, 3)


@pytest.mark.parametrize(
    "y", [None, ["a", "b"], [[0, 1], [1, 0]], np.eye(2), pd.DataFrame({"a": [1]}), [None, ""], "ab"]
)
def test_other_targets_are_left_alone(y):
    assert not holds_sets(y)
    assert read_targets(y) is y


def test_an_empty_set_says_none():
    assert read_targets([{"a"}, set(), ["b"], None]).values.tolist()[1] == [0, 0]


@pytest.mark.parametrize(
    ("y", "error", "match"),
    [
        ([{"a"}, None], ValueError, r"one label \['a'\]"),
        ([{"a", "b"}, "c"], TypeError, "'c' among sets"),
        ([{"a", 1}, None], TypeError, "int and str"),
    ],
)
def test_bad_sets(y, error, match):
    with pytest.raises(error, match=match):
        read_targets(y)


def test_unknown_labels_are_refused_where_classes_are_known():
    with pytest.raises(ValueError, match=r"\['c'\], but only \['a', 'b'\]"):
        read_targets([{"a", "c"}], ["a", "b"])


def test_the_fingerprint_of_sets_knows_no_order():
    assert fingerprint(["t"], [("a", "b")]) == fingerprint(["t"], [{"b", "a"}])
    assert fingerprint(["t"], [("a",)]) != fingerprint(["t"], [None])


def test_a_named_matrix_is_an_array():
    named = NamedMatrix(np.array([[1.0, np.nan]]), ["a", "b"])
    assert np.asarray(named, dtype=object).dtype == object
    assert named.sets() == [None]
