"""Multi-label news: a story has several labels, some of them unknown.

The file ``reuters.jsonl`` has one story on each line: ``text``; ``labels``, a list of the
labels that apply (null if nothing is known); optionally ``unknown``, a list of labels that may or
may not apply; optionally ``split``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score, roc_curve

from cofactor import NMF, SSNMFClassifier
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
from cofactor.experiments.tables import compared
from cofactor.experiments.trials import TrialResult, TrialSettings, make_model, seed_of

EXAMPLE = '{"text": "wheat prices rose", "labels": ["grain", "wheat"], "split": "train"}'
TRIALS, TOPICS_PER_LABEL, MAX_RANK = 5, 2, 60
MEASURES = ("micro-F1", "macro-F1", "ROC AUC")
LOGISTIC, NMF_LOGISTIC = "logistic regression", "NMF + logistic regression"


def prepare(options: Options) -> ExperimentData:
    """Read the stories, or make them up for a quick run."""
    return documents.prepare(
        DocumentFormat("reuters.jsonl", EXAMPLE, _find_error, targets, make_up_stories), options
    )


def _find_error(record: Record) -> str:
    for name in ("labels", "unknown"):
        given = record.get(name, [])
        if given is None and name == "labels":
            continue
        if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
            return f"has {name} {given!r}, which is not a list of topics"
    return "" if "labels" in record else "has no labels"


def targets(records: Sequence[Record]) -> tuple[FloatArray, list[str]]:
    """Return 1 where a label applies, 0 where it does not, NaN where that is unknown."""
    names = sorted({label for record in records for label in record["labels"] or []})
    column = {name: j for j, name in enumerate(names)}
    Y = np.zeros((len(records), len(names)))
    for row, record in zip(Y, records, strict=True):
        if record["labels"] is None:
            row[:] = np.nan
            continue
        row[[column[name] for name in record["labels"]]] = 1
        row[[column[name] for name in record.get("unknown", []) if name in column]] = np.nan
    return Y, names


def make_up_stories(seed: int, count: int = 240) -> list[Record]:
    """Return stories with one or two labels out of four; one label in ten is unknown."""
    random, names = np.random.default_rng(seed), ["grain", "trade", "ship", "money"]
    records: list[Record] = []
    for i in range(count):
        labels = random.choice(names, random.integers(1, 3), replace=False).tolist()
        unknown = [name for name in names if random.random() < 0.1]
        known = [name for name in labels if name not in unknown]
        text = made_up_document(labels, names, random)
        split = "test" if i % 4 == 0 else "train"
        records.append({"text": text, "labels": known, "unknown": unknown, "split": split})
    return records


def run(run: Run, data: DocumentSplit) -> None:
    """Compare the four models with classifiers on words and on unsupervised topics."""
    trials = run.options.count(TRIALS)
    rank = min(TOPICS_PER_LABEL * len(data.names), MAX_RANK)
    counts = {**dict.fromkeys(MODELS, trials), LOGISTIC: 1, NMF_LOGISTIC: trials}
    fits = run_models(run, trial, counts, rank, data)
    title = f"Multi-label classification, {len(data.names)} labels, {rank} topics"
    run.table(compared("scores", title, fits, MEASURES, largest=True), headline=True)
    lines = {m: fits[m][0]["curve"] for m in ("(KL, KL)", "(F, F)", LOGISTIC, NMF_LOGISTIC)}
    title = "Receiver operating characteristic over all known cells"
    axes = "false positive rate", "true positive rate"
    figures.draw(run, "roc", title, figures.curves, lines, *axes)


def trial(settings: TrialSettings, data: DocumentSplit) -> TrialResult:
    """Fit one model and score it on the known cells of the test stories."""
    method = {LOGISTIC: _by_words, NMF_LOGISTIC: _by_topics}.get(settings["model"], _supervised)
    scores = method(settings, data)
    known = ~np.isnan(data.Y_test)
    truth, guessed = data.Y_test[known], (scores >= 0.5)[known]
    across, up, _ = roc_curve(truth, scores[known])
    grid = np.linspace(0, 1, 60)
    heights = np.interp(grid, across, up)
    per_label = [
        f1_score(data.Y_test[k, j], scores[k, j] >= 0.5, zero_division=0.0)
        for j, k in enumerate(known.T)
    ]
    return {
        "micro-F1": float(f1_score(truth, guessed, zero_division=0.0)),
        "macro-F1": float(np.mean(per_label)),
        "ROC AUC": float(roc_auc_score(truth, scores[known])),
        "curve": [[0.0, *grid.tolist()], [0.0, *heights.tolist()]],
    }


def _supervised(settings: TrialSettings, data: DocumentSplit) -> FloatArray:
    model = make_model(SSNMFClassifier, settings)
    return np.asarray(model.fit(data.X, data.Y).predict_proba(data.X_test))


def _by_words(settings: TrialSettings, data: DocumentSplit) -> FloatArray:
    return _one_by_one(data.X, data.Y, data.X_test)


def _by_topics(settings: TrialSettings, data: DocumentSplit) -> FloatArray:
    model = NMF(settings["rank"], init="random", random_state=seed_of(settings))
    S, S_test = model.fit_transform(data.X), model.transform(data.X_test)
    return _one_by_one(_shares(S), data.Y, _shares(S_test))


def _shares(S: FloatArray) -> FloatArray:
    return S / np.maximum(S.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def _one_by_one(X: Any, Y: FloatArray, X_test: Any) -> FloatArray:
    """Fit a classifier for each label on the stories where it is known."""
    return np.column_stack([_probability(X[k], y[k], X_test) for y in Y.T for k in [~np.isnan(y)]])


def _probability(X: Any, y: FloatArray, X_test: Any) -> FloatArray:
    if len(np.unique(y)) < 2:
        return np.full(X_test.shape[0], y[0] if len(y) else 0.0)
    return np.asarray(LogisticRegression(max_iter=1000).fit(X, y).predict_proba(X_test)[:, 1])
