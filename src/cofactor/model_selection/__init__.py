"""Choose the number of topics, cross-validate with partly labelled data, measure stability.

- ``partly_labelled``: folds and scores that count labelled samples only
- ``choice``: `choose`, which compares numbers of topics, and `Choice`, its result
- ``problem``: the data and labels that `choose` fits repeatedly
- ``candidates``: the fits of all candidates, in parallel
- ``held_out``: how well a fit predicts held-out labels and cells
- ``decision``: the one-standard-error rule
- ``figure``: the figure of a choice
- ``stability``: how much of each topic is found again in bootstrap samples
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cofactor.model_selection.choice import Choice, choose
    from cofactor.model_selection.partly_labelled import PartlyLabelledKFold, labelled_scorer
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
    "Choice": "choice",
    "PartlyLabelledKFold": "partly_labelled",
    "bootstrap_counts": "stability",
    "choose": "choice",
    "labelled_scorer": "partly_labelled",
    "topic_stability": "stability",
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use, because scikit-learn's folds are slow to import."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
