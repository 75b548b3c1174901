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

from typing import TYPE_CHECKING

from cofactor._lazy import lazy_names

if TYPE_CHECKING:  # type checkers and editors need plain imports
    from cofactor.model_selection.choice import Choice as Choice
    from cofactor.model_selection.choice import choose as choose
    from cofactor.model_selection.partly_labelled import PartlyLabelledKFold as PartlyLabelledKFold
    from cofactor.model_selection.partly_labelled import labelled_scorer as labelled_scorer
    from cofactor.model_selection.stability import bootstrap_counts as bootstrap_counts
    from cofactor.model_selection.stability import topic_stability as topic_stability
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "choice": ["Choice", "choose"],
            "partly_labelled": ["PartlyLabelledKFold", "labelled_scorer"],
            "stability": ["bootstrap_counts", "topic_stability"],
        },
    )
