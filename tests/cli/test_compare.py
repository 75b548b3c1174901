"""compare: topics of two models."""

import pytest

from commands import answer, cofactor


def test_a_model_compared_with_itself(home, model):
    found = answer("compare", model, model, "--data", home / "posts.csv")
    assert [row["first"] for row in found["topics"]] == [row["second"] for row in found["topics"]]
    assert all(row["similarity"] == pytest.approx(1) for row in found["topics"])
    assert all(row["lost"] == row["gained"] == [] for row in found["topics"])
    assert found["accuracy"]["difference"] == 0
    assert found["accuracy"]["low"] < 0 < found["accuracy"]["high"]
    assert found["accuracy"]["documents"] == 48


def test_topics_left_over_are_listed(home, model, tmp_path):
    cofactor("fit", home / "posts.csv", "--text", "body", "-k", 3, "-o", tmp_path / "small")
    found = answer("compare", model, tmp_path / "small")
    assert found["accuracy"] is None
    assert sum(row["second"] is None for row in found["topics"]) == 3
    assert "Only in A" in cofactor("compare", model, tmp_path / "small").stdout
    cofactor("compare", model, tmp_path / "small", "--data", home / "posts.csv", code=2)
