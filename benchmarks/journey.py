"""From a table to a report, and from texts to topics: ours against other libraries.

    python -m benchmarks.journey [--parts commands topics] [--topics 20 50] [--threads 1 2]
        [--repeats 3]

*commands*: writes the paper's 20 Newsgroups posts to a table with one label in twenty, then runs
``cofactor fit`` and ``cofactor report`` on it, each in a separate process, in alternation with the
vectorisers in this process. Wall time, best of several.

*topics*: turns all posts into words, and into 20 and 50 topics, with one and with two threads. All
libraries keep the 20,000 most frequent words of at least 5 documents and at most half of them, and
fit as they do by default. Best of several, in alternation; processor time with one thread, wall
time with more. ``pip install topica tomotopy`` adds these two.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sklearn.datasets import fetch_20newsgroups
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

from benchmarks import data_sets, harness
from benchmarks.harness import Row, alternate, faster, seconds
from cofactor import TopicModel
from cofactor.experiments.newsgroups import splits
from cofactor.text import WordVectorizer
from cofactor.text.vectorizer.languages import ENGLISH

MAX_VECTORISERS, MAX_SECONDS = 3, 10.0
"""Demanded: at most the time of three vectorisers plus ten seconds."""


def write_table(path: Path, posts: splits.Posts, every: int) -> None:
    """Write the posts, with the class of one in ``every``."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "body", "team"])
        for i, (text, label) in enumerate(zip(posts.texts, posts.labels, strict=True)):
            writer.writerow([i, text, "" if i % every else label])


def command(*arguments: Any) -> None:
    code = "from cofactor.cli import main; main()"
    run = [sys.executable, "-c", code, *map(str, arguments)]
    subprocess.run(run, check=True, capture_output=True)


def measure(posts: splits.Posts, folder: Path, options: argparse.Namespace) -> list[Row]:
    """Time everything in turn."""
    table, model = folder / "posts.csv", folder / "model"
    write_table(table, posts, options.labelled)
    texts = list(posts.texts)
    fit = partial(command, "fit", table, "--text", "body", "--label", "team", "-k", 13, "-o", model)
    report = partial(command, "report", model, "--force", "-o", folder / "report.html")
    peer = TfidfVectorizer(stop_words=sorted(ENGLISH_STOP_WORDS), max_features=5000)
    vectorisers: list[Callable[[], Any]] = [
        partial(WordVectorizer().fit_transform, texts),
        partial(peer.fit_transform, texts),
    ]
    fit()
    report()
    (fitting, _), (reporting, _), *alone = alternate(options, fit, report, *vectorisers)
    both, rows = fitting + reporting, []
    for name, (t, _) in zip(("scikit-learn's", "ours"), reversed(alone), strict=True):
        limit = MAX_VECTORISERS * t + MAX_SECONDS
        rows.append(
            Row(
                f"fit + report, against {MAX_VECTORISERS} times the vectoriser ({name}) "
                f"+ {MAX_SECONDS:g} s",
                seconds(both),
                seconds(limit),
                f"{both - limit:+.1f} s",
                "≤ 0 s",
                both <= limit,
                f"fit {seconds(fitting)}, report {seconds(reporting)}, vectoriser {seconds(t)}",
                {"fit": fitting, "report": reporting, "vectoriser": t},
            )
        )
    return rows


# ---- topics

WORDS = re.compile(r"(?u)\b[^\W\d_]\w+\b")
MAX_BARE = 1.2  # demanded: at most this many times the time of a bare regular expression
MIN_DF, MAX_DF, MAX_WORDS = 5, 0.5, 20_000
SWEEPS = 50  # of Gibbs sampling in tomotopy


def bare_words(texts: list[str]) -> list[list[str]]:
    """Return the words of texts without stop words, with no cleaning and no counting."""
    return [[w for w in WORDS.findall(text.lower()) if w not in ENGLISH] for text in texts]


def peer_vectoriser() -> TfidfVectorizer:
    stop = sorted(ENGLISH_STOP_WORDS)
    return TfidfVectorizer(stop_words=stop, min_df=MIN_DF, max_df=MAX_DF, max_features=MAX_WORDS)


def ours(k: int, texts: list[str], threads: int, loss: str = "kullback-leibler") -> Any:
    return TopicModel(k, data_loss=loss, random_state=0, n_jobs=threads).fit(texts)


