"""Short texts: do grammatical words predict, and do held-out labels show whether they do?

    python -m benchmarks.short_texts [--data FOLDER] [--draws 3] [--budgets 5,20,all]

Accuracy on test texts of the default `TopicModel`, which lets held-out labels decide on grammatical
words, of one that always leaves them out and one that always keeps them, and of a linear SVM on
scikit-learn's TfidfVectorizer, tuned on the same labels. Questions (trec) and messages (sms_spam)
settled the rule; search snippets and sentences of the news in eight languages
(sib200_eight_languages) were the check. FOLDER holds the research data that
``benchmarks.predictions`` reads. With few labels no unlabelled text is left out of the fit.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np

from benchmarks import harness, rivals
from benchmarks.data_sets import (
    CLASSES,
    Folders,
    Rows,
    add_folder_options,
    codes,
    of_texts,
    per_class,
    read_lines,
)
from cofactor import TopicModel
from cofactor.text import WordVectorizer

SETS, LANGUAGES = ("trec", "sms_spam", "searchsnippets"), "sib200_eight_languages"
WAYS = {"held-out labels decide": "auto", "left out": False, "kept": True}
HEAD = ("set", "labels per class", *WAYS, "linear SVM on TfidfVectorizer", "kept in")


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


def predicted(rows: Rows, y: np.ndarray, seed: int, keep: bool | str) -> tuple[float, bool]:
    """Return the accuracy of a model, and whether it has grammatical words."""
    texts, new = rows.texts  # type: ignore[misc]
    k = int(rows.y.max()) + 1
    model = TopicModel(
        (3 if k <= 10 else 2) * k,
        vectorizer=WordVectorizer(keep_grammar=keep),
        task="classes",
        random_state=seed,
    ).fit(list(texts), y)
    right = np.mean(model.predict(list(new)) == rows.y_test)
    return float(right), bool(model.vectorizer_.grammatical_)


def line(name: str, rows: Rows, budget: int | None, draws: int) -> list[str]:
    """Return a row of the table: mean accuracies over the draws."""
    drawn = [per_class(rows.y, budget, seed) for seed in range(1 if budget is None else draws)]
    cells, kept = [], 0
    for keep in WAYS.values():
        found = [predicted(rows, y, seed, keep) for seed, y in enumerate(drawn)]
        cells.append(np.mean([right for right, _ in found]))
        kept = sum(grammar for _, grammar in found) if keep == "auto" else kept
    svm = [np.mean(rivals.linear_svm_on_tfidf(rows, y) == rows.y_test) for y in drawn]
    shown = [f"{100 * cell:.1f}" for cell in (*cells, np.mean(svm))]
    return [name, "all" if budget is None else str(budget), *shown, f"{kept} of {len(drawn)}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    add_folder_options(parser)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--budgets", default="5,20,all")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    budgets = [None if one == "all" else int(one) for one in options.budgets.split(",")]
    harness.print_machine()
    folders = Folders(options.data)
    harness.print_table(
        HEAD,
        [
            line(name, rows, budget, options.draws)
            for name, rows in sets(folders)
            for budget in budgets
        ],
    )


if __name__ == "__main__":
    main()
