"""One run of the app: documents, decisions, the current model and the thread that refits it.

All methods are thread-safe. `lock` guards the state; no thread fits, predicts or writes a model
while holding it. Models are never changed in place.
"""

from __future__ import annotations

import copy
import logging
import threading
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from cofactor.app.decisions import (
    SHOWN,
    Decision,
    DecisionLog,
    LogLostError,
    Reviewed,
    copy_path,
    encode_line,
    join_lines,
    log_path,
    read_line,
)
from cofactor.app.estimate import (
    Check,
    earlier_predictions,
    judge_checks,
    moved_predictions,
    random_reviews,
)
from cofactor.app.text_queue import (
    BY_HAND,
    DISAGREED,
    DOUBTED,
    FLAGGED,
    REST,
    SECOND,
    UNLIKE,
    TextTable,
    disagreements,
    free_texts,
    mixed,
    wants_second_opinion,
)
from cofactor.app.topic_edits import Edit, Trial, check_edit
from cofactor.io.atomic import write_whole
from cofactor.linear.familiar import UNLIKE_LEVEL
from cofactor.targets.classes import listed, read_targets
from cofactor.text import TopicModel
from cofactor.text.describe.compare import measure_drift
from cofactor.text.describe.predictions import has_head
from cofactor.text.documents import FittedDocuments, known_rows
from cofactor.text.fitting import vectorise

LABELS_PER_REFIT = 5
REFIT_ITERATIONS, REFIT_SAMPLE = 5, 3000  # a refit sees all labelled documents if they are more
QUIET_SECONDS = 0.2  # without a further request before a refit begins
QUEUE_LENGTH = 40
FIRST_TRIAL = 20  # labels before grammatical words are tried
MAX_SNAPSHOTS = 50  # refits whose predictions are remembered
STABILITY_RUNS = 5
CLASS_CHANGES = ("rename class", "delete class")  # after which the model is refitted at once
UNDOABLE = ("label", "skip", "flag", "note", "class", "describe class", *CLASS_CHANGES)
MAX_CLASS_NAME, MAX_DESCRIPTION, MAX_NOTE = 200, 1000, 2000
REVIEW_QUEUES = (DOUBTED, DISAGREED, FLAGGED, UNLIKE)
SECOND_PART = 3  # one in this many texts is a second opinion, while there are some
EXCERPT_CHARACTERS = 80  # of a text, in the log
FROM_COMMAND = "command line"  # the tab of what the command decides


class StaleError(ValueError):
    """What the user saw has changed in the meantime."""


@dataclass(frozen=True, eq=False)
class Situation:
    """A model and what follows from it; replaced as a whole."""

    model: TopicModel
    documents: list[Any]  # of `TopicModel.documents`
    queue: list[Any]  # of `TopicModel.to_label`
    decisions: int  # number of decisions that the queue takes into account
    identities: dict[str, str]  # of the model's classes by the names that the model has for them
    version: int
    unlike: list[int] = field(init=False)  # documents unlike the labelled ones, the farthest first

    def __post_init__(self) -> None:
        """Find the documents that are unlike, while nobody waits for a page."""
        far = [place for place in range(len(self.documents)) if self.is_unlike(place)]
        far.sort(key=lambda place: -self.documents[place].unlike)
        object.__setattr__(self, "unlike", far)

    def is_unlike(self, place: int) -> bool:
        """Return whether a document is unlike the labelled ones of its class."""
        return bool((self.documents[place].unlike or 0.0) >= UNLIKE_LEVEL)

    def ids(self, predicted: Any) -> list[str | None]:
        """Return the identities of classes that the model predicts."""
        names = predicted if isinstance(predicted, tuple | list) else [predicted]
        return [self.identities.get(str(name)) for name in names]


class LabelState(NamedTuple):
    """The labels at some moment, as a fit takes them."""

    y: list[Any] | None
    done: list[str]  # a mark for each document that is labelled or skipped
    decisions: int
    identities: dict[str, str]  # of classes by name


