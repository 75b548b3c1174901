"""What the decisions of a log amount to: labels of documents, classes, flags.

Lines are applied in order, without those that an undo names; the last one about a document wins.
Nothing here comes from a model: predictions never become labels by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cofactor.app.decisions import Decision


@dataclass(frozen=True)
class Review:
    """The last decision about one document."""

    decision: Decision
    labels: tuple[str, ...] | None
    """None if the document was skipped; empty if none of the classes fits."""


@dataclass
class Reviewed:
    """The state after some decisions; begin with nothing and `apply` them.

    Parameters
    ----------
    classes : list of str
        Classes that the table has; decisions add, rename and merge classes.
    """

    classes: list[str] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    undone: set[int] = field(default_factory=set)
    reviews: dict[str, Review] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    """New names of classes of the table."""

    def __post_init__(self) -> None:
        self._first_classes = [*self.classes]

    def apply(self, decisions: Iterable[Decision]) -> None:
        """Apply further decisions."""
        for decision in decisions:
            self.decisions.append(decision)
            if decision.kind == "undo":
                self._undo(decision)
            else:
                self._apply(decision)

    def counted(self) -> list[Decision]:
        """Return the decisions that are in force, in order; undo lines are not among them."""
        return [d for d in self.decisions if d.kind != "undo" and d.number not in self.undone]

    def current_name(self, name: str) -> str:
        """Return what a class of the table is called now."""
        return self.renamed.get(name, name)

    def _undo(self, decision: Decision) -> None:
        number = decision.content.get("undoes")
        if not isinstance(number, int) or isinstance(number, bool) or number in self.undone:
            return
        self.undone.add(number)
        self._begin_again()
        for earlier in self.counted():
            self._apply(earlier)

    def _begin_again(self) -> None:
        self.classes, self.reviews = [*self._first_classes], {}
        self.flags, self.renamed = set(), {}

    def _apply(self, decision: Decision) -> None:
        apply = {
            "label": self._label,
            "skip": self._skip,
            "flag": self._flag,
            "class": self._class,
            "rename class": self._rename,
        }.get(decision.kind)
        if apply is not None:
            apply(decision, decision.content)

    def _label(self, decision: Decision, content: dict[str, Any]) -> None:
        document, labels = content.get("document"), content.get("labels")
        if isinstance(document, str) and _are_texts(labels):
            self.reviews[document] = Review(decision, tuple(dict.fromkeys(labels or ())))
            self._add_classes(labels or ())

    def _skip(self, decision: Decision, content: dict[str, Any]) -> None:
        if isinstance(document := content.get("document"), str):
            self.reviews[document] = Review(decision, None)

    def _flag(self, decision: Decision, content: dict[str, Any]) -> None:
        if isinstance(document := content.get("document"), str):
            (self.flags.add if content.get("on") else self.flags.discard)(document)

    def _class(self, decision: Decision, content: dict[str, Any]) -> None:
        if isinstance(name := content.get("name"), str):
            self._add_classes([name])

    def _rename(self, decision: Decision, content: dict[str, Any]) -> None:
        """Give a class another name; if another class has it already, both become one."""
        old, new = content.get("old"), content.get("new")
        if not (isinstance(old, str) and isinstance(new, str)):
            return
        self.classes = list(dict.fromkeys(new if name == old else name for name in self.classes))
        for document, review in self.reviews.items():
            if review.labels and old in review.labels:
                names = dict.fromkeys(new if name == old else name for name in review.labels)
                self.reviews[document] = Review(review.decision, tuple(names))
        for name in {*self.renamed, old}:
            if self.current_name(name) == old:
                self.renamed[name] = new

    def _add_classes(self, names: Iterable[str]) -> None:
        self.classes = list(dict.fromkeys([*self.classes, *names]))


def _are_texts(labels: Any) -> bool:
    return isinstance(labels, list) and all(isinstance(one, str) for one in labels)
