"""From documents to matrices: the paper's vectoriser and its stop words."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy import sparse as sp
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

from cofactor.experiments.options import BadInput

STOP_WORDS_FILE = "nltk_english_stopwords_179.txt"
"""NLTK's list as a file in the data folder, for machines that lack the nltk package."""


@dataclass(frozen=True)
class StopWords:
    """Words to leave out, where they come from, and a remark if they are not the paper's."""

    words: tuple[str, ...]
    source: str
    note: str = ""


def find_stop_words(file: Path | None, data_home: Path | None) -> StopWords:
    """Return the given list, else NLTK's (from the data folder or the package), else another."""
    if file is not None:
        return StopWords(read_stop_words(file), file.name)
    if data_home is not None and (data_home / STOP_WORDS_FILE).is_file():
        return StopWords(read_stop_words(data_home / STOP_WORDS_FILE), STOP_WORDS_FILE)
    try:
        from nltk.corpus import stopwords

        return StopWords(tuple(stopwords.words("english")), "nltk")
    except (ImportError, LookupError):
        return StopWords(
            tuple(sorted(ENGLISH_STOP_WORDS)),
            "scikit-learn",
            "Stop words are scikit-learn's, for want of NLTK's that the paper used: pass "
            "--stopwords FILE, or install nltk and its stopwords corpus. Results differ a little.",
        )


def read_stop_words(file: Path) -> tuple[str, ...]:
    """Read a list of English stop words, one a line."""
    remedy = "give --stopwords a text file with one English stop word a line"
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BadInput(f"--stopwords {file} cannot be read ({error.strerror}); {remedy}.") from None
    except UnicodeDecodeError:
        raise BadInput(f"--stopwords {file} is not a text file; {remedy}.") from None
    words = [line.strip().lower() for line in lines if line.strip()]
    several = next((word for word in words if len(word.split()) > 1), None)
    if several is not None:
        raise BadInput(f"--stopwords {file} has the line {several[:40]!r}; {remedy}.")
    if "the" not in words:
        found = f"its {len(words)} words lack 'the'" if words else "it is empty"
        raise BadInput(f"--stopwords {file} is no list of English stop words: {found}; {remedy}.")
    return tuple(dict.fromkeys(words))


def tf_idf(
    train: Sequence[str], test: Sequence[str], words: Sequence[str], size: int = 5000
) -> tuple[sp.csr_array, sp.csr_array, list[str]]:
    """Return both matrices and the vocabulary, learned on the first, as the paper makes them."""
    vectorizer = TfidfVectorizer(
        token_pattern="[a-zA-Z]+", stop_words=list(words), min_df=5, max_df=0.7, max_features=size
    )
    with warnings.catch_warnings():  # of "don't" the pattern leaves "don" and "t", which are listed
        warnings.filterwarnings("ignore", message="Your stop_words may be inconsistent")
        X = sp.csr_array(vectorizer.fit_transform(train))
        return X, sp.csr_array(vectorizer.transform(test)), list(vectorizer.get_feature_names_out())


def digest(*parts: Iterable[object]) -> str:
    """Return a hash of texts and numbers."""
    total = hashlib.sha256()
    for part in parts:
        for item in part:
            total.update(str(item).encode() + b"\0")
        total.update(b"\1")
    return total.hexdigest()
