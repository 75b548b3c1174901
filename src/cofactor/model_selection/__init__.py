"""Folds, scores and numbers of topics, and their stability, for partly labelled data.

- ``labels``: y in one form, and which samples are labelled
- ``splitters``: `PartlyLabelledKFold`, whose test folds hold labelled samples only
- ``scorers``: `labelled_scorer`, which counts labelled samples only
- ``problem``: what is fitted, with any number of topics
- ``held_out``: how well a fit predicts labels and cells that it has not seen
- ``trials``: the fits of all candidates, side by side
- ``rule``: the one-standard-error rule
- ``choosing``: `choose`, which compares numbers of topics, and `Choice`, its result
- ``figure``: the figure of a choice
- ``stability``: `topic_stability`, how much of each topic comes back in other draws of the samples
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cofactor.model_selection.choosing import Choice, choose
    from cofactor.model_selection.scorers import labelled_scorer
    from cofactor.model_selection.splitters import PartlyLabelledKFold
    from cofactor.model_selection.stability import bootstrap_counts, topic_stability

__all__ = [
    "Choice",
    "PartlyLabelledKFold",
    "bootstrap_counts",
    "choose",
    "labelled_scorer",
    "topic_stability",
]

_HOMES = {
    "Choice": "choosing",
    "PartlyLabelledKFold": "splitters",
    "bootstrap_counts": "stability",
    "choose": "choosing",
    "labelled_scorer": "scorers",
    "topic_stability": "stability",
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: scikit-learn's folds and measures are slow to load."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
