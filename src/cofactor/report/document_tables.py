"""Tables of documents: all documents and their positions on the map, uncertain predictions,
mistakes, and labels that look wrong."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from cofactor.io.errors import shortened
from cofactor.metrics.topics import topic_similarity
from cofactor.report.material import Material, is_known
from cofactor.report.refits import with_estimator
from cofactor.report.score_tables import MODEL, Evaluation
from cofactor.text.describe import summaries
from cofactor.text.describe.explain import Explanation, explain_row
from cofactor.text.documents import DocumentRows
from cofactor.text.labelling.doubts import judge_labels, rank_doubts
from cofactor.text.vectorizer.occurrences import cut_pieces

MAX_REVIEWED, MAX_DOUBTFUL = 6, 20  # documents of a list, labels that look wrong
MAX_FAR_OFF = 10  # numbers with the largest errors
MAX_EXCERPT = 280  # characters
MAX_TABLE_DOCUMENTS, MAX_MAP_POINTS = 10_000, 3000
MAX_TEXT_BYTES = 4_000_000  # of the texts of all documents
EXPLAINING_WORDS, LEFT_OUT_WORDS = 6, 3  # words of an explanation; words left out one at a time
MIN_PART = {True: 0.05, False: 0.005}  # of a word in a score, with a pooled head or another
MAX_FACTOR = 1000

_SPACES = re.compile(r"\s+")


def excerpt(material: Material, d: int) -> str:
    """Return the beginning of a document on one line; "" if texts are left out."""
    text = "" if material.shown_texts is None else material.shown_texts[d]
    return shortened(" ".join(text[: 4 * MAX_EXCERPT].split()), MAX_EXCERPT)


def document_rows(material: Material) -> tuple[list[dict[str, Any]], bool]:
    """Return the table of documents, a random sample of many, and whether texts were cut."""
    estimator, seed = material.model.estimator_, material.model.seed_
    chosen = choose_points(len(material.S), seed, MAX_TABLE_DOCUMENTS)
    spots = place(material.shares[chosen], estimator.components_, seed).round(4).tolist()
    told = summaries.document_table(material.model, material.S[chosen], material.scores[chosen])
    unlike = material.unlike[chosen]
    whole = material.shown_texts or [""] * len(material.S)
    texts, cut = cut_texts([whole[d].strip() for d in chosen])
    rows = [
        {
            "document": material.number(d),
            "x": x,
            "y": y,
            "topic": one.topic,
            "share": round(one.share, 3),
            "class": known_label(material, d),
            "prediction": "" if one.is_blank else show(one.prediction),
            "confidence": rounded(one.confidence),
            "unlike": None if np.isnan(u) else rounded(u),
            "text": text,
        }
        for d, (x, y), one, u, text in zip(chosen, spots, told, unlike, texts, strict=True)
    ]
    return rows, cut


def documents_note(material: Material) -> str:
    """Return the caption of the map and the table."""
    n = len(material.S)
    samples = material.nouns.samples
    which = f"{samples} of the fit" if material.from_fit else f"{samples} given"
    listed, mapped = min(n, MAX_TABLE_DOCUMENTS), min(n, MAX_MAP_POINTS)
    part = f"A random sample of {listed:,} of the" if listed < n else "All"
    caption = f"{part} {n:,} {which}{f', {mapped:,} of them on the map' * (mapped < listed)}."
    if material.rows is None or material.named:
        return caption
    return f"{caption} Rows are those of the table, counted as in cofactor check."


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


def known_label(material: Material, d: int) -> str:
    """Return the known labels of a document as text; "" if there are none."""
    value = material.known[d]
    if not is_known(material.known[d : d + 1])[0]:
        return ""
    if material.kind == "classes":
        return material.classes[value]
    if material.kind == "numbers":
        return ", ".join("?" if np.isnan(one) else show(float(one)) for one in value)
    return show(tuple(name for name, one in zip(material.classes, value, strict=True) if one == 1))


def told_class(material: Material, d: int) -> str:
    """Return the known labels of a document as text, or else the class that is predicted."""
    P = material.probabilities
    if (known := known_label(material, d)) or P is None or not material.S[d].any():
        return known
    return f"predicted: {material.classes[int(P[d].argmax())]}"


def cut_texts(texts: list[str], limit: int = MAX_TEXT_BYTES) -> tuple[list[str], bool]:
    """Cut long texts to a total size on the page; return them and whether any was cut.

    Short texts stay whole; longer ones share what these leave.
    """
    sizes = np.array([_bytes(text) for text in texts])
    most = _size_limit(sizes, limit)
    cut = [
        text if size <= most else f"{text[: int(len(text) * most / size)]}…"
        for text, size in zip(texts, sizes.tolist(), strict=True)
    ]
    return cut, bool((sizes > most).any())


def _bytes(text: str) -> int:
    """Return the size of a text on the page, where some characters are escaped."""
    return len(text.encode("utf-8", "replace")) + 5 * sum(map(text.count, "<>&\n"))


def _size_limit(sizes: np.ndarray, total: int) -> float:
    """Return the largest limit for which the sum of min(size, limit) is at most the total."""
    left = float(total)
    for place, size in enumerate(np.sort(sizes).tolist()):
        part = left / (len(sizes) - place)
        if size > part:
            return part
        left -= size
    return float("inf")


# ---- the map


def choose_points(n: int, seed: int, most: int = MAX_MAP_POINTS) -> np.ndarray:
    """Return the indices of the documents on the map: all, or a sorted random sample."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def circle_order(components: np.ndarray) -> list[int]:
    """Order topics around a circle, starting at 0, so that similar ones are neighbours: the leaves
    of a clustering in their optimal order."""
    if len(components) < 3:
        return [*range(len(components))]
    far = np.maximum(1.0 - topic_similarity(components, components), 0.0)
    tree = linkage(squareform(far, checks=False), "average", optimal_ordering=True)
    leaves = leaves_list(tree)
    return np.roll(leaves, -int(leaves.argmin())).tolist()


