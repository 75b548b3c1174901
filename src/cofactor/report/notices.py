"""Warnings and remarks for the reader of a report, shown under "Before you rely on it"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from cofactor.linear.familiar import UNLIKE_LEVEL
from cofactor.metrics.topics import topic_similarity
from cofactor.report.material import Material, is_known
from cofactor.report.nouns import Nouns
from cofactor.report.score_tables import MODEL, Evaluation, calibration
from cofactor.text.describe import summaries
from cofactor.text.describe.predictions import unchecked
from cofactor.text.documents import Corpus

MIN_LABELS, MIN_LIVE_SHARE = 5, 0.001  # of a class, of a topic
MAX_COSINE, MAX_CALIBRATION_ERROR = 0.9, 0.15
MAX_UNLIKE_SHARE = 2 * (1 - UNLIKE_LEVEL)  # twice as many as of known classes
Notices = Iterator[tuple[str, str]]  # "warning" or "note", and a sentence


def notices(material: Material, found: Evaluation | None) -> list[dict[str, str]]:
    """Return warnings first, then remarks on what is missing."""
    parts = (
        _scores(found, material.nouns),
        _fit(material),
        _edits(material, found),
        _labels(material),
        _unlike(material),
        _topics(material),
        _missing(material, found),
    )
    rows = [
        {"level": level, "text": sentence[:1].upper() + sentence[1:]}
        for part in parts
        for level, sentence in part
    ]
    return sorted(rows, key=lambda row: row["level"] != "warning")


def _warn(sentence: str) -> tuple[str, str]:
    return "warning", sentence


def _note(sentence: str) -> tuple[str, str]:
    return "note", sentence


def _scores(found: Evaluation | None, nouns: Nouns) -> Notices:
    if found is None:
        return
    scores = found.scores
    better = [name for name, score in scores.items() if score > scores[MODEL] + 0.01]
    if better:
        yield _warn(f"{_and(better)} scored higher than this model on the tested {nouns.samples}.")
    if len(found.tested) < 50:
        tested = f"Only {len(found.tested)} {nouns.samples} were tested"
        yield _warn(f"{tested}, so the scores are rough.")
    if found.probabilities is None:
        return
    error = calibration(found.truth, found.probabilities)[1]
    if error > MAX_CALIBRATION_ERROR:
        yield _warn(
            f"Confidences differ from the accuracy by {100 * error:.0f} points on average; use "
            f"them to rank {nouns.samples}, not as probabilities."
        )


def _fit(material: Material) -> Notices:
    model = material.model
    if model.tol and model.n_iter_ >= model.max_iter:
        yield _warn(
            f"The fit stopped after {model.max_iter:,} iterations, before it converged; allow more."
        )
    if doubt := unchecked(model):
        yield _note(doubt)


def _edits(material: Material, found: Evaluation | None) -> Notices:
    """Point out that scores on held-out labels are not those of edited topics."""
    if found is None or material.model.fitted.settled is None:
        return
    if found.seen:
        yield _note(
            "The topics were edited after the fit. The scores come from models without the edits."
        )


def _labels(material: Material) -> Notices:
    if material.kind not in ("classes", "sets") or not material.from_fit or material.is_sample:
        return
    if not is_known(material.labels).any():
        return
    labels, classes = material.labels, np.arange(len(material.classes))
    known = labels == 1 if material.kind == "sets" else labels[:, None] == classes
    pairs = zip(material.classes, known.sum(axis=0), strict=True)
    if few := [f"{name} ({n})" for name, n in pairs if n < MIN_LABELS]:
        yield _warn(f"Few labels: {_and(few)}; label more before you rely on these classes.")


def _unlike(material: Material) -> Notices:
    """Point out that a class may have no labels."""
    new = ~is_known(material.labels) & ~np.isnan(material.unlike)
    far = int((material.unlike[new] >= UNLIKE_LEVEL).sum())
    if far > MAX_UNLIKE_SHARE * max(int(new.sum()), 1):
        yield _warn(
            f"{far:,} of {int(new.sum()):,} {material.nouns.samples} without a label are unlike "
            "the labelled ones of their class (marked ▲); a class may be missing."
        )


def _topics(material: Material) -> Notices:
    model, A = material.model, material.model.estimator_.components_
    shares = Corpus.of(material.S, A).shares
    if dead := [str(k) for k, share in enumerate(shares) if share < MIN_LIVE_SHARE]:
        none = f"Topics with almost no {material.nouns.samples}"
        yield _warn(f"{none}: {_and(dead)}; use fewer topics.")
    similar = np.triu(topic_similarity(A, A), 1) > MAX_COSINE
    if twins := [f"{i} and {j}" for i, j in np.argwhere(similar)]:
        same = f"Topics with almost the same {material.nouns.features}"
        yield _note(f"{same}: {'; '.join(twins[:5])}.")
    if repeated := list(map(str, summaries.repeated_topics(model))):
        yield _warn(
            "Topics of passages that many texts repeat word for word, such as signatures: "
            f"{_and(repeated)}; fit again with drop_repeated."
        )
    main = set(summaries.topic_classes(model)[0])
    without = [str(name) for name in model.target_names_ if name not in main]
    if without and material.kind == "classes":
        yield _note(f"No topic mainly predicts {_and(without)}.")


def _missing(material: Material, found: Evaluation | None) -> Notices:
    nouns = material.nouns
    if material.X is None:
        yield _note(
            "The documents were not given, so there are no texts, explanations or scores; a model "
            "does not keep its documents."
        )
        return
    if empty := int((~material.known_rows).sum()):
        have = "has" if empty == 1 else "have"
        yield _note(f"{nouns.count(empty)} {have} no {nouns.feature} of the model, so no score.")
    repeats = sum(n - 1 for text, n in Counter(material.texts or ()).items() if text.strip())
    if repeats > 0.01 * len(material.S):
        yield _note(f"{repeats:,} {nouns.samples} are copies of another one.")
    if not material.with_texts:
        yield _note("Texts and explanations were left out on request.")
    if not material.from_fit:
        yield _note(
            f"The {nouns.samples} are not those of the fit, so there are no baselines and no "
            "comparison with a fit without labels."
        )
    if material.unknown_labels:
        yield _warn(f"Labels that the model does not know: {_and(material.unknown_labels)}.")
    if material.is_sample:
        whole = f"{material.model.fitted.corpus.n_documents:,} {nouns.samples}"
        shown = f"{len(material.S):,} of them, evenly spaced"
        yield _note(f"The fit read {whole}; this page shows {shown}.")
    if found is None and material.kind != "topics":
        yield _note(_untested(material))


def _untested(material: Material) -> str:
    if material.is_single_class:
        return "There is a single class, too little to test the predictions."
    if material.is_sample:
        return "Labels that the fit has not seen, given as truth, would test the predictions."
    return "There are too few labels to test the predictions."


def _and(names: list[str], most: int = 8) -> str:
    """Join names with commas and "and"; list only the first of many."""
    if len(names) > most:
        return ", ".join(names[:most]) + f" and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
