"""Fixtures that several files share."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session", autouse=True)
def _heed_interrupts():
    """A run in the background is started to ignore Ctrl-C, and its children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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
    from cofactor.experiments.newsgroups import corpus
    from cofactor.experiments.words import find_stop_words
    from cofactor.io.errors import InputError

    try:
        posts = corpus.balanced(corpus.fetch_posts(Path(home)), seed=0)
    except InputError as error:
        pytest.skip(str(error))
    n = len(posts.texts)
    data = corpus.split(posts, int(0.8 * n), n, find_stop_words(None, Path(home)).words)
    number = {name: c for c, name in enumerate(corpus.CLASSES)}
    y, y_test = (np.array([number[name] for name in each]) for each in (data.y, data.y_test))
    return data.X, y, data.X_test, y_test
