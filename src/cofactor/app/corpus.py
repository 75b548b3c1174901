"""The documents of a table, the labels that the table has, and the labels that a fit sees."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cofactor.app.reviewed import Reviewed

TABLE, REVIEWED = "table", "reviewed"
"""Where a label comes from. Predictions are no labels."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents to label.

    Parameters
    ----------
    texts : list of str
    given : list of tuple of str
        The labels of each document in the table; empty where there are none.
    names : list
        What the documents are called: numbers of rows, or names.
    several : bool
        Whether a document may have several labels.
    facts : dict
        How the table was read: ``path``, ``text`` and the like.
    label_column : str
        The column that holds the labels, or will hold them.
    dates : list, optional
        Dates of the documents; None where unknown.
    """

    texts: list[str]
    given: list[tuple[str, ...]]
    names: Sequence[int | str]
    several: bool = False
    facts: dict[str, Any] = field(default_factory=dict)
    label_column: str = "label"
    dates: Sequence[Any] | None = None

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def keys(self) -> list[str]:
        """What the log calls the documents: digests of the texts, and a count for equal texts.

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
        """How many documents have which labels in the table; those without are not counted."""
        return Counter(filter(None, self.given))

    def labels(self, reviewed: Reviewed) -> list[tuple[tuple[str, ...] | None, str | None]]:
        """Return the labels of each document, and whether they were reviewed or are the table's.

        None stands for documents without a known label; an empty tuple for reviewed documents that
        are of no class.
        """
        return [self.label_of(place, reviewed, key) for place, key in enumerate(self.keys)]

    def label_of(
        self, place: int, reviewed: Reviewed, key: str | None = None
    ) -> tuple[tuple[str, ...] | None, str | None]:
        """Return the labels of one document, and where they come from."""
        review = reviewed.reviews.get(self.keys[place] if key is None else key)
        if review is not None and review.labels is not None:
            return review.labels, REVIEWED
        if given := self.given[place]:
            return tuple(dict.fromkeys(map(reviewed.current_name, given))), TABLE
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
    """Yield what the log calls the documents of a table."""
    seen: Counter[str] = Counter()
    for text in texts:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]
        yield f"{digest}-{seen[digest]}" if seen[digest] else digest
        seen[digest] += 1
