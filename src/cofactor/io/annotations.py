"""Labels of whole texts in the files of other programs: Prodigy, Label Studio, Argilla, spaCy.

`FORMATS` has a row for each format: how to recognise a record, how to read it, how to write one.
Formats follow the documentation of the programs:

============  =====================================================================================
prodigy       JSON lines of the interfaces ``choice`` and ``classification``
label-studio  a JSON list of tasks with ``choices``; JSON-MIN is read, too
huggingface   JSON lines with ``text`` and ``label`` (or ``labels``), for Hugging Face datasets and
              Argilla; Argilla's own records, nested or flat, are read, too
spacy         JSON lines with ``text`` and ``cats``, as for a text categorizer
============  =====================================================================================

Spans, relations and images are refused: they label parts of a text, or none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from cofactor.io.errors import InputError, at
from cofactor.io.json_text import to_json

Record = dict[str, Any]
MIN_SHARE = 0.5
"""A category of spaCy from this value on is a label."""


@dataclass(frozen=True)
class Annotation:
    """What one person said about one text."""

    text: str
    labels: tuple[str, ...] | None
    """Empty if none of the classes fits; None if the text was skipped."""
    who: str = ""
    id: str | None = None


class Unusable(ValueError):
    """A record cannot be used; the message is the reason, without the place."""


# ---- Prodigy


def _is_prodigy(record: Record) -> bool:
    return "answer" in record and "text" in record


def _is_binary_prodigy(record: Record) -> bool:
    return _is_prodigy(record) and "label" in record and "accept" not in record


def _read_prodigy(record: Record, text_column: str) -> Iterator[Annotation]:
    who = str(record.get("_annotator_id") or record.get("_session_id") or "")
    name = _id(record.get("meta"))
    if record["answer"] == "ignore":
        yield Annotation(record["text"], None, who, name)
    elif record["answer"] == "accept":
        yield Annotation(record["text"], _prodigy_labels(record), who, name)
    # A rejected label only says what the text is not.


def _prodigy_labels(record: Record) -> tuple[str, ...]:
    if "accept" in record:
        shown = {_hashable(one["id"]): one.get("text") for one in record.get("options", ())}
        chosen = record["accept"]
        return tuple(one if isinstance(one, str) else str(shown.get(one, one)) for one in chosen)
    if "label" not in record and record.get("spans"):
        raise Unusable("has spans")
    return (_name(record["label"]),)


def _write_prodigy(rows: list[Annotation], classes: list[str], several: bool) -> Record:
    (row,) = rows
    return {
        "text": row.text,
        "options": [{"id": name, "text": name} for name in classes],
        "accept": list(row.labels or ()),
        "answer": "ignore" if row.labels is None else "accept",
        "config": {"choice_style": "multiple" if several else "single"},
        "_view_id": "choice",
        **({"_annotator_id": row.who} if row.who else {}),
        "meta": {"id": row.id},
    }


# ---- Label Studio


def _is_label_studio(record: Record) -> bool:
    return "annotations" in record or "completions" in record


def _read_label_studio(record: Record, text_column: str) -> Iterator[Annotation]:
    text = _text(record["data"], text_column)
    for one in record["annotations"] if "annotations" in record else record["completions"]:
        skipped = bool(one.get("was_cancelled"))
        labels = None if skipped else _results(one.get("result", ()))
        yield Annotation(text, labels, _person(one.get("completed_by")), _id(record["data"]))


_MIN_FIELDS = {
    *("id", "annotation_id", "annotator", "created_at", "updated_at", "lead_time", "agreement"),
    *("draft_created_at", "comment_count", "cancelled_annotations", "total_annotations"),
}


def _is_json_min(record: Record) -> bool:
    return "annotation_id" in record


def _min_label_field(records: Iterable[Record], text_column: str) -> str | None:
    """Return the field with the choices in a file of JSON-MIN; None if there is none.

    Several choices are an object, a single one is a bare string, as columns of the task may be. So
    a field counts that is an object with choices in any record. Without one, a string counts if it
    stands behind the task's id, where Label Studio writes results. Of several fields, the one
    called label (or labels) counts.
    """
    objects, strings = set(), set()
    for record in records:
        fields = [name for name in record if name not in _MIN_FIELDS | {text_column, "text"}]
        objects |= {name for name in fields if _is_choices(record[name])}
        behind = {*list(record)[list(record).index("id") + 1 :]} if "id" in record else {*fields}
        strings |= {name for name in fields if isinstance(record[name], str) and name in behind}
    named = (objects | strings) & {"label", "labels"} or objects or strings
    if len(named) > 1:
        listed = ", ".join(sorted(named))
        raise Unusable(
            f"has the fields {listed}, of which one is the label; call that one label, or export "
            "the tasks as JSON"
        )
    return next(iter(named), None)


def _is_choices(value: Any) -> bool:
    return isinstance(value, dict) and "choices" in value


def _as_task(record: Record, field: str | None) -> Record:
    """Return a record of JSON-MIN in the form of a task."""
    for value in record.values():
        if isinstance(value, list) and any(
            isinstance(one, dict) and "start" in one for one in value
        ):
            raise Unusable("has spans")
    chosen = record.get(field) if field is not None else None
    choices = chosen if _is_choices(chosen) else {"choices": [] if chosen is None else [chosen]}
    result = {"type": "choices", "value": choices}
    done = {"result": [result], "completed_by": record.get("annotator")}
    return {"data": record, "annotations": [done]}


def _results(results: Any) -> tuple[str, ...]:
    kinds = {one.get("type") for one in results}
    if kinds and "choices" not in kinds:
        raise Unusable(f"has results of the type {', '.join(sorted(map(str, kinds)))}")
    chosen = [one["value"]["choices"] for one in results if one.get("type") == "choices"]
    return tuple(dict.fromkeys(_name(label) for labels in chosen for label in labels))


def _person(completed_by: Any) -> str:
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("email") or completed_by.get("id")
    return "" if completed_by is None else str(completed_by)


def _completed_by(who: str) -> Any:
    return int(who) if who.isascii() and who.isdigit() else {"email": who}


def _write_label_studio(rows: list[Annotation], classes: list[str], several: bool) -> Record:
    annotations = [
        {
            "result": [
                {
                    "from_name": "label",
                    "to_name": "text",
                    "type": "choices",
                    "value": {"choices": list(row.labels)},
                }
            ]
            if row.labels
            else [],
            "was_cancelled": row.labels is None,
            **({"completed_by": _completed_by(row.who)} if row.who else {}),
        }
        for row in rows
    ]
    return {"data": {"text": rows[0].text, "id": rows[0].id}, "annotations": annotations}


# ---- Argilla and Hugging Face datasets


def _is_argilla(record: Record) -> bool:
    return "fields" in record and "responses" in record


def _read_argilla(record: Record, text_column: str) -> Iterator[Annotation]:
    text, found = _text(record["fields"], text_column), record["responses"] or {}
    if isinstance(found, list):  # version 1
        for one in found:
            values = {name: value["value"] for name, value in (one["values"] or {}).items()}
            labels = None if one.get("status") == "discarded" else _value(_question(values))
            yield Annotation(text, labels, str(one.get("user_id") or ""), _id(record))
    elif found:
        for one in _question(found):
            labels = None if one.get("status") == "discarded" else _value(one["value"])
            yield Annotation(text, labels, str(one.get("user_id") or ""), _id(record))


def _is_flat_argilla(record: Record) -> bool:
    return any(name.endswith(".responses") for name in record)


def _read_flat_argilla(record: Record, text_column: str) -> Iterator[Annotation]:
    ending = ".responses"
    questions = {n.removesuffix(ending): n for n in record if n.endswith(ending)}
    name = _question(questions)
    values = record[name] or []
    people = record.get(f"{name}.users") or [""] * len(values)
    states = record.get(f"{name}.status") or ["submitted"] * len(values)
    for value, who, state in zip(values, people, states, strict=True):
        labels = None if state == "discarded" else _value(value)
        yield Annotation(_text(record, text_column), labels, str(who or ""), _id(record))


def _is_huggingface(record: Record) -> bool:
    return "label" in record or "labels" in record


def _read_huggingface(record: Record, text_column: str) -> Iterator[Annotation]:
    value = record.get("labels", record.get("label"))
    if value is not None and value != "" and value != -1:
        yield Annotation(_text(record, text_column), _value(value), "", _id(record))


def _write_huggingface(rows: list[Annotation], classes: list[str], several: bool) -> Record:
    (row,) = rows
    labels = list(row.labels or ())
    given = {"labels": labels} if several else {"label": labels[0] if labels else None}
    return {"id": row.id, "text": row.text, **given}


def _question(found: dict[str, Any]) -> Any:
    """Return what belongs to the question about labels."""
    name = next((one for one in ("label", "labels") if one in found), None)
    if name is None and len(found) != 1:
        raise Unusable(f"has the questions {', '.join(found)}, of which none is called label")
    return found[name] if name is not None else next(iter(found.values()))


def _value(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    if any(isinstance(one, dict) for one in values):
        raise Unusable("has spans")
    return tuple(dict.fromkeys(map(_name, values)))


# ---- spaCy


def _is_spacy(record: Record) -> bool:
    return "cats" in record


def _read_spacy(record: Record, text_column: str) -> Iterator[Annotation]:
    labels = tuple(name for name, value in record["cats"].items() if value >= MIN_SHARE)
    yield Annotation(_text(record, text_column), labels, "", _id(record.get("meta")))


def _write_spacy(rows: list[Annotation], classes: list[str], several: bool) -> Record:
    (row,) = rows
    cats = {name: float(name in (row.labels or ())) for name in classes}
    return {"text": row.text, "cats": cats, "meta": {"id": row.id}}


# ---- the table of formats


class Format(NamedTuple):
    """How records of a program are read and written."""

    fits: Callable[[Record], bool]
    read: Callable[[Record, str], Iterator[Annotation]]
    write: Callable[[list[Annotation], list[str], bool], Record] | None = None
    in_lines: bool = True  # one record in each line, or else a JSON list
    by_person: bool = False  # several people may have said something about a text
    keeps_skipped: bool = False
    adds_up: bool = False  # each record is about one label; those of a text belong together

    @property
    def ending(self) -> str:
        """The ending of files in this format."""
        return "jsonl" if self.in_lines else "json"


FORMATS = {
    "label-studio": Format(
        _is_label_studio, _read_label_studio, _write_label_studio, False, True, True
    ),
    "prodigy, one label": Format(_is_binary_prodigy, _read_prodigy, adds_up=True),
    "prodigy": Format(_is_prodigy, _read_prodigy, _write_prodigy, True, True, True),
    "spacy": Format(_is_spacy, _read_spacy, _write_spacy),
    "argilla": Format(_is_argilla, _read_argilla),
    "argilla, flat": Format(_is_flat_argilla, _read_flat_argilla),
    "huggingface": Format(_is_huggingface, _read_huggingface, _write_huggingface),
}
WRITTEN = sorted(name for name, one in FORMATS.items() if one.write is not None)


def read_annotations(
    path: Path, text_column: str = "text", content: bytes | None = None
) -> list[Annotation]:
    """Read labels of whole texts from a file of another program.

    Parameters
    ----------
    path : Path
        A JSON list, or JSON lines.
    text_column : str
        The field that holds the text, if there is none called ``text``.
    content : bytes, optional
        What is in the file, if it was read before.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "cats.jsonl"
    ...     _ = path.write_text('{"text": "A goal!", "cats": {"sport": 1.0, "food": 0.0}}')
    ...     read_annotations(path)
    [Annotation(text='A goal!', labels=('sport',), who='', id=None)]
    """
    found: list[Annotation] = []
    records = [*_records(path, content)]
    field: str | None = None
    try:
        minimal = (record for _, record in records if _is_json_min(record))
        field = _min_label_field(minimal, text_column)
    except Unusable as error:
        raise InputError(f"{at(path)} {error}.") from error
    for place, record in records:
        try:
            record = _as_task(record, field) if _is_json_min(record) else record
            form = _format_of(record)
            for one in form.read(record, text_column):
                _add(found, one, form.adds_up)
        except Unusable as error:
            raise InputError(
                f"{place}: the record {error}; only labels of whole texts can be used."
            ) from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{place}: the record is not in the documented form of its program "
                f"({type(error).__name__}: {error})."
            ) from error
    if not all(isinstance(one.text, str) for one in found):
        raise InputError(f"{at(path)} has a text that is not a string.")
    return found


def _add(found: list[Annotation], new: Annotation, adds_up: bool) -> None:
    """Add an annotation to others; a further label of the text joins the last one."""
    last = found[-1] if found else None
    if adds_up and last is not None and (last.text, last.who) == (new.text, new.who):
        labels = dict.fromkeys([*(last.labels or ()), *(new.labels or ())])
        found[-1] = replace(last, labels=tuple(labels) or last.labels)
    else:
        found.append(new)


def write_annotations(
    rows: Iterable[Annotation], program: str, classes: list[str], several: bool
) -> bytes:
    """Return the contents of a file for another program, one of `WRITTEN`.

    Parameters
    ----------
    rows : iterable of Annotation
        In the order of the texts.
    program : str
    classes : list of str
        All classes.
    several : bool
        Whether a text may have several labels.
    """
    form = FORMATS[program]
    assert form.write is not None, program
    kept = [row for row in rows if row.labels is not None or form.keeps_skipped]
    groups: Iterable[list[Annotation]] = ([row] for row in kept)
    if not form.in_lines:  # one task for all that was said about a text
        groups = (list(group) for _, group in groupby(kept, key=lambda row: (row.id, row.text)))
    records = [form.write(group, classes, several) for group in groups]
    if form.in_lines:
        return "".join(to_json(record, ensure_ascii=False) + "\n" for record in records).encode(
            "utf-8", "surrogatepass"
        )
    return to_json(records, indent=1).encode() + b"\n"


def read_content(path: Path) -> bytes:
    """Return what is in a file, which may be a pipe; it is read once."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{at(path)} cannot be read: {error.strerror or error}.") from error


