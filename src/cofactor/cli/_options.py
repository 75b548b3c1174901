"""The options that commands share, and the objects in which they arrive.

Each option is declared once, in `SHARED`. ``@add("text", WORDS)`` adds options to a command, in
that order. A name stands for one option, which arrives as an argument of that name. A `Group`
stands for several, which arrive as one object: `TableOptions`, `CellOptions`, `WordOptions`,
`EncoderOptions` or `ModelOptions`.
A model's manifest notes its `TableOptions`, so that later commands read the table in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from cofactor.cli._command import BadInput
from cofactor.io.errors import at, similar_path
from cofactor.io.platform import STANDARD_INPUT
from cofactor.io.tables.file_parts import names_parts
from cofactor.io.tables.labels import (
    LabelColumns,
    Relabels,
    as_label_columns,
    as_noted,
    read_relabels,
)

PERIODS = ("day", "week", "month", "quarter", "year")

# ---- types of values


class _ExistingPath(click.Path):
    """A path that must exist; "-" is standard input. Errors suggest a path of a similar name.

    Patterns and addresses of several files are accepted, too.
    """

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "-":
            return self.coerce_path_result(STANDARD_INPUT)
        if names_parts(value):
            return Path(value)
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            message = f"{error.message} {similar_path(value)}".rstrip()
            raise click.BadParameter(message, ctx, param) from None


class _OutputFile(click.Path):
    """A file to write; a folder is refused before any work is done."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        path: Any = super().convert(value, param, ctx)
        if path.is_dir():
            self.fail(f"{at(path)} is a folder; name a file.", param, ctx)
        return path


class Number(click.ParamType):
    """A finite number from ``low`` to ``high``, a whole one if ``kind`` is int."""

    def __init__(self, kind: type[int] | type[float], low: int, high: float = math.inf) -> None:
        self.kind, self.low, self.high = kind, low, high
        self.name = "integer" if kind is int else "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            number = self.kind(value)
        except ValueError:
            number = math.nan
        if self.low <= number <= self.high and number < math.inf:
            return number
        which = "whole" if self.kind is int else "finite"
        reach = f"of at least {self.low}"
        if self.high < math.inf:
            reach = f"from {self.low} to {self.high:,}"
        return self.fail(f"{value!r} is not a {which} number {reach}.", param, ctx)


COUNT = Number(int, 1)
SEED = Number(int, 0, 2**32 - 1)
TABLE = _ExistingPath(exists=True, path_type=Path)
FOLDER = click.Path(path_type=Path)
OUTPUT_FILE = _OutputFile(path_type=Path)

model_argument = click.argument("model", type=FOLDER)
table_argument = click.argument("table", type=TABLE)


def option(usage: str, help: str, **settings: Any) -> Any:
    """Return an option.

    Parameters
    ----------
    usage : str
        Its names; the parameter, if it has another name; and the name of a value, with capitals:
        "-k --topics number N".
    help : str
    **settings
        Arguments of `click.option`.
    """
    words = usage.split()
    if words[-1].lower() != words[-1]:
        settings["metavar"] = words.pop()
    return click.option(*words, help=help, **settings)


def repeated(usage: str, help: str, **settings: Any) -> Any:
    """Return an option that may be given several times; its default stands at the end of help."""
    text, mark, default = help.partition("  [default")
    return option(usage, f"{text} May be repeated.{mark}{default}", multiple=True, **settings)


def folder_option(help: str) -> Any:
    """Return the option -o for a folder, which must be given."""
    return option("-o --output FOLDER", help, type=FOLDER, required=True)


def file_option(help: str, default: str | None = None) -> Any:
    """Return the options -o for a file and --force, see `refuse_overwriting`."""
    path = None if default is None else Path(default)
    output = option("-o --output FILE", help, type=OUTPUT_FILE, default=path)
    return lambda function: output(SHARED["force"](function))


def words_option(help: str, default: int = 10) -> Any:
    """Return the option for a number of words to show."""
    return option("--words", help, type=COUNT, default=default)


# ---- values that are more than one word


def _one_character(_: Any, __: Any, value: str | None) -> str | None:
    value = {"tab": "\t", "\\t": "\t"}.get(value or "", value)
    if value is None or (len(value) == 1 and value not in '"\r\n\0'):
        return value
    raise click.BadParameter(f"{value!r} must be one character, such as ',' or ';', or 'tab'.")


