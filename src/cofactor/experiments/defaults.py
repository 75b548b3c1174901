"""The library's estimators with default parameters, except for the losses."""

from __future__ import annotations

from typing import Any, TypeVar

from cofactor.experiments.paper import MODELS
from cofactor.experiments.trials import Settings, seed_of

Estimator = TypeVar("Estimator")


def default_model(estimator: type[Estimator], settings: Settings, **changes: Any) -> Estimator:
    """Return an estimator with the losses, rank and seed of a trial, otherwise with defaults.

    The head is that of the topics alone, because the paper's subject is what the topics predict.
    """
    data_loss, target_loss = MODELS[settings["model"]]
    losses = {"data_loss": data_loss, "target_loss": target_loss}
    make: Any = estimator
    options = {**losses, "head": "refit", "random_state": seed_of(settings), **changes}
    model: Estimator = make(settings["rank"], **options)
    return model
