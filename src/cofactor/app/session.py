"""One run of the app: documents, decisions, the current model and the thread that refits it.

All methods are thread-safe. `_lock` guards the state; no thread fits, predicts or writes a model
while holding it. Models are never changed in place.
"""

from __future__ import annotations

import copy
import logging
import threading
import warnings
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from cofactor.app.decisions import Decision, DecisionLog, Reviewed, log_path
from cofactor.app.text_queue import TextQueue, TextTable, mixed
from cofactor.app.topic_edits import Edit, Trial, check_edit
from cofactor.text import TopicModel
from cofactor.text.describe.compare import measure_drift
from cofactor.text.describe.predictions import has_head
from cofactor.text.documents import FittedDocuments, known_rows

LABELS_PER_REFIT = 5
REFIT_ITERATIONS, REFIT_SAMPLE = 5, 3000  # a refit sees all labelled documents if they are more
QUIET_SECONDS = 0.2  # without a further request before a refit begins
QUEUE_LENGTH = 40
MAX_SNAPSHOTS = 50  # refits whose predictions are remembered
STABILITY_RUNS = 5
UNDOABLE = ("label", "skip", "flag", "class", "rename class")
MAX_CLASS_NAME = 200


class StaleError(ValueError):
    """What the user saw has changed in the meantime."""