def _languages(_: Any, __: Any, value: str) -> list[str] | str | None:
    from cofactor.text.vectorizer.languages import CODES

    names = [name.strip().lower() for name in value.split(",")]
    if names in (["auto"], ["none"]):
        return None if names == ["none"] else "auto"
    for name in names:
        if name not in CODES:
            raise click.BadParameter(
                f"{name!r} is not a known language; there are {', '.join(CODES)}. To remove your "
                "own words, use --language none --stop-words FILE."
            )
    return names


def _letters(_: Any, __: Any, value: str) -> int | str | None:
    if value in ("auto", "none"):
        return None if value == "none" else "auto"
    if value.isdecimal() and int(value) > 0:
        return int(value)
    raise click.BadParameter(f"{value!r} must be auto, none or a number of letters, such as 6.")


def _stop_words(_: Any, __: Any, which: str) -> list[str] | str | None:
    """Return "auto", a language, None, or the words of a file."""
    from cofactor.io.tables.sources import check_plain_file
    from cofactor.text.vectorizer.languages import CODES

    if which in ("auto", "none", *CODES):
        return None if which == "none" else which
    try:
        check_plain_file(Path(which))
        return Path(which).read_text(encoding="utf-8-sig").split()
    except (OSError, ValueError) as error:
        raise BadInput(
            f"--stop-words {which!r} is neither auto nor none nor a language nor a UTF-8 file that "
            f"can be read ({getattr(error, 'strerror', None) or error}); name a file of words."
        ) from error


def _seeds(_: Any, __: Any, given: tuple[str, ...]) -> dict[str, list[str]] | None:
    seeds: dict[str, list[str]] = {}
    for one in given:
        name, equals, words = one.partition("=")
        found = [word.strip() for word in words.split(",") if word.strip()]
        if not (name.strip() and equals and found):
            raise BadInput(
                f"--seed-words {one!r} must be a name and its words, like billing=invoice,refund."
            )
        seeds.setdefault(name.strip(), []).extend(found)
    return seeds or None


def _is_file(given: str) -> bool:
    try:
        return Path(given).is_file()
    except OSError:  # too long for a name
        return False


def _classes(_: Any, __: Any, given: str | None) -> dict[str, str] | None:
    """Return words or a sentence about each class: what follows its name, or the name."""
    if given is None:
        return None
    from cofactor.io.tables.sources import check_plain_file

    lines, is_file = given.split(","), _is_file(given)
    if is_file:
        try:
            check_plain_file(Path(given))
            lines = Path(given).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, ValueError) as error:
            raise BadInput(f"--classes {given!r} cannot be read: {error}.") from error
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        name, _, about = (part.strip() for part in line.partition(":"))
        if is_file and not line.strip():
            continue
        if not name:
            where = f" in line {number}" if is_file else ""
            raise BadInput(
                f"--classes {given!r} has a class without a name{where}; give each class a name."
            )
        if name in found:
            raise BadInput(f"--classes names {name!r} twice; give each class its own name.")
        found[name] = about or name
    if len(found) < 2:
        said = f"--classes {given!r} names fewer than two classes, or is no file."
        raise BadInput(f"{said} {similar_path(given)}".rstrip())
    return found


def _class_weight(_: Any, __: Any, given: tuple[str, ...]) -> dict[str, float] | str | None:
    if "balanced" in given:
        if others := [one for one in given if one != "balanced"]:
            raise BadInput(f"--class-weight balanced sets all weights; leave out {others[0]!r}.")
        return "balanced"
    weights: dict[str, float] = {}
    for one in given:
        name, _, weight = one.rpartition("=")  # names may hold =, too
        try:
            weights[name.strip()] = float(weight)
        except ValueError:
            name = ""
        if not name.strip():
            raise BadInput(
                f"--class-weight {one!r} must be balanced, or a class and its weight, like spam=5."
            )
    return weights or None


def as_encoder(_: Any, __: Any, name: str | None) -> str | None:
    """Return the name of an encoder; a folder is found from other places, too."""
    return str(Path(name).resolve()) if name and Path(name).is_dir() else name


def _jobs(_: Any, __: Any, number: int) -> int:
    if number < -1 or number == 0:
        raise BadInput(f"--jobs {number} is no number of threads; give 1 or more, or -1 for all.")
    return number


