"""Warnings name the caller's line."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

from cofactor import NMF
from cofactor._warnings import warn


def caught_lines(act) -> list[tuple[str, int]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [(one.filename, one.lineno) for one in caught]


def test_a_warning_names_the_line_that_called_the_package() -> None:
    X = np.random.default_rng(0).random((20, 8))
    line = sys._getframe().f_lineno + 1
    found = caught_lines(lambda: NMF(3, max_iter=1, random_state=0).fit(X))
    assert found == [(__file__, line)]


def test_the_default_filter_shows_each_line_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            warn("the same line")
        warn("the same line")
    assert len(caught) == 2


def test_a_warning_can_be_made_an_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DeprecationWarning, match="old"):
            warn("old", DeprecationWarning)
