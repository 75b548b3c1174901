"""Documents with targets, read from a JSON lines file.

Each line is an object with ``text``, a target (``labels`` or ``rating``, see the experiments) and
optionally ``split``, which is "train" or "test". Without ``split``, one document in five is drawn
at random for the test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from cofactor._types import FloatArray
from cofactor.experiments.options import MissingData, Options
from cofactor.experiments.prepared import Prepared, stop_words
from cofactor.experiments.words import digest, tf_idf
from cofactor.io.errors import InputError, at
from cofactor.io.tables.sources import open_records

TEST_SHARE = 0.2
Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents as tf-idf, with their targets; unknown targets are NaN.

    ``names`` are the names of the target columns.
    """

    X: sp.csr_array
    Y: FloatArray
    X_test: sp.csr_array
    Y_test: FloatArray
    words: list[str]
    names: list[str]
    digest: str


@dataclass(frozen=True)
class Kind:
    """How the documents of one experiment are read.

    Parameters
    ----------
    file, shape : str
        Name of the file, and an example of a line.
    wrong : callable
        Returns what is wrong with a record, or "".
    targets : callable
        Returns the targets of records, NaN where unknown, and the names of their columns.
    made_up : callable
        Returns made-up records; takes a seed.
    """

    file: str
    shape: str
    wrong: Callable[[Record], str]
    targets: Callable[[Sequence[Record]], tuple[FloatArray, list[str]]]
    made_up: Callable[[int], list[Record]]


def _read(kind: Kind, data_home: Path | None) -> list[Record]:
    """Read the file in the data folder, which may be compressed (.gz)."""
    name, shape = kind.file, kind.shape
    if data_home is None:
        raise MissingData(
            f"{name} is needed: put it into a folder and name that with --data-home or "
            f"COFACTOR_DATA_HOME; each line is like {shape}"
        )
    path = next((p for p in (data_home / name, data_home / f"{name}.gz") if p.is_file()), None)
    if path is None:
        raise MissingData(
            f"{name} (or {name}.gz) is not in {data_home}: put it there; each line is like {shape}"
        )
    records = open_records(path, constant=float)  # so that a NaN is refused, not read as unknown
    found = [_checked(path, number, record, kind) for number, record in records]
    if not found:
        raise InputError(f"{at(path)} is empty; each line must be like {shape}")
    return found


def _checked(path: Path, number: int, record: Record, kind: Kind) -> Record:
    if not isinstance(record.get("text"), str):
        wrong = "has no text"
    elif record.get("split") not in (None, "train", "test"):
        wrong = f"has split {record['split']!r}, which is neither 'train' nor 'test'"
    else:
        wrong = kind.wrong(record)
    if wrong:
        raise InputError(f"{at(path, line=number)} {wrong}; it must be like {kind.shape}")
    return record


def prepare(kind: Kind, options: Options) -> Prepared:
    """Read documents (or make them up, for a quick run), split them and count their words."""
    records = kind.made_up(options.seed) if options.quick else _read(kind, options.data_home)
    stop, notes = stop_words(options)
    Y, names = kind.targets(records)
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
    documents = Documents(X, Y[train], X_test, Y[test], words, names, sha256)
    return Prepared(documents, {"sha256": sha256, **facts}, notes)


def _test_rows(records: Sequence[Record], seed: int) -> NDArray[np.bool_]:
    if any(record.get("split") for record in records):
        return np.array([record.get("split") == "test" for record in records])
    test = np.zeros(len(records), dtype=bool)
    order = np.random.default_rng(seed).permutation(len(records))
    test[order[: round(TEST_SHARE * len(records))]] = True
    return test
