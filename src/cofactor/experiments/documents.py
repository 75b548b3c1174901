"""Documents: stop words, the paper's tf-idf, files of documents, and made-up documents.

A file of documents has a JSON object on each line: ``text``, a target (``labels`` or ``rating``,
see the experiments) and optionally ``split``, which is "train" or "test". Without ``split``, one
document in five is drawn at random for the test.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse as sp
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfTransformer

from cofactor._types import FloatArray
from cofactor.errors import Parameter, ParameterError
from cofactor.experiments import MissingData, Options
from cofactor.experiments.run import ExperimentData, Run
from cofactor.experiments.trials import Function, TrialResult
from cofactor.io.errors import InputError, at
from cofactor.io.tables.sources import check_plain_file, open_records

STOP_WORDS_FILE = "nltk_english_stopwords_179.txt"
"""NLTK's list as a file in the data folder, for machines without the nltk package."""
TEST_SHARE = 0.2
MAX_WORDS = 5000  # of the paper
Record = dict[str, Any]


@dataclass(frozen=True)
class StopWords:
    """Words to leave out, where they come from, and a note if they are not the paper's."""

    words: tuple[str, ...]
    source: str
    notes: tuple[str, ...] = ()


def find_stop_words(file: Path | None, data_home: Path | None) -> StopWords:
    """Return the words in ``file``, else NLTK's list, else scikit-learn's."""
    if file is not None:
        return StopWords(read_stop_words(file), file.name)
    if data_home is not None and (data_home / STOP_WORDS_FILE).is_file():
        return StopWords(read_stop_words(data_home / STOP_WORDS_FILE), STOP_WORDS_FILE)
    try:
        from nltk.corpus import stopwords

        return StopWords(tuple(stopwords.words("english")), "nltk")
    except (ImportError, LookupError):
        note = (
            "The stop words are scikit-learn's, because NLTK's, which the paper used, are missing; "
            "results differ a little. Install nltk and its stopwords, or name a file of them."
        )
        return StopWords(tuple(sorted(ENGLISH_STOP_WORDS)), "scikit-learn", (note,))


