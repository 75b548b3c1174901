"""`cofactor check`: counts what a table holds before a model is fitted."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from cofactor.cli import _cells
from cofactor.cli import _options as opt
from cofactor.cli import _tables as tables
from cofactor.cli._command import Command, message_of
from cofactor.cli._terminal import (
    announce,
    as_typed,
    emit,
    make_table,
    note,
    pair_table,
    percent,
    show,
    shown,
)
from cofactor.io import platform
from cofactor.io.atomic import replacing
from cofactor.io.tables import Documents, Source
from cofactor.io.tables.label_advice import LISTED_MERGES
from cofactor.io.tables.labels import as_noted
from cofactor.io.tables.survey import FoundRows, as_facts, survey
from cofactor.io.tables.writers import make_writer
from cofactor.text.vectorizer.analyzer import MAX_WORD_LENGTH
from cofactor.text.vectorizer.inspection import Inspection
from cofactor.text.vectorizer.passages import RepeatedPassage

MAX_LISTED_CLASSES = 20
MAX_LISTED_PASSAGES = 3


@click.command(cls=Command)
@opt.table_argument
@opt.add(opt.READING)
@opt.option(
    "--write-relabels FILE",
    "Write the proposed merges of labels to a file for --relabel-file.",
    type=opt.OUTPUT_FILE,
)
@opt.add(opt.CELLS, "as_json")
def check(
    table: Path,
    asked: opt.TableOptions,
    write_relabels: Path | None,
    counts: opt.CellOptions,
    as_json: bool,
) -> None:
    """Check a table before fitting: labels, empty texts, duplicates.

    TABLE is a CSV, TSV, JSON lines or JSON file (also compressed, .gz), a Parquet file, a
    spreadsheet (.xlsx), or a folder of text files whose sub-folders are the labels; - reads CSV
    from standard input. It may also be an AnnData file of single cells (.h5ad, .zarr).
    """
    if tables.holds_cells(table):
        _check_cells(table, asked, counts, as_json)
        return
    source = tables.open_table(table, **asked.opening)
    asked = tables.find_columns(source, asked)
    gathered, inspected = _GatheredColumns(), Inspection()
    label, further = as_noted(asked.labels), tables.further_columns(asked)
    found = survey(
        source,
        asked.text or "",
        asked.labels,
        asked.unlabelled,
        asked.label_separator,
        relabel=asked.relabel,
        min_labels=asked.min_labels,
        further=further,
        gather=gathered.add,
        watch=inspected.add,
    )
    named = gathered.reading(source, asked)
    found.names = dict(zip(gathered.rows, named.ids or (), strict=False))
    facts: dict[str, Any] = {**source.facts(), **asked.facts(), **named.facts}
    facts |= as_facts(found, label)
    looks = _describe_texts(inspected)
    facts["advice"] = [*looks.pop("advice"), *map(message_of, facts["advice"])]
    facts |= looks
    facts["advice"] += [*named.notes, *tables.unused_relabels(asked, found.counts)]
    facts["path"] = str(table)
    facts["columns"] = source.columns
    facts["next"] = _next(facts, asked, write_relabels)
    if write_relabels:
        _write_relabels(write_relabels, facts["merges"])
    if as_json:
        emit(facts)
    else:
        _show(facts)


def _next(facts: dict[str, Any], asked: opt.TableOptions, file: Path | None) -> str:
    """Return the command that comes next: fit, with what is proposed for the labels.

    If there are too many merges for a command, the next one writes them to a file. Labels that must
    be split are checked again.
    """
    table = "-" if Path(facts["path"]) == Path(platform.STANDARD_INPUT) else facts["path"]
    labels = bool(facts["labelled"]) and not facts["doubtful_labels"]
    if facts["labelled"] and (mark := facts["separator_to_try"]):
        words = replace(asked, label_separator=mark).words(with_labels=True)
        return as_typed("check", table, *words)
    if labels:
        asked = replace(asked, unlabelled=(*asked.unlabelled, *facts["marks"]))
    words = asked.words(with_labels=labels)
    if labels and file is None and len(facts["merges"]) > LISTED_MERGES:
        map_file = Path(facts["path"]).with_suffix(".relabels.csv").name
        return as_typed("check", table, *words, "--write-relabels", map_file)
    if labels and file:
        words += ["--relabel-file", str(file)]
    elif labels:
        words += opt.relabel_options(facts["merges"])
    topics = ["-k", str(facts["suggested_topics"]), "-o", "model"]
    return as_typed("fit", table, *words, *topics)


def _write_relabels(path: Path, merges: dict[str, str]) -> None:
    with replacing(path) as file:
        writer = make_writer(file, "csv", ["old", "new"], defuse=False)
        for pair in merges.items():
            writer.write(list(pair))
    note(f"Wrote {len(merges):,} merges to {path}.")


def _show(facts: dict[str, Any]) -> None:
    show(pair_table(_summary(facts)))
    if facts["classes"]:
        show("", _classes(facts["classes"]))
        if len(facts["classes"]) > MAX_LISTED_CLASSES:
            show(f"... and {len(facts['classes']) - MAX_LISTED_CLASSES:,} more; --json lists all.")
    if facts["advice"]:
        show("", _advice(facts["advice"]))
    click.echo(f"\nNext: {shown(facts['next'], 1000)}")


def _summary(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "rows", f"{facts['rows']:,}"
    yield "read as", ", ".join(filter(None, (facts["format"], facts["encoding"])))
    characters = f"{facts['mean_characters']:,.0f} characters on average"
    yield "text", f"{shown(facts['text'])}, {characters}, {facts['longest']:,} at most"
    if facts["label"] is not None:
        share = percent(facts["labelled_share"])
        yield "labelled", f"{facts['labelled']:,} ({share}), {_kinds(facts)}"
    if facts["date"] is not None:
        days = facts["dates"]
        first, last = (str(day)[:10] for day in (days["first"], days["last"]))
        yield "dates", f"{days['known']:,}, {first} to {last}"
    yield from _summarise_texts(facts)
    yield "empty", f"{facts['empty']['count']:,}"
    yield "repeated", f"{facts['duplicates']['count']:,}"


def _kinds(facts: dict[str, Any]) -> str:
    if facts["range"]:
        low, high = facts["range"]
        return f"numbers from {low:g} to {high:g}"
    noun = "classes" if facts["labels_are"] in ("classes", "none") else "labels to combine"
    return f"{len(facts['classes']):,} {noun}"


def _advice(sentences: list[str]) -> Any:
    table = pair_table(("-", shown(sentence, 1000)) for sentence in sentences)
    table.padding = (0, 1)
    return table


def _classes(classes: dict[str, int]) -> Any:
    table = make_table("Documents", "Label", numbers=("Documents",))
    for name, count in list(classes.items())[:MAX_LISTED_CLASSES]:
        table.add_row(f"{count:,}", shown(name, 60))
    return table


class _GatheredColumns:
    """Cells of the columns --id and --date, gathered while a table is surveyed."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.cells: list[list[Any]] = []

    def add(self, row: int, cells: list[Any]) -> None:
        """Keep the further cells of a row."""
        self.rows.append(row)
        self.cells.append(cells)

    def reading(self, source: Source, asked: opt.TableOptions) -> tables.Reading:
        """Return names, dates and sentences about them, as `read_table` does."""
        names = tables.further_columns(asked)
        columns = zip(*self.cells, strict=True) if names else ()
        further = dict(zip(names, map(list, columns), strict=False))
        found = tables.Reading(Documents(rows=self.rows, further=further), None, {})
        tables.name_documents(found, source, asked)
        return found


