"""Several edits of a model that are made together.

All topic numbers are those of the model before the edits. An edit of a topic that is merged applies
to the merged topic.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from cofactor.text.describe.summaries import model_words
from cofactor.text.editing import edits


@dataclass(frozen=True)
class Changes:
    """Edits by topic number. The values are JSON, but keys are numbers.

    Examples
    --------
    >>> from cofactor import TopicModel
    >>> texts = ["wrong invoice", "refund the invoice", "login fails", "the app crashes at login"]
    >>> model = TopicModel(3, random_state=0).fit(texts)
    >>> changes = Changes(names={2: "everything else"}, merges=[[1, 2]])
    >>> make_changes(model, changes).topic_names_[1]
    'everything else'
    """

    names: dict[int, str] = field(default_factory=dict)
    frozen: dict[int, bool] = field(default_factory=dict)
    pinned: dict[int, list[str]] = field(default_factory=dict)
    banned: dict[int, list[str]] = field(default_factory=dict)
    merges: list[list[int]] = field(default_factory=list)
    drops: list[int] = field(default_factory=list)
    splits: dict[int, int] = field(default_factory=dict)  # number of parts

    def __bool__(self) -> bool:
        return any(getattr(self, one.name) for one in fields(self))

    def facts(self) -> dict[str, Any]:
        """Return the changes as JSON for a manifest, without empty fields."""
        found = {name: part for name, part in asdict(self).items() if part}
        return {
            name: {str(k): one for k, one in part.items()} if isinstance(part, dict) else part
            for name, part in found.items()
        }

    @classmethod
    def read(cls, facts: Any) -> Changes:
        """Return the changes from a manifest; raise an error if they are damaged."""
        kinds = {one.name: type(getattr(cls(), one.name)) for one in fields(cls)}
        good = isinstance(facts, dict) and facts.keys() <= kinds.keys()
        if not good or not all(isinstance(part, kinds[name]) for name, part in facts.items()):
            raise ValueError("The notes on the edits are damaged.")
        parts: dict[str, Any] = {
            name: {_number(k): one for k, one in part.items()} if isinstance(part, dict) else part
            for name, part in facts.items()
        }
        found = cls(**parts)
        if not found._plausible():
            raise ValueError("The notes on the edits are damaged.")
        return found

    def _plausible(self) -> bool:
        """Return whether all items have the right types."""
        texts = all(isinstance(name, str) for name in self.names.values())
        marks = all(type(mark) is bool for mark in self.frozen.values())
        words = [*self.pinned.values(), *self.banned.values()]
        lists = all(isinstance(some, list) for some in [*words, *self.merges])
        if not (texts and marks and lists):
            return False
        numbers = [*self.drops, *self.splits.values(), *(k for group in self.merges for k in group)]
        spelt = all(isinstance(word, str) for some in words for word in some)
        return spelt and all(type(k) is int for k in numbers)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError("The notes on the edits are damaged.")
    return int(text)


def topics_digest(model: Any) -> str:
    """Return a digest of a model's topics and words: with the same digest, topic numbers mean the
    same."""
    A = np.ascontiguousarray(model.estimator_.components_, dtype="<f8")
    digest = hashlib.sha256(b"%d\n" % len(A) + A.tobytes())
    for word in model_words(model):
        digest.update(str(word).encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:32]


def make_changes(model: Any, changes: Changes, documents: Any = None, y: Any = None) -> Any:
    """Return the model with all changes.

    Parameters
    ----------
    model : TopicModel
    changes : Changes
    documents : iterable of str, optional
        Documents to split topics by.
    y : array-like, optional
        Their labels, by which later commands recognise the documents.

    Returns
    -------
    TopicModel
    """
    check_changes(changes, len(model.topic_names_))
    groups = groups_of(changes, len(model.topic_names_))
    inside = {k: group for group in groups for k in group}
    for k, name in changes.names.items():
        for member in inside[k]:
            model = edits.rename(model, member, name)
    for k, words in changes.pinned.items():
        for member in inside[k]:
            model = edits.pin(model, member, words)
    for k, words in changes.banned.items():
        for member in inside[k]:
            model = edits.ban(model, member, words)
    for k, frozen in changes.frozen.items():
        model = edits.freeze(model, inside[k], frozen)
    if len(groups) < len(model.topic_names_):
        model = edits.regroup(model, groups)
    places = {group[0]: place for place, group in enumerate(groups)}
    for k in sorted(changes.splits, reverse=True):  # so that earlier numbers stay valid
        model = edits.split(model, places[k], documents, changes.splits[k], y)
    return model


def groups_of(changes: Changes, n: int) -> list[list[int]]:
    """Return the groups of the n topics that become one topic each, after merges and drops."""
    return edits.merged_groups(n, changes.merges, changes.drops)


# ---- contradictions


def check_changes(changes: Changes, n: int) -> None:
    """Raise an error if changes of n topics contradict each other or leave no topic."""
    for complaint in _complaints(changes, n):
        raise ValueError(complaint)


def _complaints(changes: Changes, n: int) -> Iterator[str]:
    merged = Counter(k for group in changes.merges for k in set(group))
    said = [*changes.names, *changes.frozen, *changes.pinned, *changes.banned]
    for k in {*merged, *changes.drops, *changes.splits, *said}:
        if isinstance(k, bool) or not isinstance(k, int) or not 0 <= k < n:
            yield f"topic {k} does not exist; the topics are 0 to {n - 1}."
    for group in changes.merges:
        if len(set(group)) < 2:
            yield f"A merge needs two topics; {and_so_on(group)} alone cannot be merged."
    for k, times in merged.items():
        if times > 1:
            yield f"Topic {k} is in two merges; combine them."
    for k in changes.drops:
        if k in merged:
            yield f"Topic {k} is both dropped and merged; choose one."
        if k in changes.splits:
            yield f"Topic {k} is both dropped and split; choose one."
        if k in said:
            yield f"Topic {k} is dropped, so there is nothing else to change about it."
    for k in changes.splits:
        if k in merged:
            yield f"Topic {k} is both merged and split; choose one."
        if k in changes.names:
            yield f"Topic {k} is split, so its name would be lost; name the parts afterwards."
    if len(set(changes.drops)) == n:
        yield "A model needs a topic: the last one cannot be dropped."
    else:
        yield from _two_ways(changes, n)


def _two_ways(changes: Changes, n: int) -> Iterator[str]:
    """Yield complaints about topics that are merged but edited differently."""
    for group in groups_of(changes, n):
        which = f"Topics {and_so_on(group)} are merged and would"
        names = list(dict.fromkeys(changes.names[k] for k in group if k in changes.names))
        if len(names) > 1:
            yield f"{which} have the names {and_so_on(map(repr, names))}; give one name."
        if len({changes.frozen[k] for k in group if k in changes.frozen}) > 1:
            yield f"{which} be both frozen and thawed; choose one."
        pinned, banned = (
            {word for k in group for word in some.get(k, ())}
            for some in (changes.pinned, changes.banned)
        )
        if both := sorted(pinned & banned):
            yield f"The word {both[0]!r} of topic {group[0]} is both pinned and banned; choose one."


# ---- summaries


def tell_changes(before: Any, changes: Changes, after: Any) -> list[str]:
    """Return sentences that say what was changed, with the old topic numbers."""
    return [*_told_words(before, changes), *_told_numbers(before, changes, after)]


def _told_words(before: Any, changes: Changes) -> Iterator[str]:
    for k, name in changes.names.items():
        yield f"{_named(before, k)} is now called {name!r}."
    for verb, some in (("pinned to", changes.pinned), ("banned from", changes.banned)):
        for k, words in some.items():
            found = [*edits.known_words(before, words)]
            be = "is" if len(found) == 1 else "are"
            yield f"{and_so_on(map(repr, found))} {be} {verb} {_named(before, k, 't')}."
    for verb, wanted in (("frozen", True), ("no longer frozen", False)):
        if topics := [k for k, frozen in changes.frozen.items() if frozen is wanted]:
            yield f"{_topics(topics)} {verb}."


def _told_numbers(before: Any, changes: Changes, after: Any) -> Iterator[str]:
    groups = groups_of(changes, len(before.topic_names_))
    sources = [k for group in groups for k in group[:1] * changes.splits.get(group[0], 1)]
    for group in changes.merges:
        new = sources.index(min(group))
        name = after.topic_names_[new]
        yield f"{_topics(sorted(group))} merged into topic {new} ({name})."
    for k in changes.drops:
        yield f"{_named(before, k)} is dropped."
    for k in changes.splits:
        parts = [place for place, source in enumerate(sources) if source == k]
        yield f"{_named(before, k)} is split into topics {and_so_on(parts)}."
    if any(source != new for new, source in enumerate(sources)):
        yield "The topics have new numbers."


def _named(model: Any, k: int, first: str = "T") -> str:
    return f"{first}opic {k} ({model.topic_names_[k]})"


def _topics(numbers: list[int]) -> str:
    several = len(numbers) > 1
    return f"Topic{'s' if several else ''} {and_so_on(numbers)} {'are' if several else 'is'}"


def and_so_on(items: Iterable[Any]) -> str:
    """Return items as text: "1", "1 and 2", "1, 2 and 3"."""
    words = [*map(str, items)]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
