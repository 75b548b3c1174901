"""cofactor: topics that explain the data and predict the labels.

Supervised and semi-supervised nonnegative matrix factorization with a scikit-learn interface.
Public names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cofactor._version import __version__

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
_MODULES = ("callbacks", "divergences", "metrics", "noise", "priors")

__all__ = ["__version__", *_HOMES, *_MODULES]


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
