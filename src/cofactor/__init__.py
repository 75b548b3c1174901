"""cofactor: topics that explain the data and predict the labels.

Supervised and semi-supervised nonnegative matrix factorization with a scikit-learn interface.
Public names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor._lazy import lazy_names

if TYPE_CHECKING:  # type checkers and editors need plain imports
    from cofactor import callbacks as callbacks
    from cofactor import divergences as divergences
    from cofactor import metrics as metrics
    from cofactor import model_selection as model_selection
    from cofactor import noise as noise
    from cofactor import priors as priors
    from cofactor import report as report
    from cofactor import sc as sc
    from cofactor._version import __version__ as __version__
    from cofactor.divergences import Divergence as Divergence
    from cofactor.engine.factors import Factors as Factors
    from cofactor.estimators import NMF as NMF
    from cofactor.estimators import SSNMFClassifier as SSNMFClassifier
    from cofactor.estimators import SSNMFRegressor as SSNMFRegressor
    from cofactor.io.models import ModelFormatError as ModelFormatError
    from cofactor.io.models import load_model as load_model
    from cofactor.io.models import read_facts as read_facts
    from cofactor.io.models import save as save
    from cofactor.outofcore import RowBlocks as RowBlocks
    from cofactor.report import write_report as write_report
    from cofactor.text import TopicModel as TopicModel
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "": [
                "callbacks",
                "divergences",
                "metrics",
                "model_selection",
                "noise",
                "priors",
                "report",
                "sc",
            ],
            "_version": ["__version__"],
            "divergences": ["Divergence"],
            "engine.factors": ["Factors"],
            "estimators": ["NMF", "SSNMFClassifier", "SSNMFRegressor"],
            "io.models": ["ModelFormatError", "load_model", "read_facts", "save"],
            "outofcore": ["RowBlocks"],
            "report": ["write_report"],
            "text": ["TopicModel"],
        },
    )
