"""Tables of documents: all with their places on the map, uncertain predictions, mistakes, labels
that look wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.io.errors import shortened
from cofactor.report.preparation.evaluation import MODEL, Evaluation
from cofactor.report.preparation.layout import MOST, anchors, choose_points, place
from cofactor.report.preparation.material import Material, is_known
from cofactor.report.preparation.selection import fitting_texts
from cofactor.text.describe.explain import Explanation, explain_row
from cofactor.text.describe.predictions import read_predictions
from cofactor.text.labelling.doubts import judge_labels, rank_doubts

LISTED, LONGEST, WORDS = 6, 280, 6  # documents of a list, characters, words of an explanation
DOUBTFUL = 20  # labels that look wrong
LONGEST_TABLE = 10_000  # documents of the table that is searched
LEAST = {True: 0.05, False: 0.005}  # smallest contribution that is shown, with a pooled head or not
MOST_TIMES = 1000  # larger factors are not told apart
LEFT_OUT = 3  # words that are left out, one at a time


def excerpt(material: Material, d: int, text: bool) -> str:
    """Return the beginning of a document on one line; "" if texts are left out."""
    if not text or material.texts is None:
        return ""
    return shortened(" ".join(material.texts[d][: 4 * LONGEST].split()), LONGEST)


def document_rows(material: Material, text: bool) -> tuple[list[dict[str, Any]], bool]:
    """Return the documents of the table (a random sample of many), and whether texts are cut."""
    estimator, seed = material.model.estimator_, material.model.seed_
    chosen = choose_points(len(material.S), seed, LONGEST_TABLE)
    shares = material.shares[chosen]
    spots = place(shares, estimator.components_, seed).round(4).tolist()
    told = read_predictions(estimator, material.scores[chosen], material.model.target_names_)
    best = np.where(shares.any(axis=1), shares.argmax(axis=1), -1).tolist()
    texts, cut = _whole_texts(material, chosen, text)
    rows = [
        {
            "document": material.number(d),
            "x": x,
            "y": y,
            "topic": k,
            "share": round(float(p), 3),
            "class": _label(material, d),
            "prediction": show(guess) if k >= 0 else "",
            "confidence": rounded(c) if k >= 0 else None,
            "text": whole,
        }
        for d, (x, y), k, p, guess, c, whole in zip(
            chosen, spots, best, shares.max(axis=1), *told, texts, strict=True
        )
    ]
    return rows, cut


def _whole_texts(material: Material, chosen: np.ndarray, text: bool) -> tuple[list[str], bool]:
    """Return the texts of the table, cut to what fits into the file, and whether any was cut."""
    if not text or material.texts is None:
        return [""] * len(chosen), False
    return fitting_texts([material.texts[d].strip() for d in chosen])


def map_anchors(material: Material) -> list[dict[str, Any]]:
    """Return the positions of the topics on the rim of the map."""
    spots = anchors(material.model.estimator_.components_).round(4).tolist()
    return [{"topic": k, "x": x, "y": y} for k, (x, y) in enumerate(spots)]


def documents_note(material: Material) -> str:
    """Return the caption of the map and the table."""
    n = len(material.S)
    which = "documents of the fit" if material.from_fit else "documents given"
    listed, mapped = min(n, LONGEST_TABLE), min(n, MOST)
    part = f"A random sample of {listed:,} of the" if listed < n else "All"
    caption = f"{part} {n:,} {which}{f', {mapped:,} of them on the map' * (mapped < listed)}."
    if material.rows is None or material.named:
        return caption
    return f"{caption} Rows are those of the table, counted as cofactor check does."


def rounded(value: float | None) -> float | None:
    """Return a number with three digits after the point."""
    return None if value is None else round(float(value), 3)


def show(value: Any) -> str:
    """Return a prediction as text."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ", ".join(map(show, value)) or "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _label(material: Material, d: int) -> str:
    value = material.known[d]
    if not is_known(material.known[d : d + 1])[0]:
        return ""
    if material.kind == "classes":
        return material.classes[value]
    if material.kind == "numbers":
        return ", ".join("?" if np.isnan(one) else show(float(one)) for one in value)
    return show(tuple(name for name, one in zip(material.classes, value, strict=True) if one == 1))


