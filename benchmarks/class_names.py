"""Classes by their names: how well a model predicts without a single label.

    python -m benchmarks.class_names [--data FOLDER] [--encoder wordllama] [--cache FILE]

The names, and one sentence about each class, were written before any result was seen and were not
changed afterwards. The labels only score the result. Columns, in per cent of all texts of a set:

- nearest: the nearest name by the cosine of vectors, or the name whose words a text has, is right.
- start: the surest half of these are right, which is where the model begins.
- first labels: share of the texts that got a first label, and how many of these are right.
- mixture: instead, a mixture of Gaussians with a shared covariance, started from the nearest names,
  gives the surest half of each class their labels (with an encoder only).
- accuracy: predictions of the fitted model.
- off: how far its confidences are from how often they are right (expected calibration error).
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.datasets import fetch_20newsgroups

from benchmarks import harness
from benchmarks.data_sets import Folders, MissingSet, add_folder_options, read_lines
from cofactor import TopicModel
from cofactor.text.class_names import (
    name_labels,
    read_classes,
    start_by_meaning,
    start_by_words,
    surest,
)
from cofactor.text.encoders import unit_rows

NEWSGROUPS = {
    "computer": "Computers: hardware, software, graphics, Windows and operating systems.",
    "sports": "Recreation: sports such as baseball and hockey, and cars and motorcycles.",
    "science": "Science: space, medicine, electronics and cryptography.",
    "politics": "Politics: government, law, guns and the Middle East.",
    "religion": "Religion: God, the Bible, Christianity, atheism and the church.",
}
"""Groups of 20 Newsgroups without misc.forsale; sci.crypt is science and rec.autos is sports, as in
published tests."""
SNIPPETS = {
    "business": "Business: companies, markets, trade, finance and jobs.",
    "computers": "Computers: software, programming, hardware and the internet.",
    "entertainment": "Culture, arts and entertainment: music, movies, literature and art.",
    "education": "Education and science: schools, universities, research and theory.",
    "engineering": "Engineering: machines, engines, electrical and mechanical technology.",
    "health": "Health: medicine, diseases, hospitals, drugs and nutrition.",
    "politics": "Politics and society: government, parties, elections and culture.",
    "sports": "Sports: games, football, tennis, teams and tournaments.",
}
R8 = {
    "earnings": "Earnings: profits, losses and dividends that a company reports for a quarter.",
    "acquisitions": "Acquisitions: a company buys or merges with another, and shares are sold.",
    "crude oil": "Crude oil: barrels, prices, production and OPEC.",
    "trade": "Trade: exports, imports, tariffs, deficits and agreements between countries.",
    "currency": "Currencies: foreign exchange, the dollar, the yen and the money market.",
    "interest": "Interest: rates of banks, the prime rate and the discount rate.",
    "shipping": "Shipping: ships, ports, cargo, tankers and seamen.",
    "grain": "Grain: wheat, corn, crops, harvest and agriculture.",
}


R8_CODES = dict(
    zip(["earn", "acq", "crude", "trade", "money-fx", "interest", "ship", "grain"], R8, strict=True)
)
HEAD = (
    *("set", "encoder", "described by", "nearest", "start", "first labels", "right"),
    *("accuracy", "off", "mixture: start", "mixture: accuracy"),
)


class Texts(NamedTuple):
    name: str
    texts: list[str]
    labels: np.ndarray
    classes: dict[str, str]


def sets(folders: Folders) -> Iterator[Texts]:
    """Yield the sets that are there."""
    for plain in (False, True):
        try:
            yield newsgroups(folders, plain)
        except OSError:
            print("20 Newsgroups is not in scikit-learn's data folder")
    try:
        found = read_lines(folders, "searchsnippets")
        labels = np.array([*SNIPPETS])[np.array(found["label"], dtype=int) - 1]
        yield Texts("search snippets", found["text"], labels, SNIPPETS)
        found = read_lines(folders, "reuters_r8")
        yield Texts(
            "Reuters R8", found["text"], np.array([R8_CODES[one] for one in found["label"]]), R8
        )
    except MissingSet as missing:
        print(missing)


def newsgroups(folders: Folders, plain: bool) -> Texts:
    """Return posts with their subject, or without headers, footers and quotes."""
    remove = ("headers", "footers", "quotes") if plain else ()
    found = fetch_20newsgroups(
        data_home=folders.scikit_learn, download_if_missing=False, subset="all", remove=remove
    )
    groups = np.array(found.target_names)[found.target]
    kept = np.flatnonzero(groups != "misc.forsale")
    texts = [found.data[i] if plain else with_subject(found.data[i]) for i in kept]
    name = "newsgroups, text only" if plain else "newsgroups, subject and text"
    return Texts(name, texts, np.array([coarse(group) for group in groups[kept]]), NEWSGROUPS)


def with_subject(post: str) -> str:
    header, _, text = post.partition("\n\n")
    subject = re.search(r"^Subject:(.*)$", header, re.MULTILINE)
    return f"{subject[1] if subject else ''}\n{text}"


def coarse(group: str) -> str:
    if "politics" in group:
        return "politics"
    return {"comp": "computer", "rec": "sports", "sci": "science"}.get(
        group.split(".")[0], "religion"
    )


def mixture(vectors: np.ndarray, nearest: np.ndarray, k: int, axes: int = 64) -> np.ndarray:
    """Return the probabilities of a mixture of Gaussians that starts from the nearest names."""
    rows = unit_rows(vectors.astype(float))
    rows = rows - rows.mean(axis=0)
    Z = rows @ np.linalg.eigh(rows.T @ rows)[1][:, -axes:]
    Q = (nearest[:, None] == np.arange(k)).astype(float)
    for _ in range(20):
        n = Q.sum(axis=0) + 1e-9
        means = (Q.T @ Z) / n[:, None]
        spread = (Z.T @ Z - (means * n[:, None]).T @ means) / len(Z)
        W = means @ np.linalg.inv(spread + 1e-6 * np.trace(spread) / axes * np.eye(axes))
        Q = softmax(Z @ W.T - 0.5 * (W * means).sum(axis=1) + np.log(n / n.sum()), axis=1)
    return Q


def off(model: TopicModel, texts: Texts) -> float:
    """Return the mean difference of confidence and accuracy, over ten bins of confidence."""
    confidence = model.predict_proba(texts.texts).max(axis=1)
    apart = confidence - (model.predict(texts.texts) == texts.labels)
    bins = np.minimum((10 * confidence).astype(int), 9)
    return float(np.abs(np.bincount(bins, apart)).sum() / len(apart))


def line(texts: Texts, encoder: str | None, sentences: bool) -> list[str]:
    """Return a row of the table."""
    classes: Any = texts.classes if sentences else list(texts.classes)
    names, k = np.array([*texts.classes]), len(texts.classes)
    settings = {"random_state": 0, "n_jobs": 1}
    model = TopicModel(2 * k + 2, classes=classes, encoder=encoder, **settings).fit(texts.texts)
    rows, about = model.fitted.documents, read_classes(classes)
    vectors = None if rows.side is None else rows.side.vectors
    if encoder is None:
        start = start_by_words(about, model.vectorizer_, rows.X)
    else:
        start = start_by_meaning(encoder, about, vectors)
    first = name_labels(model, model.vectorizer_, rows.X, None, None, vectors)
    right = names[start.nearest] == texts.labels
    labelled = first.labels != ""
    figures = [
        np.mean(right & (start.nearest >= 0)),
        np.mean(right[start.sure]),
        np.mean(labelled),
        np.mean((first.labels == texts.labels)[labelled]),
        np.mean(model.predict(texts.texts) == texts.labels),
        off(model, texts),
    ]
    if encoder is not None:
        Q = mixture(vectors, start.nearest, k)
        best = Q.argmax(axis=1)
        kept = surest(best, Q.max(axis=1), np.ones(len(best), dtype=bool))
        y = np.where(kept, names[best], "").astype(object)
        other = TopicModel(2 * k + 2, task="classes", **settings).fit(texts.texts, y)
        figures += [
            np.mean((names[best] == texts.labels)[kept]),
            np.mean(other.predict(texts.texts) == texts.labels),
        ]
    shown = [f"{100 * figure:.1f}" for figure in figures] + [""] * (8 - len(figures))
    return [texts.name, encoder or "none", "a sentence" if sentences else "its name", *shown]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    add_folder_options(parser)
    parser.add_argument("--encoder", default="wordllama", help="a folder or a name")
    parser.add_argument("--only", default="", help="sets whose names hold this")
    parser.add_argument("--cache", metavar="FILE", help="JSON lines of measured rows, to go on")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    harness.print_machine()
    table = [
        harness.cached(
            options.cache,
            [texts.name, encoder, sentences, version("cofactor")],
            partial(line, texts, encoder, sentences),
        )
        for texts in sets(Folders(options.data, options.data_home))
        if options.only in texts.name
        for encoder in (None, options.encoder)
        for sentences in (False, True)
    ]
    harness.print_table(HEAD, table)


if __name__ == "__main__":
    main()
