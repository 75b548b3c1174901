"""Data that a working model cannot get wrong: documents of three classes that share few words."""

import numpy as np
import pytest

N, M, K = 60, 12, 3
CLASSES = np.arange(N) % K


def made_documents(dtype=np.float64):
    """Counts (60 × 12); class c uses words 4c to 4c + 3.  Read-only: nobody may write into it."""
    rates = np.where(np.arange(M) // 4 == CLASSES[:, None], 6.0, 0.1)
    X = np.random.default_rng(0).poisson(rates).astype(dtype)
    X.setflags(write=False)
    return X


@pytest.fixture(scope="session")
def X():
    return made_documents()


@pytest.fixture(scope="session")
def classes():
    """The class of each document, 0 to 2."""
    return CLASSES


@pytest.fixture(scope="session")
def known():
    """Which documents are labelled: 24 of 60, eight of each class."""
    return np.random.default_rng(0).permutation(N // K).repeat(K) < 8