@dataclass
class Session:
    """What the routes call.

    Parameters
    ----------
    table : TextTable
    folder : Path
        The model folder; the log is next to it.
    model : TopicModel
        A model fitted to these documents.
    every : int
        Number of labels after which the model is refitted.
    quiet : float
        Seconds without a further label before the refit begins.
    saved_decisions : int, optional
        Number of decisions that the model takes into account, if it was loaded from the folder.
    annotator : str
        The person who decides; "" if there is only one.
    overlap : float
        Share of the texts that two people label.
    manifest : dict
        Notes to save with the model.
    notes : list of str
        Sentences to show to the user.
    guidelines : list
        What `read_guidelines` made of the rules for labelling.
    """

    table: TextTable
    folder: Path
    model: TopicModel
    every: int = LABELS_PER_REFIT
    quiet: float = QUIET_SECONDS
    saved_decisions: int | None = None
    annotator: str = ""
    overlap: float = 0.0
    manifest: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    guidelines: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lock = threading.RLock()
        self._saving, self._editing = threading.Lock(), threading.Lock()
        self.log = DecisionLog(log_path(self.folder))
        self.lost: str | None = None  # what happened to the log, if it lacks what was read
        self.copied = _copied_lines(self.folder)
        self.reviewed = _logged(self.table, self.log)
        self._versions = count(1)
        self._next_trial = FIRST_TRIAL
        self._since = 0  # labels since the last refit
        self._counted: tuple[int, dict[str, Any]] = (-1, {})
        self._history: list[tuple[str, TopicModel]] = []
        self._trial: Trial | None = None
        self.checks: list[Check] = []  # random checks, judged after each fit
        self.shape = 0  # number of edits of topics, with undone ones
        self.overtaken = False  # whether another process has edited the topics in this folder
        self.snapshots: deque[tuple[int, list[Any]]] = deque(maxlen=MAX_SNAPSHOTS)
        self.moved: dict[str, Any] | None = None  # of `moved_predictions`
        self._doubts: tuple[int, list[str]] = (0, [])  # version of the model, keys
        labels = self._labels()
        if self.saved_decisions is not None:
            labels = labels._replace(identities=self._saved_identities())
        self.now = self._situation(self.model, labels)
        self.refitter = Refitter(self._refit, self.quiet)
        if self.saved_decisions is None:
            self._save(self.now)
        if self.reviewed.decisions and self.saved_decisions != len(self.reviewed.decisions):
            self.refitter.request()
        else:
            self._judge(labels)

    def _saved_identities(self) -> dict[str, str]:
        """Return the identities of classes by the names that they had when the model was saved."""
        before = Reviewed(self.table.classes)
        before.apply(self.reviewed.decisions[: self.saved_decisions])
        return {name: identity for identity, name in before.classes.names.items()}

    def close(self) -> None:
        """End the thread that refits, and copy the log into the model folder if there is room."""
        self.refitter.close()
        with self._saving, suppress(OSError):
            self.hear()
            self._copy_log()

    # ---- decisions

    def hear(self) -> None:
        """Read the decisions of other processes."""
        with self.lock:
            try:
                self._heard(self.log.read(), own=0)
                self.lost = None
            except LogLostError as error:
                self.lost = str(error)

    def decide(
        self, kind: str, tab: str, place: int, *, create: bool = False, **content: Any
    ) -> Decision:
        """Record a decision about a document, with its prediction and why it was shown.

        With ``create``, labels may be classes that do not exist yet.
        """
        self.check_place(place)
        with self.lock:
            if kind == "label":
                content |= self._label_content(content["labels"], create)
            text = {"row": self.table.names[place], "excerpt": self.excerpt(place)}
            said = self.said(self.now, place, tab)
            return self._add(kind, tab, document=self.table.keys[place], **content, **said, **text)

    def decide_many(
        self, tab: str, places: list[int], labels: list[str] | None, create: bool, **content: Any
    ) -> None:
        """Label several documents by one decision, or skip them if ``labels`` is None."""
        for place in places:
            self.check_place(place)
        with self.lock:
            keys = [self.table.keys[place] for place in dict.fromkeys(places)]
            content = {"documents": keys, "reason": BY_HAND, **content}
            if labels is not None:
                content |= self._label_content(labels, create)
            self._add("skip" if labels is None else "label", tab, **content)

    def take_over(self, tab: str, pairs: dict[str, int]) -> None:
        """Give documents the labels of texts that are no longer in the table, by their keys."""
        with self.lock:
            for key, place in pairs.items():
                self.check_place(place)
                review = self.reviewed.reviews.get(key)
                if review is None or review.labels is None or key in self.table.places:
                    raise StaleError("One of these decisions has changed; look at them again.")
                labels = [*self.reviewed.classes.shown(review.labels)]
                if review.labels and not labels:  # which would say that no class fits
                    raise StaleError("The class of one of these texts was deleted; label it anew.")
                self.decide("label", tab, place, labels=labels, replaces=key)

    def write_note(self, tab: str, place: int, text: str) -> None:
        """Write a note on a document, in place of an earlier one; "" removes it."""
        self.check_place(place)
        text = _checked_text("A note", text, MAX_NOTE)
        self._add("note", tab, document=self.table.keys[place], text=text)

    def make_class(self, tab: str, name: str) -> None:
        """Create a class."""
        with self.lock:
            self._add("class", tab, name=self.checked_name(name))

    def rename_class(self, tab: str, old: str, new: str) -> None:
        """Rename a class; if another class has the new name, merge them."""
        with self.lock:
            new = self.checked_name(new, but=old)
            self._add("rename class", tab, id=self._identity(old), old=old, new=new)

    def delete_class(self, tab: str, name: str) -> None:
        """Delete a class that no document has."""
        with self.lock:
            identity, said = self._identity(name), f"The class {name!r} has labels"
            if self.counts()["classes"][name]:
                raise ValueError(f"{said}; merge it into another class instead.")
            if any(name in (self.reviewed.labels_of(key) or ()) for key in self.reviewed.reviews):
                raise ValueError(
                    f"{said} of texts that are not in the table; merge it into another class "
                    "instead."
                )
            self._add("delete class", tab, id=identity, name=name)

    def describe_class(self, tab: str, name: str, text: str) -> None:
        """Say what a class is about."""
        text = _checked_text("A description", text, MAX_DESCRIPTION)
        with self.lock:
            self._add("describe class", tab, id=self._identity(name), name=name, text=text)

    def undo(self, tab: str, number: int | None = None) -> Decision | None:
        """Undo a decision, by default the last one of this tab; return it.

        Its document is shown in the tab again, for the same reason as before.
        """
        with self.lock:
            self.hear()
            own = [
                d
                for d in self.reviewed.counted()
                if d.kind in UNDOABLE and (d.by == tab if number is None else d.number == number)
            ]
            if not own:
                return None
            self._add("undo", tab, undoes=own[-1].number)
            if "document" in own[-1].content and "reason" in own[-1].content:
                kept = {name: own[-1].content[name] for name in ("document", "reason")}
                self._add(SHOWN, tab, **kept)
            return own[-1]

    def restore_log(self) -> None:
        """Write lines back that the log lacks: those in memory, or in the model's copy."""
        with self.lock:
            self.hear()
            self.log.restore(self.log.lines if self.lost else self.copied)
            self.reviewed = _logged(self.table, self.log)
            self.lost = None
            self._counted = (-1, {})
        self.refitter.request()

    @property
    def lacking(self) -> list[Decision]:
        """Decisions in the model's copy of the log that the log beside the model lacks."""
        if self.log.lines[: len(self.copied)] == self.copied:
            return []
        found = {*self.log.lines}
        lines = (read_line(line, n) for n, line in enumerate(self.copied) if line not in found)
        return [one for one in lines if one is not None and one.kind != SHOWN]

    def forget_copy(self) -> None:
        """Do without the decisions that the log lacks."""
        self.copied = []
        self._save(self.now)

    def _add(self, kind: str, tab: str, **content: Any) -> Decision:
        with self.lock:
            who = {"who": self.annotator} if self.annotator else {}
            found = self.log.add(kind, tab, **(who | content))
            self._heard(found)
            return found[-1]

    def _heard(self, decisions: list[Decision], own: int = 1) -> None:
        """Apply decisions, of which the last ``own`` are ours."""
        self.reviewed.apply(decisions)
        others = decisions[: len(decisions) - own]
        self.overtaken |= any(one.kind in ("edit", "undo edit") for one in others)
        kinds = [one.kind for one in decisions]
        self._since += sum(kind in ("label", "undo", *CLASS_CHANGES) for kind in kinds)
        if any(kind in CLASS_CHANGES for kind in kinds) or (kinds and self._since >= self.every):
            self._since = 0
            self.refitter.request()

    def check_place(self, place: int) -> None:
        """Reject a document that does not exist."""
        if not 0 <= place < len(self.table):
            raise ValueError(f"document={place} must be from 0 to {len(self.table) - 1}.")

    def excerpt(self, place: int) -> str:
        """Return the beginning of a text."""
        return " ".join(self.table.texts[place][: 4 * EXCERPT_CHARACTERS].split())[
            :EXCERPT_CHARACTERS
        ]

    def _identity(self, name: str) -> str:
        found = self.reviewed.classes.find(name)
        if found is None:
            raise StaleError(f"The class {name!r} no longer exists.")
        return found

    def checked_name(self, name: str, but: str | None = None) -> str:
        """Return the normalised name of a class; reject one that differs from another in case."""
        name = " ".join(name.split())
        if not name or len(name) > MAX_CLASS_NAME:
            raise ValueError(f"The name of a class needs 1 to {MAX_CLASS_NAME} characters.")
        others = [one for one in self.class_names if one != but]
        alike = [one for one in others if one.casefold() == name.casefold()]
        if alike and name not in alike:
            raise ValueError(
                f"The class {alike[0]!r} already exists; {name!r} differs only in case."
            )
        return name

    def _label_content(self, labels: list[str], create: bool) -> dict[str, Any]:
        """Return the labels as the log has them: names, and the identities of known classes."""
        if create:
            labels = [self.checked_name(label) for label in labels]
        ids = [self.reviewed.classes.find(label) for label in labels]
        unknown = [label for label, one in zip(labels, ids, strict=True) if one is None]
        if unknown and not create:
            raise StaleError(f"The class {unknown[0]!r} does not exist; create it first.")
        if len(labels) > 1 and not self.table.several:
            raise ValueError(
                "The app was started for one label per document; start it for several to give more."
            )
        return {"labels": labels, "ids": ids}

    # ---- classes by name

    @property
    def class_names(self) -> list[str]:
        """The current names of all classes."""
        return [*self.reviewed.classes.names.values()]

    def current_names(self, now: Situation, predicted: Any) -> list[str] | None:
        """Return the current names of classes that a model predicts; None without prediction."""
        return None if predicted is None else [*self.reviewed.classes.shown(now.ids(predicted))]

    def prediction(self, place: int) -> list[str] | None:
        """Return the names of the classes predicted for a document; None without prediction."""
        now = self.now
        return self.current_names(now, now.documents[place].prediction)

    # ---- the queue

    def said(self, now: Situation, place: int, tab: str) -> dict[str, Any]:
        """Return the prediction for a document, and why a tab shows it."""
        document, shown = now.documents[place], self.reviewed.shown.get(tab)
        own = shown is not None and shown.document == self.table.keys[place]
        prediction = self.current_names(now, document.prediction)
        return {
            "reason": shown.reason if own and shown is not None else BY_HAND,
            "prediction": prediction,
            "predicted": None if prediction is None else now.ids(document.prediction),
            "confidence": document.confidence,
        }

    def next(self, tab: str, queue: str = "") -> int | None:
        """Return the next document for a tab; None if there is none at the moment.

        ``queue`` may be a reason to look at labels again: one of `REVIEW_QUEUES`.
        """
        if queue == DOUBTED:
            self._find_doubts()
        with self.lock, self.log.locked() as file:
            self._heard(self.log.read_on(file), own=0)
            rows = self._rows_again(queue) if queue else self._rows_to_label()
            is_free = free_texts(self.table, self.reviewed, tab, datetime.now(UTC))
            own = self.reviewed.shown.get(tab)
            place = self.table.places.get(own.document) if own is not None else None
            if own is not None and place is not None and self._is_wanted(place, own.reason, queue):
                return place
            found = next((row for row in rows if is_free(row[0])), None)
            if found is None:
                return None
            place, reason = found
            line = encode_line(SHOWN, tab, document=self.table.keys[place], reason=reason)
            self._heard(self.log.append(file, line, durable=False))
            return place

    def _rows_to_label(self) -> Iterator[tuple[int, str]]:
        """Yield documents without a decision, and some that want a second opinion, with reasons."""
        keys, known = self.table.keys, self.reviewed.reviews
        waiting = [row for row in self.now.queue if keys[row.document] not in known]
        stale = self.now.decisions != len(self.reviewed.decisions)
        if len(waiting) < self.every and stale and not self.refitter.busy:
            self.refitter.request()  # once, because each request delays the fit
        second = [p for p in self._second_places() if self._is_open(p)]
        own = sum(review.who == self.annotator for review in self.reviewed.history)
        if own % SECOND_PART == SECOND_PART - 1:
            yield from ((place, SECOND) for place in second)
        yield from ((int(row.document), row.reason) for row in waiting)
        yield from ((place, SECOND) for place in second)
        given = enumerate(self.table.given)
        yield from ((p, REST) for p, labels in given if not labels and keys[p] not in known)

    def _second_places(self) -> Iterator[int]:
        if self.overlap:
            places = self.table.places
            yield from (places[key] for key in self.reviewed.opinions if key in places)

    def _rows_again(self, queue: str) -> list[tuple[int, str]]:
        """Return documents to look at again, with the reason."""
        keys = {
            DOUBTED: lambda: self._doubts[1],
            DISAGREED: lambda: disagreements(self.reviewed),
            FLAGGED: lambda: sorted(self.reviewed.flags),
            UNLIKE: self.unlike_texts,
        }[queue]()
        places = [self.table.places[key] for key in keys if key in self.table.places]
        return [(place, queue) for place in places if self._is_wanted(place, queue, queue)]

    def unlike_texts(self) -> list[str]:
        """Return open documents that are unlike the labelled ones of their class, by key.

        A class that nobody has named yet may be among them.
        """
        keys, known = self.table.keys, self.reviewed.reviews
        return [
            keys[p] for p in self.now.unlike if keys[p] not in known and not self.table.given[p]
        ]

    def _is_wanted(self, place: int, reason: str, queue: str) -> bool:
        """Tell whether a tab still wants a document that it shows for a reason."""
        key = self.table.keys[place]
        if queue:
            again = key in self.reviewed.flags if queue == FLAGGED else True
            return reason == queue and again and (key, queue) not in self.reviewed.looked_at
        return reason not in REVIEW_QUEUES and self._is_open(place)

    def _find_doubts(self) -> None:
        """Find labels that look wrong, once for each model."""
        now, y = self.now, self._labels().y
        if self._doubts[0] == now.version or y is None or self.table.several:
            return
        try:
            with warnings.catch_warnings(action="ignore"):
                found = now.model.doubtful_labels(self.table.texts, y)
        except ValueError:  # too few labels to judge one by the others
            return
        self._doubts = now.version, [self.table.keys[row.document] for row in found]

    def _is_open(self, place: int) -> bool:
        key = self.table.keys[place]
        return key not in self.reviewed.reviews or wants_second_opinion(
            self.reviewed, key, self.annotator, self.overlap
        )

    # ---- fits

    def _labels(self) -> LabelState:
        with self.lock:
            y = self.table.targets(self.reviewed)
            pairs = zip(self.table.keys, self.table.given, strict=True)
            done = ["done" if k in self.reviewed.reviews or given else "" for k, given in pairs]
            names = {name: identity for identity, name in self.reviewed.classes.names.items()}
            return LabelState(y, done, len(self.reviewed.decisions), names)

    def _situation(self, model: TopicModel, labels: LabelState) -> Situation:
        """Describe the documents with a model, and choose which to label next."""
        texts = self.table.texts
        known = FittedDocuments.known(model, texts) is not None
        documents = list(model.documents() if known else model.documents(texts))
        decisions = labels.decisions
        queue = list(model.to_label(texts, QUEUE_LENGTH, y=labels.done, random_state=decisions))
        queue = mixed(queue, len(self.reviewed.reviews))
        version = next(self._versions)
        return Situation(model, documents, queue, decisions, labels.identities, version)

    def _refit(self) -> None:
        """Refit with the current labels; the refitter's thread calls this."""
        before, labels = self.now, self._labels()
        model = before.model
        with warnings.catch_warnings(action="ignore"):
            if labels.y is not None:
                model = self._with_current_names(before)
                model = self._with_other_words(model, labels.y) or self._warm_fit(model, labels.y)
            else:
                labels = labels._replace(identities=before.identities)
            new = self._situation(model, labels)
        with self.lock:
            if self.now is not before:  # an edit was accepted in the meantime
                self.refitter.request()
                return
            self.now = new
            if labels.y is not None:
                known = sum(map(bool, labels.y))
                self.snapshots.append((known, [new.ids(d.prediction) for d in new.documents]))
                self.moved = moved_predictions([*self.snapshots])
        self._save(new)
        self._judge(labels)

    def _judge(self, labels: LabelState) -> None:
        """Compare random checks with predictions by labels of other documents."""
        if labels.y is None:
            return
        with self.lock:
            reviews = random_reviews(self.reviewed, self.table)
            if self.table.several:
                self.checks = earlier_predictions(reviews, self.reviewed)
                return
        with warnings.catch_warnings(action="ignore"):
            checks = judge_checks(reviews, self.now.model, self.table, labels.y, labels.identities)
        with self.lock:
            self.checks = checks

    def _with_current_names(self, situation: Situation) -> TopicModel:
        """Return the model; what it was told about classes belongs to their current names."""
        told = situation.model.classes
        if told is None:
            return situation.model
        about = dict(told) if isinstance(told, Mapping) else {name: name for name in told}
        with self.lock:
            pairs = {old: self.current_names(situation, old) for old in about}
        model = copy.copy(situation.model)
        found = {new: about[old] for old, names in reversed(pairs.items()) for new in names or ()}
        model.classes = found if len(found) > 1 else None
        return model

    def _with_other_words(self, model: TopicModel, y: list[Any]) -> TopicModel | None:
        """Return a new fit if labels show that grammatical words help to predict; None if not.

        The first fit had no labels to show it. They are asked whenever their number has doubled,
        until somebody edits the topics, which a new fit would replace; a model that was there
        before may have been edited elsewhere.
        """
        known = [place for place, labels in enumerate(y) if labels]
        if len(known) < self._next_trial or self.shape or self.saved_decisions is not None:
            return None
        self._next_trial = 2 * len(known)
        places = {*known, *range(0, len(y), -(-len(y) // REFIT_SAMPLE))}
        some = sorted(places)
        texts, targets = ([rows[place] for place in some] for rows in (self.table.texts, y))
        vectorizer, _ = vectorise(model, texts, read_targets(listed(targets)))
        wanted, has = (getattr(v, "keeps_grammar", False) for v in (vectorizer, model.vectorizer_))
        return copy.copy(model).fit(self.table.texts, y) if wanted and not has else None

    def _warm_fit(self, model: TopicModel, y: Any) -> TopicModel:
        return model.refit(self.table.texts, y, iterations=REFIT_ITERATIONS, sample=REFIT_SAMPLE)

    def _save(self, situation: Situation) -> None:
        """Write the model, unless there is a later one or another process edited its topics."""
        with self._saving:
            self.hear()
            if self.now is situation and not self.overtaken:
                app = {"decisions": situation.decisions, "log": self.log.path.name}
                situation.model.save(self.folder, notes={**self.manifest, "app": app})
                self._copy_log()

    def _copy_log(self) -> None:
        """Write the copy of the log, unless it has decisions that the log lacks."""
        if not self.lost and not self.lacking:
            write_whole(copy_path(self.folder), join_lines(self.log.lines), private=True)
            self.copied = []

    # ---- edits of topics

    def try_edit(self, name: str, arguments: dict[str, Any]) -> Trial:
        """Edit the topics of the current model and refit it, for the user to look at."""
        edit = check_edit(name, arguments)
        before, y = self.now, self._labels().y
        after = self._fitted_edit(before.model, edit, arguments, y)
        sources = edit.sources(len(before.model.topic_names_), **arguments)
        rows = known_rows(after, self.table.texts)
        drift = [asdict(row) for row in measure_drift(before.model, after, sources, rows, rows)]
        with self.lock:
            number = next(self._versions)
            self._trial = Trial(number, name, arguments, self.shape, before, after, drift)
            return self._trial

    def _fitted_edit(
        self, model: TopicModel, edit: Edit, arguments: dict[str, Any], y: Any
    ) -> TopicModel:
        with warnings.catch_warnings(action="ignore"):
            edited = edit.apply(model, self.table.texts, **arguments)
            if not edit.moves or (y is None and has_head(model.estimator_)):
                return edited
            return self._warm_fit(edited, y)

    def accept(self, tab: str, number: int) -> None:
        """Accept the edit that was tried last."""
        trial = self._trial
        if trial is None or trial.number != number or trial.shape != self.shape:
            raise StaleError("The topics have changed since this was shown; try the edit again.")
        self.edit(tab, trial.name, trial.arguments, trial)

    def edit(
        self, tab: str, name: str, arguments: dict[str, Any], trial: Trial | None = None
    ) -> None:
        """Edit the topics of the current model, and save it before returning.

        The model of the trial is used if it came from the current one. A fit that ended in the
        meantime keeps the numbers of the topics, so the edit is applied to its model.
        """
        edit, done = check_edit(name, arguments), False
        self._check_not_overtaken()
        with self._editing:
            while not done:
                before, labels = self.now, self._labels()
                if trial is not None and trial.before is before:
                    after = trial.after
                else:
                    after = self._fitted_edit(before.model, edit, arguments, labels.y)
                new = self._situation(after, labels)
                with self.lock:
                    if done := self.now is before:
                        self._add("edit", tab, edit=name, arguments=arguments)
                        self._history.append((name, before.model))
                        self._install(new)
        self._save(self.now)

    def _check_not_overtaken(self) -> None:
        self.hear()
        if self.overtaken:
            raise StaleError("Another run of the app edited the topics; start this one again.")

    def _install(self, situation: Situation) -> None:
        """Use an edited model; the log has the edit already."""
        self.now, self._trial = situation, None
        self.shape += 1

    def undo_edit(self, tab: str) -> str | None:
        """Undo the last edit; return its name, or None if there is none."""
        self._check_not_overtaken()
        with self._editing:
            if not self._history:
                return None
            name, model = self._history[-1]
            situation = self._situation(model, self._labels())
            with self.lock:
                self._add("undo edit", tab, edit=name)
                self._history.pop()
                self._install(situation)
        self._save(situation)
        self.refitter.request()
        return name

    def measure_stability(self) -> None:
        """Measure how stable the topics of the current model are; the next fit discards it."""
        before, y = self.now, self._labels().y
        model = copy.copy(before.model)
        with warnings.catch_warnings(action="ignore"):
            model.stability(self.table.texts, y, runs=STABILITY_RUNS)
        with self.lock:
            if self.now is not before:
                raise StaleError("The model was refitted in the meantime; measure again.")
            self.now = replace(before, model=model, version=next(self._versions))

    @property
    def edits(self) -> list[str]:
        """The edits that can be undone, the latest last."""
        return [name for name, _ in self._history]

    # ---- counts

    def counts(self) -> dict[str, Any]:
        """Return the numbers of documents by state and class; counted once after each decision."""
        with self.lock:
            if self._counted[0] != len(self.reviewed.decisions):
                self._counted = len(self.reviewed.decisions), self._count()
            return self._counted[1]

    def _count(self) -> dict[str, Any]:
        """Count without visiting all documents, which would delay the answer."""
        texts, names = self.table, self.reviewed.current_name
        keys = [key for key in self.reviewed.reviews if key in texts.places]
        decided = {k: labels for k in keys if (labels := self.reviewed.labels_of(k)) is not None}
        given = {key: found for key in keys if (found := texts.given[texts.places[key]])}
        table = texts.given_counts - Counter(given[key] for key in given if key in decided)
        by_class = Counter(label for labels in decided.values() for label in labels)
        for labels, number in table.items():
            by_class.update(dict.fromkeys(map(names, labels), number))
        untouched = texts.given_counts.total() - len(given)
        return {
            "documents": len(texts),
            "table": table.total(),
            "reviewed": len(decided),
            "skipped": len(keys) - len(decided),
            "flagged": len(self.reviewed.flags & texts.places.keys()),
            "elsewhere": len(self.reviewed.reviews) - len(keys),
            "open": len(texts) - len(keys) - untouched,
            "classes": {name: by_class[name] for name in self.class_names},
        }


def _checked_text(what: str, text: str, longest: int) -> str:
    if len(text) > longest:
        raise ValueError(f"{what} has at most {longest} characters.")
    return text.strip()


def _copied_lines(folder: Path) -> list[bytes]:
    """Return the lines of the copy of the log that is in a model folder."""
    try:
        return copy_path(folder).read_bytes().split(b"\n")[:-1]
    except OSError:
        return []


def first_targets(table: TextTable, folder: Path) -> list[Any] | None:
    """Return the labels for the first fit: those of the table and of the log."""
    return table.targets(_logged(table, DecisionLog(log_path(folder))))


def name_classes(table: TextTable, folder: Path, about: dict[str, str]) -> None:
    """Write classes to the log, and words or a sentence about each.

    Classes that it has, or that somebody renamed or deleted since, are left alone.
    """
    log = DecisionLog(log_path(folder))
    classes = _logged(table, log).classes
    known = {one.casefold() for one in classes.names.values()}
    for name in about:
        if name.casefold() not in known and classes.resolve(name) is None:
            log.add("class", FROM_COMMAND, name=name)
            if about[name] != name:
                log.add("describe class", FROM_COMMAND, name=name, text=about[name])


def _logged(table: TextTable, log: DecisionLog) -> Reviewed:
    reviewed = Reviewed(table.classes)
    reviewed.apply(log.read())
    return reviewed


class Refitter:
    """Runs a fit in a thread soon after each request; requests during a fit lead to one more.

    Parameters
    ----------
    fit : callable
        The fit. An exception becomes `trouble`, which the next successful fit clears.
    quiet : float
        Seconds without a further request before the fit begins.
    """

    def __init__(self, fit: Callable[[], None], quiet: float = QUIET_SECONDS) -> None:
        self._fit, self._quiet = fit, quiet
        self._changed = threading.Condition()
        self._wanted = self._asked_again = self._fitting = self._closed = False
        self.trouble: str | None = None
        self._thread = threading.Thread(target=self._run, name="refits", daemon=True)
        self._thread.start()

    def request(self) -> None:
        """Request a fit."""
        with self._changed:
            self._wanted = self._asked_again = True
            self._changed.notify_all()

    @property
    def busy(self) -> bool:
        """Whether a fit is running or waiting."""
        return self._wanted or self._fitting

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until no fit is running or waiting; return whether that happened in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closed or not self.busy, timeout)

    def close(self, timeout: float = 10.0) -> None:
        """End the thread after the running fit."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(timeout)

    def _run(self) -> None:
        while self._await_request():
            try:
                self._fit()
                self.trouble = None
            except Exception as error:
                logging.getLogger(__name__).debug("A fit failed.", exc_info=True)
                self.trouble = f"{error}" or type(error).__name__
            with self._changed:
                self._fitting = False
                self._changed.notify_all()

    def _await_request(self) -> bool:
        """Wait for a request and a pause after it; return False if the thread is to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._wanted or self._closed)
            while self._asked_again and not self._closed:
                self._asked_again = False
                self._changed.wait_for(lambda: self._asked_again or self._closed, self._quiet)
            self._wanted, self._fitting = False, not self._closed
            return not self._closed
