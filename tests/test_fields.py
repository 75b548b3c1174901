"""Declared fields: what they accept, what they say, and what pickles hold."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from cofactor._fields import (
    Deferred,
    FieldError,
    FittedState,
    Nonzeros,
    array,
    check_fields,
    instance,
    number,
    saved_fields,
    strings,
    unsaved,
)


@dataclass(frozen=True, eq=False)
class Part:
    weights: np.ndarray = array("m", "k")
    share: float = number(low=0, high=1, default=1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit(FittedState):
    components: np.ndarray = array("r", "m", low=0, name="components_")
    names: list = strings("r", name="names_")
    part: Part | None = instance(Part, name="_part", default=None)
    rank: int = number(int, low=1, default=1)
    cache: object = unsaved(pickled=False)

    def fault(self, sizes):
        return "rank is not that of the components" if self.rank != sizes["r"] else None


def state(**changes):
    components = np.arange(6.0).reshape(2, 3)
    part = Part(np.ones((3, 4)))
    return Fit(**{"components": components, "names": ["a", "b"], "part": part, "rank": 2} | changes)


GOOD = {
    "all": {},
    "no part": {"part": None},
    "float32": {"components": np.zeros((2, 3), np.float32)},
    "anything that is not saved": {"cache": object()},
}
BAD = {
    "a list": ({"components": [[1.0]]}, "components_ is not an array of floats"),
    "integers": ({"components": np.ones((2, 3), int)}, "components_ is not an array of floats"),
    "one axis": ({"components": np.ones(3)}, r"components_ has shape \(3,\)"),
    "a negative entry": ({"components": -np.ones((2, 3))}, "not finite or negative"),
    "NaN": ({"components": np.full((2, 3), np.nan)}, "not finite or negative"),
    "too few names": ({"names": ["a"]}, "names_ has 1 items in place of 2"),
    "a name that is a number": ({"names": ["a", 1]}, "names_ is not a list of strings"),
    "a part of another type": ({"part": 3}, "_part is not a Part"),
    "sizes that differ": (
        {"part": Part(np.ones((2, 4)))},
        r"weights has shape \(2, 4\) in place of",
    ),
    "a share above 1": ({"part": Part(np.ones((3, 4)), 1.5)}, "share is 1.5"),
    "a number of another type": ({"rank": 2.0}, "rank is not a number of type int"),
    "fields that disagree": ({"rank": 3}, "rank is not that of the components"),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_fields_pass(name):
    check_fields(state(**GOOD[name]))


@pytest.mark.parametrize("name", BAD)
def test_wrong_fields_are_named(name):
    changes, match = BAD[name]
    with pytest.raises(FieldError, match=match):
        check_fields(state(**changes))


def test_known_sizes_must_agree():
    check_fields(state(), {"m": 3})
    with pytest.raises(FieldError, match=r"components_ has shape \(2, 3\) in place of \(2, 4\)"):
        check_fields(state(), {"m": 4})


def test_saved_fields_have_the_names_of_folders():
    assert saved_fields(Fit) == {
        "components_": "components",
        "names_": "names",
        "_part": "part",
        "rank": "rank",
    }


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("special", [0.0, -0.0, np.nan, np.inf])
def test_pickles_keep_every_bit(dtype, share, special):
    random = np.random.default_rng(0)
    values = random.random((40, 50)).astype(dtype) * (random.random((40, 50)) < share)
    values[3, 4] = special
    again = pickle.loads(pickle.dumps(state(components=values, cache=lambda: None)))
    assert again.cache is None
    assert again.components.dtype == dtype
    assert again.components.tobytes() == values.tobytes()
    assert again.names == ["a", "b"]


def test_pickles_leave_out_zeros():
    values = np.zeros((100, 100))
    values[::10] = 1.0
    assert len(pickle.dumps(state(components=values))) < values.nbytes / 5
    assert Nonzeros.of([0.0]) == [0.0]
    assert Nonzeros.of(np.zeros(3, int)).dtype == int


# ---- deferred arrays


def promise(values, shape=(2, 3)):
    asked = []

    def read(fault):
        asked.append(True)
        if (wrong := fault(values)) is not None:
            raise ValueError(wrong)
        return values

    return Deferred(shape, np.dtype(float), read), asked


def test_a_deferred_array_is_read_once_and_only_when_asked_for():
    deferred, asked = promise(np.ones((2, 3)))
    found = state(components=deferred)
    check_fields(found)
    assert not asked
    assert vars(found)["components"] is deferred
    assert found.components.sum() == found.components.sum() == 6
    assert len(asked) == 1
    assert vars(found)["components"] is found.components


def test_deferred_arrays_are_checked_by_shape_then_by_content():
    with pytest.raises(FieldError, match=r"components_ has shape \(6,\)"):
        check_fields(state(components=promise(None, (6,))[0]))
    found = state(components=promise(-np.ones((2, 3)))[0])
    check_fields(found)
    with pytest.raises(ValueError, match="has an entry that is not finite or negative"):
        found.components  # noqa: B018


def test_pickles_hold_deferred_arrays():
    deferred, _ = promise(np.ones((2, 3)))
    again = pickle.loads(pickle.dumps(state(components=deferred)))
    assert (again.components == 1).all()
