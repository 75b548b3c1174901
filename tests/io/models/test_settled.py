"""What a user settled of topics, in model folders: it comes back, and damage is refused."""

import copy

import pytest

from cofactor import load_model
from cofactor.text.editing import Settled
from model_folders import refuse, rewrite


@pytest.fixture(scope="module")
def edited(model):
    return model.rename(0, "night").freeze(1).pin(0, "rocket").ban(1, "moon")


def test_what_is_settled_comes_back(edited, model, tmp_path):
    edited.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.settled_ == Settled(
        ["night", None], [False, True], [["rocket"], []], [[], ["moon"]]
    )
    assert again.topic_names_[0] == "night"
    model.save(tmp_path / "plain")
    assert not hasattr(load_model(tmp_path / "plain"), "settled_")


DAMAGES = {
    "too few names": (("names", ["night"]), "settled_|Settled"),
    "too many topics": (("names", ["a", "b", "c"]), "Settled|settled_"),
    "a number as a name": (("names", [1, None]), "wrong type"),
    "numbers for frozen": (("frozen", [0, 1]), "wrong type"),
    "words that are not a list": (("pinned", ["rocket", []]), "wrong type"),
    "a word that is not a text": (("banned", [[], [None]]), "not a string"),
    "no list": (("banned", None), "not a list"),
    "an unknown part": (("more", []), "more"),
}


def _settled(content):
    return next(
        part for part in _dicts(content) if part.get("type") == "Settled" or "banned" in part
    )


def _dicts(value):
    if isinstance(value, dict):
        yield value
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inside:
        yield from _dicts(one)


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_refused(name, edited, tmp_path):
    (key, value), match = DAMAGES[name]
    edited.save(tmp_path / "model")

    def damage(content):
        _settled(content)[key] = value

    rewrite(tmp_path / "model", "config.json", damage)
    refuse(tmp_path / "model", match)


@pytest.mark.parametrize("value", [3, ["a", "b"], Settled.nothing(3)])
def test_other_values_cannot_be_saved(value, edited, tmp_path):
    broken = copy.copy(edited).amend(settled=value)
    with pytest.raises(ValueError, match=r"settled_ is not|names is not a list with an item"):
        broken.save(tmp_path / "model")
