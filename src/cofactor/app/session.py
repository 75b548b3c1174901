"""One start of the app: documents, decisions, the current model and the queue.

All methods may be called from several threads. `_lock` guards what changes; nobody fits, predicts
or writes a model while holding it. Models are never changed in place.
"""

from __future__ import annotations

import copy
import threading
import warnings
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from cofactor.app.corpus import Corpus
from cofactor.app.decisions import Decision, DecisionLog
from cofactor.app.refits import QUIET, Refitter
from cofactor.app.reviewed import Reviewed
from cofactor.app.topic_edits import Trial, check_edit, drift_of
from cofactor.text.describe.predictions import has_head
from cofactor.text.documents import FittedDocuments
from cofactor.text.labelling.suggestions import RANDOM, RANDOM_PART

EVERY = 5
"""Number of labels after which the model is fitted again."""
ITERATIONS = 5
"""Maximum number of iterations of a fit that goes on from the last one."""
SAMPLE = 3000
"""Number of documents that such a fit goes through, and all labelled ones if they are more."""
SNAPSHOTS = 50
"""Number of fits whose predictions are remembered."""
STABILITY_RUNS = 5
"""Number of draws that tell how stable topics are."""
QUEUED = 40
"""Number of documents that are chosen at a time."""
BY_HAND = "chosen by hand"
UNDOABLE = ("label", "skip", "flag", "class", "rename class")
LONGEST_NAME = 200


class StaleError(ValueError):
    """What the user saw has changed meanwhile."""


@dataclass(frozen=True, eq=False)
class Situation:
    """A model and what follows from it; replaced as a whole."""

    model: Any
    documents: list[Any]  # of `TopicModel.documents`
    queue: list[Any]  # of `TopicModel.to_label`
    decisions: int  # number of lines of the log that the queue knows
    version: int


