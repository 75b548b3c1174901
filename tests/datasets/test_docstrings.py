"""The docstring corpus: real, repeatable, quiet, and silent about its own labels."""

import os
import re
import subprocess
import sys
from collections import Counter

import pytest

from cofactor.datasets import docstrings as corpus_module
from cofactor.datasets.docstrings import (
    MIN_DOCSTRING_WORDS,
    SUBPACKAGES,
    Docstring,
    docstring_corpus,
)


@pytest.fixture(scope="module")
def corpus():
    return docstring_corpus()


@pytest.mark.slow
def test_it_is_large_and_every_class_has_documents(corpus):
    sizes = Counter(corpus.labels)
    assert 2000 <= len(corpus) == len(corpus.names) == len(corpus.labels) <= 4000
    assert set(sizes) == set(SUBPACKAGES)
    assert min(sizes.values()) >= 40
    assert max(sizes.values()) <= len(corpus) / 4


def test_documents_are_sorted_distinct_and_long_enough(corpus):
    assert corpus.names == sorted(set(corpus.names))
    assert len(set(corpus.texts)) == len(corpus)
    assert min(len(text.split()) for text in corpus.texts) >= MIN_DOCSTRING_WORDS


def test_documents_are_public_members_of_their_subpackage(corpus):
    for name, label in zip(corpus.names, corpus.labels, strict=True):
        assert name.rpartition("._")[0] == ""
        assert name.startswith(tuple(f"{module}." for module in SUBPACKAGES[label]))


def test_no_text_names_a_package_or_shows_code(corpus):
    giveaway = re.compile(r"\b(numpy|scipy|sklearn|scikit-learn|np\.\w+)\b|>>>", re.IGNORECASE)
    assert [
        name for name, text in zip(corpus.names, corpus.texts, strict=True) if giveaway.search(text)
    ] == []


def test_any_process_reads_the_same_and_says_nothing():
    code = (
        "import hashlib; from cofactor.datasets.docstrings import docstring_corpus;"
        "print(hashlib.sha256(repr(docstring_corpus()).encode()).hexdigest())"
    )
    digests = set()
    for seed in ("1", "12345"):
        path = os.pathsep.join(sys.path)
        run = subprocess.run(
            [sys.executable, "-W", "always", "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
        )
        digests.add(run.stdout.strip())
        assert run.stderr == ""
    assert len(digests) == 1


def test_a_module_that_cannot_be_imported_is_skipped(monkeypatch):
    modules = ("scipy.ndimage", "scipy.no_such_module")
    monkeypatch.setattr(corpus_module, "SUBPACKAGES", {"images": modules})
    assert set(docstring_corpus().labels) == {"images"}


def test_without_noise_keeps_the_prose():
    text = (
        "See `scipy.stats.norm` and :func:`np.mean`.\n\n>>> import numpy\n3\n\nAll about signals."
    )
    assert corpus_module._without_noise(text) == "See `` and ``.\n\n\n\nAll about signals."


def test_boilerplate_is_what_many_documents_repeat():
    documents = [Docstring(f"f{i}", "a", f"Own text {i}.\n\nStamp.") for i in range(11)]
    texts = [document.text for document in corpus_module._without_boilerplate(documents)]
    assert texts == [f"Own text {i}." for i in range(11)]
    fewer = documents[:10]
    assert corpus_module._without_boilerplate(fewer) == fewer


def test_a_text_of_two_classes_belongs_to_none():
    shared, own = "word " * MIN_DOCSTRING_WORDS, "other " * MIN_DOCSTRING_WORDS
    rows = [("f", "scipy.stats", shared), ("g", "scipy.signal", shared), ("h", "scipy.stats", own)]
    rows += [("i", "scipy.stats", own), ("j", "scipy.stats", "short")]
    kept = corpus_module._unambiguous(Docstring(*row) for row in rows)
    assert [document.name for document in kept] == ["h"]