# ---- the options


SHARED = {
    "text": option("--text COLUMN", "Column that holds the texts."),
    "labels": repeated(
        "--label labels COLUMN", "Column that holds the labels; an empty cell is not labelled."
    ),
    "label_separator": option(
        "--label-separator TEXT", "Separator of several labels in one cell, like ';'."
    ),
    "unlabelled": repeated("--unlabelled VALUE", "Label that means not labelled, like NA."),
    "relabel": repeated("--relabel OLD=NEW", "New name of a label, like Sprot=Sport."),
    "relabel_file": option(
        "--relabel-file FILE", "Table of new names, with the columns old and new.", type=TABLE
    ),
    "min_labels": option(
        "--min-labels N", "Treat classes with fewer labels as unlabelled.", type=COUNT
    ),
    "id": option("--id COLUMN", "Column that names the documents in all outputs."),
    "keep": repeated("--keep COLUMN", "Column to copy to outputs."),
    "date": option("--date COLUMN", "Column that holds the documents' dates."),
    "date_format": option(
        "--date-format FORMAT", "Format of the dates, like %d/%m/%Y.  [default: detected]"
    ),
    "encoding": option("--encoding NAME", "Encoding of the file.  [default: detected]"),
    "separator": option(
        "--separator CHARACTER", "Separator of cells.  [default: detected]", callback=_one_character
    ),
    "no_quotes": option(
        "--no-quotes", "Read quotes as part of the text, as in many TSV files.", is_flag=True
    ),
    "sheet": option("--sheet NAME", "Sheet of a spreadsheet.  [default: the first one]"),
    "task": option(
        "--task",
        "What to learn from the labels.",
        type=click.Choice(["auto", "topics", "classes", "numbers"]),
        default="auto",
    ),
    "log": option(
        "--log",
        "Learn the logarithms of numbers; 'auto' does so if they are positive and skewed.",
        type=click.Choice(["auto", "yes", "no"]),
        default="auto",
    ),
    "further_words": option(
        "--further-words",
        "Predict classes also from grammatical words and from sequences of characters in words; "
        "'auto' does so in short texts.",
        type=click.Choice(["auto", "yes", "no"]),
        default="auto",
    ),
    "seed": option("--seed", "Random seed.", type=SEED, default=0),
    "seed_words": repeated(
        "--seed-words NAME=WORD,WORD",
        "Words that pull a topic towards a subject: billing=invoice,refund.",
        callback=_seeds,
    ),
    "language": option(
        "--language NAME",
        "Language of the texts, like german, or german,english; its grammatical words are "
        "removed. 'auto' detects the language; 'none' removes no words.",
        default="auto",
        callback=_languages,
    ),
    "stop_words": option(
        "--stop-words WHICH",
        "Words to remove: auto for those of the language, none, or a file.",
        default="auto",
        callback=_stop_words,
    ),
    "bigrams": option("--bigrams", "Count pairs of neighbouring words, too.", is_flag=True),
    "characters": option(
        "--characters", "Count sequences of 2 to 4 characters, not words.", is_flag=True
    ),
    "stem": option(
        "--stem N",
        "Treat words with the same first N letters as one. 'auto' finds the stem of a word by the "
        "rules of the text's language; 'none' keeps all words apart.",
        default="auto",
        callback=_letters,
    ),
    "max_words": option(
        "--words max_words N",
        "Maximum number of words that the model knows, the most frequent ones.  [default: 20,000 "
        "for each language]",
        type=COUNT,
    ),
    "min_documents": option(
        "--min-documents N",
        "Leave out words that are in fewer documents.  [default: 5, 2 or 1, by the texts]",
        type=COUNT,
    ),
    "drop_repeated": option(
        "--drop-repeated",
        "Leave out lines and sentences that many texts repeat word for word, such as signatures.",
        is_flag=True,
    ),
    "raw": option("--raw", "Keep tags, entities, URLs and e-mail addresses.", is_flag=True),
    "classes": option(
        "--classes NAMES_OR_FILE",
        "Classes by their names, like 'Sports,World,Science and technology', where labels are "
        "missing; or a file with a class in each line, and words or a sentence about it after a "
        "colon.",
        callback=_classes,
    ),
    "class_weight": option(
        "--class-weight CLASS=WEIGHT",
        "Weight of the labels of a class, like spam=5; other classes have weight 1. May be "
        "repeated. 'balanced' gives all classes the same total weight.",
        multiple=True,
        callback=_class_weight,
    ),
    "iterations": option("--iterations", "Maximum number of iterations.", type=COUNT, default=200),
    "jobs": option(
        "--jobs", "Number of threads; -1 for all cores.", type=int, default=-1, callback=_jobs
    ),
    "layer": option(
        "--layer NAME",
        "Layer of an .h5ad file that holds the raw counts.  [default: that of the model, or X]",
    ),
    "genes": option(
        "--genes GENES",
        "Genes to fit: a number of variable ones, a column of var that holds True or False, or a "
        "file with one name per line.  [default: var['highly_variable'], else a third of all]",
    ),
    "batch": option(
        "--batch COLUMN", "Column of obs that names batches; genes are chosen that vary within."
    ),
    "data": option("--data", "Table of the documents.  [default: the one of the fit]", type=TABLE),
    "force": option("--force", "Replace an output that exists.", is_flag=True),
    "as_json": option("--json as_json", "Print the result as JSON.", is_flag=True),
    "cluster": option(
        "--cluster ADDRESS",
        "Work on a Dask cluster: the address of its scheduler, or local for one process on each "
        "core.",
    ),
}
"""The options by the names of their parameters."""
_OF_THE_FIT = SHARED | {
    "id": option("--id COLUMN", "Column that names the documents.  [default: that of the fit]"),
    "date": option(
        "--date COLUMN", "Column that holds the documents' dates.  [default: that of the fit]"
    ),
}
"""The options of commands that read a table again."""