@dataclass
class Session:
    """What the routes call.

    Parameters
    ----------
    corpus : Corpus
    folder : Path
        The model folder; the log lies beside it.
    model : TopicModel
        A fitted model of these documents.
    every : int
        Number of labels after which the model is fitted again.
    quiet : float
        Seconds without a further label before that fit begins.
    saved_decisions : int, optional
        Number of decisions that the model knows, if it was loaded from the folder.
    manifest : dict
        Notes to save with the model.
    notes : list of str
        Sentences that the user should see.
    """

    corpus: Corpus
    folder: Path
    model: Any
    every: int = EVERY
    quiet: float = QUIET
    saved_decisions: int | None = None
    manifest: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock, self._saving, self._editing = (
            threading.RLock(),
            threading.Lock(),
            threading.Lock(),
        )
        self.log = DecisionLog(log_path(self.folder))
        self.reviewed = Reviewed(self.corpus.classes)
        self._versions, self._trials = count(1), count(1)
        self._since = 0
        self._shown: dict[str, int] = {}
        self._counted: tuple[int, dict[str, Any]] = (-1, {})
        self._why: dict[int, str] = {}  # documents that the queue has shown
        self._history: list[tuple[str, Any]] = []
        self._trial: Trial | None = None
        self.shape = 0
        self.overtaken = False  # whether another process has edited the topics of this folder
        self.snapshots: deque[tuple[int, list[Any]]] = deque(maxlen=SNAPSHOTS)
        self._hear()
        self.now = self._situation(self.model, *self._labels())
        self.refitter = Refitter(self._refit, self.quiet)
        if self.saved_decisions != len(self.reviewed.decisions):
            self._begin()

    def _begin(self) -> None:
        """Save a new model; let a loaded one learn the decisions that it does not know."""
        if self.saved_decisions is None:
            self._save(self.now)
        if self.reviewed.decisions:
            self.refitter.request()

    def close(self) -> None:
        """End the thread that fits."""
        self.refitter.close()

    # ---- decisions

    def hear(self) -> None:
        """Read what other processes decided."""
        with self._lock:
            self._heard(self.log.read(), own=0)

    def decide(self, kind: str, by: str, place: int, **content: Any) -> Decision:
        """Write a decision about a document, with what the model said and why it was shown."""
        self.check_place(place)
        if kind == "label":
            content["labels"] = self._checked_labels(content["labels"])
        with self._lock:
            said = self.said(place)
            return self._add(kind, by, document=self.corpus.keys[place], **content, **said)

    def decide_many(self, by: str, places: list[int], labels: list[str]) -> int:
        """Label several documents at once; return their number."""
        for place in dict.fromkeys(places):
            self.decide("label", by, place, labels=labels)
        return len(set(places))

    def make_class(self, by: str, name: str) -> None:
        """Make a class."""
        self._add("class", by, name=self._checked_name(name))

    def rename_class(self, by: str, old: str, new: str) -> None:
        """Rename a class; if there is a class of the new name, they become one."""
        if old not in self.reviewed.classes:
            raise StaleError(f"The class {old!r} does not exist any more.")
        self._add("rename class", by, old=old, new=self._checked_name(new, but=old))

    def undo(self, by: str, number: int | None = None) -> Decision | None:
        """Undo a decision: the last one of this tab, or else of all; return it."""
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

    def _hear(self) -> None:
        self.reviewed.apply(self.log.read())

    def _heard(self, decisions: list[Decision], own: int = 1) -> None:
        """Apply decisions; the last ``own`` of them are ours."""
        self.reviewed.apply(decisions)
        others = decisions[: len(decisions) - own]
        self.overtaken |= any(one.kind in ("edit", "undo edit") for one in others)
        self._since += sum(d.kind in ("label", "undo", "rename class") for d in decisions)
        if decisions and self._since >= self.every:
            self._since = 0
            self.refitter.request()

    def check_place(self, place: int) -> None:
        """Refuse a document that does not exist."""
        if not 0 <= place < len(self.corpus):
            raise ValueError(f"document={place} must be from 0 to {len(self.corpus) - 1}.")

    def _checked_name(self, name: str, but: str | None = None) -> str:
        """Return the name of a class in good form; refuse a variant of another class's name."""
        name = " ".join(name.split())
        if not name or len(name) > LONGEST_NAME:
            raise ValueError(f"The name of a class needs 1 to {LONGEST_NAME} characters.")
        others = [one for one in self.reviewed.classes if one != but]
        alike = [one for one in others if one.casefold() == name.casefold()]
        if alike and name not in alike:
            raise ValueError(
                f"There is the class {alike[0]!r} already; {name!r} differs in case only."
            )
        return name

    def _checked_labels(self, labels: list[str]) -> list[str]:
        unknown = [label for label in labels if label not in self.reviewed.classes]
        if unknown:
            raise StaleError(f"The class {unknown[0]!r} does not exist; make it first.")
        if len(labels) > 1 and not self.corpus.several:
            raise ValueError("A document has one label here; start the app with --several.")
        return labels

    # ---- the queue

    def said(self, place: int) -> dict[str, Any]:
        """Return what the current model says of a document, and why the queue holds it."""
        now = self.now
        document = now.documents[place]
        queued = (row.reason for row in now.queue if row.document == place)
        reason = self._why.get(place) or next(queued, BY_HAND)
        known = document.topic >= 0 and document.prediction is not None
        prediction = document.prediction if known else None
        if isinstance(prediction, tuple):
            prediction = list(prediction)
        return {
            "reason": reason,
            "prediction": prediction,
            "confidence": document.confidence if known else None,
        }

    def next(self, by: str, leave: int | None = None) -> int | None:
        """Return the place of the next document for a tab; None if there is none at the moment.

        Documents that other tabs show are passed over, and so is ``leave``.
        """
        with self._lock:
            self.hear()
            taken = {place for tab, place in self._shown.items() if tab != by}
            waiting = [row for row in self.now.queue if self._is_open(row.document)]
            stale = self.now.decisions != len(self.reviewed.decisions)
            if len(waiting) < self.every and stale and not self.refitter.busy:
                self.refitter.request()  # once: a request delays the fit that others asked for
            for row in waiting:
                if row.document not in taken and row.document != leave:
                    self._shown[by], self._why[row.document] = row.document, row.reason
                    return int(row.document)
            return None

    @property
    def exhausted(self) -> bool:
        """Whether no document is left to choose."""
        with self._lock:
            fresh = self.now.decisions == len(self.reviewed.decisions)
            return fresh and not any(self._is_open(row.document) for row in self.now.queue)

    def _is_open(self, place: int) -> bool:
        return self.corpus.keys[place] not in self.reviewed.reviews

    # ---- fits

    def _labels(self) -> tuple[list[Any] | None, list[Any], int]:
        """Return y, a mark for each labelled or reviewed document, and the number of decisions."""
        with self._lock:
            y = self.corpus.targets(self.reviewed)
            pairs = zip(self.corpus.keys, self.corpus.given, strict=True)
            done = ["done" if k in self.reviewed.reviews or given else "" for k, given in pairs]
            return y, done, len(self.reviewed.decisions)

    def _situation(
        self, model: Any, y: list[Any] | None, done: list[Any], decisions: int
    ) -> Situation:
        """Describe the documents by a model, and choose which to label next."""
        texts = self.corpus.texts
        known = FittedDocuments.known(model, texts) is not None
        documents = list(model.documents() if known else model.documents(texts))
        queue = list(model.to_label(texts, QUEUED, y=done, random_state=decisions))
        queue = mixed(queue, len(self.reviewed.reviews))
        return Situation(model, documents, queue, decisions, next(self._versions))

    def _refit(self) -> None:
        """Fit with the current labels; the thread of `refits` calls this."""
        before, labels = self.now, self._labels()
        model = before.model
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if labels[0] is not None:
                model = self._warm_fit(model, labels[0])
            new = self._situation(model, *labels)
        with self._lock:
            if self.now is not before:  # an edit was accepted meanwhile
                self.refitter.request()
                return
            self.now = new
            if labels[0] is not None:
                known = sum(map(bool, labels[0]))
                self.snapshots.append((known, [one.prediction for one in new.documents]))
        self._save(new)

    def _warm_fit(self, model: Any, y: Any) -> Any:
        return model.refit(self.corpus.texts, y, iterations=ITERATIONS, sample=SAMPLE)

    def _save(self, situation: Situation) -> None:
        """Write the model, unless a later one is there or another process edited its topics."""
        with self._saving:
            self.hear()  # another process may have edited meanwhile
            if self.now is situation and not self.overtaken:
                app = {"decisions": situation.decisions, "log": self.log.path.name}
                situation.model.save(self.folder, notes={**self.manifest, "app": app})

    # ---- edits of topics

    def try_edit(self, name: str, arguments: dict[str, Any]) -> Trial:
        """Edit the topics of the current model and fit it, for the user to look at."""
        edit = check_edit(name, arguments)
        before, (y, *_) = self.now, self._labels()
        after = self._fitted_edit(before.model, edit, arguments, y)
        sources = (edit.sources or (lambda n, **_: list(range(n))))(
            len(before.model.topic_names_), **arguments
        )
        drift = drift_of(before.model, after, sources, self.corpus.texts)
        with self._lock:
            self._trial = Trial(
                next(self._trials), name, arguments, self.shape, before, after, drift
            )
            return self._trial

    def _fitted_edit(self, model: Any, edit: Any, arguments: dict[str, Any], y: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            edited = edit.apply(model, self.corpus.texts, **arguments)
            if edit.sources is None or (y is None and has_head(model.estimator_)):
                return edited
            return self._warm_fit(edited, y)

    def accept(self, by: str, number: int) -> None:
        """Put the edit that was tried last in place."""
        trial = self._trial
        if trial is None or trial.number != number or trial.shape != self.shape:
            raise StaleError("The topics have changed since this was shown; look at it again.")
        self.edit(by, trial.name, trial.arguments, trial)

    def edit(
        self, by: str, name: str, arguments: dict[str, Any], trial: Trial | None = None
    ) -> None:
        """Edit the topics of the current model, and save it before returning.

        The model that was tried is taken if it came from the current one; a fit that ended
        meanwhile leaves the numbers of the topics, so the edit is applied to its model.
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
            raise StaleError("Another start of the app edited the topics; start this one again.")

    def _install(self, before: Situation, after: Situation, name: str) -> bool:
        with self._lock:
            if self.now is not before:
                return False
            self.now, self._trial = after, None
            self._history.append((name, before.model))
            self.shape += 1
            return True

    def undo_edit(self, by: str) -> str | None:
        """Take back the last edit; return its name, or None if there is none."""
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
        """Measure how stable the topics of the current model are; the next fit forgets it."""
        before, (y, *_) = self.now, self._labels()
        model = copy.copy(before.model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.stability(self.corpus.texts, y, runs=STABILITY_RUNS)
        with self._lock:
            if self.now is not before:
                raise StaleError("The model was fitted again meanwhile; measure once more.")
            self.now = replace(before, model=model, version=next(self._versions))

    @property
    def edits(self) -> list[str]:
        """The edits that can be undone, the last one at the end."""
        return [name for name, _ in self._history]

    # ---- counts

    def counts(self) -> dict[str, Any]:
        """Return how many documents have what; counted once after each decision."""
        with self._lock:
            if self._counted[0] != len(self.reviewed.decisions):
                self._counted = len(self.reviewed.decisions), self._count()
            return self._counted[1]

    def _count(self) -> dict[str, Any]:
        """Count without going through all documents: an answer must not wait for that."""
        corpus, names = self.corpus, self.reviewed.current_name
        reviews = {k: r for k, r in self.reviewed.reviews.items() if k in corpus.places}
        decided = {k: r.labels for k, r in reviews.items() if r.labels is not None}
        given = (corpus.given[corpus.places[key]] for key in decided)
        table = corpus.given_counts - Counter(filter(None, given))
        by_class = Counter(label for labels in decided.values() for label in labels)
        for labels, number in table.items():
            by_class.update(dict.fromkeys(map(names, labels), number))
        return {
            "documents": len(corpus),
            "table": table.total(),
            "reviewed": len(decided),
            "skipped": len(reviews) - len(decided),
            "flagged": len(self.reviewed.flags & corpus.places.keys()),
            "elsewhere": len(self.reviewed.reviews) - len(reviews),
            "classes": {name: by_class[name] for name in self.reviewed.classes},
        }


def mixed(rows: list[Any], reviewed: int) -> list[Any]:
    """Put a random check at every fifth place, counted from the first review of all.

    The queue is chosen anew after a few labels, so random checks at its end would never come.
    """
    checks = [row for row in rows if row.reason == RANDOM]
    others = [row for row in rows if row.reason != RANDOM]
    found = []
    for place in range(reviewed, reviewed + len(rows)):
        first = checks if place % RANDOM_PART == RANDOM_PART - 1 else others
        found.append((first or checks or others).pop(0))
    return found


def first_targets(corpus: Corpus, folder: Path) -> list[Any] | None:
    """Return what the first fit of a corpus learns from: labels of the table and of the log."""
    reviewed = Reviewed(corpus.classes)
    reviewed.apply(DecisionLog(log_path(folder)).read())
    return corpus.targets(reviewed)


def log_path(folder: Path) -> Path:
    """Return the file of the decisions of a model folder."""
    return folder.with_name(f"{folder.name}.decisions.jsonl")