def uncertain(material: Material, text: bool) -> list[dict[str, Any]]:
    """Return the documents without a label whose two best classes are almost equally probable."""
    P = material.probabilities
    if P is None or P.shape[1] < 2 or material.texts is None:
        return []
    free = np.flatnonzero(~is_known(material.labels) & material.S.any(axis=1))
    two = np.sort(P[free], axis=1)[:, -2:]
    order = free[np.argsort(two[:, 1] - two[:, 0], kind="stable")][:LISTED]
    return [_described(material, material.model, int(d), P[d], text) for d in order]


def mistaken(material: Material, found: Evaluation | None, text: bool) -> list[dict[str, Any]]:
    """Return the tested documents whose prediction is wrong, most confident first."""
    if found is None or found.probabilities is None:
        return []
    P = found.probabilities
    wrong = np.flatnonzero(found.predictions[MODEL] != found.truth)
    order = wrong[np.argsort(-P[wrong].max(axis=1), kind="stable")][:LISTED]
    return [
        {
            **_described(
                material, found.judges[i], int(found.tested[i]), P[i], text, found.truth[i]
            ),
            "truth": material.classes[found.truth[i]],
        }
        for i in order
    ]


def doubtful(material: Material, text: bool) -> list[dict[str, Any]]:
    """Return the documents whose labels look wrong, most doubtful first."""
    if material.kind != "classes" or material.X is None:
        return []
    log_p = judge_labels(material.X, material.labels, material.model.n_jobs)
    if log_p is None:
        return []
    found = rank_doubts(log_p, material.labels, material.classes)[:DOUBTFUL]
    return [
        {
            "document": material.number(row.document),
            "label": str(row.label),
            "label_probability": rounded(row.label_probability),
            "looks_like": str(row.suggestion),
            "probability": rounded(row.probability),
            "text": excerpt(material, row.document, text),
        }
        for row in found
    ]


def _described(
    material: Material, judge: Any, d: int, p: np.ndarray, text: bool, rival: int | None = None
) -> dict[str, Any]:
    """Describe one document: its two classes, the words that speak for the one and against the
    other, and the words without which another class is predicted."""
    first, second = np.argsort(-p, kind="stable")[:2]
    pair = (first, second if rival is None else rival)
    names = [material.classes[c] for c in pair]
    told = _explained(material, judge, d, names) if text and material.texts is not None else None
    pooled = judge.estimator_.pooled_head is not None
    return {
        "document": material.number(d),
        "text": excerpt(material, d, text),
        "sides": [
            {"class": name, "probability": float(p[c]), "words": _speaking(told, sign, pooled)}
            for name, c, sign in zip(names, pair, (1, -1), strict=True)
        ],
        "without": [] if told is None else _without(told),
    }


def _explained(material: Material, judge: Any, d: int, names: list[str]) -> Explanation | None:
    """Explain why the first of two classes and not the second; None if the judge knows only one,
    since the fit that it tests had no label of the other."""
    if not {str(name) for name in judge.target_names_}.issuperset(names):
        return None
    return explain_row(judge, material.X[[d]], target=names[0], rival=names[1], n_left_out=LEFT_OUT)


def _speaking(told: Explanation | None, sign: int, pooled: bool) -> list[dict[str, Any]]:
    """Return the words that speak most for one of two classes and against the other.

    With the pooled head scores are logarithms: a word multiplies the ratio of the probabilities.
    With the others they are probabilities.
    """
    if told is None or told.contrast is None:
        return []
    parts = sign * told.contrast.words
    best = [j for j in np.argsort(-parts, kind="stable")[:WORDS] if parts[j] >= LEAST[pooled]]
    return [
        {
            "word": told.words[j],
            "part": round(float(parts[j]), 3),
            "shown": _times(parts[j]) if pooled else f"+{100 * parts[j]:.0f}",
        }
        for j in best
    ]


def _times(logarithm: float) -> str:
    """Return the factor that a part of a score is.

    Examples
    --------
    >>> _times(np.log(2.04)), _times(800.0)
    ('×2.0', 'over ×1,000')
    """
    if logarithm > np.log(MOST_TIMES):
        return f"over ×{MOST_TIMES:,}"
    return f"×{np.exp(logarithm):.1f}"


def _without(told: Explanation) -> list[dict[str, Any]]:
    """Return the words without which another class is predicted."""
    return [
        {"word": row.word, "prediction": show(row.prediction)}
        for row in told.left_out
        if row.prediction != told.prediction and len(told.words) > 1
    ]
