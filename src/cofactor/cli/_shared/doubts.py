"""What commands say about a table before they fit it: its size, and what is doubtful."""

from __future__ import annotations

from cofactor.cli._shared.blocks import BlockReading
from cofactor.cli._shared.command import BadInput
from cofactor.cli._shared.tables import Reading
from cofactor.cli._shared.targets import count_classes
from cofactor.io.tables.label_advice import label_notes, refusal

_FORMS = {
    "sets": " with any number of labels",
    "columns": " with yes or no in each column",
    "numbers": " with numbers",
}


def summary(reading: Reading | BlockReading) -> str:
    """Return a sentence about the documents and their labels."""
    facts = reading.facts
    how = [facts["format"]] + ([facts["encoding"]] if facts["encoding"] else [])
    labels = f"{facts['labelled']:,} labelled{_FORMS.get(facts['labels_are'], '')}"
    labels = labels if facts["label"] else "no label column"
    return f"{facts['rows']:,} documents ({', '.join(how)}), {labels}."


def label_doubts(reading: Reading, task: str, topics: int) -> list[str]:
    """Return what is doubtful about the labels; refuse labels that are none, unless --task asks.

    ``topics`` is the number of topics, or the largest of those to try.
    """
    facts, found = reading.facts, [*reading.notes]
    if facts["label"] is None or (facts["format"] == "folder" and not facts["labelled"]):
        return found
    if task == "auto" and (reason := refusal(reading.counts)):
        raise BadInput(
            f"{reason} Name the right column with --label, or insist with --task classes or --task "
            "numbers."
        )
    found += label_notes(reading.counts, facts["min_labels"] or 0, facts["labels_are"])
    classes = count_classes(reading.counts, facts["labels_are"])
    if 1 < topics < classes and facts["labels_are"] == "classes":
        found.append(
            f"{topics:,} topics for {classes:,} classes: several classes share a topic; -k "
            f"{classes} gives one to each."
        )
    return found
