"""What is doubtful about the labels of a table, in sentences that `check` and `fit` share.

`refusal` says why labels cannot be what the user wants to predict: texts, row numbers, dates.
`label_notes` says how labels are read where that may surprise, each time with the parameter that
changes it. Both see counts only, so they also serve tables that are larger than memory.

`probable_merges` finds class names that are probably one class in several spellings; nothing is
merged here. Two names are probably one class if they

- are equal without case, without the spaces, hyphens and underscores between letters, and without
  a full stop or comma at the end,
- are singular and plural of one English word, or
- differ by one typing error, and one class has at least four times the labels of the other. Names
  of 5 to 7 characters are often different words; for them the smaller class must be rare beside the
  other one: two labels, or 2 % of the other's. Two typing errors need long names and a rare class.

Two letters in the wrong order are hardly ever another word, so they need neither length nor a rare
class. Typing errors leave the first letter as it is, unless it is swapped with the second. Names
with different digits are different classes; so are names in scripts whose characters are words,
short names in capitals, and names of several parts that differ in a short one, as codes do. Names
of more than 200 characters are texts and are not compared.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from rapidfuzz import process
from rapidfuzz.distance import OSA

from cofactor.errors import Clause, Parameter, ParameterWarning
from cofactor.io.errors import printable, shortened
from cofactor.io.tables.dates import are_dates
from cofactor.io.tables.labels import LabelCounts, clear_separator, whole_numbers, written_number
from cofactor.targets.task import MAX_CODES, are_numbers, parse_labels
from cofactor.targets.written import is_number, number_style

Note = str | ParameterWarning
"""A sentence for the user; it may name parameters."""

UNKNOWN_NAMES = {
    *("na", "n/a", "n.a.", "#n/a", "<na>", "nan", "null", "nil", "none", "(none)", "(blank)"),
    *("unknown", "unlabelled", "unlabeled", "no label", "not labelled", "not labeled"),
    *("unclassified", "unassigned", "undefined", "tbd", "?", "??", "???", "-", "--", "---"),
    *("–", "—", ".", "...", "…", "k.a.", "k. a.", "keine angabe", "unbekannt", "(leer)", "n/d"),
    *("n.d.", "s/d", "inconnu", "non renseigné", "desconocido", "desconhecido", "sconosciuto"),
    *("onbekend", "nieznany", "неизвестно", "未知", "不明"),
}
"""Labels that may mean "not labelled", in several languages and as spreadsheets write them."""

MIN_LEARNABLE_LABELS = 5
"""Classes with fewer labels are named in a note."""

MANY_CLASSES = 50
LISTED_MERGES, LISTED_NAMES = 8, 8
MAX_SHOWN_CHARACTERS = 60
"""A sentence shows this many characters of a label."""

MIN_IDS = 20
"""Fewer distinct labels are not recognised as a numbering of rows."""

CODE = re.compile(r"(?=\D*\d)[\w.:#/-]{2,}")
"""A name with a digit and without spaces, like T-00012."""

MAX_COMPARED_CLASSES = 2000
"""With more classes, typing errors are not looked for."""

MAX_NAME_CHARACTERS = 200
"""Longer names are texts; of more than 500 classes, only names of 64 characters are compared."""

MUCH_LARGER = 4
"""A class is much larger than another if it has at least this many times its labels."""

MAX_RARE_LABELS, MAX_RARE_SHARE = 2, 0.02
"""A class is rare beside another if it has at most 2 labels, or 2 % of the other's."""

MIN_COMPARED_LENGTH, MIN_LONG_LENGTH = 5, 8
"""All typing errors count in names of at least this many characters; longer ones are long."""

_JOINT = re.compile(r"(?<=[^\W\d_])[\s_-]+(?=[^\W_])|(?<=[^\W_])[\s_-]+(?=[^\W\d_])")
_ES = ("ses", "xes", "zes", "ches", "shes")
_WORDLIKE = 0x2E80  # Han, Kana and Hangul begin here


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
        return f"The labels are dates, like '{first}', and dates are not classes."
    if are_ids(column):
        return (
            f"All {labelled:,} labels are different and look like row numbers or ids ('{first}', "
            "…), which texts cannot predict."
        )
    if counts.form == "numbers":
        return None
    return half_numbers(column) or too_many_classes(len(column), labelled)


def numbers_beside_marks(counts: LabelCounts) -> list[str]:
    """Return the labels that probably mean "not labelled" if all others are numbers."""
    unknown = marks(counts)
    return unknown if counts.form != "numbers" == counts.without(unknown).form else []


