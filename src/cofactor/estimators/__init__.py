"""scikit-learn estimators: thin layers over the objective, the starts and the loop."""

from cofactor.estimators.classifier import SSNMFClassifier
from cofactor.estimators.nmf import NMF
from cofactor.estimators.regressor import SSNMFRegressor

__all__ = ["NMF", "SSNMFClassifier", "SSNMFRegressor"]
