"""Updates without the old documents against fits on everything; refits against fresh fits.

    python -m benchmarks.updating [--classes 5] [--repeats 3]

Fits the paper's 20 Newsgroups posts without one of the five classes, updates the model with the
posts of that class alone, and compares the result with a fit on all posts.  Then four updates in a
row: from one class to five, and in batches of all classes.  Last, a refit after one edit against a
fresh fit, in turn, best of several.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import data_sets, harness
from benchmarks.harness import Row, alternate, better, faster
from cofactor import TopicModel
from cofactor.experiments.newsgroups import splits

TRAIN_SHARE = 0.8
PER_CLASS, ALL_TOPICS = 3, 13
"""Topics of a new class, and of a fit on everything."""
MIN_OLD_POINTS, MIN_NEW_POINTS, MIN_COSINE = -1.0, -3.0, 0.99
"""Demanded: points of the old classes and of the new one against a fit on everything; cosine of
topics before and after."""
MIN_REFIT_SPEEDUP = 3.0
"""Demanded: how many times as fast a refit is as a fresh fit."""


@dataclass(frozen=True, eq=False)
class Posts:
    """Posts to learn from, posts to test on, and how a fit on everything does there."""

    texts: NDArray[np.object_]
    labels: NDArray[np.str_]
    test_texts: list[str]
    test_labels: NDArray[np.str_]

    def fit(self, rows: NDArray[np.bool_], topics: int) -> TopicModel:
        return TopicModel(topics, random_state=0, n_jobs=1).fit(*self.some(rows))

    def some(self, rows: NDArray[np.bool_]) -> tuple[list[str], list[str]]:
        return self.texts[rows].tolist(), self.labels[rows].tolist()

    def right(self, model: TopicModel) -> NDArray[np.bool_]:
        return np.asarray(model.predict(self.test_texts) == self.test_labels)


def load(home: Path | None) -> Posts:
    posts = splits.balanced(splits.fetch_posts(home), seed=0)
    n, texts = int(TRAIN_SHARE * len(posts.texts)), np.array(posts.texts, dtype=object)
    return Posts(texts[:n], posts.labels[:n], texts[n:].tolist(), posts.labels[n:])


def one_new_class(
    posts: Posts, everything: TopicModel, name: str, new_topics: int | str
) -> tuple[list[str], list[Row]]:
    """Return a line of the table, and what is demanded of one class that comes later."""
    own, new = posts.labels == name, posts.test_labels == name
    before = posts.fit(~own, ALL_TOPICS - PER_CLASS)
    after = before.update(*posts.some(own), new_topics=new_topics)
    right, whole, first = (posts.right(model) for model in (after, everything, before))
    classes = [k for k, label in enumerate(after.target_names_) if label != name]
    names = np.array(after.target_names_)[classes]
    among = names[after.predict_proba(posts.test_texts)[:, classes].argmax(axis=1)]
    shown = [
        first[~new],
        (among == posts.test_labels)[~new],
        right[~new],
        whole[~new],
        right[new],
        whole[new],
        right,
        whole,
    ]
    cosine = min(row.similarity for row in after.drift_ if row.similarity is not None)
    line = [
        name,
        *(f"{100 * float(one.mean()):.1f}" for one in shown),
        f"{cosine:.4f}",
        str(len(after.topic_names_) - len(before.topic_names_)),
    ]
    rows = [
        _points(
            f"{name} is new ({new_topics} topics): old classes",
            right[~new],
            whole[~new],
            MIN_OLD_POINTS,
        ),
        _points(
            f"{name} is new ({new_topics} topics): new class",
            right[new],
            whole[new],
            MIN_NEW_POINTS,
        ),
        Row(
            f"{name} is new ({new_topics} topics): old topics",
            f"{cosine:.4f}",
            "1",
            f"{cosine:.4f}",
            f"≥ {MIN_COSINE}",
            cosine >= MIN_COSINE,
        ),
    ]
    return line, rows


def _points(
    what: str, ours: NDArray[np.bool_], peer: NDArray[np.bool_], demanded: float | None
) -> Row:
    return better(what, float(ours.mean()), float(peer.mean()), demanded)


def class_after_class(posts: Posts, everything: TopicModel, order: Sequence[str]) -> list[Row]:
    """Start with one class, and add the others one after the other."""
    first = model = posts.fit(posts.labels == order[0], PER_CLASS)
    for name in order[1:]:
        model = model.update(*posts.some(posts.labels == name), new_topics=PER_CLASS)
    right, whole = posts.right(model), posts.right(everything)
    last, what = posts.test_labels == order[-1], f"four updates, one class each, {order[0]} first"
    return [
        _points(f"{what}: all classes", right, whole, None),
        _points(f"{what}: the first four", right[~last], whole[~last], MIN_OLD_POINTS),
        _points(f"{what}: the last", right[last], whole[last], MIN_NEW_POINTS),
        _cosines(f"{what}: its topics", first, model),
    ]


def batch_after_batch(posts: Posts, everything: TopicModel) -> list[Row]:
    """Start with a fifth of the posts of all classes, and add the others in four batches."""
    place = np.random.default_rng(0).permutation(len(posts.labels)) % 5
    first = model = posts.fit(place == 0, ALL_TOPICS)
    for batch in range(1, 5):
        model = model.update(*posts.some(place == batch))
    right, whole, start = (posts.right(one) for one in (model, everything, first))
    return [
        _points("four updates, batches of all classes: all classes", right, whole, None),
        _points("the same, against the model before the updates", right, start, MIN_OLD_POINTS),
        _cosines("the same: all topics", first, model),
    ]


def _cosines(what: str, before: TopicModel, after: TopicModel) -> Row:
    A, B = before.estimator_.components_, after.estimator_.components_
    pairs = zip(A, B, strict=False)
    least = min(a @ b[: len(a)] / np.linalg.norm(a) / np.linalg.norm(b) for a, b in pairs)
    return Row(
        what, f"{least:.4f}", "1", f"{least:.4f}", f"≥ {MIN_COSINE}", bool(least >= MIN_COSINE)
    )


def refits(posts: Posts, model: TopicModel, options: argparse.Namespace) -> list[Row]:
    """Time a refit after one edit against a fresh fit on the same posts."""
    texts, labels = posts.some(np.ones(len(posts.labels), dtype=bool))
    edited = model.ban(0, model.topics(3)[0].words[1])
    fresh = TopicModel(ALL_TOPICS, random_state=0, n_jobs=1)
    (again, _), (new, _) = alternate(
        options, lambda: edited.refit(texts, labels), lambda: fresh.fit(texts, labels)
    )
    return [faster("refit after one edit, against a fresh fit", again, new, MIN_REFIT_SPEEDUP)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    data_sets.add_newsgroups_options(parser)
    parser.add_argument("--classes", type=int, default=5, help="new classes to try; default: 5")
    harness.add_repeats(parser)
    options = parser.parse_args()
    harness.restart_with_fixed_environment()
    warnings.simplefilter("ignore")
    posts = load(data_sets.newsgroups_home(options))
    print(
        f"20 Newsgroups, {len(posts.texts):,} posts to learn from, {len(posts.test_texts):,} to "
        "test on"
    )
    harness.print_machine()
    names = list(splits.CLASSES)
    everything = posts.fit(np.ones(len(posts.labels), dtype=bool), ALL_TOPICS)
    lines, rows = [], []
    for new_topics in (PER_CLASS, "auto"):
        for name in names[: options.classes]:
            line, found = one_new_class(posts, everything, name, new_topics)
            lines.append([str(new_topics), *line])
            rows += found
    print("Test accuracy; the class in the first column comes with the update:\n")
    harness.print_table(
        [
            "new topics",
            "new class",
            "old: before",
            "old: among old",
            "old: updated",
            "old: everything",
            "new: updated",
            "new: everything",
            "all: updated",
            "all: everything",
            "least cosine",
            "topics added",
        ],
        lines,
    )
    print(
        '\n"old: among old" lets the updated model choose among the old classes only. A new class '
        "competes with\nthem, so accuracy on the old classes falls in a fit on everything, too: "
        "that is what updates are compared with."
    )
    for order in (names, names[::-1]):
        rows += class_after_class(posts, everything, order)
    rows += batch_after_batch(posts, everything)
    rows += refits(posts, everything, options)
    print("\nUpdated models (ours) and a fit on everything (peer):\n")
    harness.print_rows(rows)
    return harness.verdict(rows)


if __name__ == "__main__":
    sys.exit(main())
