"""The paper's vectorizer and its stop words."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy import sparse as sp
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

from cofactor.io.errors import InputError
from cofactor.io.tables.sources import check_plain_file

STOP_WORDS_FILE = "nltk_english_stopwords_179.txt"
"""NLTK's list as a file in the data folder, for machines without the nltk package."""


@dataclass(frozen=True)
class StopWords:
    """Words to leave out, their source, and a note if they are not the paper's."""

    words: tuple[str, ...]
    source: str
    note: str = ""


def find_stop_words(file: Path | None, data_home: Path | None) -> StopWords:
    """Return the words in ``file``, or NLTK's list, or scikit-learn's if that is missing."""
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
            "The stop words are scikit-learn's, because NLTK's, which the paper used, are missing; "
            "results differ a little. Pass --stopwords FILE, or install nltk and its stopwords.",
        )


def read_stop_words(file: Path) -> tuple[str, ...]:
    """Read a list of English stop words, one on each line."""
    remedy = "give --stopwords a text file with one English stop word on each line"
    check_plain_file(file)
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(
            f"--stopwords {file} cannot be read ({error.strerror}); {remedy}."
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"--stopwords {file} is not a text file; {remedy}.") from None
    words = [line.strip().lower() for line in lines if line.strip()]
    several = next((word for word in words if len(word.split()) > 1), None)
    if several is not None:
        raise InputError(f"--stopwords {file} has the line {several[:40]!r}; {remedy}.")
    if "the" not in words:
        found = f"its {len(words)} words lack 'the'" if words else "it is empty"
        raise InputError(
            f"--stopwords {file} is not a list of English stop words: {found}; {remedy}."
        )
    return tuple(dict.fromkeys(words))


def tf_idf(
    train: Sequence[str], test: Sequence[str], words: Sequence[str], size: int = 5000
) -> tuple[sp.csr_array, sp.csr_array, list[str]]:
    """Return both matrices and the vocabulary, which is learned from ``train``, as in the paper."""
    vectorizer = TfidfVectorizer(
        token_pattern="[a-zA-Z]+", stop_words=list(words), min_df=5, max_df=0.7, max_features=size
    )
    with (
        warnings.catch_warnings()
    ):  # the pattern splits "don't" into "don" and "t", which are listed
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
