"""One fit to synthetic data, and its distance from the truth."""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor import Factors, SSNMFRegressor
from cofactor._types import FloatArray
from cofactor.divergences import DIVERGENCES
from cofactor.experiments.paper import EPSILON, MODELS
from cofactor.experiments.synthetic.data import experiments, observe, products, start, true_factors
from cofactor.experiments.trials import Result, Settings

ZERO = 1e-6
"""Entries below this count as zero."""
FLOORS = (EPSILON, 1e-6, 1e-3)
"""Minimum values that estimates are raised to before their error is computed."""


def trial(settings: Settings, shared: Any = None) -> Result:
    """Fit one model to one experiment's data from one start."""
    size, rank, seed = (settings[name] for name in ("size", "rank", "seed"))
    truth = true_factors(size, rank, seed, settings["draw"])
    X, Y = observe(truth, settings["experiment"], seed, settings["draw"])
    first = start(size, rank, seed, settings["start"])
    model = _model(settings, first).fit(X, Y)
    last = Factors(model.representation_, model.components_.T, model.target_components_.T)
    return {
        **errors(settings, truth, first, last),
        "surprise": surprise(settings, X, Y, last),
        "objective": model.history_["objective"][-1],
        "iterations": model.n_iter_,
        "stop": model.stop_reason_,
    }


def _model(settings: Settings, first: Factors) -> SSNMFRegressor:
    data_loss, target_loss = MODELS[settings["model"]]
    return SSNMFRegressor(
        settings["rank"],
        data_loss=data_loss,
        target_loss=target_loss,
        supervision=1.0,
        solver=settings["solver"],
        init=first,
        head="joint",
        max_iter=settings["iterations"],
        tol=settings["tol"],
    )


def errors(settings: Settings, truth: Factors, first: Factors, last: Factors) -> dict[str, Any]:
    """Return the paper's relative error, and how much of it is due to estimates of zero."""
    losses = experiments(settings["rank"])[settings["experiment"]].losses
    means, fits, starts = products(truth), products(last), products(first)
    before = sum(cost(*each).sum() for each in zip(losses, means, starts, strict=True))
    costs = [cost(*each) for each in zip(losses, means, fits, strict=True)]
    after = sum(each.sum() for each in costs)
    lost = [(p < ZERO) & (x >= ZERO) for x, p in zip(means, fits, strict=True)]
    return {
        "relative": float(after / before),
        "by_floor": [_floored(losses, means, fits, floor) / float(before) for floor in FLOORS],
        "lost_cells": float(np.mean(lost)),
        "zero_targets": float(np.mean(fits[1] < ZERO)),
        "true_zero_targets": float(np.mean(means[1] < ZERO)),
        "lost_share": float(sum(c[z].sum() for c, z in zip(costs, lost, strict=True)) / after),
    }


def cost(loss: str, mean: FloatArray, fit: FloatArray, floor: float = EPSILON) -> FloatArray:
    """Return the divergence of ``fit`` from the true mean, entry by entry."""
    return np.asarray(DIVERGENCES[loss].value(mean, np.maximum(fit, floor)))


def _floored(losses: tuple[str, str], means: Any, fits: Any, floor: float) -> float:
    parts = zip(losses, means, fits, strict=True)
    return float(sum(cost(*each, floor).sum() for each in parts))


def surprise(settings: Settings, X: FloatArray, Y: FloatArray, last: Factors) -> float:
    """Return minus the log-likelihood of the observed data, per entry."""
    scatter = experiments(settings["rank"])[settings["experiment"]]
    data, target = products(last)
    total = scatter.data.surprise(X, data) + scatter.target.surprise(Y, target)
    return float(total / (X.size + Y.size))
