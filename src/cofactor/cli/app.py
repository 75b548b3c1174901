"""`cofactor app`: a local web app to label texts and edit topics."""

from __future__ import annotations

import glob
import os
import re
import tempfile
import time
import webbrowser
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cofactor.cli import _models as models
from cofactor.cli import _options as opt
from cofactor.cli._command import BadInput, Command, message_of, needing_extra, refusals
from cofactor.cli._tables import Reading, read_table, settle_language, summary
from cofactor.cli._terminal import announce, as_typed, emit, note, note_each
from cofactor.io.errors import at
from cofactor.io.platform import is_descriptor
from cofactor.io.tables import InputError
from cofactor.io.tables.file_parts import names_parts
from cofactor.io.tables.writers import free_name

if TYPE_CHECKING:
    from cofactor.app.session import Session
    from cofactor.app.text_queue import TextTable

LOOPBACK = "127.0.0.1"
DOOR_SECONDS = 60.0


@click.command(cls=Command)
@opt.table_argument
@opt.add(opt.READING)
@opt.option("-k --topics", "Number of topics of a new model.", type=opt.COUNT, default=10)
@opt.option(
    "--model folder FOLDER",
    "Folder of the model; a model that is there is continued.  [default: the name of the "
    "table and -model]",
    type=opt.FOLDER,
)
@opt.option("--several", "A document may have several labels.", is_flag=True)
@opt.option(
    "--every",
    "Number of new labels after which the model is fitted again.",
    type=opt.COUNT,
    default=5,
)
@opt.option("--annotator NAME", "Your name, if several people label; it is noted in the log.")
@opt.option(
    "--overlap SHARE",
    "Share of the texts that two people label, like 0.1, to measure their agreement.",
    type=opt.Number(float, 0, 1),
    default=0.0,
)
@opt.option(
    "--import imported FILE",
    "Take over labels from a file of Prodigy, Label Studio, Argilla, Hugging Face datasets or "
    "spaCy; its texts must be those of the table.",
    type=opt.TABLE,
)
@opt.option(
    "--guidelines FILE",
    "Rules for labelling, in Markdown, to show beside the texts.",
    type=opt.TABLE,
)
@opt.add("classes", opt.ENCODER, "seed", opt.WORDS)
@opt.option(
    "--port",
    "Port of the page.  [default: 8765, or the next free one]",
    type=opt.Number(int, 0, 65535),
)
@opt.option(
    "--host ADDRESS",
    "Interface to listen on; anything but the default exposes the app to the network.",
    default=LOOPBACK,
)
@opt.option("--no-open", "Do not open the page in the browser.", is_flag=True)
@opt.add("as_json")
def app(
    table: Path,
    asked: opt.TableOptions,
    topics: int,
    folder: Path | None,
    several: bool,
    every: int,
    annotator: str | None,
    overlap: float,
    imported: Path | None,
    guidelines: Path | None,
    classes: dict[str, str] | None,
    vectors: opt.EncoderOptions,
    seed: int,
    words: opt.WordOptions,
    port: int | None,
    host: str,
    no_open: bool,
    as_json: bool,
) -> None:
    """Label texts and edit topics in a local web app.

    TABLE is any file that `cofactor check` reads. The page shows one text at a time; those that
    teach the model most come first. After some labels the model is fitted again in the background.

    Every decision is saved to a log beside the model folder before the page confirms it. Stop with
    Ctrl-C, and start the same command again to continue.

    Several people can label the same table with the same --model, one after another or at the same
    time, each with --annotator NAME. Nobody gets a text that another one has, except the share of
    --overlap.

    Columns that --keep names are shown beside each text.

    Only this machine can open the page, and only with the token in the address that is printed.
    """
    with needing_extra("The app", "app"):
        server = import_module("cofactor.app.routes")
    _check_table(table, asked)
    _check_people(annotator, overlap)
    rules = (
        import_module("cofactor.app.guidelines").read_guidelines(guidelines) if guidelines else []
    )
    folder = folder or _default_folder(table)
    with server.open_socket(host, port) as listening:
        corpus, reading = _read(table, asked, several)
        note(summary(reading))
        note_each(reading.notes)
        with refusals():
            session = _begin(corpus, reading, folder, topics, vectors, seed, words, every, classes)
            session.annotator, session.overlap = annotator or "", overlap
            session.guidelines = rules
            if imported is not None:
                note(import_module("cofactor.app.imports").take_in(session, imported))
        if not server.is_loopback(host):
            note(
                f"Warning: anyone who can reach {host} and knows the address below can read and "
                "label these texts, and the connection is not encrypted."
            )
        way: AbstractContextManager[Path | None] = nullcontext() if no_open else _door(folder)
        with suppress(KeyboardInterrupt), way as door:  # Ctrl-C is the usual end
            server.serve(session, listening, host, lambda address: _ready(address, door, as_json))
    log = session.log.path
    where = f"The decisions are in {log}, the model is in" if log.exists() else "The model is in"
    note(f"Stopped. {where} {folder}. Next: {_next_command(session, table)}")


