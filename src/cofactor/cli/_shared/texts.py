"""What `cofactor check` says about texts: their markup, languages and shared passages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from cofactor.cli._shared.terminal import shown
from cofactor.cli._shared.words import on_languages
from cofactor.text.vectorizer.analyzer import MAX_WORD_LENGTH
from cofactor.text.vectorizer.inspection import Inspection, RowCount

NAMED = 3
"""Number of shared passages that are named."""


def describe_texts(found: Inspection) -> dict[str, Any]:
    """Return what was found in texts, for JSON, with advice."""
    languages = found.languages()
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
            {"passage": passage, "share": share} for passage, share in found.passages.common()
        ],
        "advice": [
            *on_languages([noticed.language for noticed in languages]),
            *_on_markup(found),
            *_on_overlong(found),
            *_on_passages(found),
            *_on_garbled(found),
        ],
    }


def summarise_texts(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
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


def _texts(some: RowCount) -> str:
    more = ", …" if some.count > len(some.rows) else ""
    return f"{some.count:,} of the texts (row {', '.join(map(str, some.rows))}{more})"


def _on_passages(found: Inspection) -> list[str]:
    return [
        f"“{shown(passage, 60)}” stands in {share:.0%} of the texts: such passages say nothing "
        "about a text; remove them from the table."
        for passage, share in found.passages.common()[:NAMED]
    ]


def _on_garbled(found: Inspection) -> list[str]:
    if (change := found.garbled_example) is None:
        return []
    texts = "1 text has" if found.garbled == 1 else f"{found.garbled:,} texts have"
    return [
        f"{texts} garbled letters, like {shown(change.before)!r} in row {change.row:,}, which "
        f"should be {shown(change.after)!r}: the table was saved in a wrong encoding; export it "
        "again as UTF-8."
    ]
