"""The texts of a table with their labels, and which text a tab shows next."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from cofactor.app.decisions import Reviewed
from cofactor.text.describe.answers import UNLIKE as UNLIKE
from cofactor.text.labelling.suggestions import RANDOM, RANDOM_PART

FROM_TABLE, FROM_REVIEW = "table", "reviewed"
"""Sources of labels; predictions are never labels."""
BY_HAND, REST, SECOND = "chosen by hand", "next in the table", "second opinion"
DOUBTED, DISAGREED, FLAGGED = "doubtful label", "people disagree", "flagged"
"""Reasons for showing a document, beside those of `TopicModel.to_label`."""
BLIND = (RANDOM, SECOND)
"""Reasons for which the suggestion, and what others decided, is hidden."""
HOLD = timedelta(minutes=10)
"""A text that a tab shows is not given to other tabs for so long."""


@dataclass(frozen=True, eq=False)
class TextTable:
    """Documents to label.

    Parameters
    ----------
    texts : list of str
    given : list of tuple of str
        The labels of each document in the table; empty where there are none.
    names : list
        Row numbers or names of the documents.
    several : bool
        Whether a document may have several labels.
    facts : dict
        How the table was read: ``path``, ``text`` and the like.
    label_column : str
        The column that holds the labels, or will hold them.
    dates : list, optional
        Dates of the documents; None where unknown.
    columns : dict
        Further columns of the table by name, to show beside a text.
    """

    texts: list[str]
    given: list[tuple[str, ...]]
    names: Sequence[int | str]
    several: bool = False
    facts: dict[str, Any] = field(default_factory=dict)
    label_column: str = "label"
    dates: Sequence[Any] | None = None
    columns: dict[str, Sequence[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def keys(self) -> list[str]:
        """Names of the documents in the log: digests of the texts, with a count for equal texts.

        They stay the same when rows are sorted or added.
        """
        return list(each_key(self.texts))

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each document by its key."""
        return {key: place for place, key in enumerate(self.keys)}

    @cached_property
    def classes(self) -> list[str]:
        """The classes that the table has."""
        return sorted({label for labels in self.given for label in labels})

    @cached_property
    def given_counts(self) -> Counter[tuple[str, ...]]:
        """How many documents have which labels in the table, without unlabelled ones."""
        return Counter(filter(None, self.given))

    def labels(self, reviewed: Reviewed) -> list[tuple[tuple[str, ...] | None, str | None]]:
        """Return the labels of each document and their source, "reviewed" or "table".

        The labels are None if unknown, and empty if a reviewed document is of no class.
        """
        return [self.label_of(place, reviewed, key) for place, key in enumerate(self.keys)]

    def label_of(
        self, place: int, reviewed: Reviewed, key: str | None = None
    ) -> tuple[tuple[str, ...] | None, str | None]:
        """Return the labels of one document and their source."""
        labels = reviewed.labels_of(self.keys[place] if key is None else key)
        if labels is not None:
            return labels, FROM_REVIEW
        if given := self.given[place]:
            return tuple(dict.fromkeys(map(reviewed.current_name, given))), FROM_TABLE
        return None, None

    def targets(self, reviewed: Reviewed) -> list[Any] | None:
        """Return y as `TopicModel.fit` takes it; None if there are fewer than two classes."""
        labels = [found for found, _ in self.labels(reviewed)]
        if len({label for found in labels for label in found or ()}) < 2:
            return None
        if self.several:
            return [None if found is None else set(found) for found in labels]
        return [found[0] if found else "" for found in labels]


def each_key(texts: Iterable[str]) -> Iterator[str]:
    """Yield the names of documents in the log."""
    seen: Counter[str] = Counter()
    for text in texts:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]
        yield f"{digest}-{seen[digest]}" if seen[digest] else digest
        seen[digest] += 1


def free_texts(
    table: TextTable, reviewed: Reviewed, tab: str, now: datetime
) -> Callable[[int], bool]:
    """Return a function that tells whether a document is on no other tab's screen."""
    held = {
        one.document
        for other, one in reviewed.shown.items()
        if other != tab and now - one.since < HOLD and reviewed.is_on_screen(other)
    }
    return lambda place: table.keys[place] not in held


def wants_second_opinion(reviewed: Reviewed, key: str, who: str, overlap: float) -> bool:
    """Tell whether a document belongs to the share that two people label, and lacks this one.

    Its key, a digest of the text, decides, so that all processes agree.
    """
    if int(key[:8], 16) >= overlap * 16**8:
        return False
    if (key, who) in reviewed.seen_by or (key, DISAGREED) in reviewed.looked_at:
        return False
    return len(reviewed.opinions.get(key, {})) == 1


def disagreements(reviewed: Reviewed) -> list[str]:
    """Return the documents about which people disagree and nobody has decided, by key."""
    return [
        key
        for key, people in reviewed.opinions.items()
        if len(people) > 1
        and (key, DISAGREED) not in reviewed.looked_at
        and len({frozenset(reviewed.classes.shown(one.labels or ())) for one in people.values()})
        > 1
    ]


def mixed(rows: list[Any], reviewed: int) -> list[Any]:
    """Move random checks to every fifth position, counted from the very first review.

    The queue is renewed after a few labels, so random checks at its end would never be reached.
    """
    checks = [row for row in rows if row.reason == RANDOM]
    others = [row for row in rows if row.reason != RANDOM]
    found = []
    for place in range(reviewed, reviewed + len(rows)):
        first = checks if place % RANDOM_PART == RANDOM_PART - 1 else others
        found.append((first or checks or others).pop(0))
    return found