def _next_command(session: Any, table: Path) -> str:
    """Return the command that sorts all texts of the table; without classes, one about topics."""
    folder = str(session.folder)
    if not session.now.model.target_names_:
        return as_typed("topics", folder)
    out = f"{session.folder.name.removesuffix('-model')}-predicted.csv"
    return as_typed("predict", folder, str(table), "-o", out)


def _default_folder(table: Path) -> Path:
    """Return the model folder of a table: named after it or, for '*.csv', after its folder."""
    whole, pattern = Path(os.path.abspath(table)), names_parts(table)
    for name in (one.name.split(".")[0] for one in (whole, *whole.parents)):
        stem = re.sub(r"\[[^]]*\]|[*?]", "", name).strip("-_ ") if pattern else name
        if stem:
            return Path(f"{stem}-model")
    return Path("table-model")


def _begin(
    corpus: TextTable,
    reading: Reading,
    folder: Path,
    topics: int,
    vectors: opt.EncoderOptions,
    seed: int,
    words: opt.WordOptions,
    every: int,
    classes: dict[str, str] | None,
) -> Session:
    """Open or fit the model, and begin the session."""
    from cofactor.app.session import Session, first_targets, name_classes

    opened = _open(folder, vectors)
    model = opened.model if opened else None
    name_classes(corpus, folder, classes or {})
    if model is None:
        y = first_targets(corpus, folder)
        encoder = vectors.cached(vectors.encoder)
        model = _fit(corpus, y, topics, encoder, seed, words, classes)
    return Session(
        corpus,
        folder,
        model,
        every=every,
        saved_decisions=_saved(opened),
        manifest=_manifest(reading, folder),
        notes=reading.notes,
    )


@contextmanager
def _door(folder: Path) -> Iterator[Path]:
    """Give a new file for a page that leads to the app, which only this user can read; remove it
    at the end.

    The browser is told its path. If it were told the address, everybody on this machine could
    read the token in the list of processes.
    """
    prefix = f"{folder.name}-open-"
    _remove_old_doors(folder.absolute().parent, prefix)
    number, name = tempfile.mkstemp(".html", prefix, folder.absolute().parent)
    os.close(number)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _remove_old_doors(place: Path, prefix: str) -> None:
    """Remove files that killed runs left; a browser has read one within a minute."""
    for left in place.glob(f"{glob.escape(prefix)}????????.html"):
        with suppress(OSError):
            if time.time() - left.lstat().st_mtime > DOOR_SECONDS:
                left.unlink()


def _ready(address: str, door: Path | None, as_json: bool) -> None:
    if as_json:
        emit({"address": address})
    note(f"Open {address}")
    note("Stop with Ctrl-C.")
    if door is not None and not _opened(address, door):
        note("No browser was found on this machine; open the address yourself.")


