"""Short texts: do further words predict, and does their view cost anything where they do not?

    python -m benchmarks.short_texts [--data FOLDER] [--sets trec] [--draws 3] [--budgets 1,5,all]

Accuracy on test texts of a `TopicModel` that also sees grammatical words and sequences of
characters (further words, the default), of one without them, of one that lets held-out labels
decide whether grammatical words become columns of its matrix, and of a linear SVM on scikit-learn's
TfidfVectorizer, tuned on the same labels; and the processor time of the first, relative to the
second and to the third. Questions (trec), titles of docstrings and German sentences settled the
rule; messages (sms_spam), search snippets and the other seven languages of sentences of the news
(sib200_eight_languages) were the check. FOLDER holds the research data that
``benchmarks.predictions`` reads. With few labels no unlabelled text is left out of the fit.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from benchmarks import harness, rivals
from benchmarks.data_sets import (
    CLASSES,
    Folders,
    Rows,
    add_folder_options,
    at_random,
    codes,
    docstrings_read,
    of_texts,
    per_class,
    read_lines,
)
from cofactor import TopicModel
from cofactor.text import WordVectorizer

SETS, LANGUAGES = ("trec", "sms_spam", "searchsnippets"), "sib200_eight_languages"
WAYS = {
    "further words": {"further_words": "auto"},
    "content words": {"vectorizer": WordVectorizer(), "further_words": "no"},
    "held-out labels decide on grammatical ones": {"further_words": "no"},
}
TIMES = "time, relative to content words", "relative to held-out labels"
HEAD = ("set", "labels per class", *WAYS, "linear SVM on TfidfVectorizer", *TIMES)


def sets(folders: Folders) -> Iterator[tuple[str, Rows]]:
    """Yield the sets with their names."""
    for name in SETS:
        yield name, CLASSES[name](folders, 0)
    columns = read_lines(folders, LANGUAGES)
    languages, test = np.array(columns["lang"]), np.array(columns["split"]) == "test"
    y = codes(columns["label"])
    for name in np.unique(languages):
        own = languages == name
        yield (
            f"sib200 {name}",
            of_texts(columns["text"], y, np.flatnonzero(own & ~test), np.flatnonzero(own & test)),
        )


def titles() -> Rows:
    """Return the first sentences of docstrings."""
    found = docstrings_read()
    y = codes(found.labels)
    texts = [re.split(r"(?<=\.)\s|\n\n", text.strip())[0] for text in found.texts]
    return of_texts(texts, y, *at_random(y, 0))


def predicted(rows: Rows, y: np.ndarray, seed: int, way: dict[str, Any]) -> tuple[float, float]:
    """Return the accuracy of a model, and the processor time of its fit."""
    texts, new = rows.texts  # type: ignore[misc]
    k = int(rows.y.max()) + 1
    model = TopicModel((3 if k <= 10 else 2) * k, task="classes", random_state=seed, **way)
    began = time.process_time()
    model.fit(list(texts), y)
    took = time.process_time() - began
    return float(np.mean(model.predict(list(new)) == rows.y_test)), took


def line(name: str, rows: Rows, budget: int | None, draws: int) -> list[str]:
    """Return a row of the table: mean accuracies, and ratios of the shortest times."""
    drawn = [per_class(rows.y, budget, seed) for seed in range(1 if budget is None else draws)]
    found = np.array(
        [[predicted(rows, y, seed, way) for way in WAYS.values()] for seed, y in enumerate(drawn)]
    )
    svm = [np.mean(rivals.linear_svm_on_tfidf(rows, y) == rows.y_test) for y in drawn]
    shown = [f"{100 * cell:.1f}" for cell in (*found[:, :, 0].mean(axis=0), np.mean(svm))]
    times = found[:, :, 1].min(axis=0)
    ratios = [f"{times[0] / other:.2f}" for other in times[1:]]
    return [name, "all" if budget is None else str(budget), *shown, *ratios]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    add_folder_options(parser)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--budgets", default="1,2,5,20,100,all")
    parser.add_argument("--sets", type=lambda text: text.split(","), help="default: all")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    budgets = [None if one == "all" else int(one) for one in options.budgets.split(",")]
    harness.print_machine()
    folders = Folders(options.data)
    every = chain([("titles of docstrings", titles())], sets(folders))
    chosen = ((name, rows) for name, rows in every if name in (options.sets or [name]))
    harness.print_table(
        HEAD,
        [
            line(name, rows, budget, options.draws)
            for name, rows in chosen
            for budget in budgets
            if budget is None or 2 * budget * len(set(rows.y.tolist())) <= len(rows.y)
        ],
    )


if __name__ == "__main__":
    main()
