"""`cofactor compare`: two models side by side."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from cofactor.cli import _options as opt
from cofactor.cli._command import Command, refusals
from cofactor.cli._models import OpenedModel, open_model, read_again
from cofactor.cli._terminal import announce, emit, make_table, note, percent, show, shown
from cofactor.errors import InputError


@click.command(cls=Command)
@click.argument("first", type=opt.FOLDER)
@click.argument("second", type=opt.FOLDER)
@opt.option("--data", "Labelled documents to compare the accuracy on.", type=opt.TABLE)
@opt.add(opt.reading("text", "labels", "label_separator"))
@opt.words_option("Words of each topic.")
@opt.add(opt.MODEL_ENCODER)
@opt.option(
    "--second-encoder FOLDER_OR_NAME",
    "The encoder of SECOND, if it is not that of FIRST.",
    callback=opt.as_encoder,
)
@opt.add("as_json")
def compare(
    first: Path,
    second: Path,
    data: Path | None,
    asked: opt.TableOptions,
    words: int,
    vectors: opt.EncoderOptions,
    second_encoder: str | None,
    as_json: bool,
) -> None:
    """Match the topics of two models; compare their accuracy.

    Topics are paired one to one so that the sum of their similarities (cosines) is largest. --data
    compares the accuracy on labelled documents, with an interval; take documents that neither
    model has seen.
    """
    one = open_model(first, vectors)
    other = _open_second(second, vectors, second_encoder)
    from cofactor.text.describe.compare import compare_topics

    pairs = compare_topics(one.model, other.model, words)
    accuracy = None if data is None else _accuracy(one, other, data, asked)
    if as_json:
        emit(
            {
                "first": one.origin(),
                "second": other.origin(),
                "topics": pairs.to_records(),
                "accuracy": accuracy,
            }
        )
    else:
        _show(pairs, accuracy)


def _open_second(path: Path, vectors: opt.EncoderOptions, encoder: str | None) -> OpenedModel:
    """Open SECOND with its own encoder; if none is named or found, with that of FIRST."""
    own = replace(vectors, encoder=encoder, option="--second-encoder")
    try:
        return open_model(path, own)
    except InputError:
        if encoder or not vectors.encoder:
            raise
        return open_model(path, replace(own, encoder=vectors.encoder))


def _accuracy(
    one: OpenedModel, other: OpenedModel, data: Path, asked: opt.TableOptions
) -> dict[str, Any]:
    from cofactor.text.describe.compare import compare_accuracy
    from cofactor.text.documents import fingerprint

    read = read_again(one, data, asked)
    texts = read.documents.texts
    if one.model.fingerprint_ == fingerprint(texts, read.y):
        note("Note: the first model was fitted on these documents, so its accuracy is too high.")
    with announce("Predicting with both"), refusals():
        found = compare_accuracy(one.model, other.model, texts, read.classes)
    return asdict(found)


def _show(pairs: Any, accuracy: dict[str, Any] | None) -> None:
    table = make_table(
        "A", "B", "Similar", "In both", "Only in A", "Only in B", numbers=("A", "B", "Similar")
    )
    for pair in pairs:
        words = (shown(" ".join(each), 400) for each in (pair.kept, pair.lost, pair.gained))
        similar = "" if pair.similarity is None else f"{pair.similarity:.2f}"
        table.add_row(shown(pair.first), shown(pair.second), similar, *words)
    show(table, *([_sentence(accuracy)] if accuracy else []))


def _sentence(found: dict[str, Any]) -> str:
    low, high = 100 * found["low"], 100 * found["high"]
    verdict = "no clear difference" if low <= 0 <= high else "a clear difference"
    return (
        f"\nAccuracy on {found['documents']:,} labelled documents: A {percent(found['first'])}, "
        f"B {percent(found['second'])}.\nB - A: {100 * found['difference']:+.1f} points "
        f"({found['level']:.0%} interval {low:+.1f} to {high:+.1f}): {verdict}."
    )
