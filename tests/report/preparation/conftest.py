"""Prepared reports."""

import pytest

from cofactor.report.preparation.prepare import prepare


@pytest.fixture(scope="session")
def held(model, corpus, some):
    return prepare(model, corpus[0], some, corpus[1])


@pytest.fixture(scope="session")
def crossed(model, corpus, some):
    return prepare(model, corpus[0], some)