def _opened(address: str, door: Path) -> bool:
    """Write the page that leads to the app, and open it."""
    door.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">\n')
    return webbrowser.open(door.as_uri())


def _check_table(table: Path, asked: opt.TableOptions) -> None:
    if is_descriptor(table):
        raise InputError(f"{at(table)} can be read only once; save the table to a file first.")
    if len(asked.labels) > 1:
        raise BadInput("The app fills in one column; give --label once.")


def _check_people(annotator: str | None, overlap: float) -> None:
    if annotator is not None and not (annotator.isprintable() and 0 < len(annotator.strip()) <= 60):
        raise BadInput(f"--annotator {annotator!r} must be a name of at most 60 characters.")
    if overlap and not annotator:
        raise BadInput("--overlap needs --annotator: give the name of the person who labels.")


def _read(table: Path, asked: opt.TableOptions, several: bool) -> tuple[TextTable, Reading]:
    """Read the documents; their labels are treated as classes."""
    from cofactor.app.text_queue import TextTable

    with announce("Reading the documents"):
        reading = read_table(table, asked, may_lack=True)
        if reading.facts["labels_are"] == "numbers":
            reading = read_table(table, asked, task="classes", may_lack=True)
    label = asked.labels[0] if asked.labels else free_name("label", _columns(table, asked))
    corpus = TextTable(
        reading.documents.texts,
        reading.labels,
        reading.numbers,
        several or bool(asked.label_separator) or reading.facts["labels_are"] == "sets",
        {**reading.facts},
        label,
        None if reading.dates is None else reading.dates.values,
        {**reading.kept},
    )
    return corpus, reading


def _columns(table: Path, asked: opt.TableOptions) -> list[str]:
    from cofactor.io.tables import open_source

    return open_source(table, **asked.opening).columns


def _open(folder: Path, vectors: opt.EncoderOptions) -> models.OpenedModel | None:
    """Open the model of a folder; None if there is no folder yet."""
    if not folder.exists():
        return None
    if not (folder / "manifest.json").exists():
        raise BadInput(f"--model {folder} exists and holds no model; name another folder.")
    opened = models.open_model(folder, vectors)
    if opened.input.get("task") == "numbers":
        raise BadInput(f"--model {folder} predicts numbers; the app labels classes.")
    return opened


def _saved(opened: models.OpenedModel | None) -> int | None:
    """Return the number of decisions that a saved model knows."""
    if opened is None:
        return None
    app = (opened.facts.get("notes") or {}).get("app")
    known = app.get("decisions") if isinstance(app, dict) else None
    return known if isinstance(known, int) else 0


def _manifest(reading: Reading, folder: Path) -> dict[str, Any]:
    places = {name: models.relative(reading.facts[name], folder) for name in reading.places}
    return {"input": {**reading.facts, **places}}


def _fit(
    corpus: TextTable,
    y: list[Any] | None,
    topics: int,
    encoder: Any,
    seed: int,
    words: opt.WordOptions,
    classes: dict[str, str] | None,
) -> Any:
    """Fit the first model; names of classes take the place of labels."""
    from cofactor.text import TopicModel

    vectorizer = words.vectorizer()
    settle_language(vectorizer, corpus.texts)
    settings = {"vectorizer": vectorizer, "encoder": encoder, "n_jobs": -1, "random_state": seed}
    if classes and not corpus.several:
        settings["classes"] = classes
    with models.watched_fit("Fitting the topics") as watched:
        model = TopicModel(topics, **settings).set_callbacks(watched.reporter())
        try:
            return model.fit(corpus.texts, y).set_callbacks()
        except ValueError as error:
            if model.classes is None:
                raise
            note(f"Note: {message_of(error)} The names suggest nothing before the first labels.")
        return model.set_params(classes=None).fit(corpus.texts, y).set_callbacks()
