"""Topics without labels: cofactor, BERTopic on the vectors of an encoder, and scikit-learn's NMF.

    python -m benchmarks.bertopic --python PYTHON [--data FOLDER] [--topics 20] [--most 2000]

PYTHON is the interpreter of an environment with BERTopic (``pip install bertopic``). All methods
see the same texts, and get the same number of topics: as many as BERTopic found when asked for
--topics. The ten words of each topic are scored on as many texts that no method has seen:

- NPMI: mean normalised pointwise mutual information of all pairs, in windows of ten words.
- diversity: share of distinct words among all words.
- outliers: share of texts without a topic, of the fit and of unseen ones.
- seconds: processor time of the fit, without that of the vectors, which only BERTopic needs here.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import sparse as sp
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from benchmarks import harness
from benchmarks.data_sets import CLASSES, Folders, MissingSet, add_folder_options
from cofactor import TopicModel
from cofactor.metrics import npmi_coherence
from cofactor.text.encoders import encode_texts

SETS = ("newsgroups20", "reuters_r8", "searchsnippets", "docstrings")
WINDOW_WORDS, SHOWN_WORDS = 10, 10
HEAD = ("set", "method", "topics", "NPMI", "diversity", "outliers", "unseen outliers", "seconds")
Words = list[list[str]]


class Unseen:
    """Texts that score the words of topics."""

    def __init__(self, texts: list[str]) -> None:
        analyze = CountVectorizer(stop_words="english").build_analyzer()
        documents = [analyze(text) for text in texts]
        self.places = {word: j for j, word in enumerate(sorted({w for d in documents for w in d}))}
        rows = [np.array([self.places[word] for word in words]) for words in documents if words]
        parts = [sliding_window_view(row, min(WINDOW_WORDS, len(row))) for row in rows]
        ends = np.cumsum([0, *(part.shape[1] for part in parts for _ in part)])
        cells = np.concatenate([part.ravel() for part in parts])
        held = sp.csr_array((np.ones(len(cells), np.float32), cells, ends))
        held.sum_duplicates()
        self.windows = sp.csc_array(held)

    def scores(self, topics: Words) -> tuple[float, float]:
        """Return NPMI and diversity; words that no unseen text has do not count."""
        columns = [[self.places[word] for word in words if word in self.places] for words in topics]
        kept = [np.array(own) for own in columns if len(own) > 1]
        npmi = float(np.nanmean(npmi_coherence(kept, self.windows)))
        shown = [word for words in topics for word in words]
        return npmi, len(set(shown)) / len(shown)


def bertopic(python: str, texts: list[str], unseen: list[str], vectors: Any, topics: int) -> Any:
    """Run BERTopic in its own environment; return its result."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = {"texts": texts, "unseen": unseen, "topics": topics}
        (folder / "texts.json").write_text(json.dumps(given))
        np.save(folder / "vectors.npy", vectors[0])
        np.save(folder / "unseen.npy", vectors[1])
        rival = Path(__file__).with_name("bertopic_rival.py")
        subprocess.run([python, "-P", str(rival), str(folder)], check=True, stdout=sys.stderr)
        return json.loads((folder / "result.json").read_text())


def ours(texts: list[str], topics: int) -> tuple[Words, float]:
    start = time.process_time()
    model = TopicModel(topics, random_state=0, n_jobs=1).fit(texts)
    took = time.process_time() - start
    return [list(topic.words) for topic in model.topics(SHOWN_WORDS)], took


def scikit_learn(texts: list[str], topics: int) -> tuple[Words, float]:
    start = time.process_time()
    vectorizer = TfidfVectorizer(stop_words="english", min_df=2, max_df=0.5, max_features=20_000)
    model = NMF(topics, init="nndsvda", random_state=0).fit(vectorizer.fit_transform(texts))
    took = time.process_time() - start
    words = vectorizer.get_feature_names_out()
    return [list(words[row.argsort()[::-1][:SHOWN_WORDS]]) for row in model.components_], took


def lines(name: str, options: argparse.Namespace) -> list[list[str]]:
    """Return the rows of a set."""
    rows = CLASSES[name](Folders(options.data, options.data_home), 0)
    assert rows.texts is not None
    every = [text for part in rows.texts for text in part if text.strip()]
    order = np.random.default_rng(0).permutation(len(every))[: 2 * options.most]
    half = len(order) // 2
    texts, unseen = ([every[i] for i in part] for part in (order[:half], order[half:]))
    vectors = [encode_texts(options.encoder, part) for part in (texts, unseen)]
    rival = bertopic(options.python, texts, unseen, vectors, options.topics)
    topics, judge = len(rival["words"]), Unseen(unseen)
    outliers = f"{rival['outliers']:.0%}", f"{rival['unseen_outliers']:.0%}"
    found = [
        ("cofactor", *ours(texts, topics), ("0%", "0%")),
        ("BERTopic", rival["words"], rival["seconds"], outliers),
        ("scikit-learn NMF, tf-idf", *scikit_learn(texts, topics), ("0%", "0%")),
    ]
    table = []
    for method, words, took, left in found:
        npmi, diversity = judge.scores(words)
        figures = f"{npmi:.3f}", f"{diversity:.2f}", *left, f"{took:.1f}"
        table.append([name, method, str(len(words)), *figures])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add_folder_options(parser)
    parser.add_argument("--python", default=sys.executable, help="interpreter with BERTopic")
    parser.add_argument("--encoder", default="wordllama", help="a folder or a name")
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--most", type=int, default=2000, help="texts to fit, and as many to score")
    parser.add_argument("--only", default="", help="sets whose names hold this")
    options = parser.parse_args()
    harness.restart_with_fixed_environment()
    warnings.simplefilter("ignore")
    harness.print_machine()
    table: list[list[str]] = []
    for name in SETS:
        if options.only in name:
            try:
                table += lines(name, options)
            except MissingSet as missing:
                print(f"{name}: {missing}")
    harness.print_table(HEAD, table)


if __name__ == "__main__":
    main()