def anchors(components: np.ndarray) -> np.ndarray:
    """Return the positions of the topics on the unit circle."""
    order = circle_order(components)
    angle = np.empty(len(order))
    angle[order] = np.pi / 2 - 2 * np.pi * np.arange(len(order)) / len(order)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def place(shares: np.ndarray, components: np.ndarray, seed: int) -> np.ndarray:
    """Return positions of documents, given their shares of topics: between their topics, or in the
    middle if they have none. Random scatter separates documents with the same topics."""
    sharp = shares**1.25  # so that mixtures do not all lie in the middle
    sharp = sharp / np.maximum(sharp.sum(axis=1, keepdims=True), 1e-300)
    random = np.random.default_rng(seed)
    scatter = random.standard_normal((len(shares), 2)) * 0.2 / np.sqrt(len(components))
    return sharp @ anchors(components) + scatter


def map_anchors(material: Material) -> list[dict[str, Any]]:
    """Return the table of the topics on the rim of the map."""
    spots = anchors(material.model.estimator_.components_).round(4).tolist()
    return [{"topic": k, "x": x, "y": y} for k, (x, y) in enumerate(spots)]


# ---- documents to review


def uncertain(material: Material) -> list[dict[str, Any]]:
    """Return the unlabelled documents whose two best classes are most nearly tied."""
    P = material.probabilities
    if P is None or P.shape[1] < 2 or material.X is None:
        return []
    free = np.flatnonzero(~is_known(material.labels) & material.known_rows)
    two = np.sort(P[free], axis=1)[:, -2:]
    order = free[np.argsort(two[:, 1] - two[:, 0], kind="stable")][:MAX_REVIEWED]
    return [_described(material, material.model, int(d), P[d]) for d in order]


def mistaken(material: Material, found: Evaluation | None) -> list[dict[str, Any]]:
    """Return the tested documents with a wrong prediction, most confident first.

    A model that has not seen their labels explains them; those that it predicts right are left out.
    """
    if found is None or found.probabilities is None:
        return []
    P = found.probabilities
    wrong = np.flatnonzero(found.predictions[MODEL] != found.truth)
    order = wrong[np.argsort(-P[wrong].max(axis=1), kind="stable")]
    judges = [material.model] * len(order)
    if found.judges is not None and len(order):
        order = order[: 2 * MAX_REVIEWED]
        judges = [with_estimator(material, one) for one in found.judges(found.tested[order])]
    rows = [(int(found.tested[i]), int(found.truth[i])) for i in order]
    told = [
        (d, c, judge, _told_classes(material, judge, d))
        for (d, c), judge in zip(rows, judges, strict=True)
    ]
    return [
        {**_described(material, judge, d, p, c), "truth": material.classes[c]}
        for d, c, judge, p in told
        if p.argmax() != c
    ][:MAX_REVIEWED]


def far_off(material: Material, found: Evaluation | None) -> list[dict[str, Any]]:
    """Return the tested documents whose numbers are farthest from their predictions.

    Errors count on the scale on which the model learns, in units of their spread.
    """
    if found is None or found.scale is None:
        return []
    predicted = found.predictions[MODEL]
    errors = np.abs(found.scale.scaled(found.truth) - found.scale.scaled(predicted))
    errors = np.nan_to_num(errors / np.maximum(np.nanstd(errors, axis=0), 1e-300))
    order = np.argsort(-errors, axis=None, kind="stable")[:MAX_FAR_OFF]
    rows = []
    for i, c in zip(*np.unravel_index(order, errors.shape), strict=True):
        d = int(found.tested[i])
        values = [
            summaries.shown_number(material.model, c, one[i, c]) for one in (found.truth, predicted)
        ]
        named = {} if len(material.classes) == 1 else {"number": material.classes[c]}
        told = dict(zip(("label", "prediction"), values, strict=True))
        rows.append({"document": material.number(d), **named, **told, "text": excerpt(material, d)})
    return rows


