"""`cofactor edit`: names, merges, drops, splits, freezes, pins and bans topics of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from cofactor.cli import _models as models
from cofactor.cli import _options as opt
from cofactor.cli._command import BadInput, Command, refusals
from cofactor.cli._tables import NoLabelsError, Reading
from cofactor.cli._terminal import announce, emit, note, note_next
from cofactor.cli.topics import show_topics, topic_rows
from cofactor.io.errors import at, suggestion
from cofactor.io.json_text import from_json_file
from cofactor.io.models.description import Description
from cofactor.io.untrusted import DamagedFileError, read_file

MAX_NAMES_BYTES = 2**22
WORDS_SHOWN = 10
"""Number of words of each topic of the edited model."""
EditValue = TypeVar("EditValue")


@click.command(cls=Command)
@opt.model_argument
@opt.folder_option("Folder for the edited model; another model that is there is replaced.")
@opt.option(
    "--names names_file FILE", "Names of topics, as a report downloads them.", type=opt.TABLE
)
@opt.repeated("--name names TOPIC=NAME", "New name of a topic, like 2=billing.")
@opt.repeated("--merge TOPIC,TOPIC", "Topics to make one, like 2,5.")
@opt.repeated("--drop TOPIC,...", "Topics to leave out.")
@opt.repeated("--freeze TOPIC,...", "Topics whose words and weights later fits leave alone.")
@opt.repeated("--thaw TOPIC,...", "Topics to freeze no longer.")
@opt.repeated("--pin TOPIC=WORD,...", "Words that belong to a topic, like 4=refund,invoice.")
@opt.repeated("--ban TOPIC=WORD,...", "Words that a topic must not have, like 4=http,www.")
@opt.repeated("--split TOPIC,...", "Topics to divide, by the texts of --table.")
@opt.option("--into N", "Parts of each topic of --split.", type=opt.Number(int, 2), default=2)
@opt.option("--table", "Table of texts for --split.  [default: the one of the fit]", type=opt.TABLE)
@opt.add(opt.reading("text"), opt.MODEL_ENCODER, "as_json")
def edit(
    model: Path,
    output: Path,
    names_file: Path | None,
    into: int,
    table: Path | None,
    asked: opt.TableOptions,
    vectors: opt.EncoderOptions,
    as_json: bool,
    **edits: tuple[str, ...],
) -> None:
    """Rename, merge, drop, split, freeze, pin and ban topics.

    TOPIC is a number that `cofactor topics` shows, or a name. All numbers are those of MODEL, even
    if topics are merged or dropped in the same command. Other changes to a topic that is merged
    apply to the merged topic.

    The edited model can predict at once. `cofactor refit` continues from its topics and keeps
    names, frozen topics, pinned and banned words.
    """
    opened = models.open_model(model, vectors)
    models.check_new_place(output, opened.path)
    changes = _read_changes(opened, names_file, into, edits)
    read = None
    if changes.splits:
        read = _read_documents(opened, table, asked)
    elif table is not None:
        raise BadInput("--table is for --split only; leave it out, or name a topic with --split.")
    new, said = _edit(opened.model, changes, read)
    step = models.ModelStep("edit", {"changes": changes.facts()}, said)
    more = {}
    if read is not None and not models.describes_rows(opened, Path(read.facts["path"])):
        path = models.relative(read.facts["path"], output)
        more = {"input": {**read.facts, "path": path}}
    wrote = models.saved_model(new, output, models.next_notes(opened, output, step, **more))
    if as_json:
        emit(
            {
                "model": opened.origin(),
                "output": str(output),
                "changes": changes.facts(),
                "said": said,
                "topics": topic_rows(new, WORDS_SHOWN),
            }
        )
        return
    for sentence in said:
        note(sentence)
    show_topics(Description.of(new, WORDS_SHOWN), WORDS_SHOWN)
    note(wrote)
    note_next("refit", output, "-o", "NEW")


def _edit(model: Any, changes: Any, read: Reading | None) -> tuple[Any, list[str]]:
    from cofactor.text.editing.changes import make_changes, tell_changes

    with refusals():
        if read is None:
            new = make_changes(model, changes)
        else:
            with announce("Splitting"):
                new = make_changes(model, changes, read.documents.texts, read.y)
        return new, tell_changes(model, changes, new)


def _read_documents(
    opened: models.OpenedModel, table: Path | None, asked: opt.TableOptions
) -> Reading:
    """Return the texts that show how topics are split."""
    path = models.find_data(opened, table)
    if path is None:
        raise BadInput(
            "--split needs texts, but the table of the fit does not exist; name one with --table."
        )
    with announce("Reading the documents"):
        try:
            return models.read_again(opened, path, asked, may_lack=True)
        except NoLabelsError:  # a split does not need them
            opened = opened.noting(label=None, labels_are="none")
            return models.read_again(opened, path, asked)


# ---- what the options ask for


def _read_changes(
    opened: models.OpenedModel,
    names_file: Path | None,
    into: int,
    edits: dict[str, tuple[str, ...]],
) -> Any:
    """Return the changes that the options ask for, by the numbers of the topics."""
    from cofactor.text.editing.changes import Changes, check_changes

    topics = _TopicNames(opened.model.topic_names_)
    frozen: dict[int, bool] = {}
    for option, value in (("freeze", True), ("thaw", False)):
        _put(frozen, ((k, value) for k in topics.listed(option, edits[option])), "--thaw")
    changes = Changes(
        names=_put({}, topics.pairs("name", edits["names"], str.strip), "--name"),
        frozen=frozen,
        pinned=_words(topics.pairs("pin", edits["pin"], _split)),
        banned=_words(topics.pairs("ban", edits["ban"], _split)),
        merges=[topics.listed("merge", (one,)) for one in edits["merge"]],
        drops=topics.listed("drop", edits["drop"]),
        splits=dict.fromkeys(topics.listed("split", edits["split"]), into),
    )
    if names_file is not None:
        changes = replace(changes, names=_names_of(names_file, opened, changes))
    if not changes:
        raise BadInput(
            "There is nothing to edit; name topics with --names, --name, --merge, --drop, --split, "
            "--freeze, --thaw, --pin or --ban."
            if names_file is None
            else f"{at(names_file)} has the names that the model already has; nothing changes."
        )
    with refusals():
        check_changes(changes, len(opened.model.topic_names_))
    return changes


class _TopicNames:
    """Finds topics by their numbers and names, which may hold commas and signs of equality."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def listed(self, option: str, given: tuple[str, ...]) -> list[int]:
        """Return the topics that an option lists; names may hold commas."""
        found: list[int] = []
        for one in given:
            parts = one.split(",")
            while parts:
                most = next((n for n in range(len(parts), 1, -1) if self._is_name(parts[:n])), 1)
                found.append(self.number(option, ",".join(parts[:most])))
                del parts[:most]
        return list(dict.fromkeys(found))

    def pairs(
        self, option: str, given: tuple[str, ...], read: Callable[[str], EditValue]
    ) -> Iterator[tuple[int, EditValue]]:
        """Yield the topic and the value of each TOPIC=VALUE."""
        for one in given:
            topic, equals, value = one.partition("=")
            found = read(value)
            if not (topic.strip() and equals and found):
                raise BadInput(f"--{option} {one!r} must be a topic and {_EXAMPLES[option]}.")
            yield self.number(option, topic), found

    def number(self, option: str, given: str) -> int:
        """Return the number of the topic that is given by number or name."""
        text = given.strip()
        if text.isdecimal() and text.isascii() and len(text) < 10 and int(text) < len(self._names):
            return int(text)
        if self._names.count(text) > 1:
            raise BadInput(f"--{option}: several topics are called {text!r}; name one by number.")
        if text in self._names:
            return self._names.index(text)
        last = len(self._names) - 1
        close = "" if text.lstrip("-").isdecimal() else f" {suggestion(text, self._names)}"
        raise BadInput(
            f"--{option}: topic {text!r} does not exist; the topics are 0 to {last}.{close}"
        )

    def _is_name(self, parts: list[str]) -> bool:
        return ",".join(parts).strip() in self._names


