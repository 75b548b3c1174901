"""What the user can download: the table with its labels, the report, Python code."""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cofactor.app.decisions import Reviewed
from cofactor.app.session import Session
from cofactor.app.text_queue import FROM_REVIEW, TextTable, each_key
from cofactor.app.topic_edits import EDITS, check_edit
from cofactor.io.annotations import FORMATS, WRITTEN, Annotation, write_annotations
from cofactor.io.tables import open_source
from cofactor.io.tables.labels import as_text, one_cell
from cofactor.io.tables.writers import free_name, make_writer
from cofactor.text import WordVectorizer

MAX_TOPICS = 10_000
JSON = "application/json"
ADDED_COLUMNS = ("label_source", "prediction", "confidence")


@dataclass(frozen=True)
class Download:
    """A file for the user to keep."""

    content: bytes
    name: str
    kind: str


def table_csv(session: Session) -> Download:
    """The table with its labels, for spreadsheets."""
    name = f"{file_stem(session)}-labelled.csv"
    return Download(labelled_table(session, "csv"), name, "text/csv")


def table_jsonl(session: Session) -> Download:
    """The table with its labels, for programs."""
    name = f"{file_stem(session)}-labelled.jsonl"
    return Download(labelled_table(session, "jsonl"), name, "application/x-ndjson")


def labels_for(session: Session, program: str) -> Download:
    """The labels in the format of another program."""
    if program not in WRITTEN:
        raise ValueError(f"program must be one of {', '.join(WRITTEN)}.")
    ending = FORMATS[program].ending
    name = f"{file_stem(session)}-{program}.{ending}"
    content = program_file(session.table, session.reviewed, program)
    return Download(content, name, "application/x-ndjson" if ending == "jsonl" else JSON)


def program_file(table: TextTable, reviewed: Reviewed, program: str) -> bytes:
    """Return the labelled and skipped texts of a table as a file of another program."""
    rows = decided_texts(table, reviewed, FORMATS[program].by_person)
    classes = [*reviewed.classes.names.values()]
    return write_annotations(rows, program, classes, table.several)


def decided_texts(table: TextTable, reviewed: Reviewed, by_person: bool) -> Iterator[Annotation]:
    """Yield the labels of texts; those of each person if several labelled a text."""
    for place, (key, text) in enumerate(zip(table.keys, table.texts, strict=True)):
        review = reviewed.reviews.get(key)
        people = [*reviewed.opinions.get(key, {}).values()] if by_person else []
        one_id = str(table.names[place])
        if len(people) > 1:
            for one in people:
                yield Annotation(text, reviewed.classes.shown(one.labels or ()), one.who, one_id)
        elif (labels := table.label_of(place, reviewed, key)[0]) is not None or review:
            yield Annotation(text, labels, review.who if review else "", one_id)


def labelled_table(session: Session, kind: str) -> bytes:
    """Return the table with its label column filled in.

    Labels are those of the table and the reviewed ones; ``label_source`` says which. Predictions
    have separate columns.
    """
    table, facts = session.table, session.table.facts
    source = open_source(facts["path"], **facts.get("opening", {}))
    name, text = table.label_column, source.place(facts["text"], "text")
    place = source.columns.index(name) if name in source.columns else None
    lacking = [] if place is not None else [name]
    notes = ["note"] if session.reviewed.notes else []
    added = [free_name(one, [*source.columns, *lacking]) for one in (*ADDED_COLUMNS, *notes)]
    file = io.BytesIO()
    writer = make_writer(file, kind, source.columns, [*lacking, *added])
    rows = list(source.rows)
    texts = [as_text(source, number, facts["text"], cells[text]) for number, cells in rows]
    for (_, cells), key in zip(rows, each_key(texts), strict=True):
        label, *further = _label_cells(session, table.places.get(key), kind)
        further += [session.reviewed.notes.get(key)] if notes else []
        if place is not None and further[0] == FROM_REVIEW:
            cells = [*cells[:place], label, *cells[place + 1 :]]
        writer.write(cells, [*([label] if lacking else []), *further])
    return file.getvalue()