@dataclass(frozen=True)
class Group:
    """Options that a command gets as one argument."""

    argument: str
    options: dict[str, Any]  # by the names of their parameters
    build: Callable[..., Any]  # makes the argument from their values

    def add_to(self, function: Any) -> Any:
        """Return a function that takes the values of the options and hands on the argument."""

        @wraps(function)
        def gathered(**given: Any) -> Any:
            values = {name: given.pop(name) for name in self.options}
            return function(**given, **{self.argument: self.build(**values)})

        return _add(gathered, self.options.values())


def _add(function: Any, some: Any) -> Any:
    for option in reversed([*some]):
        function = option(function)
    return function


def add(*wanted: str | Group) -> Callable[[Any], Any]:
    """Return a decorator that adds options to a command."""

    def decorate(function: Any) -> Any:
        for one in reversed(wanted):
            function = one.add_to(function) if isinstance(one, Group) else SHARED[one](function)
        return function

    return decorate


# ---- vectors of the texts


@dataclass(frozen=True)
class EncoderOptions:
    """The encoder that is named, and the folder that keeps its vectors."""

    encoder: str | None = None
    encoder_cache: Path | None = None
    option: str = "--encoder"  # which names the encoder, for messages

    def cached(self, encoder: Any) -> Any:
        """Return an encoder that keeps its vectors in the folder, if both are named."""
        if encoder is None or self.encoder_cache is None:
            return encoder
        from cofactor.text import CachedEncoder

        return CachedEncoder(encoder, self.encoder_cache)


def _encoder_options(help: str) -> Group:
    options = {
        "encoder": option("--encoder FOLDER_OR_NAME", help, callback=as_encoder),
        "encoder_cache": option(
            "--encoder-cache FOLDER",
            "Keep the vectors of the encoder in FOLDER, up to 1 GB, and read them from there the "
            "next time; for slow encoders.",
            type=FOLDER,
        ),
    }
    return Group("vectors", options, EncoderOptions)


ENCODER = _encoder_options(
    "Vectors of the texts, which help to predict classes from few labels: a folder with a static "
    "model of model2vec, or wordllama for English texts."
)
MODEL_ENCODER = _encoder_options(
    "The encoder of the fit, if this machine does not find it by its name: the name again, so that "
    "it may be downloaded, or its folder."
)


# ---- how to read a table

OPENING = ("encoding", "separator", "no_quotes", "sheet")
"""What `open_source` takes."""


