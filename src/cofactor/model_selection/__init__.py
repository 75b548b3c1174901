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

from typing import TYPE_CHECKING

from cofactor._lazy import lazy_names

if TYPE_CHECKING:  # type checkers and editors need plain imports
    from cofactor.model_selection.choosing import Choice as Choice
    from cofactor.model_selection.choosing import choose as choose
    from cofactor.model_selection.scorers import labelled_scorer as labelled_scorer
    from cofactor.model_selection.splitters import PartlyLabelledKFold as PartlyLabelledKFold
    from cofactor.model_selection.stability import bootstrap_counts as bootstrap_counts
    from cofactor.model_selection.stability import topic_stability as topic_stability
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "choosing": ["Choice", "choose"],
            "scorers": ["labelled_scorer"],
            "splitters": ["PartlyLabelledKFold"],
            "stability": ["bootstrap_counts", "topic_stability"],
        },
    )
