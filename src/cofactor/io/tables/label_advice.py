"""What is doubtful about the labels of a table, in sentences that `check` and `fit` say alike.

It lives above `labels`, `spelling` and `dates` and imports the standard library only. `refusal`
says why labels cannot be what the user wants to predict: texts, row numbers, dates. `label_notes`
says how labels are read where that may surprise, each time with the option that changes it. Both
see counts only, so they also serve tables that are larger than memory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Any

from cofactor.errors import Parameter, ParameterWarning
from cofactor.io.errors import printable, shortened
from cofactor.io.tables.dates import are_dates
from cofactor.io.tables.labels import LabelCounts, are_numbers, whole_numbers, written_number
from cofactor.io.tables.relabel import relabel_command
from cofactor.io.tables.spelling import LONGEST, MOST_COMPARED, MUCH_LARGER, errors, probable_merges

UNKNOWN = {
    "na",
    "n/a",
    "n.a.",
    "#n/a",
    "<na>",
    "nan",
    "null",
    "nil",
    "none",
    "(none)",
    "(blank)",
    "unknown",
    "unlabelled",
    "unlabeled",
    "no label",
    "not labelled",
    "not labeled",
    "unclassified",
    "unassigned",
    "undefined",
    "tbd",
    "?",
    "??",
    "???",
    "-",
    "--",
    "---",
    "–",
    "—",
    ".",
    "...",
    "…",
    "k.a.",
    "k. a.",
    "keine angabe",
    "unbekannt",
    "(leer)",
    "n/d",
    "n.d.",
    "s/d",
    "inconnu",
    "non renseigné",
    "desconocido",
    "desconhecido",
    "sconosciuto",
    "onbekend",
    "nieznany",
    "неизвестно",
    "未知",
    "不明",
}
"""Labels that may mean "not labelled", in several languages and as spreadsheets write them."""

FEW, MANY_CLASSES, LISTED = 5, 50, 8
"""Few labels of a class; many classes; number of merges that a sentence lists."""

SHOWN = 60
"""Number of characters of a label that a sentence shows."""

FEWEST_IDS = 20
"""Number of labels from which distinct ones can be recognised as a numbering."""

CODE = re.compile(r"(?=\D*\d)[\w.:#/-]{2,}")
"""A name with a digit and without spaces, like T-00012."""


def refusal(counts: LabelCounts) -> str | None:
    """Say why labels of one column are most likely not what the user wants to predict.

    Returns
    -------
    str or None
        A sentence that ends without a remedy; None if nothing speaks against the labels.
    """
    counts = counts.without(marks(counts))
    if len(counts.columns) != 1 or counts.several or not counts.columns[0]:
        return None
    column, labelled = counts.columns[0], counts.labelled
    first = _shown(next(iter(column)))
    if are_dates(column):
        return f"The labels are dates, like '{first}', and dates are no classes."
    if are_ids(column):
        return (
            f"All {labelled:,} labels are different and look like row numbers or ids ('{first}', "
            "…), which no text can tell."
        )
    return None if counts.form == "numbers" else too_many_classes(len(column), labelled)


def are_ids(column: Counter[str]) -> bool:
    """Tell whether labels are names of rows: each occurs once, and they are a numbering.

    Whole numbers are a numbering if they rise from row to row, have few gaps, or are long and of
    one length. Other labels are one if all of them are codes with a digit.
    """
    if len(column) < FEWEST_IDS or max(column.values()) > 1:
        return False
    numbers = whole_numbers(column)
    if numbers is None:
        return not are_numbers(column) and all(map(CODE.fullmatch, column))
    rising = all(a < b for a, b in pairwise(numbers))
    dense = max(numbers) - min(numbers) < 1.5 * len(numbers)
    lengths = {len(str(number)) for number in numbers}
    return rising or dense or (len(lengths) == 1 and min(lengths) > 5)


def too_many_classes(classes: int, labelled: int) -> str | None:
    """Ask whether this is the label column, if there are suspiciously many classes."""
    if classes > MANY_CLASSES and 2 * classes > labelled:
        return f"{classes:,} classes for {labelled:,} labels: is this the column of the labels?"
    return None


def class_doubts(classes: Collection[Any], topics: int = 0) -> Iterator[ParameterWarning]:
    """Yield what speaks against learning these classes.

    Parameters
    ----------
    classes : collection
        The distinct classes of all labels.
    topics : int
        Number of topics, if each class should have one; else 0.
    """
    y, number = Parameter("y"), len(classes)
    if not number:
        yield ParameterWarning(
            (y, " has no label, so the model has topics but predicts nothing"), "add labels"
        )
    elif number == 1:
        yield ParameterWarning(
            ("All labels of ", y, f" are {_shown(str(next(iter(classes))))!r}"),
            "label some documents of other classes",
        )
    elif 1 < topics < number:
        yield ParameterWarning(
            (
                Parameter("n_components", topics),
                f" is less than the {number:,} classes, so several classes share a topic",
            ),
            (Parameter("n_components", number), " gives one to each"),
        )


def label_notes(
    counts: LabelCounts, fewest: int = 0, asked: str | None = None, *, fitted: bool = False
) -> list[str]:
    """Return sentences about how labels are read and which of them look wrong.

    Parameters
    ----------
    counts : LabelCounts
        The labels, after --relabel and --min-labels.
    fewest : int
        The value of --min-labels; 0 if it was not given.
    asked : str, optional
        The form that --task settled; by default the form that the labels have.
    fitted : bool
        Whether a fit follows at once, which warns of a single class itself.
    """
    form = asked or counts.form
    if not counts.labelled:
        return [_in_table(doubt) for doubt in class_doubts(())]
    if form == "none":
        return []
    rest = counts.without(marks(counts))
    read = _on_numbers(rest) if asked in (None, counts.form) and rest.form == counts.form else ()
    hidden = counts.form != "numbers" == rest.form
    if hidden or form in ("numbers", "columns"):
        return [*read, *_on_marks(counts)]
    single = () if fitted else map(_in_table, class_doubts(counts.classes))
    doubtful = (*_on_lengths(counts), *single, *_on_sizes(counts, fewest))
    return [*read, *doubtful, *_on_marks(counts), *_on_spelling(counts)]


def _in_table(doubt: ParameterWarning) -> str:
    return doubt.sentence({"y": "the label column"})


def merges(counts: LabelCounts) -> dict[str, str]:
    """Return the classes that are probably one, each with the name to use."""
    if counts.form not in ("classes", "sets"):
        return {}
    unknown = marks(counts)
    return probable_merges({name: n for name, n in counts.classes.items() if name not in unknown})


def _on_numbers(counts: LabelCounts) -> Iterator[str]:
    """Say whether labels that look like numbers are read as numbers or as classes."""
    if counts.form == "numbers":
        yield "The labels are numbers, so fit predicts numbers; --task classes predicts classes."
        return
    if counts.form == "classes" and (first := written_number(counts.classes)):
        yield (
            f"Labels like {printable(first)!r} are read as {len(counts.classes)} classes; to "
            "predict numbers, write them with a decimal point and without units, like 4.5."
        )
    numbers = whole_numbers(counts.classes) if counts.form in ("classes", "sets") else None
    if numbers is None or len(numbers) < 3 or (counts.form == "sets" and len(counts.columns) == 1):
        return
    if counts.form == "sets":
        yield (
            "The columns hold whole numbers, which are combined to sets of labels; --task numbers "
            "predicts each column as numbers."
        )
    else:
        yield (
            f"The labels are whole numbers from {min(numbers)} to {max(numbers)} and are read as "
            f"{len(numbers)} classes; if their order matters, --task numbers predicts numbers."
        )


def _on_lengths(counts: LabelCounts) -> Iterator[str]:
    """Doubt labels that are as long as texts."""
    if long := _as_long_as_texts(counts):
        have = "The label {} has" if len(long) == 1 else "The labels {} have"
        yield (
            f"{have.format(names(long))} more than {LONGEST} characters: is this a text, or a "
            "quote that is never closed? Correct the table, or name another column with --label."
        )


def _as_long_as_texts(counts: LabelCounts) -> list[str]:
    return [name for name in counts.classes if len(name) > LONGEST]


def _on_sizes(counts: LabelCounts, fewest: int) -> Iterator[str]:
    classes = counts.classes
    if len(classes) == 1:
        return
    misspelt = merges(counts)
    unclear = {*misspelt, *marks(counts), *_as_long_as_texts(counts)}
    few = [name for name, count in classes.items() if count < FEW and name not in unclear]
    if not few:
        return
    if len(classes) <= MANY_CLASSES:
        others = len(few) < len(classes) - len(unclear)
        remedy = f" --min-labels {FEW} leaves them out." if others and not fewest else ""
        yield f"Fewer than {FEW} labels of {names(few)}: a few more would help most.{remedy}"
        if perhaps := _perhaps_misspelt(few, classes):
            pairs = ", ".join(f"{printable(a)!r} for {printable(b)!r}" for a, b in perhaps.items())
            yield f"Perhaps misspelt: {pairs}. If so, add {relabel_command(perhaps)}"
    elif not fewest:
        yield (
            f"{len(few):,} of {len(classes):,} labels have fewer than {FEW} documents and can "
            f"hardly be learned; --min-labels {FEW} leaves them out."
        )


def _perhaps_misspelt(few: list[str], classes: Counter[str]) -> dict[str, str]:
    """Return classes that are one typing error away from a much larger class, each with it.

    `merges` is more careful, since its answer is proposed without a question.
    """
    found: dict[str, str] = {}
    for name in few[:LISTED]:
        larger = [one for one, n in classes.items() if n >= MUCH_LARGER * classes[name]]
        near = [one for one in larger if errors(name, one) == 1]
        found |= {name: max(near, key=classes.__getitem__)} if near else {}
    return found


def marks(counts: LabelCounts) -> list[str]:
    """Return the labels that probably mean "not labelled"."""
    classes = counts.classes
    signs = set("-–—") if "+" in classes else ()  # the opposite of +, which is a class
    found = [name for name in classes if name.casefold() in UNKNOWN and name not in signs]
    return found + [one for one in classes if one in ("-1", "-1.0") and _is_mark(one, classes)]


def _on_marks(counts: LabelCounts) -> Iterator[str]:
    if unknown := marks(counts):
        options = " ".join(f"--unlabelled {printable(name)!r}" for name in unknown)
        become = counts.form != "numbers" == counts.without(unknown).form
        then = " The other labels are numbers, which fit then predicts." if become else ""
        mean = "means" if len(unknown) == 1 else "mean"
        yield f"If {names(unknown)} {mean} not labelled, add {options}.{then}"


def _is_mark(name: str, classes: Counter[str]) -> bool:
    """Tell whether -1 may mean "not labelled": it is frequent, and no other number is negative."""
    others = [one for one in classes if one != name]
    frequent = classes[name] > 0.05 * classes.total()
    return len(others) > 1 and frequent and not any(one.startswith("-") for one in others)


def _on_spelling(counts: LabelCounts) -> Iterator[str]:
    """List classes that are probably one, with the options that merge them."""
    if len(counts.classes) > MOST_COMPARED:
        yield f"There are more than {MOST_COMPARED:,} labels, so misspelt ones are not looked for."
    found, classes = merges(counts), counts.classes
    if not found:
        return
    listed = dict(list(found.items())[:LISTED])
    pairs = ", ".join(
        f"{printable(old)!r} ({classes[old]:,}) and {printable(new)!r} ({classes[new]:,})"
        for old, new in listed.items()
    )
    rest = len(found) - len(listed)
    more = f" and {rest} more" if rest else ""
    how = relabel_command(listed)
    if rest or any("=" in old + new for old, new in listed.items()):
        how = "write them to a file with check --write-relabels, and name it with --relabel-file"
    yield f"Probably one class each: {pairs}{more}. To merge them: {how}"


def names(some: list[str]) -> str:
    """Return class names for a sentence."""
    listed = ", ".join(repr(_shown(name)) for name in some[:8])
    return listed + (f" and {len(some) - 8} more" if len(some) > 8 else "")


def _shown(name: str) -> str:
    return shortened(printable(name), SHOWN)
