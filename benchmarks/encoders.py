"""Vectors beside words: how much an encoder helps to predict classes from few labels.

    python -m benchmarks.encoders [--data FOLDER] [--encoder wordllama] [--budgets 1,2,5,20]

Accuracy on test texts of `TopicModel` without and with the encoder, and of logistic regression and
label spreading on the same vectors. "used" says whether the model trusted the vectors: those of an
English encoder are left out for most other languages. FOLDER holds the research data that
``benchmarks.predictions`` reads. Times are those of the fits, encoding included.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading

from benchmarks import harness, short_texts
from benchmarks.data_sets import CLASSES, Folders, MissingSet, Rows, add_folder_options, per_class
from cofactor import TopicModel
from cofactor.text.encoders import encode_texts

LONG_TEXTS = ("reuters_r8", "newsgroups5", "newsgroups20")
NAMES = ("words", "words and vectors", "logistic regression", "label spreading")
HEAD = ("set", "labels per class", *NAMES, "gain", "used", "seconds", "with vectors")


class Texts:
    """The texts of a set, at most some of them, with their vectors."""

    def __init__(self, rows: Rows, encoder: str, most: int) -> None:
        assert rows.texts is not None
        random = np.random.default_rng(0)
        places = [np.sort(random.permutation(len(part))[:most]) for part in rows.texts]
        self.train, self.test = (
            [part[i] for i in own] for part, own in zip(rows.texts, places, strict=True)
        )
        self.y, self.y_test = rows.y[places[0]], rows.y_test[places[1]]
        self.vectors, self.new_vectors = (
            unit_rows(encode_texts(encoder, texts)) for texts in (self.train, self.test)
        )


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Return vectors of length one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-30)


def sets(folders: Folders) -> Iterator[tuple[str, Rows]]:
    """Yield the sets with their names; those that are not there are left out."""
    yield from short_texts.sets(folders)
    for name in LONG_TEXTS:
        try:
            yield name, CLASSES[name](folders, 0)
        except MissingSet as missing:
            print(f"{name}: {missing}")


def ours(texts: Texts, y: np.ndarray, seed: int, encoder: str | None) -> tuple[float, float, bool]:
    """Return the accuracy of our model, the time of its fit, and whether it uses vectors."""
    k = int(texts.y.max()) + 1
    model = TopicModel(
        (3 if k <= 10 else 2) * k, task="classes", encoder=encoder, random_state=seed
    )
    start = time.perf_counter()
    model.fit(texts.train, y)
    took = time.perf_counter() - start
    right = float(np.mean(model.predict(texts.test) == texts.y_test))
    return right, took, model.fitted.encoder is not None


def rivals(texts: Texts, y: np.ndarray) -> tuple[float, float]:
    """Return the accuracies of logistic regression and of label spreading on the vectors."""
    known = y >= 0
    logistic = LogisticRegression(C=10.0, max_iter=300).fit(texts.vectors[known], y[known])
    spread = LabelSpreading(kernel="knn", n_neighbors=10).fit(texts.vectors, y)
    found = [model.predict(texts.new_vectors) for model in (logistic, spread)]
    return tuple(float(np.mean(one == texts.y_test)) for one in found)  # type: ignore[return-value]


def line(
    name: str, texts: Texts, budget: int | None, draws: int, encoder: str
) -> tuple[list[str], float]:
    """Return a row of the table, means over the draws, and the gain in points."""
    found = []
    for seed in range(1 if budget is None else draws):
        y = per_class(texts.y, budget, seed)
        (words, alone, _), (both, together, used) = (
            ours(texts, y, seed, which) for which in (None, encoder)
        )
        found.append((words, both, *rivals(texts, y), alone, together, used))
    *scores, alone, together, used = np.mean(found, axis=0)
    gain = 100 * (scores[1] - scores[0])
    shown = [f"{100 * score:.1f}" for score in scores]
    times = f"{alone:.1f}", f"{together:.1f}"
    labels = "all" if budget is None else str(budget)
    return [name, labels, *shown, f"{gain:+.1f}", f"{used:.0%}", *times], gain


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    add_folder_options(parser)
    parser.add_argument("--encoder", default="wordllama", help="a folder or a name")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--budgets", default="1,2,5,20")
    parser.add_argument("--most", type=int, default=2500, help="texts to fit and to test")
    parser.add_argument("--only", default="", help="sets whose names hold this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    budgets = [None if one == "all" else int(one) for one in options.budgets.split(",")]
    harness.print_machine()
    table, gains = [], {budget: [] for budget in budgets}  # type: ignore[var-annotated]
    for name, rows in sets(Folders(options.data, options.data_home)):
        if options.only not in name:
            continue
        texts = Texts(rows, options.encoder, options.most)
        for budget in budgets:
            cells, gain = line(name, texts, budget, options.draws, options.encoder)
            table.append(cells)
            if not name.startswith("sib200"):
                gains[budget].append(gain)
    harness.print_table(HEAD, table)
    for budget, own in gains.items():
        if own:
            mean, worst = np.mean(own), min(own)
            print(f"English, {budget} labels per class: mean {mean:+.1f}, worst {worst:+.1f}")


if __name__ == "__main__":
    main()