_EXAMPLES = {
    "name": "its new name, like 2=billing",
    "pin": "words, like 4=refund,invoice",
    "ban": "words, like 4=http,www",
}


def _split(value: str) -> list[str]:
    return [word.strip() for word in value.split(",") if word.strip()]


def _put(found: dict[int, EditValue], pairs: Any, option: str) -> dict[int, EditValue]:
    """Add pairs to a dict; refuse a topic that gets two values."""
    for k, value in pairs:
        if found.setdefault(k, value) != value:
            raise BadInput(f"{option} contradicts another option for topic {k}; choose one.")
    return found


def _words(pairs: Iterator[tuple[int, list[str]]]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for k, words in pairs:
        found[k] = list(dict.fromkeys([*found.get(k, []), *words]))
    return found


# ---- the file of names


def _names_of(path: Path, opened: models.OpenedModel, changes: Any) -> dict[int, str]:
    """Return the names of a file that differ from the model's, then those of --name.

    Topics that are dropped or split need no name.
    """
    names = opened.model.topic_names_
    given = {
        k: name
        for k, name in _read_names(path, opened).items()
        if name != names[k] and k not in changes.drops and k not in changes.splits
    }
    return given | changes.names


def _read_names(path: Path, opened: models.OpenedModel) -> dict[int, str]:
    """Read what a report downloads, or an object of topics and names without a fingerprint."""
    from cofactor.text.editing.changes import topics_digest

    try:
        found = from_json_file(read_file(path.resolve(), MAX_NAMES_BYTES), "it")
    except DamagedFileError as error:
        raise BadInput(f"{at(path)} has no names of topics: {error}.") from None
    names = found.get("names", found) if isinstance(found, dict) else None
    if not isinstance(names, dict) or not all(isinstance(one, str) for one in names.values()):
        raise BadInput(
            f"{at(path)} has no names of topics; it must hold an object like "
            '{"0": "billing", "3": "refunds"}, as a report downloads it.'
        )
    if found.get("fingerprint", ...) not in (..., topics_digest(opened.model)):
        raise BadInput(
            f"{at(path)} belongs to a model other than {at(opened.path)}, or its topics "
            "have changed; name the model whose report it comes from."
        )
    topics = _TopicNames(opened.model.topic_names_)
    given = {topics.number("names", key): name.strip() for key, name in names.items()}
    for k, name in given.items():
        if not name:
            raise BadInput(f"{at(path)}: the name of topic {k} is empty; give it one.")
    return given
