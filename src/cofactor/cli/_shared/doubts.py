"""What commands say about a table before they fit it: its size, and what is doubtful."""

from __future__ import annotations

from cofactor.cli._shared.blocks import BlockReading
from cofactor.cli._shared.command import BadInput
from cofactor.cli._shared.tables import Reading
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


def label_doubts(reading: Reading, task: str) -> list[str]:
    """Return what is doubtful about the labels of a table before a fit.

    Reject columns that do not look like labels, unless --task overrides.
    """
    facts, found = reading.facts, [*reading.notes]
    if facts["label"] is None or (facts["format"] == "folder" and not facts["labelled"]):
        return found
    if task == "auto" and (reason := refusal(reading.counts)):
        raise BadInput(
            f"{reason} Name the right column with --label, or insist with --task classes or --task "
            "numbers."
        )
    fewest, form = facts["min_labels"] or 0, facts["labels_are"]
    return [*found, *label_notes(reading.counts, fewest, form, fitted=True)]
