"""cofactor: topics that explain the data and predict the labels.

Supervised and semi-supervised nonnegative matrix factorization with a scikit-learn interface.
Public names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cofactor._version import __version__

if TYPE_CHECKING:  # so that type checkers and editors see the classes
    from cofactor import callbacks, divergences, metrics, model_selection, noise, priors, report, sc
    from cofactor.divergences import Divergence
    from cofactor.engine.factors import Factors
    from cofactor.estimators import NMF, SSNMFClassifier, SSNMFRegressor
    from cofactor.io.models import ModelFormatError, load_model, read_facts, save
    from cofactor.outofcore import RowBlocks
    from cofactor.report import write_report
    from cofactor.text import TopicModel

_HOMES = {
    "NMF": "cofactor.estimators",
    "SSNMFClassifier": "cofactor.estimators",
    "SSNMFRegressor": "cofactor.estimators",
    "TopicModel": "cofactor.text",
    "save": "cofactor.io.models",
    "load_model": "cofactor.io.models",
    "read_facts": "cofactor.io.models",
    "ModelFormatError": "cofactor.io.models",
    "write_report": "cofactor.report",
    "RowBlocks": "cofactor.outofcore",
    "Factors": "cofactor.engine.factors",
    "Divergence": "cofactor.divergences",
}
_MODULES = (
    "callbacks",
    "divergences",
    "metrics",
    "model_selection",
    "noise",
    "priors",
    "report",
    "sc",
)

__all__ = [
    "NMF",
    "Divergence",
    "Factors",
    "ModelFormatError",
    "RowBlocks",
    "SSNMFClassifier",
    "SSNMFRegressor",
    "TopicModel",
    "__version__",
    "callbacks",
    "divergences",
    "load_model",
    "metrics",
    "model_selection",
    "noise",
    "priors",
    "read_facts",
    "report",
    "save",
    "sc",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(f"cofactor.{name}")
    else:
        raise AttributeError(f"module 'cofactor' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
