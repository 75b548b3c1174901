"""Documents with targets, read from a file of JSON lines.

Each line is an object with ``text``, a target (``labels`` or ``rating``, see the experiments) and
perhaps ``split``, which is "train" or "test". Without ``split`` one document in five, drawn by the
seed, is to test on.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp

from cofactor.experiments.options import BadInput, MissingData, Options
from cofactor.experiments.prepared import Prepared, stop_words
from cofactor.experiments.words import digest, tf_idf

TEST_SHARE = 0.2
Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents as tf-idf, with targets of which NaN are unknown.

    ``names`` are the columns of the targets.
    """

    X: sp.csr_array
    Y: NDArray[np.float64]
    X_test: sp.csr_array
    Y_test: NDArray[np.float64]
    words: list[str]
    names: list[str]
    digest: str


@dataclass(frozen=True)
class Kind:
    """The documents of one experiment.

    Parameters
    ----------
    file, shape : str
        Their file, and what a good line of it looks like.
    wrong : callable
        Returns what is wrong with a record, or nothing.
    targets : callable
        Returns the targets of records, NaN where unknown, and the names of their columns.
    made : callable
        Makes records up, by a seed.
    """

    file: str
    shape: str
    wrong: Callable[[Record], str]
    targets: Callable[[Sequence[Record]], tuple[NDArray[np.float64], list[str]]]
    made: Callable[[int], list[Record]]


def _read(kind: Kind, data_home: Path | None) -> list[Record]:
    """Read the kind's file (or that with .gz) of the data folder."""
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
    return [_record(path, i, line, kind) for i, line in enumerate(_lines(path), start=1)]


def _lines(path: Path) -> list[str]:
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        lines = [line for line in raw.decode("utf-8").split("\n") if line.strip()]
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise BadInput(
            f"{path} cannot be read ({error}); it must be JSON lines in UTF-8."
        ) from None
    if not lines:
        raise BadInput(f"{path} is empty; it must have one JSON object a line.")
    return lines


def _record(path: Path, number: int, line: str, kind: Kind) -> Record:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise BadInput(f"{path}, line {number}, is not JSON ({error}).") from None
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        wrong = "has no text"
    elif record.get("split") not in (None, "train", "test"):
        wrong = f"has split {record['split']!r}, which is neither 'train' nor 'test'"
    else:
        wrong = kind.wrong(record)
    if wrong:
        raise BadInput(f"{path}, line {number}, {wrong}; a good line is like {kind.shape}")
    return dict(record)


def prepare(kind: Kind, options: Options) -> Prepared:
    """Read (or, for a quick run, make up), split and vectorise documents."""
    records = kind.made(options.seed) if options.quick else _read(kind, options.data_home)
    stop, notes = stop_words(options)
    Y, names = kind.targets(records)
    test = _test_rows(records, options.seed) & ~np.isnan(Y).all(axis=1)
    train = np.array([record.get("split") != "test" for record in records]) & ~test
    texts = np.array([record["text"] for record in records], dtype=object)
    if not test.any() or np.isnan(Y[train]).all():
        raise BadInput("There must be documents with known targets to learn from and to test on.")
    try:
        X, X_test, words = tf_idf(texts[train].tolist(), texts[test].tolist(), stop.words)
    except ValueError as error:
        raise BadInput(f"The texts to learn from cannot be counted: {error}") from None
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
