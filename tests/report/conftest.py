"""Models and prepared pages that the tests of the report share."""

from importlib.util import find_spec

import numpy as np
import pytest

from cofactor import TopicModel
from cofactor.report import prepare

if not all(map(find_spec, ("altair", "jinja2", "vl_convert"))):
    collect_ignore_glob = ["test_*.py"]  # the extra cofactor[report] is not installed

SUBJECTS = {
    "space": "moon orbit rocket nasa launch shuttle lunar satellite",
    "sport": "puck goal hockey team game season player coach",
    "faith": "god church bible jesus faith prayer gospel sin",
}
NOISE = "people time year way thing world day life"


def make_corpus(n=120, seed=0):
    random = np.random.default_rng(seed)
    labels = np.array([list(SUBJECTS)[i % 3] for i in range(n)], dtype=object)
    texts = [
        " ".join([*random.choice(SUBJECTS[label].split(), 8), *random.choice(NOISE.split(), 4)])
        for label in labels
    ]
    return texts, labels


@pytest.fixture(scope="session")
def corpus():
    return make_corpus()


@pytest.fixture(scope="session")
def some(corpus):
    """The labels that the fit sees: 30 of 120."""
    return np.where(np.arange(120) < 30, corpus[1], "")


@pytest.fixture(scope="session")
def model(corpus, some):
    return TopicModel(4, random_state=0).fit(corpus[0], some)


@pytest.fixture(scope="session")
def sets(corpus):
    """Two labels per document, known for every other one."""
    return [
        {str(label), "known" if label != "faith" else "other"} if i % 2 else None
        for i, label in enumerate(corpus[1])
    ]


@pytest.fixture(scope="session")
def held(model, corpus, some):
    return prepare(model, corpus[0], some, corpus[1])


@pytest.fixture(scope="session")
def crossed(model, corpus, some):
    return prepare(model, corpus[0], some)
