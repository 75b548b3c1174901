"""Ratings from reviews: topics that predict numbers.

The file ``ratings.jsonl`` has one review on each line: ``text``; ``rating``, a number (null if
unknown); optionally ``split``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from cofactor import NMF, SSNMFRegressor
from cofactor._types import FloatArray
from cofactor.experiments import Options, documents, figures
from cofactor.experiments.documents import (
    DocumentFormat,
    DocumentSplit,
    Record,
    made_up_document,
    run_models,
)
from cofactor.experiments.paper import MODELS
from cofactor.experiments.run import ExperimentData, Run
from cofactor.experiments.tables import compared, mean_and_sd
from cofactor.experiments.trials import TrialResult, TrialSettings, make_model, seed_of

EXAMPLE = '{"text": "a fine film", "rating": 4.5, "split": "train"}'
TRIALS, RANK = 5, 20
RIDGE, NMF_RIDGE, MEAN_RATING = "ridge", "NMF + ridge", "mean rating"
RIDGE_PENALTIES = tuple(10.0**power for power in range(-3, 4))


def prepare(options: Options) -> ExperimentData:
    """Read the reviews, or make them up for a quick run."""
    return documents.prepare(
        DocumentFormat("ratings.jsonl", EXAMPLE, _find_error, targets, make_up_reviews), options
    )


def _find_error(record: Record) -> str:
    rating = record.get("rating", "")
    number = isinstance(rating, int | float) and not isinstance(rating, bool)
    if rating is None or (number and math.isfinite(rating)):
        return ""
    return f"has rating {rating!r}, which is not a number" if rating != "" else "has no rating"


def targets(records: Sequence[Record]) -> tuple[FloatArray, list[str]]:
    """Return the ratings as a column, NaN where unknown."""
    values = [math.nan if record["rating"] is None else record["rating"] for record in records]
    return np.array(values, dtype=float)[:, None], ["rating"]


def make_up_reviews(seed: int, count: int = 240) -> list[Record]:
    """Return reviews of five moods, rated by their mood; one rating in ten is unknown."""
    random = np.random.default_rng(seed)
    moods = ["awful", "poor", "fair", "good", "great"]
    records: list[Record] = []
    for i in range(count):
        mood = int(random.integers(len(moods)))
        rating = round(float(1 + mood + random.normal(0, 0.2)), 2)
        text = made_up_document([moods[mood]], moods, random)
        known = i % 4 == 0 or random.random() >= 0.1
        split = "test" if i % 4 == 0 else "train"
        records.append({"text": text, "rating": rating if known else None, "split": split})
    return records


def run(run: Run, data: DocumentSplit) -> None:
    """Compare the four models with ridge regression on words and on unsupervised topics."""
    trials = run.options.count(TRIALS)
    rank = 5 if run.options.quick else RANK
    counts = {**dict.fromkeys(MODELS, trials), RIDGE: 1, NMF_RIDGE: trials, MEAN_RATING: 1}
    fits = run_models(run, trial, counts, rank, data)
    title = f"Ratings of {len(data.Y_test)} test reviews, {rank} topics"
    run.table(compared("scores", title, fits, ("RMSE", "MAE"), largest=False), headline=True)
    run.table(compared("r2", title, fits, ("R²",), largest=True))
    errors = {model: [result["RMSE"] for result in results] for model, results in fits.items()}
    series = {"RMSE": {model: mean_and_sd(values) for model, values in errors.items()}}
    label = "root mean squared error of the test ratings (mean ± sd)"
    figures.draw(run, "rmse", "Errors", figures.intervals, series, list(fits), label)


def trial(settings: TrialSettings, data: DocumentSplit) -> TrialResult:
    """Fit one model and score it on the test reviews with known ratings."""
    methods = {RIDGE: _by_words, NMF_RIDGE: _by_topics, MEAN_RATING: _by_mean}
    guessed = methods.get(settings["model"], _supervised)(settings, data)
    truth = data.Y_test[:, 0]
    return {
        "RMSE": float(root_mean_squared_error(truth, guessed)),
        "MAE": float(mean_absolute_error(truth, guessed)),
        "R²": float(r2_score(truth, guessed)),
    }


def _supervised(settings: TrialSettings, data: DocumentSplit) -> FloatArray:
    model = make_model(SSNMFRegressor, settings)
    return np.asarray(model.fit(data.X, data.Y[:, 0]).predict(data.X_test))


def _by_words(settings: TrialSettings, data: DocumentSplit) -> FloatArray:
    known = ~np.isnan(data.Y[:, 0])
    ridge = RidgeCV(RIDGE_PENALTIES).fit(data.X[known], data.Y[known, 0])
    return np.asarray(ridge.predict(data.X_test))


def _by_topics(settings: TrialSettings, data: DocumentSplit) -> FloatArray:
    known = ~np.isnan(data.Y[:, 0])
    model = NMF(settings["rank"], init="random", random_state=seed_of(settings)).fit(data.X)
    ridge = RidgeCV(RIDGE_PENALTIES).fit(model.transform(data.X[known]), data.Y[known, 0])
    return np.asarray(ridge.predict(model.transform(data.X_test)))


def _by_mean(settings: TrialSettings, data: DocumentSplit) -> FloatArray:
    return np.full(len(data.Y_test), np.nanmean(data.Y))
