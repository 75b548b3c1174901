"""Warnings and remarks for the reader of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from cofactor.metrics.matching import topic_similarity
from cofactor.report.preparation.evaluation import MODEL, Evaluation
from cofactor.report.preparation.material import Material, is_known
from cofactor.report.preparation.scores import calibration
from cofactor.text.describe import summaries

FEW, FAINT, TWINS, UNSURE = 5, 0.001, 0.9, 0.15  # labels of a class, share, similarity, error


def notices(material: Material, found: Evaluation | None, text: bool) -> list[dict[str, str]]:
    """Return warnings ("warning") first, then remarks on what is missing ("note")."""
    rows = [
        {"level": level, "text": sentence[:1].upper() + sentence[1:]}
        for part in (_scores(material, found), _fit(material), _labels(material),
                     _topics(material), _missing(material, found, text))
        for level, sentence in part
    ]  # fmt: skip
    return sorted(rows, key=lambda row: row["level"] != "warning")


Notices = Iterator[tuple[str, str]]


def _scores(material: Material, found: Evaluation | None) -> Notices:
    if found is None:
        return
    scores = found.scores()
    better = [name for name, score in scores.items() if score > scores[MODEL] + 0.01]
    if better:
        yield "warning", f"{_and(better)} did better than this model on the tested documents."
    if len(found.tested) < 50:
        yield "warning", f"Only {len(found.tested)} documents were tested; scores are rough."
    if found.probabilities is not None:
        error = calibration(found.truth, found.probabilities)[1]
        if error > UNSURE:
            yield (
                "warning",
                (
                    f"Confidences are off by {100 * error:.0f} points on average; read them as an "
                    "order, not as probabilities."
                ),
            )


def _fit(material: Material) -> Notices:
    model = material.model
    if model.tol and model.n_iter_ >= model.max_iter:
        yield (
            "warning",
            (
                f"The fit stopped after max_iter={model.max_iter} iterations before it converged; "
                "raise max_iter."
            ),
        )


def _labels(material: Material) -> Notices:
    if material.kind not in ("classes", "sets") or not material.from_fit:
        return
    if not is_known(material.labels).any():
        return
    counts = _label_counts(material)
    few = [f"{name} ({n})" for name, n in zip(material.classes, counts, strict=True) if n < FEW]
    if few:
        yield "warning", f"Few labels: {_and(few)}; label more of them before relying on these."


def _label_counts(material: Material) -> np.ndarray:
    if material.kind == "sets":
        return np.nansum(material.labels, axis=0).astype(int)
    return np.bincount(material.labels[material.labels >= 0], minlength=len(material.classes))


def _topics(material: Material) -> Notices:
    A = material.model.estimator_.components_
    shares = summaries.corpus_shares(material.S, A)
    dead = [str(k) for k, share in enumerate(shares) if share < FAINT]
    if dead:
        yield "warning", (f"Topics with next to no documents: {_and(dead)}; fewer topics would do.")
    similar = np.triu(topic_similarity(A, A), 1)
    twins = [f"{i} and {j}" for i, j in np.argwhere(similar > TWINS)]
    if twins:
        yield "note", f"Topics that share most of their words: {'; '.join(twins[:5])}."
    yield from _voiceless(material)


def _voiceless(material: Material) -> Notices:
    if material.kind != "classes":
        return
    heard = set(summaries.topic_classes(material.model)[0])
    silent = [str(name) for name in material.model.target_names_ if name not in heard]
    if silent:
        yield "note", f"No topic speaks first of all for {_and(silent)}."


def _missing(material: Material, found: Evaluation | None, text: bool) -> Notices:
    if material.texts is None:
        yield (
            "note",
            (
                "The documents were not given, so there are no texts, explanations or scores: "
                "a model does not keep them."
            ),
        )
        return
    yield from _texts(material)
    if not text:
        yield "note", "Texts and explanations were left out on request."
    if not material.from_fit:
        yield (
            "note",
            (
                "The documents are not those of the fit, so nothing was fitted anew: no baselines, "
                "and no comparison with λ = 0."
            ),
        )
    if material.unknown_labels:
        yield "warning", f"Labels that the model does not know: {_and(material.unknown_labels)}."
    if found is None and material.kind != "topics":
        yield "note", "There are too few labels to test the predictions."


def _texts(material: Material) -> Notices:
    assert material.texts is not None
    empty = int((~material.has_words).sum())
    if empty:
        yield (
            "note",
            f"{empty:,} documents have no word that the model knows; scores leave them out.",
        )
    repeats = sum(n - 1 for text, n in Counter(material.texts).items() if text.strip())
    if repeats > 0.01 * len(material.texts):
        yield "note", f"{repeats:,} documents repeat another one word for word."


def _and(names: list[Any], most: int = 8) -> str:
    """Join names with commas and "and"; name only the first of many."""
    if len(names) > most:
        return ", ".join(names[:most]) + f" and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