def scikit_learn(k: int, texts: list[str], threads: int) -> Any:
    return NMF(k, random_state=0).fit_transform(peer_vectoriser().fit_transform(texts))


def topica(k: int, texts: list[str], threads: int) -> Any:
    library = import_module("topica")
    limits = {"min_doc_freq": MIN_DF, "max_doc_fraction": MAX_DF, "max_features": MAX_WORDS}
    corpus = library.Corpus.from_documents(bare_words(texts), **limits)
    return library.NMF(k).fit(corpus, num_threads=threads)


def tomotopy(k: int, texts: list[str], threads: int) -> Any:
    model = import_module("tomotopy").LDAModel(k=k, min_df=MIN_DF, seed=1)
    for words in bare_words(texts):
        if words:
            model.add_doc(words)
    model.train(SWEEPS, workers=threads)
    return model


def whole_posts(options: argparse.Namespace, remove: Sequence[str] = ()) -> list[str]:
    """Return the posts of all twenty newsgroups."""
    where = {"data_home": data_sets.newsgroups_home(options), "download_if_missing": False}
    return list(fetch_20newsgroups(subset="all", remove=remove, **where).data)


def measure_words(what: str, texts: list[str], options: argparse.Namespace) -> list[Row]:
    """Compare the vectoriser with a bare regular expression and with scikit-learn's."""
    own = partial(WordVectorizer().fit_transform, texts)
    rivals = {
        "a bare regular expression and stop list": partial(bare_words, texts),
        "scikit-learn's TfidfVectorizer": partial(peer_vectoriser().fit_transform, texts),
    }
    (t, _), *others = alternate(options, own, *rivals.values())
    demanded = [1 / MAX_BARE, None]
    return [
        faster(f"tf-idf rows of {what}, against {name}", t, other, least)
        for name, (other, _), least in zip(rivals, others, demanded, strict=True)
    ]


def measure_topics(texts: list[str], threads: int, options: argparse.Namespace) -> list[Row]:
    """Compare whole fits, from texts to topics."""
    rivals = {
        "scikit-learn's NMF (Frobenius)": scikit_learn,
        "topica's NMF (Frobenius)": topica,
        f"tomotopy's LDA, {SWEEPS} sweeps": tomotopy,
    }
    rivals = {name: run for name, run in rivals.items() if _installed(run)}
    rows = []
    for k in options.topics:
        runs = [partial(run, k, texts, threads) for run in (ours, *rivals.values())]
        frobenius = partial(ours, k, texts, threads, "frobenius")
        (frob, _), (kl, _), *others = alternate(options, frobenius, *runs)
        for name, (t, _) in zip(rivals, others, strict=True):
            remark = f"ours with Frobenius: {seconds(frob)}"
            what = f"{k} topics, threads: {threads}, against {name}"
            rows.append(faster(what, kl, t, None, remark))
    return rows


def _installed(run: Callable[..., Any]) -> bool:
    return run is scikit_learn or find_spec(run.__name__) is not None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    data_sets.add_newsgroups_options(parser)
    parts = ("commands", "topics")
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    parser.add_argument("--topics", nargs="+", type=int, default=[20, 50], metavar="K")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], metavar="N")
    parser.add_argument("--labelled", type=int, default=20, help="label one in N; default: 20")
    harness.add_repeats(parser)
    options = parser.parse_args()
    harness.restart_with_fixed_environment()
    harness.print_machine()
    rows: list[Row] = []
    if "commands" in options.parts:
        posts = splits.balanced(splits.fetch_posts(data_sets.newsgroups_home(options)), seed=0)
        print(f"{len(posts.texts):,} posts, one in {options.labelled} labelled, 13 topics\n")
        with tempfile.TemporaryDirectory() as folder:
            rows += measure(posts, Path(folder), options)
        harness.print_rows(rows)
    if "topics" in options.parts:
        options.clock, texts = "cpu", whole_posts(options)
        print(f"\n{len(texts):,} posts; processor time, with several threads wall time\n")
        bodies = whole_posts(options, remove=data_sets.REMOVED)
        found = measure_words("whole posts", texts, options)
        found += measure_words("plain texts (posts without headers)", bodies, options)
        for threads in options.threads:
            options.clock = "cpu" if threads == 1 else "wall"
            found += measure_topics(texts, threads, options)
        harness.print_rows(found)
        rows += found
    return int(any(row.passed is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
