"""Models of a small corpus."""

import pytest

from cofactor import TopicModel
from subjects import SOME, TEXTS


@pytest.fixture(scope="session")
def model():
    return TopicModel(4, random_state=0).fit(TEXTS, SOME)


@pytest.fixture(scope="session")
def plain():
    return TopicModel(3, random_state=0).fit(TEXTS)