# ---- what the texts are like


def _describe_texts(found: Inspection) -> dict[str, Any]:
    """Return what was found in texts, for JSON, with advice."""
    languages, repeated = found.languages(), found.repeated()
    change = found.change
    return {
        "languages": {noticed.language: noticed.share for noticed in languages},
        "markup": {
            "texts": found.texts_with_markup,
            "pieces": dict(found.markup.most_common()),
            "example": None if change is None else change._asdict(),
        },
        "only_markup": asdict(found.emptied),
        "unclosed_tags": asdict(found.unclosed),
        "overlong_words": asdict(found.overlong),
        "garbled": found.garbled,
        "shared_passages": [
            {"passage": one.text, "share": one.share, "count": one.texts, "rows": one.rows}
            for one in repeated
        ],
        "advice": [
            *tables.on_languages([noticed.language for noticed in languages]),
            *_on_markup(found),
            *_on_overlong(found),
            *_on_passages(repeated),
            *_on_garbled(found),
        ],
    }


def _summarise_texts(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield rows of a summary: languages, and markup with an example."""
    languages, markup = facts["languages"], facts["markup"]
    if languages:
        shares = (f"{name.title()} {share:.0%}" for name, share in languages.items())
        yield "language", ", ".join(shares)
    if markup["pieces"]:
        counts = (f"{kind} ({count:,})" for kind, count in markup["pieces"].items())
        texts = "1 text" if markup["texts"] == 1 else f"{markup['texts']:,} texts"
        yield "markup", f"{', '.join(counts)} in {texts}"
    if change := markup["example"]:
        yield f"row {change['row']:,}", shown(change["before"], 80)
        yield "is read as", shown(change["after"], 80)


def _on_markup(found: Inspection) -> list[str]:
    advice = []
    if found.markup:
        advice.append("Markup is left out of the texts (--raw keeps it).")
    if found.unclosed.count:
        advice.append(
            f"A tag never closes in {_texts(found.unclosed)}, so what follows it is left out: "
            "correct the table, or keep the tags with --raw."
        )
    if found.emptied.count:
        advice.append(f"Nothing but markup is in {_texts(found.emptied)}, which makes them empty.")
    return advice


def _on_overlong(found: Inspection) -> list[str]:
    if not found.overlong.count:
        return []
    return [
        f"Words of more than {MAX_WORD_LENGTH} characters are in {_texts(found.overlong)} and are "
        "left out: if they are text, put spaces between the words."
    ]


def _texts(some: FoundRows) -> str:
    return f"{some.count:,} of the texts ({_rows(some.count, some.rows)})"


def _rows(count: int, rows: list[int]) -> str:
    more = ", …" if count > len(rows) else ""
    return f"row{'s' if count > 1 else ''} {', '.join(map(str, rows))}{more}"


def _on_passages(repeated: list[RepeatedPassage]) -> list[str]:
    told = [
        f"“{shown(one.text, 60)}” is repeated word for word in {one.share:.0%} of the texts "
        f"({_rows(one.texts, one.rows)})"
        for one in repeated[:MAX_LISTED_PASSAGES]
    ]
    if not told:
        return []
    more = len(repeated) - len(told)
    if more > 0:
        told.append(f"{more:,} more passages are repeated, too (--json lists them)")
    return [f"{'; '.join(told)}. If this is no content, fit without it: --drop-repeated."]


def _on_garbled(found: Inspection) -> list[str]:
    if (change := found.garbled_example) is None:
        return []
    texts = "1 text has" if found.garbled == 1 else f"{found.garbled:,} texts have"
    return [
        f"{texts} garbled letters, like {shown(change.before)!r} in row {change.row:,}, which "
        f"should be {shown(change.after)!r}: the table was saved in a wrong encoding; export it "
        "again as UTF-8."
    ]


# ---- single cells


def _check_cells(
    table: Path, asked: opt.TableOptions, counts: opt.CellOptions, as_json: bool
) -> None:
    """Say what an AnnData file holds, and which command comes next."""
    _cells.refuse_text_options("labels", "unlabelled")
    label = _cells.label_of(asked)
    with (
        _cells.single_cells(),
        announce("Reading the cells"),
        warnings.catch_warnings(record=True) as caught,
    ):
        from cofactor.sc.survey import survey

        warnings.simplefilter("always")
        genes = counts.chosen_genes
        facts = survey(table, counts.layer, label, asked.unlabelled, genes, counts.batch)
    facts["advice"] = [*(message_of(one.message) for one in caught), *facts["advice"]]
    words = [*counts.words(), *asked.words(), "-o", "model"]
    facts["next"] = as_typed("fit", table, *words)
    if as_json:
        emit(facts)
        return
    show(pair_table(_summarise_cells(facts)))
    if facts["classes"]:
        classes = make_table("Cells", "Label", numbers=("Cells",))
        for name, count in facts["classes"].items():
            classes.add_row(f"{count:,}", shown(name, 60))
        show("", classes)
    for sentence in facts["advice"]:
        show("", f"- {sentence}")
    click.echo(f"\nNext: {shown(facts['next'], 1000)}")


def _summarise_cells(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "cells", f"{facts['cells']:,}"
    yield "genes", f"{facts['genes']:,}, of which a fit takes {facts['fitted_genes']:,}"
    yield "counts", facts["matrix"]
    low, middle, high = facts["depth"]
    yield "depth", f"{middle:,.0f} counts per cell, from {low:,.0f} to {high:,.0f}"
    yield "empty", f"{facts['empty']:,}"
    if facts["layers"]:
        yield "layers", ", ".join(facts["layers"])
    if facts["label"]:
        share = percent(facts["labelled"] / max(facts["cells"], 1))
        yield "labelled", f"{facts['labelled']:,} ({share}), {len(facts['classes']):,} classes"
