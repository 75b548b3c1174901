"""The README's examples run and print what it says."""

import doctest
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_examples():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(README), module_relative=False, optionflags=flags)
    assert result.attempted >= 15
    assert result.failed == 0
