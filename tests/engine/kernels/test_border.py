"""The border of the kernels: whatever it is given, it works or raises an error, without a crash."""

import pickle
from contextlib import suppress
from ctypes import Structure, c_double, c_int32, c_int64
from dataclasses import replace

import numpy as np
import pytest

from cofactor.engine import kernels
from cofactor.engine.factors import pad
from cofactor.engine.kernels import (
    EPSILON,
    Entries,
    Forms,
    Places,
    Slopes,
    Surrogate,
    arguments,
    library,
)

N, M, R = 11, 7, 5
WIDE = 8


def arrays():
    """Every array that a kernel takes, by name."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, M + 1, N)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    size = int(start[-1])
    roots = rng.random((2, R, R))
    return {
        "V": pad(rng.random((N, R)) + 0.1),
        "new": np.zeros((N, WIDE)),
        "F": pad(rng.random((M, R))),
        "weights": rng.random(N),
        "bounds": np.array([0, 4, N]),
        "costs": np.zeros((2, 2)),
        "out": np.zeros(2),
        "grams_out": np.zeros((2, R, R)),
        "sums_out": np.zeros((2, R)),
        "cross_out": np.zeros((N, R)),
        "other": rng.random((N, R)),
        "log": rng.random(size),
        "square": rng.random(size),
        "inverse": rng.random(size),
        "concave": rng.random(size),
        "values": rng.random(size),
        "indices": rng.integers(0, M, size).astype(np.int32),
        "start": start,
        "first": start[:-1].copy(),
        "down": rng.random((N, R)),
        "up": rng.random((N, R)),
        "ups": rng.random((2, R)),
        "grams": np.array([a.T @ a for a in roots]),
        "scales": rng.random((N, 2)),
        "barrier": rng.random((N, R)),
        "fixed": rng.random((N, R)) < 0.3,
        "c": rng.random((N, R)),
        "push": rng.random((N, R)),
        "e": rng.random((N, R)),
        "u": rng.random((N, R)),
    }


def entries_of(a):
    places = Places(a["indices"], a["start"], a["first"])
    return Entries(a["log"], a["square"], a["inverse"], a["concave"], places)


def descended(a):
    """The descent knows no inverses; they are left out as the caller does."""
    none = np.empty(0)
    return replace(entries_of(a), inverse=none, concave=none)


def forms_of(a):
    return Forms(a["down"], a["up"], a["ups"], a["grams"], a["scales"], a["barrier"], a["fixed"])


def slopes_of(a):
    return Slopes(a["values"], Places(a["indices"], a["start"], a["first"]), a["F"], 0.5)


def surrogate_of(a):
    return Surrogate(a["c"], a["push"], a["e"], a["u"])


MULTIPLYING = {"has_barrier": True, "rounds": 2, "tolerance": 0.0, "epsilon": EPSILON, "ridge": 0.0}
DESCENDING = {"rounds": 2, "sweeps": 2, "tolerance": 0.0, "all_topics": False}
PLACES, COEFFICIENTS = ("indices", "start", "first"), ("log", "square", "inverse", "concave")
FORMS = ("down", "up", "ups", "grams", "scales", "barrier", "fixed")
PARTS = ("c", "push", "e", "u")

KERNELS = {
    "descend_slices": (
        lambda a: kernels.descend_slices(
            a["V"],
            descended(a),
            a["F"],
            forms_of(a),
            a["bounds"],
            costs=a["costs"],
            weights=a["weights"],
            split=3,
            **DESCENDING,
        ),
        ("V", "F", "bounds", "costs", "weights", *PLACES, *COEFFICIENTS[:2], *FORMS),
    ),
    "descend_quadratic": (
        lambda a: kernels.descend_quadratic(
            a["V"], forms_of(a), a["bounds"], sweeps=2, tolerance=0.0
        ),
        ("V", "bounds", *FORMS),
    ),
    "multiply_slices": (
        lambda a: kernels.multiply_slices(
            a["V"],
            a["new"],
            entries_of(a),
            a["F"],
            forms_of(a),
            [slopes_of(a)] * 2,
            a["bounds"],
            **MULTIPLYING,
        ),
        ("V", "new", "F", "bounds", "values", *PLACES, *COEFFICIENTS, *FORMS),
    ),
    "multiply_by_parts": (
        lambda a: kernels.multiply_by_parts(
            a["V"], a["new"], surrogate_of(a), forms_of(a), a["bounds"], has_barrier=True, ridge=0.0
        ),
        ("V", "new", "bounds", *PARTS, *FORMS),
    ),
    "surrogate_slices": (
        lambda a: kernels.surrogate_slices(
            a["V"], entries_of(a), a["F"], EPSILON, surrogate_of(a), a["bounds"], a["out"]
        ),
        ("V", "F", "bounds", "out", *PLACES, *COEFFICIENTS, *PARTS),
    ),
    "value_slices": (
        lambda a: kernels.value_slices(
            a["V"], entries_of(a), a["F"], a["weights"], a["bounds"], a["out"]
        ),
        ("V", "F", "weights", "bounds", "out", *PLACES, *COEFFICIENTS),
    ),
    "cross_slices": (
        lambda a: kernels.cross_slices(slopes_of(a), a["cross_out"], a["bounds"]),
        ("F", "values", "cross_out", "bounds", *PLACES),
    ),
    "gram_slices": (
        lambda a: kernels.gram_slices(
            a["F"], a["weights"][:M], np.array([0, 2, M]), a["grams_out"]
        ),
        ("F", "weights", "grams_out"),
    ),
    "sum_slices": (
        lambda a: kernels.sum_slices(a["V"], a["weights"], a["bounds"], a["sums_out"]),
        ("V", "weights", "bounds", "sums_out"),
    ),
    "inner_slices": (
        lambda a: kernels.inner_slices(a["V"], a["other"], a["weights"], a["bounds"], a["out"]),
        ("V", "other", "weights", "bounds", "out"),
    ),
}


def strided(x):
    """The same numbers with gaps between them."""
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., ::2] = x
    return wide[..., ::2]


def misaligned(x):
    """The same numbers, one byte off."""
    room = np.zeros(x.nbytes + 1, np.uint8)
    shifted = room[1:].view(x.dtype).reshape(x.shape)
    shifted[...] = x
    return shifted


DAMAGES = {
    "complex": lambda x: x.astype(complex),
    "integers of another size": lambda x: x.astype(np.int16),
    "a list": lambda x: x.tolist(),
    "None in its place": lambda x: np.array([None]),
    "with gaps": strided,
    "misaligned": misaligned,
    "one axis more": lambda x: x[None],
    "flat": lambda x: x.reshape(-1)[:, None] if x.ndim == 1 else x.reshape(-1),
    "other bytes": lambda x: x.astype(x.dtype.newbyteorder()),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(
    ("kernel", "name"), [(kernel, name) for kernel, (_, names) in KERNELS.items() for name in names]
)
def test_damaged_arrays_are_refused(kernel, name, damage):
    given = arrays()
    if given[name].itemsize == 1 and damage in ("misaligned", "other bytes"):
        return  # single bytes are always aligned, and in order
    KERNELS[kernel][0](given)
    given = arrays()
    given[name] = DAMAGES[damage](given[name])
    with pytest.raises((TypeError, ValueError, AttributeError)):
        KERNELS[kernel][0](given)


@pytest.mark.parametrize("cut", ["a row less", "a row more", "no rows", "a column less"])
@pytest.mark.parametrize(
    ("kernel", "name"), [(kernel, name) for kernel, (_, names) in KERNELS.items() for name in names]
)
def test_wrong_lengths_are_refused_or_harmless(kernel, name, cut):
    """No rows may mean that a part does not occur, fewer columns that there are fewer topics."""
    given, call = arrays(), KERNELS[kernel][0]
    x = given[name]
    given[name] = np.ascontiguousarray(
        {
            "a row less": x[:-1],
            "a row more": np.concatenate([x, x[-1:]]),
            "no rows": x[:0],
            "a column less": x[..., :-1],
        }[cut]
    )
    absent = {*COEFFICIENTS, *PARTS, "down", "up", "fixed"} - {"inverse", "concave"}
    if kernel != "cross_slices":
        absent |= {"values"}
    harmless = {
        *(("no rows", some) for some in absent),
        ("a row more", "F"),
        ("a row more", "indices"),
        *(("a row more", some) for some in {*COEFFICIENTS, "values", "cross_out"}),
        *(("a column less", some) for some in ("cross_out", "other", "sums_out")),
    }
    if name == "bounds" or kernel == "gram_slices":  # may be right for other arguments
        harmless |= {(cut, name)}
    if (cut, name) not in harmless:
        with pytest.raises((TypeError, ValueError), match=r"must|need|fit|go up|are those|no rows"):
            call(given)
        return
    with suppress(ValueError):
        call(given)
    assert all(np.isfinite(array).all() for array in given.values())


@pytest.mark.parametrize("kernel", [name for name, (_, used) in KERNELS.items() if "start" in used])
@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("indices", 3, -1, "indices must not be negative"),
        ("indices", 3, M, "indices go up to 7, but F has 7 rows"),
        ("start", 0, -1, "start must rise"),
        ("start", 5, 10**6, "start must rise"),
        ("start", -1, 10**6, "first must name places"),
        ("first", 2, -1, "first must name places"),
        ("first", 2, 10**6, "first must name places"),
        ("first", 2, 2**63 - 1, "first must name places"),
    ],
)
def test_places_out_of_range_are_refused(kernel, name, place, value, message):
    given = arrays()
    given[name][place] = value
    with pytest.raises(ValueError, match=message):
        KERNELS[kernel][0](given)


@pytest.mark.parametrize("bounds", [[-1, N], [0, N + 1], [4, 2], [0, 9, 3, N], [2**62, 2**63 - 1]])
@pytest.mark.parametrize(
    "kernel", [name for name, (_, used) in KERNELS.items() if "bounds" in used]
)
def test_slices_out_of_range_are_refused(kernel, bounds):
    given = arrays()
    given["bounds"] = np.array(bounds, np.int64)
    with pytest.raises(ValueError, match="bounds must rise"):
        KERNELS[kernel][0](given)


@pytest.mark.parametrize(
    ("kernel", "written", "read"),
    [
        ("descend_slices", "V", "F"),
        ("multiply_slices", "new", "V"),
        ("multiply_slices", "new", "F"),
        ("multiply_by_parts", "new", "V"),
        ("surrogate_slices", "c", "V"),
        ("cross_slices", "cross_out", "F"),
        ("gram_slices", "grams_out", "F"),
    ],
)
def test_written_arrays_that_overlap_others_are_refused(kernel, written, read):
    given = arrays()
    room = np.zeros(2 * max(given[written].size, given[read].size) + 8)
    for name in (written, read):
        shape = given[name].shape
        given[name] = room[: np.prod(shape)].reshape(shape)
    with pytest.raises(ValueError, match="must not share memory"):
        KERNELS[kernel][0](given)


@pytest.mark.parametrize(
    ("kernel", "written"),
    [
        ("descend_slices", "V"),
        ("descend_slices", "costs"),
        ("descend_quadratic", "V"),
        ("multiply_slices", "new"),
        ("multiply_by_parts", "new"),
        ("surrogate_slices", "c"),
        ("surrogate_slices", "out"),
        ("value_slices", "out"),
        ("cross_slices", "cross_out"),
        ("gram_slices", "grams_out"),
        ("sum_slices", "sums_out"),
        ("inner_slices", "out"),
    ],
)
def test_results_are_not_written_to_arrays_that_are_read_only(kernel, written):
    given = arrays()
    given[written].flags.writeable = False
    with pytest.raises(ValueError, match="must be writeable"):
        KERNELS[kernel][0](given)


def test_entries_of_other_rows_are_refused():
    given = arrays()
    entries = descended(given)
    some = replace(entries, places=entries.places.rows(3, 6))
    call = {"costs": None, "weights": None, **DESCENDING}
    forms = forms_of(given)
    with pytest.raises(ValueError, match="entries are those of rows 3 to 6, not 0 to 11"):
        kernels.descend_slices(given["V"], some, given["F"], forms, given["bounds"], **call)
    kernels.descend_slices(given["V"], some, given["F"], forms, np.array([3, 6]), **call)


def test_settings_that_would_leave_results_unwritten_are_refused():
    given, none = arrays(), np.empty(0)
    parts = given["V"], descended(given), given["F"], forms_of(given), given["bounds"]
    for wrong in ({"rounds": 0}, {"rounds": -1}, {"sweeps": -1}):
        with pytest.raises(ValueError, match="must be positive"):
            kernels.descend_slices(*parts, costs=given["costs"], **{**DESCENDING, **wrong})
    rows = given["V"], given["new"], entries_of(given), given["F"], forms_of(given), []
    with pytest.raises(ValueError, match="rounds=0 must be positive"):
        kernels.multiply_slices(*rows, given["bounds"], **{**MULTIPLYING, "rounds": 0})
    with pytest.raises(ValueError, match="the descent does not know it"):
        kernels.descend_slices(
            given["V"],
            entries_of(given),
            given["F"],
            forms_of(given),
            given["bounds"],
            **DESCENDING,
        )
    with pytest.raises(ValueError, match="both inverse and concave, or neither"):
        kernels.value_slices(
            given["V"],
            replace(entries_of(given), inverse=none),
            given["F"],
            None,
            given["bounds"],
            given["out"],
        )


def test_rows_too_wide_are_refused():
    """numpy makes them for nothing where there are no rows; a square of them would overflow."""
    with pytest.raises(ValueError, match="at most 1048576"):
        kernels.gram_slices(np.empty((0, 2**32)), None, np.array([0, 0]), np.empty((1, 1, 1)))


def test_used_arguments_survive_a_pickle():
    """The struct that C reads stays behind."""
    given = arrays()
    KERNELS["value_slices"][0](given)
    for argument in (entries_of(given), forms_of(given)):
        assert argument.native is not None
        copy = pickle.loads(pickle.dumps(argument))
        assert "native" not in vars(copy)
        assert type(copy.native) is type(argument.native)


def test_nan_is_a_cost_of_nan():
    """A low cost in its place would hide it."""
    given = arrays()
    given["V"][2, 1] = np.nan
    KERNELS["value_slices"][0](given)
    assert np.isnan(given["out"][0])
    assert np.isfinite(given["out"][1])


def test_nothing_to_do_is_done():
    """No rows, no entries: nothing is read and nothing is written."""
    none, start = np.empty(0), np.zeros(1, np.int64)
    empty = Entries(none, none, none, none, Places(np.empty(0, np.int32), start, start[:0]))
    forms = replace(forms_of(arrays()), **dict.fromkeys(("down", "up"), np.empty((0, R))))
    forms = replace(forms, scales=np.ones((1, 2)), barrier=np.zeros((1, R)))
    forms = replace(forms, fixed=np.empty((0, R), bool))
    V, F, bounds = np.empty((0, WIDE)), np.empty((0, WIDE)), np.array([0, 0])
    assert kernels.descend_slices(V, empty, F, forms, bounds, **DESCENDING) == 0
    assert kernels.descend_quadratic(V, forms, bounds, sweeps=1, tolerance=0.0) == 0
    assert kernels.multiply_slices(V, V.copy(), empty, F, forms, [], bounds, **MULTIPLYING) == 0
    out = np.full(1, 7.0)
    kernels.value_slices(V, empty, F, None, bounds, out)
    assert out[0] == 0.0


def test_too_little_memory_is_an_error(monkeypatch):
    class Full:
        """A library whose only function finds no memory."""

        @staticmethod
        def cofactor_sums(*_):
            return -1

    monkeypatch.setattr(kernels, "LIBRARY", replace(library.LIBRARY, functions=Full()))
    F, bounds, out = np.zeros((2, WIDE)), np.array([0, 2]), np.zeros((1, R))
    with pytest.raises(MemoryError, match="not enough memory for the kernel sums"):
        kernels.sum_slices(F, None, bounds, out)


@pytest.mark.parametrize("name", ["v9", "{folder}/kernels.so"])
def test_a_missing_library_is_one_sentence(name, tmp_path, monkeypatch):
    monkeypatch.setenv(library.VARIABLE, name.format(folder=tmp_path))
    with pytest.raises(ImportError, match="COFACTOR_KERNELS names kernels that cannot be loaded"):
        library.load()
    monkeypatch.delenv(library.VARIABLE)
    monkeypatch.setattr(library, "NATIVE_FOLDER", tmp_path)
    with pytest.raises(ImportError, match="install cofactor again, from a wheel or with a C comp"):
        library.load()


class GrownStruct(Structure):
    _fields_ = [("rounds", c_int64), ("sweeps", c_int64), ("all_topics", c_int64)]
    _fields_ += [("tolerance", c_double), ("further", c_int64)]


class SwappedStruct(Structure):
    _fields_ = [("sweeps", c_int64), ("rounds", c_int64), ("all_topics", c_int64)]
    _fields_ += [("tolerance", c_double)]


class RetypedStruct(Structure):
    _fields_ = [("rounds", c_int64), ("sweeps", c_int64), ("all_topics", c_double)]
    _fields_ += [("tolerance", c_double)]


class NarrowStruct(Structure):
    _fields_ = [("rounds", c_int32), ("sweeps", c_int64), ("all_topics", c_int64)]
    _fields_ += [("tolerance", c_double)]


@pytest.mark.parametrize("other", [GrownStruct, SwappedStruct, RetypedStruct, NarrowStruct])
def test_a_library_with_other_structs_is_refused(other, monkeypatch):
    """Sizes, offsets, names and types of all fields count."""
    monkeypatch.setitem(arguments.STRUCTS, "descending", other)
    with pytest.raises(ImportError, match="belong to another version of cofactor"):
        library.open_library(library.LIBRARY.path)


def test_a_library_without_a_struct_is_refused(monkeypatch):
    monkeypatch.delitem(arguments.STRUCTS, "surrogate")
    with pytest.raises(ImportError, match="belong to another version of cofactor"):
        library.open_library(library.LIBRARY.path)


def test_the_variant_is_the_best_one(monkeypatch):
    """The highest level of this machine that was compiled, or the one that is named."""
    monkeypatch.delenv(library.VARIABLE, raising=False)
    found = library.load()
    if not found.level:
        pytest.skip("this machine has one variant")
    assert found.path.stem == f"kernels-v{found.level}"
    monkeypatch.setenv(library.VARIABLE, "v2")
    assert library.load().variant == "x86-64-v2"
