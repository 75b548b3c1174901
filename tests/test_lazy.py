"""Public names that are imported when first used."""

from __future__ import annotations

import importlib

import pytest

PACKAGES = ("cofactor", "cofactor.text", "cofactor.report", "cofactor.model_selection")


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_can_be_imported(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__all__ == sorted(package.__all__)
    assert dir(package) == package.__all__
    for public in package.__all__:
        assert getattr(package, public) is not None


@pytest.mark.parametrize("name", PACKAGES)
def test_other_names_are_attribute_errors(name: str) -> None:
    package = importlib.import_module(name)
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'absent'"):
        package.absent  # noqa: B018