def half_numbers(column: Collection[str]) -> str | None:
    """Say that only some labels are numbers, or that they are written in different ways.

    Up to `MAX_CODES` different numbers may be codes of classes.
    """
    numbers = [label for label in column if is_number(label)]
    others = [label for label in column if not is_number(label)]
    if len(numbers) <= max(MAX_CODES, len(others)) or written_number(column):
        return None
    if parse_labels(column) != list(column):  # plain numbers that are codes
        return None
    if others:
        return (
            f"Some labels are numbers, like {names(numbers[:3])}, and others are not, like "
            f"{names(others[:3])}: correct these, or leave them unlabelled."
        )
    if not (odd := _other_style(numbers)):
        return None
    return (
        f"The labels are numbers that are written in different ways, like {names(odd)}; write "
        "them alike."
    )


def _other_style(numbers: list[str]) -> list[str]:
    """Return two numbers that have no style in common."""
    pairs = ([numbers[0], one] for one in numbers[1:])
    return next((pair for pair in pairs if number_style(pair) is None), [])


def are_ids(column: Counter[str]) -> bool:
    """Return whether labels are names of rows: each occurs once, and they are a numbering.

    Whole numbers are a numbering if they rise from row to row, have few gaps, or are long and of
    one length. Other labels are one if all of them are codes with a digit.
    """
    if len(column) < MIN_IDS or max(column.values()) > 1:
        return False
    numbers = whole_numbers(column)
    if numbers is None:
        return not are_numbers(parse_labels(column)) and all(map(CODE.fullmatch, column))
    rising = all(a < b for a, b in pairwise(numbers))
    dense = max(numbers) - min(numbers) < 1.5 * len(numbers)
    lengths = {len(str(number)) for number in numbers}
    return rising or dense or (len(lengths) == 1 and min(lengths) > 5)


def too_many_classes(classes: int, labelled: int) -> str | None:
    """Ask whether this is the label column, if there are suspiciously many classes."""
    if classes > MANY_CLASSES and 2 * classes > labelled:
        return f"{classes:,} classes for {labelled:,} labels: is this the column of the labels?"
    return None


