"""Texts in eight languages: what the rules of each language are worth, one by one and together.

    python -m benchmarks.languages [--data FOLDER] [--splits 8]

Accuracy on sentences of the news that are labelled by their subject (SIB-200: Arabic, Chinese,
German, Hindi, Japanese, Russian, Spanish, Thai; 1,004 sentences each), with all training labels, of
the default `TopicModel` and of the rules that it had before: the first six letters of a word in a
table of one language with many endings, whole words in a table of several, 20,000 words in all.
Besides the split of the source, random splits of the same size are drawn; the error is that of the
mean difference over these. A sentence and its translations are in the same part of a split.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.data_sets import Folders, add_folder_options, codes, read_lines
from cofactor import TopicModel
from cofactor.text import WordVectorizer

SET = "sib200_eight_languages"
WITH_ENDINGS = ("arb_Arab", "deu_Latn", "hin_Deva", "rus_Cyrl", "spa_Latn")
FIVE, ALL = "the five with endings in one table", "all eight in one table"
HEAD = ("language", "before", "now", "before", "now", "difference", "error")


def predicted(texts: Any, y: Any, train: Any, test: Any, seed: int, **rules: Any) -> float:
    """Return the accuracy on test texts of a model fitted to training texts."""
    vectorizer = WordVectorizer(keep_grammar="auto", **rules)
    model = TopicModel(21, vectorizer=vectorizer, task="classes", random_state=seed)
    model.fit(texts[train].tolist(), y[train])
    return float(np.mean(model.predict(texts[test].tolist()) == y[test]))


def splits(columns: dict[str, Any], rows: Any, number: int) -> list[tuple[Any, Any]]:
    """Return training and test rows: the split of the source, then random ones of its size.

    The sentences of each language come in the same order, so a sentence and its translations are
    told by their place in it.
    """
    languages, given = np.array(columns["lang"]), np.array(columns["split"]) == "test"
    place = np.zeros(len(languages), dtype=int)
    for name in np.unique(languages):
        place[languages == name] = np.arange((languages == name).sum())
    many, size = place.max() + 1, int(given[languages == languages[0]].sum())
    tests = [given]
    for seed in range(number):
        drawn = np.random.default_rng(seed).permutation(many)[:size]
        tests.append(np.isin(place, drawn))
    shuffled = np.random.default_rng(0).permutation(rows)
    return [(shuffled[~test[shuffled]], shuffled[test[shuffled]]) for test in tests]


def line(columns: dict[str, Any], name: str, number: int) -> list[str]:
    """Return a row of the table."""
    languages, y = np.array(columns["lang"]), codes(columns["label"])
    texts = np.array(columns["text"], dtype=object)
    own = {FIVE: WITH_ENDINGS, ALL: np.unique(languages)}.get(name, [name])
    rows = np.flatnonzero(np.isin(languages, own))
    before = {"stem": 6 if name in WITH_ENDINGS else None, "max_features": 20_000}
    ways = [
        [
            predicted(texts, y, *split, seed, **rules)
            for seed, split in enumerate(splits(columns, rows, number))
        ]
        for rules in (before, {})
    ]
    old, new = 100 * np.array(ways)
    apart = (new - old)[1:]
    error = apart.std(ddof=1) / np.sqrt(len(apart))
    figures = old[0], new[0], old[1:].mean(), new[1:].mean()
    return [name, *(f"{one:.1f}" for one in figures), f"{apart.mean():+.1f}", f"{error:.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    add_folder_options(parser)
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--languages", help="some lines, with commas between; default: all")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    columns = read_lines(Folders(options.data), SET)
    names = [*sorted(set(columns["lang"])), FIVE, ALL]
    names = options.languages.split(",") if options.languages else names
    harness.print_machine()
    harness.print_table(HEAD, [line(columns, name, options.splits) for name in names])


if __name__ == "__main__":
    main()
