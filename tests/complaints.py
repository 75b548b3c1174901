"""Fits that are refused, and what they say."""

import re

import numpy as np
import pytest

from cofactor import NMF, SSNMFClassifier, SSNMFRegressor

NAN, INF = float("nan"), float("inf")
MODELS = [NMF, SSNMFClassifier, SSNMFRegressor]
SUPERVISED = MODELS[1:]


class Dask:
    """As much of a dask array as is needed to be taken for one."""

    shape, ndim, dtype = (60, 12), 2, np.dtype(float)

    def __dask_graph__(self):
        return {}


def fit(kind, X, y, parameters=None, **weights):
    return kind(**{"n_components": 3, "random_state": 0, **(parameters or {})}).fit(X, y, **weights)


def complaint(call):
    """The one sentence (or two) that a user gets to see."""
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    message = str(caught.value)
    assert len(message) < 400, "the message prints the data"
    return message


def assert_says(call, *patterns):
    message = complaint(call)
    for pattern in patterns:
        assert re.search(pattern, message), f"{pattern!r} is not in: {message}"


def changed(X, cell, value, dtype=float):
    X = np.array(X, dtype=dtype)
    X[cell] = value
    return X