def suggest_topics(classes: int, documents: int) -> int:
    """Return a number of topics to start with: three for each class, two or one of many.

    Without classes it depends on the number of documents.

    Examples
    --------
    >>> [suggest_topics(classes, 8000) for classes in (2, 5, 12, 20, 77)]
    [6, 15, 30, 40, 77]
    >>> suggest_topics(0, 8000), suggest_topics(5, 12)
    (20, 6)
    """
    if classes > 1:
        each = 1 if classes > MANY_CLASSES else 2
        wanted = max(each * classes, min(3 * classes, 30))
    else:
        wanted = 10 if documents < 1000 else 20
    return max(1, min(wanted, documents // 2))


def class_doubts(
    classes: Collection[Any], topics: int = 0, documents: int = 0
) -> Iterator[ParameterWarning]:
    """Yield what speaks against learning these classes.

    Parameters
    ----------
    classes : collection
        The distinct classes of all labels.
    topics : int
        Number of topics, if each class should have one; else 0.
    documents : int
        Number of documents.
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
            (
                Parameter("n_components", max(number, suggest_topics(number, documents))),
                " gives each its own",
            ),
        )


def label_notes(
    counts: LabelCounts, min_labels: int = 0, asked: str | None = None, *, fitted: bool = False
) -> list[Note]:
    """Return sentences about how labels are read and which of them look wrong.

    Parameters
    ----------
    counts : LabelCounts
        The labels, renamed and without the classes that are too rare.
    min_labels : int
        The number of labels that a class must have; 0 if the user gave none.
    asked : str, optional
        The form that the task requires; by default the form that the labels have.
    fitted : bool
        Whether a fit follows at once, which warns of a single class itself; cells that hold several
        labels are then told here.
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
    joined = _on_joined(counts) if fitted and form == "classes" else ()
    doubtful = (*_on_lengths(counts), *single, *joined, *_on_sizes(counts, min_labels))
    return [*read, *doubtful, *_on_marks(counts), *_on_spelling(counts)]


def _on_joined(counts: LabelCounts) -> Iterator[Note]:
    if (mark := clear_separator(counts.classes)) is not None:
        yield separator_note(counts.classes, mark)


def separator_note(classes: Iterable[str], mark: str) -> Note:
    """Say which option splits cells that seem to hold several labels."""
    first = next(label for label in classes if mark in label.strip(mark))
    reason = f"If cells like {printable(first)!r} hold several labels, add "
    return ParameterWarning((reason, Parameter("label_separator", mark)))


def _in_table(doubt: ParameterWarning) -> str:
    return doubt.sentence({"y": "the label column"})


def merges(counts: LabelCounts) -> dict[str, str]:
    """Return the classes that are probably one, each with the name to use."""
    if counts.form not in ("classes", "sets"):
        return {}
    unknown = marks(counts)
    return probable_merges({name: n for name, n in counts.classes.items() if name not in unknown})


def _on_numbers(counts: LabelCounts) -> Iterator[Note]:
    """Say whether labels that look like numbers are read as numbers or as classes."""
    found = list(map(written_number, counts.columns))
    first = next((label for label in found if label is not None), None)
    if counts.form == "numbers":
        style = number_style(counts.columns[found.index(first)]) if first else None
        value = style.plain(first) if style and first else None
        read = f"; {printable(first or '')!r} is read as {float(value):.10g}" if value else ""
        yield ParameterWarning(
            f"The labels are numbers, so fit predicts numbers{read}",
            (Parameter("task", "classes"), " predicts classes"),
        )
        return
    if counts.form == "classes" and first is not None:
        yield ParameterWarning(
            f"Labels like {printable(first)!r} are read as {len(counts.classes)} classes",
            (Parameter("task", "numbers"), " predicts numbers"),
        )
    numbers = whole_numbers(counts.classes) if counts.form in ("classes", "sets") else None
    if numbers is None or len(numbers) < 3 or (counts.form == "sets" and len(counts.columns) == 1):
        return
    if counts.form == "sets":
        yield ParameterWarning(
            "The columns hold whole numbers, which are combined to sets of labels",
            (Parameter("task", "numbers"), " predicts each column as numbers"),
        )
    else:
        yield ParameterWarning(
            f"The labels are whole numbers from {min(numbers)} to {max(numbers)} and are read as "
            f"{len(numbers)} classes",
            ("if their order matters, ", Parameter("task", "numbers"), " predicts numbers"),
        )


def _on_lengths(counts: LabelCounts) -> Iterator[Note]:
    """Doubt labels that are as long as texts."""
    if long := _as_long_as_texts(counts):
        have = "The label {} has" if len(long) == 1 else "The labels {} have"
        yield ParameterWarning(
            (
                f"{have.format(names(long))} more than {MAX_NAME_CHARACTERS} characters: is this a "
                "text, or a quote that is never closed? Correct the table, or name another column "
                "with ",
                Parameter("label"),
            )
        )


def _as_long_as_texts(counts: LabelCounts) -> list[str]:
    return [name for name in counts.classes if len(name) > MAX_NAME_CHARACTERS]


def _on_sizes(counts: LabelCounts, min_labels: int) -> Iterator[Note]:
    classes = counts.classes
    if len(classes) == 1:
        return
    misspelt = merges(counts)
    unclear = {*misspelt, *marks(counts), *_as_long_as_texts(counts)}
    few = [
        name
        for name, count in classes.items()
        if count < MIN_LEARNABLE_LABELS and name not in unclear
    ]
    if not few:
        return
    if len(classes) <= MANY_CLASSES:
        others = len(few) < len(classes) - len(unclear)
        reason = (
            f"Fewer than {MIN_LEARNABLE_LABELS} labels of {names(few)}: a few more would help most"
        )
        yield ParameterWarning(reason, _LEAVES_OUT_FEW if others and not min_labels else "")
        if perhaps := _perhaps_misspelt(few, classes):
            pairs = ", ".join(f"{printable(a)!r} for {printable(b)!r}" for a, b in perhaps.items())
            yield ParameterWarning(
                f"Perhaps misspelt: {pairs}", ("if so, ", Parameter("relabel", perhaps), _MERGES)
            )
    elif not min_labels:
        yield ParameterWarning(
            f"{len(few):,} of {len(classes):,} labels have fewer than {MIN_LEARNABLE_LABELS} "
            "documents and can hardly be learned",
            _LEAVES_OUT_FEW,
        )


_LEAVES_OUT_FEW = (Parameter("min_labels", MIN_LEARNABLE_LABELS), " leaves them out")
_MERGES = " merges them"


def _perhaps_misspelt(few: list[str], classes: Counter[str]) -> dict[str, str]:
    """Return classes that are one typing error away from a much larger class, each with it.

    `merges` is more careful, since its answer is proposed without a question.
    """
    found: dict[str, str] = {}
    for name in few[:LISTED_MERGES]:
        larger = [one for one, n in classes.items() if n >= MUCH_LARGER * classes[name]]
        near = [one for one in larger if typing_errors(name, one) == 1]
        found |= {name: max(near, key=classes.__getitem__)} if near else {}
    return found


def marks(counts: LabelCounts) -> list[str]:
    """Return the labels that probably mean "not labelled"."""
    classes = counts.classes
    signs = set("-–—") if "+" in classes else ()  # the opposite of +, which is a class
    found = [name for name in classes if name.casefold() in UNKNOWN_NAMES and name not in signs]
    return found + [one for one in classes if one in ("-1", "-1.0") and _is_mark(one, classes)]


def unlabelled_notes(found: Mapping[str, int]) -> list[Note]:
    """Say which labels mean "unlabelled" beside the others, given how many there are of each."""
    notes: list[Note] = []
    for label, n in found.items():
        said = f"{'1 label is' if n == 1 else f'{n:,} labels are'} {label!r}"
        if label[:1] != "-":
            notes.append(f"{said}, which means unlabelled among numbers.")
            continue
        renamed = Parameter("relabel", {label: "NAME"})
        notes.append(
            ParameterWarning(
                f"{said}, which means unlabelled among whole numbers",
                ("if it is a class, ", renamed, " gives it a name"),
            )
        )
    return notes


def _on_marks(counts: LabelCounts) -> Iterator[Note]:
    if unknown := marks(counts):
        become = counts.form != "numbers" == counts.without(unknown).form
        then = ". The other labels are numbers, which fit then predicts" if become else ""
        mean = "means" if len(unknown) == 1 else "mean"
        yield ParameterWarning(
            (
                f"If {names(unknown)} {mean} not labelled, add ",
                Parameter("unlabelled", unknown),
                then,
            )
        )


def _is_mark(name: str, classes: Counter[str]) -> bool:
    """Return whether -1 may mean "not labelled": it is frequent, and no other label is negative."""
    others = [one for one in classes if one != name]
    frequent = classes[name] > 0.05 * classes.total()
    return len(others) > 1 and frequent and not any(one.startswith("-") for one in others)


def _on_spelling(counts: LabelCounts) -> Iterator[Note]:
    """List classes that are probably one, and say how to merge them."""
    if len(counts.classes) > MAX_COMPARED_CLASSES:
        yield (
            f"There are more than {MAX_COMPARED_CLASSES:,} labels, so misspelt ones are not looked "
            "for."
        )
    found, classes = merges(counts), counts.classes
    if not found:
        return
    listed = dict(list(found.items())[:LISTED_MERGES])
    pairs = ", ".join(
        f"{printable(old)!r} ({classes[old]:,}) and {printable(new)!r} ({classes[new]:,})"
        for old, new in listed.items()
    )
    rest = len(found) - len(listed)
    more = f" and {rest} more" if rest else ""
    how: Clause = (Parameter("relabel", listed), _MERGES)
    if rest or any("=" in old + new for old, new in listed.items()):
        how = (
            "write them to a table with the columns old and new, as cofactor check does, and name "
            "it with ",
            Parameter("relabel_file"),
        )
    yield ParameterWarning(f"Probably one class each: {pairs}{more}", how)


def names(some: list[str]) -> str:
    """Return class names for a sentence."""
    listed = ", ".join(repr(_shown(name)) for name in some[:LISTED_NAMES])
    return listed + (f" and {len(some) - LISTED_NAMES} more" if len(some) > LISTED_NAMES else "")


def _shown(name: str) -> str:
    return shortened(printable(name), MAX_SHOWN_CHARACTERS)


def probable_merges(counts: Mapping[str, int]) -> dict[str, str]:
    """Return the names that are probably another class, each with the name of that class.

    Parameters
    ----------
    counts : mapping of str to int
        How many labels each class has.

    Returns
    -------
    dict of str to str
        In the order of ``counts``. The largest class of several spellings keeps its name.

    Examples
    --------
    >>> probable_merges({"Sport": 40, "sport ": 3, "Sports": 2, "Sprot": 1, "Space": 30})
    {'sport ': 'Sport', 'Sports': 'Sport', 'Sprot': 'Sport'}
    """
    names = {name: name for name in counts}
    for key in (_folded, _stem):
        _join(names, _largest(names.values(), counts, key))
    sizes: dict[str, int] = defaultdict(int)
    for name, kept in names.items():
        sizes[kept] += counts[name]
    _join(names, _typing_errors(sizes))
    return {name: kept for name, kept in names.items() if kept != name}


def _join(names: dict[str, str], kept: Mapping[str, str]) -> None:
    for name, now in names.items():
        names[name] = kept.get(now, now)


def _largest(names: Iterable[str], counts: Mapping[str, int], key) -> dict[str, str]:  # type: ignore[no-untyped-def]
    """Return for each name the largest of those that have its key."""
    groups: dict[Hashable, list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        groups[key(name)].append(name)
    return {name: max(some, key=counts.__getitem__) for some in groups.values() for name in some}


def _folded(name: str) -> str:
    """Return a name without case, without what joins its words and without a stop at its end."""
    tidy = unicodedata.normalize("NFKC", name).casefold().strip()
    return _JOINT.sub("", tidy.rstrip(" .,;:") or tidy)


def _stem(name: str) -> str:
    return _singular(_folded(name))


def _singular(word: str) -> str:
    """Return the singular of an English word, or the word."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(_ES) and len(word) > 4:
        return word[:-2]
    return word[:-1] if word.endswith("s") and word[-2:] != "ss" and len(word) > 3 else word


def _typing_errors(sizes: Mapping[str, int]) -> dict[str, str]:
    """Return the names that are probably misspelt, each with the much larger class it means."""
    if len(sizes) > MAX_COMPARED_CLASSES:
        return {}
    found: dict[str, str] = {}
    stems: dict[str, str] = {}  # of the names that are not misspelt
    longest = MAX_NAME_CHARACTERS if len(sizes) <= 500 else 64  # so a second is enough
    compared = [name for name in sizes if len(name) <= longest]
    for name in sorted(compared, key=lambda one: -sizes[one]):
        stem = _stem(name)
        near = process.extract(stem, stems, scorer=OSA.distance, score_cutoff=2, limit=None)
        ranked = sorted((typing_errors(name, one), -sizes[one], one) for _, _, one in near)
        meant = [one for n, _, one in ranked if n <= _accepted(name, one, sizes)]
        if meant:
            found[name] = meant[0]
        else:
            stems[name] = stem
    return found


def _accepted(name: str, other: str, sizes: Mapping[str, int]) -> int:
    """Return how many typing errors may stand between a name and that of a larger class."""
    size, larger = sizes[name], sizes[other]
    if larger < MUCH_LARGER * size:
        return 0
    rare = size <= max(MAX_RARE_LABELS, MAX_RARE_SHARE * larger)
    short, long = sorted(map(len, map(_folded, (name, other))))
    likely = rare or long >= MIN_LONG_LENGTH or _swapped(_stem(name), _stem(other))
    return 2 if rare and short >= MIN_LONG_LENGTH else int(likely)


def _swapped(a: str, b: str) -> bool:
    """Return whether two words have the same letters, at least three, in another order."""
    return len(a) > 2 and sorted(a) == sorted(b)


def typing_errors(one: str, other: str) -> int:
    """Return the number of typing errors between two names; 9 if they are different names.

    An error is a character too many, too few or wrong, or two neighbours in the wrong order.

    Examples
    --------
    >>> typing_errors("Billing", "biling"), typing_errors("Grade 1", "Grade 2")
    (1, 9)
    >>> typing_errors("beer", "beef"), typing_errors("cs.GL", "cs.GT"), typing_errors("AUS", "USA")
    (9, 9, 9)
    """
    if max(len(one), len(other)) > MAX_NAME_CHARACTERS:
        return 9
    a, b = _stem(one), _stem(other)
    if max(map(ord, a + b)) >= _WORDLIKE or _is_short(a, b) or _differ_as_codes(one, other):
        return 9
    same_digits = re.findall(r"\d+", a) == re.findall(r"\d+", b)
    return OSA.distance(a, b) if same_digits and (a[0] == b[0] or a[:2] == b[1::-1]) else 9


def _is_short(a: str, b: str) -> bool:
    """Return whether two words are too short for typing errors other than swapped letters."""
    return max(len(a), len(b)) < MIN_COMPARED_LENGTH and not _swapped(a, b)


def _differ_as_codes(one: str, other: str) -> bool:
    """Return whether names are codes, or differ in a short part, as cs.GL and cs.GT do."""
    if one.isupper() and other.isupper() and max(len(one), len(other)) <= MIN_COMPARED_LENGTH:
        return True
    parts = [re.findall(r"[^\W_]+", name.casefold()) for name in (one, other)]
    if len(parts[0]) != len(parts[1]) or len(parts[0]) < 2:
        return False
    return any(a != b and _is_short(a, b) for a, b in zip(*parts, strict=True))