def read_stop_words(file: Path) -> tuple[str, ...]:
    """Read a list of English stop words, one on each line."""
    check_plain_file(file)
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise _stop_word_error(file, f"cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise _stop_word_error(file, "is not a text file") from None
    words = [line.strip().lower() for line in lines if line.strip()]
    several = next((word for word in words if len(word.split()) > 1), None)
    if several is not None:
        raise _stop_word_error(file, f"has the line {several[:40]!r}")
    if "the" not in words:
        found = f"its {len(words)} words lack 'the'" if words else "it is empty"
        raise _stop_word_error(file, f"is not a list of English stop words: {found}")
    return tuple(dict.fromkeys(words))


def _stop_word_error(file: Path, wrong: str) -> InputError:
    return ParameterError(
        (Parameter("stopwords", str(file)), f" {wrong}"),
        "name a text file with one English stop word on each line",
    )


def tf_idf(
    train: Sequence[str], test: Sequence[str], stop_words: Sequence[str]
) -> tuple[sp.csr_array, sp.csr_array, list[str]]:
    """Return both matrices and the vocabulary, which is learned from ``train``, as in the paper.

    scikit-learn's ``max_features`` chooses among equally frequent words by an order that depends on
    the instruction set; here they come in alphabetical order.
    """
    counter = CountVectorizer(
        token_pattern="[a-zA-Z]+", stop_words=list(stop_words), min_df=5, max_df=0.7
    )
    with warnings.catch_warnings():  # the pattern splits "don't" into the stop words "don" and "t"
        warnings.filterwarnings("ignore", message="Your stop_words may be inconsistent")
        counts = sp.csr_array(counter.fit_transform(train))
    frequency = np.asarray(counts.sum(axis=0)).ravel()
    kept = np.sort(np.argsort(-frequency, kind="stable")[:MAX_WORDS])
    weigher = TfidfTransformer().fit(counts[:, kept])
    X, X_test = (
        sp.csr_array(weigher.transform(part[:, kept]))
        for part in (counts, sp.csr_array(counter.transform(test)))
    )
    return X, X_test, counter.get_feature_names_out()[kept].tolist()


def digest(*parts: Iterable[object]) -> str:
    """Return a hash of texts and numbers."""
    total = hashlib.sha256()
    for part in parts:
        for item in part:
            total.update(str(item).encode() + b"\0")
        total.update(b"\1")
    return total.hexdigest()


def made_up_document(subjects: Sequence[str], others: Sequence[str], random: Generator) -> str:
    """Return 24 words: of the subjects, of others, and common ones.

    A word of a subject is its name and a letter.
    """
    own, stray = (
        [f"{name.lower()}{letter}" for name in names for letter in "abcdefghijkl"]
        for names in (subjects, others)
    )
    common = [f"the{letter}" for letter in "abcdefghijklmnopqrst"]
    parts = (own, 6), (stray, 6), (common, 12)
    return " ".join(word for pool, count in parts for word in random.choice(pool, count))


@dataclass(frozen=True, eq=False)
class DocumentSplit:
    """Documents to learn from and to test on, as tf-idf, with their targets.

    Unknown targets are NaN; ``names`` are the names of the target columns.
    """

    X: sp.csr_array
    Y: FloatArray
    X_test: sp.csr_array
    Y_test: FloatArray
    words: list[str]
    names: list[str]
    digest: str


@dataclass(frozen=True)
class DocumentFormat:
    """How the documents of one experiment are read.

    Parameters
    ----------
    file, example : str
        Name of the file, and an example of a line.
    find_error : callable
        Returns what is wrong with a record, or "".
    targets : callable
        Returns the targets of records, NaN where unknown, and the names of their columns.
    make_up : callable
        Returns made-up records for a seed.
    """

    file: str
    example: str
    find_error: Callable[[Record], str]
    targets: Callable[[Sequence[Record]], tuple[FloatArray, list[str]]]
    make_up: Callable[[int], list[Record]]


def prepare(form: DocumentFormat, options: Options) -> ExperimentData:
    """Read documents (or make them up, for a quick run), split them and count their words."""
    records = form.make_up(options.seed) if options.quick else _read(form, options.data_home)
    stop = find_stop_words(options.stopwords, options.data_home)
    Y, names = form.targets(records)
    test = _test_rows(records, options.seed) & ~np.isnan(Y).all(axis=1)
    train = np.array([record.get("split") != "test" for record in records]) & ~test
    texts = np.array([record["text"] for record in records], dtype=object)
    if not test.any() or np.isnan(Y[train]).all():
        raise InputError("There must be documents with known targets to learn from and to test on.")
    try:
        X, X_test, words = tf_idf(texts[train].tolist(), texts[test].tolist(), stop.words)
    except ValueError as error:
        raise InputError(f"The texts to learn from cannot be counted: {error}") from None
    facts = {"documents": len(records), "targets": len(names), "stop_words": stop.source}
    sha256 = digest(texts, Y.ravel().tolist(), test.tolist(), stop.words)
    documents = DocumentSplit(X, Y[train], X_test, Y[test], words, names, sha256)
    return ExperimentData(documents, {"sha256": sha256, **facts}, stop.notes)


def _read(form: DocumentFormat, data_home: Path | None) -> list[Record]:
    """Read the file in the data folder, which may be compressed (.gz)."""
    name, example = form.file, form.example
    if data_home is None:
        raise MissingData(
            f"{name} is needed",
            (
                "put it into a folder and name the folder with ",
                Parameter("data_home"),
                f" or COFACTOR_DATA_HOME; each line is like {example}",
            ),
        )
    path = next((p for p in (data_home / name, data_home / f"{name}.gz") if p.is_file()), None)
    if path is None:
        raise MissingData(
            f"{name} (or {name}.gz) is not in {data_home}: put it there; "
            f"each line is like {example}"
        )
    records = open_records(path, constant=float)  # so that NaN is an error
    found = [_checked(path, number, record, form) for number, record in records]
    if not found:
        raise InputError(f"{at(path)} is empty; each line must be like {example}")
    return found


def _checked(path: Path, number: int, record: Record, form: DocumentFormat) -> Record:
    if not isinstance(record.get("text"), str):
        wrong = "has no text"
    elif record.get("split") not in (None, "train", "test"):
        wrong = f"has split {record['split']!r}, which is neither 'train' nor 'test'"
    else:
        wrong = form.find_error(record)
    if wrong:
        raise InputError(f"{at(path, line=number)} {wrong}; it must be like {form.example}")
    return record


def _test_rows(records: Sequence[Record], seed: int) -> NDArray[np.bool_]:
    if any(record.get("split") for record in records):
        return np.array([record.get("split") == "test" for record in records])
    test = np.zeros(len(records), dtype=bool)
    order = np.random.default_rng(seed).permutation(len(records))
    test[order[: round(TEST_SHARE * len(records))]] = True
    return test


def run_models(
    run: Run, function: Function, counts: Mapping[str, int], rank: int, data: DocumentSplit
) -> dict[str, list[TrialResult]]:
    """Run the given number of trials of each model and return their results by model."""
    base = {"rank": rank, "seed": run.options.seed}
    groups = {
        model: [{**base, "model": model, "trial": number} for number in range(count)]
        for model, count in counts.items()
    }
    return run.trials("fits", function, groups, data)
