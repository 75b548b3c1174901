"""scikit-learn's own checks, for every estimator with every pair of losses and every solver.

``solver="auto"`` is one of the others, bit for bit, as ``test_setup`` shows; so here it stands
with the defaults only.
"""

from dataclasses import replace
from itertools import product

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from cofactor import NMF, SSNMFClassifier, SSNMFRegressor
from cofactor.estimators import inference

# Few iterations are made, and nothing in the checks asks for convergence.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

IS = "itakura-saito"
LOSSES = ("kullback-leibler", "frobenius", IS)
BRIEF = {"n_components": 2, "max_iter": 4}
EXACTLY = ("EXACT", "EXACT_WITHOUT_DESCENT")


def every_estimator():
    for solver, data in product(("cd", "mu", "mu-paper"), LOSSES):
        if solver == "cd" and data == IS:
            continue
        yield NMF(data_loss=data, solver=solver, **BRIEF)
        for kind, target in product((SSNMFClassifier, SSNMFRegressor), LOSSES):
            if solver != "cd" or target != IS:
                yield kind(data_loss=data, target_loss=target, solver=solver, **BRIEF)


@pytest.fixture
def brief_inference(monkeypatch):
    """Topics after few iterations are much alike, so inference to optimality would take most of
    the time; what stops early depends no more on a row's batch, weight or storage."""
    for name in EXACTLY:
        monkeypatch.setattr(inference, name, replace(getattr(inference, name), rounds=50))


@parametrize_with_checks([NMF(), SSNMFClassifier(), SSNMFRegressor()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.usefixtures("brief_inference")
@parametrize_with_checks(list(every_estimator()))
def test_scikit_learn_checks_of_every_model(estimator, check):
    check(estimator)
