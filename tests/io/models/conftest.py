"""A model and its folder."""

import numpy as np
import pytest

from cofactor import TopicModel
from model_folders import LABELS, TEXTS


@pytest.fixture(scope="session")
def model():
    return TopicModel(2, random_state=0).fit(TEXTS, LABELS)


@pytest.fixture(scope="session")
def X():
    return np.random.default_rng(0).poisson(2.0, (12, 7)).astype(float)


@pytest.fixture
def folder(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"
