"""Fixtures that several files share."""

import os
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

CLASSES = {
    "Computers": ("comp.graphics", "comp.sys.mac.hardware", "comp.windows.x"),
    "Sciences": ("sci.crypt", "sci.electronics", "sci.space"),
    "Politics": ("talk.politics.guns", "talk.politics.mideast"),
    "Religion": ("alt.atheism", "soc.religion.christian"),
    "Recreation": ("rec.autos", "rec.sport.baseball", "rec.sport.hockey"),
}
PER_CLASS = 1796


@pytest.fixture
def run_script(tmp_path):
    """A function that runs Python code in a fresh process and returns what it prints."""

    def run(code, *arguments, timeout=120):
        import cofactor

        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(code))
        paths = [str(Path(cofactor.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        done = subprocess.run(
            [sys.executable, str(script), *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def newsgroups():
    """The paper's 20 Newsgroups: (X_train, y_train, X_test, y_test), tf-idf and class numbers."""
    home = os.environ.get("COFACTOR_DATA_HOME")
    if not home:
        pytest.skip("set COFACTOR_DATA_HOME to the folder of scikit-learn's 20 Newsgroups files")
    texts, classes = _posts(home)
    random = np.random.RandomState(0)
    chosen = [
        random.choice(np.flatnonzero(classes == c), PER_CLASS, replace=False)
        for c in range(len(CLASSES))
    ]
    order = np.concatenate(chosen)
    random.shuffle(order)
    texts, classes = [texts[i] for i in order], classes[order]
    cut = int(0.8 * len(order))
    X_train, X_test = _tf_idf(texts[:cut], texts[cut:], home)
    return X_train, classes[:cut], X_test, classes[cut:]


def _posts(home):
    from sklearn.datasets import fetch_20newsgroups

    group_of = {group: c for c, groups in enumerate(CLASSES.values()) for group in groups}
    try:
        posts = fetch_20newsgroups(
            data_home=home, download_if_missing=False, subset="all",
            remove=("headers", "footers", "quotes"), categories=list(group_of),
        )  # fmt: skip
    except OSError as error:
        pytest.skip(f"COFACTOR_DATA_HOME={home!r} has no 20 Newsgroups: {error}")
    return posts.data, np.array([group_of[posts.target_names[t]] for t in posts.target])


def _tf_idf(train, test, home):
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = Path(home) / "nltk_english_stopwords_179.txt"
    stop = words.read_text().split() if words.exists() else "english"
    vectorizer = TfidfVectorizer(
        token_pattern="[a-zA-Z]+", stop_words=stop, min_df=5, max_df=0.7, max_features=5000
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Your stop_words may be inconsistent")
        return vectorizer.fit_transform(train).tocsr(), vectorizer.transform(test).tocsr()