def read_utf8(path: Path, content: bytes | None = None) -> str:
    """Return the text of a file, or of its ``content`` if it was read before."""
    data = read_content(path) if content is None else content
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{at(path)} is not in UTF-8; save it as UTF-8 first.") from error


def _records(path: Path, data: bytes | None) -> Iterator[tuple[str, Record]]:
    """Yield the records of a file, each with its place."""
    content = read_utf8(path, data)
    if content.lstrip().startswith("["):
        for number, one in enumerate(_parsed(content, at(path)), 1):
            yield f"{at(path)}, record {number}", _object(one, f"{at(path)}, record {number}")
        return
    for number, line in enumerate(content.split("\n"), 1):
        if line.strip():
            place = at(path, line=number)
            yield place, _object(_parsed(line, place), place)


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is not JSON: {error}.") from error


def _object(record: Any, place: str) -> Record:
    if isinstance(record, list) and len(record) == 2 and isinstance(record[1], dict):
        record = {"text": record[0], **record[1]}  # spaCy's pair of a text and its annotations
    if not isinstance(record, dict):
        raise InputError(f"{place} is not a JSON object.")
    return record


def _format_of(record: Record) -> Format:
    found = next((form for form in FORMATS.values() if form.fits(record)), None)
    if found is None:
        if record.get("spans") or record.get("entities"):
            raise Unusable("has spans")
        fields = ", ".join(list(record)[:6]) or "no fields"
        raise Unusable(f"has {fields}, which belongs to none of the formats {', '.join(WRITTEN)}")
    return found


def _text(record: Record, column: str) -> str:
    """Return the text: the field of that name, the field "text", or the only string."""
    for name in (column, "text"):
        if name in record:
            return str(record[name])
    strings = [value for value in record.values() if isinstance(value, str)]
    if len(strings) != 1:
        raise Unusable(f"has no field {column} or text")
    return strings[0]


def _name(label: Any) -> str:
    if not isinstance(label, str | int) or isinstance(label, bool):
        raise Unusable(f"has the label {label!r}, which is not a name")
    return str(label)


def _id(record: Any) -> str | None:
    found = record.get("id") if isinstance(record, dict) else None
    return None if found is None else str(found)


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else str(value)