@dataclass(frozen=True)
class TableOptions:
    """Which columns of a table hold what, which labels count, and how to open the table.

    The fields have the names of the options; ``relabel`` joins --relabel and --relabel-file, and
    ``opening`` holds what `open_source` takes.
    """

    text: str | None = None
    labels: tuple[str, ...] = ()
    label_separator: str | None = None
    unlabelled: tuple[str, ...] = ()
    relabel: Relabels = field(default_factory=Relabels)
    min_labels: int = 0
    id: str | None = None
    keep: tuple[str, ...] = ()
    date: str | None = None
    date_format: str | None = None
    opening: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def given(
        cls,
        relabel: tuple[str, ...] = (),
        relabel_file: Path | None = None,
        min_labels: int | None = None,
        **values: Any,
    ) -> TableOptions:
        """Return the options of a command."""
        opening = {name: values.pop(name) for name in OPENING}
        return cls(
            **values,
            relabel=read_relabels(relabel, relabel_file),
            min_labels=min_labels or 0,
            opening={name: value for name, value in opening.items() if value},
        )

    @classmethod
    def noted(cls, facts: dict[str, Any]) -> TableOptions:
        """Return the options that a manifest notes.

        Classes that --min-labels left out are noted among ``unlabelled``: another table has other
        numbers of labels.
        """
        return cls(
            text=facts.get("text"),
            label_separator=facts.get("label_separator"),
            id=facts.get("id"),
            date=facts.get("date"),
            date_format=facts.get("date_format"),
            labels=as_label_columns(facts.get("label")).columns,
            unlabelled=tuple(facts.get("unlabelled") or ()),
            relabel=Relabels(facts.get("relabel")),
            keep=tuple(facts.get("keep") or ()),
            opening=dict(facts.get("opening") or {}),
        )

    def over(self, noted: TableOptions) -> TableOptions:
        """Return the options of a fit, with those that are given here in their place.

        How to open the table is taken from here only: the table may be another one.
        """
        same_dates = self.date in (None, noted.date)
        return replace(
            noted,
            text=self.text or noted.text,
            labels=self.labels or noted.labels,
            label_separator=self.label_separator or noted.label_separator,
            relabel=Relabels({**noted.relabel, **self.relabel}),
            id=self.id or noted.id,
            date=self.date or noted.date,
            date_format=self.date_format or (noted.date_format if same_dates else None),
            opening=self.opening,
        )

    def facts(self) -> dict[str, Any]:
        """Return the options as a manifest notes them."""
        return {
            "text": self.text,
            "label": as_noted(self.labels),
            "unlabelled": list(self.unlabelled),
            "label_separator": self.label_separator,
            "relabel": dict(self.relabel),
            "min_labels": self.min_labels or None,
            "id": self.id,
            "keep": list(self.keep),
            "date": self.date,
            "date_format": self.date_format,
            "opening": self.opening,
        }

    def label_columns(self) -> LabelColumns:
        """Return the label columns, and how their cells are read."""
        return as_label_columns(self.labels, self.unlabelled, self.label_separator, self.relabel)

    def words(self, with_labels: bool = True) -> list[str]:
        """Return the options as words of a command."""
        given: dict[str, Any] = {"--text": self.text}
        if with_labels:
            given |= {
                "--label": self.labels,
                "--label-separator": self.label_separator,
                "--unlabelled": self.unlabelled,
                "--min-labels": self.min_labels,
            }
        given |= {
            "--id": self.id,
            "--keep": self.keep,
            "--date": self.date,
            "--date-format": self.date_format,
        }
        given |= {f"--{name.replace('_', '-')}": value for name, value in self.opening.items()}
        words = [word for option, value in given.items() for word in _words(option, value)]
        return words + (relabel_options(self.relabel) if with_labels else [])


def relabel_options(names: Mapping[str, str]) -> list[str]:
    """Return new names of labels as words of a command; `read_relabels` reads them back."""
    return [word for old, new in names.items() for word in ("--relabel", f"{old}={new}")]


def _words(option: str, value: Any) -> list[str]:
    if isinstance(value, tuple):
        return [word for one in value for word in (option, one)]
    if value is True:
        return [option]
    return [option, str(value)] if value else []


_COLUMNS = (
    "text",
    "labels",
    "label_separator",
    "unlabelled",
    *OPENING,
    "relabel",
    "relabel_file",
    "min_labels",
    "id",
    "keep",
    "date",
    "date_format",
)
READING = Group("asked", {name: SHARED[name] for name in _COLUMNS}, TableOptions.given)
"""All options for reading a table."""


