"""scikit-learn's own checks, for every estimator with every pair of losses and every solver.

The default estimators and a handful of others are checked with all other tests. The rest of the
product has the marker ``conformance``; ``make conformance`` runs all of it.

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

KL, FROBENIUS, IS = LOSSES = ("kullback-leibler", "frobenius", "itakura-saito")
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


# Every kind, solver and loss at least once.
HANDFUL = (
    NMF(data_loss=FROBENIUS, solver="cd", **BRIEF),
    NMF(data_loss=IS, solver="mu-paper", **BRIEF),
    SSNMFClassifier(data_loss=FROBENIUS, target_loss=KL, solver="cd", **BRIEF),
    SSNMFClassifier(data_loss=KL, target_loss=IS, solver="mu", **BRIEF),
    SSNMFRegressor(data_loss=KL, target_loss=FROBENIUS, solver="cd", **BRIEF),
    SSNMFRegressor(data_loss=FROBENIUS, target_loss=FROBENIUS, solver="mu-paper", **BRIEF),
)


def all_others():
    """Every estimator but the handful."""
    checked = [(type(one), one.get_params()) for one in HANDFUL]
    return [one for one in every_estimator() if (type(one), one.get_params()) not in checked]


def test_the_product_is_complete():
    assert len(all_others()) + len(HANDFUL) == len(list(every_estimator())) == 52


@pytest.fixture
def brief_inference(monkeypatch):
    """Topics after few iterations are much alike, so inference to optimality would take most of
    the time; what stops early depends no more on a row's batch, weight or storage."""
    for name in EXACTLY:
        monkeypatch.setattr(inference, name, replace(getattr(inference, name), rounds=50))


def cannot_pass(estimator):
    """The check of class weights has negative data, whatever the tag ``positive_only`` says, and
    another check demands that these are refused; `test_class_weight.py` shifts its data."""
    reason = "its data are negative"
    found = {"check_class_weight_classifiers": reason}
    return found if isinstance(estimator, SSNMFClassifier) else {}


@parametrize_with_checks(
    [NMF(), SSNMFClassifier(), SSNMFRegressor()], expected_failed_checks=cannot_pass
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.usefixtures("brief_inference")
@parametrize_with_checks(list(HANDFUL), expected_failed_checks=cannot_pass)
def test_scikit_learn_checks_of_a_handful(estimator, check):
    check(estimator)


@pytest.mark.conformance
@pytest.mark.usefixtures("brief_inference")
@parametrize_with_checks(all_others(), expected_failed_checks=cannot_pass)
def test_scikit_learn_checks_of_all_others(estimator, check):
    check(estimator)