def _told_classes(material: Material, judge: Any, d: int) -> np.ndarray:
    """Return the probabilities of the model's classes by a judge, who may know fewer."""
    side = {} if material.side is None else {"side": material.side[[d]]}
    P = np.asarray(judge.estimator_.predict_proba(material.X[[d]], **side))[0]
    whole = np.zeros(len(material.classes))
    whole[[material.classes.index(str(name)) for name in judge.target_names_]] = P
    return whole


def doubtful(material: Material, tested: Evaluation | None) -> list[dict[str, Any]]:
    """Return the documents whose labels look wrong, most doubtful first.

    The labels that an evaluation held out are judged by it, which needs no further fit.
    """
    if material.kind != "classes" or material.X is None:
        return []
    log_p = _judged(material, tested)
    if log_p is None:
        return []
    found = rank_doubts(log_p, material.labels, material.classes)[:MAX_DOUBTFUL]
    return [
        {
            "document": material.number(row.document),
            "label": str(row.label),
            "label_probability": rounded(row.label_probability),
            "looks_like": str(row.suggestion),
            "probability": rounded(row.probability),
            "text": excerpt(material, row.document),
        }
        for row in found
    ]


def _judged(material: Material, tested: Evaluation | None) -> np.ndarray | None:
    """Return log-probabilities of the classes by models that have not seen the labels."""
    if tested is None or not tested.seen or tested.probabilities is None:
        exposed = material.model.estimator_.is_exposed
        given = material.X, material.labels, material.model.n_jobs, material.side
        return judge_labels(*given, exposed=exposed)
    log_p = np.full((len(material.labels), len(material.classes)), np.nan)
    with np.errstate(divide="ignore"):
        log_p[tested.tested] = np.log(tested.probabilities)
    return log_p


def _described(
    material: Material, judge: Any, d: int, p: np.ndarray, rival: int | None = None
) -> dict[str, Any]:
    """Describe one document: its two classes, the words that favour each of them, and the words
    without which another class is predicted."""
    first, second = np.argsort(-p, kind="stable")[:2]
    pair = (first, second if rival is None else rival)
    names = [material.classes[c] for c in pair]
    told = _explained(material, judge, d, names)
    pooled = judge.estimator_.pooled_head is not None
    return {
        "document": material.number(d),
        "text": excerpt(material, d),
        "pieces": [] if told is None else _pieces(told),
        "sides": [
            {"class": name, "probability": float(p[c]), "words": _favouring(told, sign, pooled)}
            for name, c, sign in zip(names, pair, (1, -1), strict=True)
        ],
        "without": [] if told is None else _without(told),
    }


def _pieces(told: Explanation) -> list[tuple[str, int]]:
    """Return the beginning of a coloured text on one line."""
    found = cut_pieces(told.coloured_text, 4 * MAX_EXCERPT)
    return cut_pieces([(_SPACES.sub(" ", text), level) for text, level in found], MAX_EXCERPT)


def _explained(material: Material, judge: Any, d: int, names: list[str]) -> Explanation | None:
    """Explain why the first of two classes and not the second; None if texts are left out or the
    judge does not know both classes, because its fit had no label of one."""
    known = {str(name) for name in judge.target_names_}
    if not material.explains or not known.issuperset(names):
        return None
    return explain_row(
        judge,
        DocumentRows(material.X, material.side).select([d]),
        text="" if material.texts is None else material.texts[d],
        target=names[0],
        rival=names[1],
        n_left_out=LEFT_OUT_WORDS,
    )


def _favouring(told: Explanation | None, sign: int, pooled: bool) -> list[dict[str, Any]]:
    """Return the words that most favour one of two classes over the other.

    The scores of a pooled head are logarithms, so a word multiplies the ratio of the
    probabilities. Those of other heads are probabilities.
    """
    if told is None or told.contrast is None:
        return []
    parts = sign * told.contrast.words
    best = [
        j
        for j in np.argsort(-parts, kind="stable")[:EXPLAINING_WORDS]
        if parts[j] >= MIN_PART[pooled]
    ]
    return [
        {
            "word": told.words[j],
            "part": round(float(parts[j]), 3),
            "shown": _times(parts[j]) if pooled else f"+{100 * parts[j]:.0f}",
        }
        for j in best
    ]


def _times(logarithm: float) -> str:
    """Return the factor for a part of a score.

    Examples
    --------
    >>> _times(np.log(2.04)), _times(800.0)
    ('×2.0', 'over ×1,000')
    """
    if logarithm > np.log(MAX_FACTOR):
        return f"over ×{MAX_FACTOR:,}"
    return f"×{np.exp(logarithm):.1f}"


def _without(told: Explanation) -> list[dict[str, Any]]:
    """Return the words without which another class is predicted."""
    return [
        {"word": row.word, "prediction": show(row.prediction)}
        for row in told.left_out
        if row.prediction != told.prediction and len(told.words) > 1
    ]