def _label_cells(session: Session, place: int | None, kind: str) -> list[Any]:
    """Return label, source, prediction and confidence of a document."""
    if place is None:
        return [None] * 4
    labels, source = session.table.label_of(place, session.reviewed)
    now, separator = session.now, session.table.facts.get("label_separator")
    document = now.documents[place]
    prediction, sure = session.current_names(now, document.prediction), document.confidence
    several = kind == "jsonl" and session.table.several
    label: Any = list(labels or ()) if several else one_cell(labels or (), separator) or None
    return [
        label,
        source,
        None if prediction is None else one_cell(tuple(prediction), separator),
        None if prediction is None or sure is None else round(sure, 4),
    ]


def report(session: Session) -> Download:
    """The report on the current model."""
    table, y = session.table, session.table.targets(session.reviewed)
    source = Path(table.facts.get("path", "table")).name
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        session.now.model.report(path, table.texts, y, rows=table.names, source=source)
        return Download(path.read_bytes(), f"{file_stem(session)}-report.html", "text/html")


def file_stem(session: Session) -> str:
    """Return the first part of the names of downloads, without special characters."""
    stem = Path(session.table.facts.get("path", "table")).name.split(".")[0]
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-") or "table"


def code(session: Session) -> dict[str, Any]:
    """Python code that makes the model, and the names of its folder and log."""
    names = {"folder": session.folder.name, "log": session.log.path.name}
    return {"code": snippet(session), **names}


def snippet(session: Session) -> str:
    """Return Python code that fits a model to the labelled table, with the same edits."""
    facts, model, edits = session.table.facts, session.now.model, _edits(session)
    first = len(model.topic_names_) - sum(map(_added_topics, edits))
    given = {"vectorizer": _vectorizer(model), "random_state": repr(model.random_state)}
    settings = "".join(f", {name}={value}" for name, value in given.items() if value)
    cells = f"table[{session.table.label_column!r}]"
    separator = facts.get("label_separator") or "; "
    sets = f"[set(cell.split({separator!r})) if cell else None for cell in {cells}]"
    lines = [
        "import pandas as pd",
        "",
        "import cofactor",
        *(["from cofactor.text import WordVectorizer"] if given["vectorizer"] else []),
        "",
        f'table = pd.read_csv({file_stem(session) + "-labelled.csv"!r}, dtype=str).fillna("")',
        f"texts = table[{facts.get('text', 'text')!r}].tolist()",
        f"labels = {sets if session.table.several else f'{cells}.tolist()'}",
        f"model = cofactor.TopicModel({first}{settings})",
        "model.fit(texts, labels)",
        *(f"model = model.{_call(*one)}" for one in edits),
        *(["model = model.refit(texts, labels)"] if edits else []),
        "",
        "# or load the model that the app saved:",
        f"model = cofactor.load_model({session.folder.name!r})",
    ]
    return "\n".join(lines) + "\n"


def _edits(session: Session) -> list[tuple[str, dict[str, Any]]]:
    """Return the edits of topics in force according to the log."""
    kept: list[tuple[str, dict[str, Any]]] = []
    for decision in session.reviewed.decisions:
        name, arguments = decision.content.get("edit"), decision.content.get("arguments")
        if decision.kind == "undo edit" and kept:
            kept.pop()
        elif decision.kind == "edit":
            with suppress(ValueError):  # a line that another program wrote
                check_edit(name, arguments)
                kept.append((str(name), arguments or {}))
    return kept


def _added_topics(edit: tuple[str, dict[str, Any]]) -> int:
    """Return how many topics an edit adds."""
    name, arguments = edit
    return len(EDITS[name].sources(MAX_TOPICS, **arguments)) - MAX_TOPICS


def _vectorizer(model: Any) -> str | None:
    """Return the call that makes the vectorizer; None if it is the default one."""
    if not isinstance(model.vectorizer, WordVectorizer):
        return None
    given, usual = model.vectorizer.get_params(), WordVectorizer().get_params()
    own = {k: v for k, v in given.items() if v != usual[k]}
    if set(own) <= {"keep_grammar"} and given["keep_grammar"] == "auto":  # that of TopicModel
        return None
    listed = ", ".join(f"{name}={value!r}" for name, value in own.items())
    return f"WordVectorizer({listed})"


def _call(name: str, arguments: dict[str, Any]) -> str:
    values = [repr(arguments[key]) for key in EDITS[name].arguments]
    texts = ["texts"] if name == "split" else []
    return f"{name}({', '.join([*values[:1], *texts, *values[1:]])})"
