"""scikit-learn's own checks, for every estimator with every pair of losses and every solver."""

from itertools import product

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from cofactor import NMF, SSNMFClassifier, SSNMFRegressor

# Few iterations are made, and nothing in the checks asks for convergence.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

IS = "itakura-saito"
LOSSES = ("kullback-leibler", "frobenius", IS)
SOLVERS = ("auto", "cd", "mu", "mu-paper")
BRIEF = {"n_components": 3, "max_iter": 20, "random_state": 0}


def every_estimator():
    for solver, data in product(SOLVERS, LOSSES):
        if solver == "cd" and data == IS:
            continue
        yield NMF(data_loss=data, solver=solver, **BRIEF)
        for kind, target in product((SSNMFClassifier, SSNMFRegressor), LOSSES):
            if solver != "cd" or target != IS:
                yield kind(data_loss=data, target_loss=target, solver=solver, **BRIEF)


@parametrize_with_checks([NMF(), SSNMFClassifier(), SSNMFRegressor(), *every_estimator()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
