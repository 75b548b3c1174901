"""The classes of a session: each has an identity that stays, and a name that may change.

Labels and predictions refer to identities, so a renamed or merged class takes them along. The
identity of a class is the name that it had first; a later class of that name gets another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class NamedClasses:
    """Names by identity, in the order of creation.

    Parameters
    ----------
    first : iterable of str
        Classes of the table; these names are their identities.

    Examples
    --------
    >>> classes = NamedClasses(["sport", "food"])
    >>> classes.rename("sport", "football")
    >>> classes.shown(["sport"])
    ('football',)
    >>> classes.add("sport", 7)
    'sport#7'
    """

    def __init__(self, first: Iterable[str] = ()) -> None:
        self.names = {name: name for name in first}
        """The name of each class that exists."""
        self.descriptions: dict[str, str] = {}
        self._known = set(self.names)  # identities, with those of merged and deleted classes
        self._merged: dict[str, str] = {}

    def find(self, name: str) -> str | None:
        """Return the identity of the class that has a name now."""
        return next((one for one, known in self.names.items() if known == name), None)

    def resolve(self, identity: str | None) -> str | None:
        """Return the class that an identity stands for after merges; None if it is unknown."""
        while identity in self._merged:
            identity = self._merged[identity]
        return identity if identity in self._known else None

    def read(
        self, names: Sequence[str], identities: Sequence[str | None], line: int
    ) -> tuple[str, ...]:
        """Return the identities of labels in a line of the log; create classes that are missing.

        A line of an earlier version has names only. They are those of the time of the line.
        """
        found = [
            self._revived(one, name) or self.find(name) or self.add(name, line)
            for name, one in zip(names, identities, strict=True)
        ]
        return tuple(dict.fromkeys(found))

    def read_known(
        self, names: Sequence[str], identities: Sequence[str | None]
    ) -> tuple[str | None, ...]:
        """Return the identities of predictions in a line of the log; None where there is none."""
        return tuple(
            self.resolve(one) or self.find(name)
            for name, one in zip(names, identities, strict=True)
        )

    def shown(self, identities: Iterable[str | None]) -> tuple[str, ...]:
        """Return the current names of classes; those that no longer exist are left out."""
        found = (self.names.get(self.resolve(one) or "") for one in identities)
        return tuple(dict.fromkeys(name for name in found if name is not None))

    def add(self, name: str, line: int) -> str:
        """Create a class unless there is one of that name; return its identity."""
        if (found := self.find(name)) is not None:
            return found
        identity = name if name not in self._known else f"{name}#{line}"
        self._known.add(identity)
        self.names[identity] = name
        return identity

    def rename(self, identity: str | None, name: str) -> None:
        """Rename a class; if another class has the name, merge this one into it."""
        identity = self.resolve(identity)
        if identity is None or identity not in self.names:
            return
        other = self.find(name)
        if other is not None and other != identity:
            del self.names[identity]
            self._merged[identity] = other
        else:
            self.names[identity] = name

    def delete(self, identity: str | None) -> None:
        """Delete a class."""
        self.names.pop(self.resolve(identity) or "", None)

    def describe(self, identity: str | None, text: str) -> None:
        """Say what a class is about."""
        if (found := self.resolve(identity)) is not None:
            self.descriptions[found] = text

    def _revived(self, identity: str | None, name: str) -> str | None:
        """Return the class of an identity; a label revives one that was deleted."""
        found = self.resolve(identity)
        if found is not None and found not in self.names:
            if (other := self.find(name)) is not None:
                return other
            self.names[found] = name
        return found