def reading(*columns: str) -> Group:
    """Return some of the options for reading a table again; the fit has their defaults."""
    return Group(
        "asked", {name: _OF_THE_FIT[name] for name in (*columns, *OPENING)}, TableOptions.given
    )


# ---- which counts of cells to fit


@dataclass(frozen=True)
class CellOptions:
    """Which counts of an AnnData file are fitted; the fields have the names of the options."""

    layer: str | None = None
    genes: str | None = None
    batch: str | None = None

    @property
    def chosen_genes(self) -> int | str | list[str] | None:
        """The genes as `cofactor.sc.fit` takes them: a number, a column, or names from a file."""
        if self.genes is None or not Path(self.genes).is_file():
            if self.genes and Path(self.genes).suffix in TEXT_ENDINGS:
                raise BadInput(f"--genes {self.genes!r} does not exist; check the path.")
            return int(self.genes) if self.genes and self.genes.isdecimal() else self.genes
        try:
            lines = Path(self.genes).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, ValueError) as error:
            raise BadInput(f"--genes {self.genes!r} cannot be read: {error}.") from error
        return [line.strip() for line in lines if line.strip()]

    def words(self) -> list[str]:
        """Return the options as words of a command."""
        given = {f"--{name}": value for name, value in vars(self).items() if value is not None}
        return [word for pair in given.items() for word in pair]


TEXT_ENDINGS = (".txt", ".csv", ".tsv", ".list")
CELL_OPTIONS = ("layer", "genes", "batch")
"""Options that only mean something for AnnData files."""
CELLS = Group("counts", {name: SHARED[name] for name in CELL_OPTIONS}, CellOptions)


# ---- how to read texts, and which model to fit


@dataclass(frozen=True)
class WordOptions:
    """How texts become words."""

    language: Any
    stop_words: Any
    bigrams: bool
    characters: bool
    stem: Any
    raw: bool
    max_words: int | None
    min_documents: int | None
    drop_repeated: bool

    def vectorizer(self, keep_grammar: Any = "auto") -> Any:
        """Return the vectorizer that the options ask for."""
        if self.bigrams and self.characters:
            raise BadInput("--bigrams and --characters cannot be combined; leave one out.")
        from cofactor.text.vectorizer.word_vectorizer import WordVectorizer

        return WordVectorizer(
            clean=not self.raw,
            drop_repeated=self.drop_repeated,
            language=self.language,
            stop_words=self.stop_words,
            stem=self.stem,
            max_features=self.max_words or "auto",
            min_df=self.min_documents or "auto",
            ngram_range=(2, 4) if self.characters else (1, 2) if self.bigrams else (1, 1),
            tokens="characters" if self.characters else "auto",
            keep_grammar=keep_grammar,
        )


_WORDS = {
    name: SHARED[name]
    for name in (
        *("language", "stop_words", "bigrams", "characters", "stem", "raw"),
        *("max_words", "min_documents", "drop_repeated"),
    )
}
WORDS = Group("words", _WORDS, WordOptions)


@dataclass(frozen=True)
class ModelOptions:
    """Settings of a model, except for its number of topics and its supervision."""

    task: str
    seed: int
    seed_words: dict[str, list[str]] | None
    words: WordOptions
    class_weight: dict[str, float] | str | None
    log: str
    iterations: int
    jobs: int

    @classmethod
    def given(cls, **values: Any) -> ModelOptions:
        """Return the options of a command."""
        words = WordOptions(**{name: values.pop(name) for name in _WORDS})
        return cls(words=words, **values)

    def model(self, **further: Any) -> Any:
        """Return an unfitted model; ``further`` are parameters of `TopicModel`."""
        vectorizer = self.words.vectorizer()
        from cofactor.text import TopicModel

        return TopicModel(
            task=self.task,
            seeds=self.seed_words,
            vectorizer=vectorizer,
            max_iter=self.iterations,
            class_weight=self.class_weight,
            log=self.log,
            n_jobs=self.jobs,
            random_state=self.seed,
            **further,
        )


_SETTINGS = {name: SHARED[name] for name in ("task", "seed", "seed_words")}
_SETTINGS |= _WORDS | {name: SHARED[name] for name in ("class_weight", "log", "iterations", "jobs")}
SETTINGS = Group("settings", _SETTINGS, ModelOptions.given)