@dataclass(frozen=True, eq=False)
class Situation:
    """A model and what follows from it; replaced as a whole."""

    model: TopicModel
    documents: list[Any]  # of `TopicModel.documents`
    queue: list[Any]  # of `TopicModel.to_label`
    decisions: int  # number of decisions that the queue takes into account
    version: int


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
    manifest : dict
        Notes to save with the model.
    notes : list of str
        Sentences to show to the user.
    """

    table: TextTable
    folder: Path
    model: TopicModel
    every: int = LABELS_PER_REFIT
    quiet: float = QUIET_SECONDS
    saved_decisions: int | None = None
    manifest: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._saving, self._editing = threading.Lock(), threading.Lock()
        self.log = DecisionLog(log_path(self.folder))
        self.reviewed = Reviewed(self.table.classes)
        self.reviewed.apply(self.log.read())
        self._queue = TextQueue()
        self._versions, self._trials = count(1), count(1)
        self._since = 0  # labels since the last refit
        self._counted: tuple[int, dict[str, Any]] = (-1, {})
        self._history: list[tuple[str, TopicModel]] = []
        self._trial: Trial | None = None
        self.shape = 0  # number of edits of topics, with undone ones
        self.overtaken = False  # whether another process has edited the topics in this folder
        self.snapshots: deque[tuple[int, list[Any]]] = deque(maxlen=MAX_SNAPSHOTS)
        self.now = self._situation(self.model, *self._labels())
        self.refitter = Refitter(self._refit, self.quiet)
        if self.saved_decisions is None:
            self._save(self.now)
        if self.reviewed.decisions and self.saved_decisions != len(self.reviewed.decisions):
            self.refitter.request()

    def close(self) -> None:
        """End the thread that refits."""
        self.refitter.close()

    # ---- decisions

    def hear(self) -> None:
        """Read the decisions of other processes."""
        with self._lock:
            self._heard(self.log.read(), own=0)

    def decide(self, kind: str, by: str, place: int, **content: Any) -> Decision:
        """Record a decision about a document, with its prediction and why it was shown."""
        self.check_place(place)
        if kind == "label":
            content["labels"] = self._checked_labels(content["labels"])
        with self._lock:
            said = self.said(place)
            return self._add(kind, by, document=self.table.keys[place], **content, **said)

    def decide_many(self, by: str, places: list[int], labels: list[str]) -> None:
        """Label several documents at once."""
        for place in dict.fromkeys(places):
            self.decide("label", by, place, labels=labels)

    def make_class(self, by: str, name: str) -> None:
        """Create a class."""
        self._add("class", by, name=self._checked_name(name))

    def rename_class(self, by: str, old: str, new: str) -> None:
        """Rename a class; if another class has the new name, merge them."""
        if old not in self.reviewed.classes:
            raise StaleError(f"The class {old!r} no longer exists.")
        self._add("rename class", by, old=old, new=self._checked_name(new, but=old))

    def undo(self, by: str, number: int | None = None) -> Decision | None:
        """Undo a decision, by default the last one of this tab or else of any; return it."""
        with self._lock:
            self.hear()
            found = [d for d in self.reviewed.counted() if d.kind in UNDOABLE]
            if number is None:
                own = [d for d in found if d.by == by] or found
            else:
                own = [d for d in found if d.number == number]
            if own:
                self._add("undo", by, undoes=own[-1].number)
            return own[-1] if own else None

    def _add(self, kind: str, by: str, **content: Any) -> Decision:
        with self._lock:
            found = self.log.add(kind, by, **content)
            self._heard(found)
            return found[-1]

    def _heard(self, decisions: list[Decision], own: int = 1) -> None:
        """Apply decisions, of which the last ``own`` are ours."""
        self.reviewed.apply(decisions)
        others = decisions[: len(decisions) - own]
        self.overtaken |= any(one.kind in ("edit", "undo edit") for one in others)
        self._since += sum(d.kind in ("label", "undo", "rename class") for d in decisions)
        if decisions and self._since >= self.every:
            self._since = 0
            self.refitter.request()

    def check_place(self, place: int) -> None:
        """Reject a document that does not exist."""
        if not 0 <= place < len(self.table):
            raise ValueError(f"document={place} must be from 0 to {len(self.table) - 1}.")

    def _checked_name(self, name: str, but: str | None = None) -> str:
        """Return the normalised name of a class; reject one that differs from another in case."""
        name = " ".join(name.split())
        if not name or len(name) > MAX_CLASS_NAME:
            raise ValueError(f"The name of a class needs 1 to {MAX_CLASS_NAME} characters.")
        others = [one for one in self.reviewed.classes if one != but]
        alike = [one for one in others if one.casefold() == name.casefold()]
        if alike and name not in alike:
            raise ValueError(
                f"The class {alike[0]!r} already exists; {name!r} differs only in case."
            )
        return name

    def _checked_labels(self, labels: list[str]) -> list[str]:
        unknown = [label for label in labels if label not in self.reviewed.classes]
        if unknown:
            raise StaleError(f"The class {unknown[0]!r} does not exist; create it first.")
        if len(labels) > 1 and not self.table.several:
            raise ValueError(
                "The app was started for one label per document; start it for several to give more."
            )
        return labels

    # ---- the queue

    def said(self, place: int) -> dict[str, Any]:
        """Return the current prediction for a document, and why the queue shows it."""
        now = self.now
        document = now.documents[place]
        known = document.topic >= 0
        prediction = document.prediction if known else None
        return {
            "reason": self._queue.reason(place, now.queue),
            "prediction": list(prediction) if isinstance(prediction, tuple) else prediction,
            "confidence": document.confidence if prediction is not None else None,
        }

    def next(self, by: str, leave: int | None = None) -> int | None:
        """Return the next document for a tab; None if there is none at the moment.

        Documents in other tabs are skipped, and so is ``leave``.
        """
        with self._lock:
            self.hear()
            waiting = [row for row in self.now.queue if self._is_open(row.document)]
            stale = self.now.decisions != len(self.reviewed.decisions)
            if len(waiting) < self.every and stale and not self.refitter.busy:
                self.refitter.request()  # once, because each request delays the fit
            return self._queue.take(by, waiting, leave)

    @property
    def exhausted(self) -> bool:
        """Whether no document is left to label."""
        with self._lock:
            fresh = self.now.decisions == len(self.reviewed.decisions)
            return fresh and not any(self._is_open(row.document) for row in self.now.queue)

    def _is_open(self, place: int) -> bool:
        return self.table.keys[place] not in self.reviewed.reviews

    # ---- fits

    def _labels(self) -> tuple[list[Any] | None, list[Any], int]:
        """Return y, a mark for each finished document, and the number of decisions."""
        with self._lock:
            y = self.table.targets(self.reviewed)
            pairs = zip(self.table.keys, self.table.given, strict=True)
            done = ["done" if k in self.reviewed.reviews or given else "" for k, given in pairs]
            return y, done, len(self.reviewed.decisions)

    def _situation(
        self, model: TopicModel, y: list[Any] | None, done: list[Any], decisions: int
    ) -> Situation:
        """Describe the documents with a model, and choose which to label next."""
        texts = self.table.texts
        known = FittedDocuments.known(model, texts) is not None
        documents = list(model.documents() if known else model.documents(texts))
        queue = list(model.to_label(texts, QUEUE_LENGTH, y=done, random_state=decisions))
        queue = mixed(queue, len(self.reviewed.reviews))
        return Situation(model, documents, queue, decisions, next(self._versions))

    def _refit(self) -> None:
        """Refit with the current labels; the refitter's thread calls this."""
        before, labels = self.now, self._labels()
        model = before.model
        with warnings.catch_warnings(action="ignore"):
            if labels[0] is not None:
                model = self._warm_fit(model, labels[0])
            new = self._situation(model, *labels)
        with self._lock:
            if self.now is not before:  # an edit was accepted in the meantime
                self.refitter.request()
                return
            self.now = new
            if labels[0] is not None:
                known = sum(map(bool, labels[0]))
                self.snapshots.append((known, [one.prediction for one in new.documents]))
        self._save(new)

    def _warm_fit(self, model: TopicModel, y: Any) -> TopicModel:
        return model.refit(self.table.texts, y, iterations=REFIT_ITERATIONS, sample=REFIT_SAMPLE)

    def _save(self, situation: Situation) -> None:
        """Write the model, unless there is a later one or another process edited its topics."""
        with self._saving:
            self.hear()
            if self.now is situation and not self.overtaken:
                app = {"decisions": situation.decisions, "log": self.log.path.name}
                situation.model.save(self.folder, notes={**self.manifest, "app": app})

    # ---- edits of topics

    def try_edit(self, name: str, arguments: dict[str, Any]) -> Trial:
        """Edit the topics of the current model and refit it, for the user to look at."""
        edit = check_edit(name, arguments)
        before, (y, *_) = self.now, self._labels()
        after = self._fitted_edit(before.model, edit, arguments, y)
        sources = edit.sources(len(before.model.topic_names_), **arguments)
        rows = known_rows(after, self.table.texts)
        drift = [asdict(row) for row in measure_drift(before.model, after, sources, rows, rows)]
        with self._lock:
            number = next(self._trials)
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

    def accept(self, by: str, number: int) -> None:
        """Accept the edit that was tried last."""
        trial = self._trial
        if trial is None or trial.number != number or trial.shape != self.shape:
            raise StaleError("The topics have changed since this was shown; try the edit again.")
        self.edit(by, trial.name, trial.arguments, trial)

    def edit(
        self, by: str, name: str, arguments: dict[str, Any], trial: Trial | None = None
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
                    after = self._fitted_edit(before.model, edit, arguments, labels[0])
                done = self._install(before, self._situation(after, *labels), name)
        self._save(self.now)
        self._add("edit", by, edit=name, arguments=arguments)

    def _check_not_overtaken(self) -> None:
        self.hear()
        if self.overtaken:
            raise StaleError("Another run of the app edited the topics; start this one again.")

    def _install(self, before: Situation, after: Situation, name: str) -> bool:
        with self._lock:
            if self.now is not before:
                return False
            self.now, self._trial = after, None
            self._history.append((name, before.model))
            self.shape += 1
            return True

    def undo_edit(self, by: str) -> str | None:
        """Undo the last edit; return its name, or None if there is none."""
        self._check_not_overtaken()
        with self._editing:
            if not self._history:
                return None
            name, model = self._history[-1]
            situation = self._situation(model, *self._labels())
            with self._lock:
                self._history.pop()
                self.now, self._trial = situation, None
                self.shape += 1
        self._save(situation)
        self._add("undo edit", by, edit=name)
        self.refitter.request()
        return name

    def measure_stability(self) -> None:
        """Measure how stable the topics of the current model are; the next fit discards it."""
        before, (y, *_) = self.now, self._labels()
        model = copy.copy(before.model)
        with warnings.catch_warnings(action="ignore"):
            model.stability(self.table.texts, y, runs=STABILITY_RUNS)
        with self._lock:
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
        with self._lock:
            if self._counted[0] != len(self.reviewed.decisions):
                self._counted = len(self.reviewed.decisions), self._count()
            return self._counted[1]

    def _count(self) -> dict[str, Any]:
        """Count without visiting all documents, which would delay the answer."""
        texts, names = self.table, self.reviewed.current_name
        reviews = {k: r for k, r in self.reviewed.reviews.items() if k in texts.places}
        decided = {k: r.labels for k, r in reviews.items() if r.labels is not None}
        given = (texts.given[texts.places[key]] for key in decided)
        table = texts.given_counts - Counter(filter(None, given))
        by_class = Counter(label for labels in decided.values() for label in labels)
        for labels, number in table.items():
            by_class.update(dict.fromkeys(map(names, labels), number))
        return {
            "documents": len(texts),
            "table": table.total(),
            "reviewed": len(decided),
            "skipped": len(reviews) - len(decided),
            "flagged": len(self.reviewed.flags & texts.places.keys()),
            "elsewhere": len(self.reviewed.reviews) - len(reviews),
            "classes": {name: by_class[name] for name in self.reviewed.classes},
        }


def first_targets(table: TextTable, folder: Path) -> list[Any] | None:
    """Return the labels for the first fit: those of the table and of the log."""
    reviewed = Reviewed(table.classes)
    reviewed.apply(DecisionLog(log_path(folder)).read())
    return table.targets(reviewed)


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
