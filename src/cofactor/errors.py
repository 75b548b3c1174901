"""Errors about input, and errors and warnings about parameters.

The latter keep the parameters that they name, so that a caller with other names for them (the
command line has options) can show the same sentence in its own words.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NOT_GIVEN: Any = ...


@dataclass(frozen=True)
class Parameter:
    """A parameter in a sentence, with its value or one of its keys.

    Examples
    --------
    >>> print(Parameter("n_components", 1000), Parameter("seeds", key="a"), Parameter("y"))
    n_components=1000 seeds['a'] y
    """

    name: str
    value: Any = _NOT_GIVEN
    key: Any = _NOT_GIVEN

    def __str__(self) -> str:
        key = "" if self.key is _NOT_GIVEN else f"[{self.key!r}]"
        return f"{self.name}{key}" + ("" if self.value is _NOT_GIVEN else f"={_shown(self.value)}")

    def as_option(self, option: str, *, bare: bool = False) -> str:
        """Return the parameter as the command line writes it.

        The option is repeated for each value of a list and each pair of a dict. With ``bare``,
        values that are plain words have no quotes.

        Examples
        --------
        >>> print(Parameter("relabel", {"a": "b", "c d": "e"}).as_option("--relabel"))
        --relabel a=b --relabel 'c d=e'
        """
        start = option if self.key is _NOT_GIVEN else f"{option} {self.key!r}"
        return " ".join(f"{start} {word}".rstrip() for word in _words(self.value, bare))


def _words(value: Any, bare: bool) -> list[str]:
    """Return the word after an option, or one for each time that it is repeated."""
    if value is _NOT_GIVEN or value is True:
        return [""]
    if value is None:
        return ["none"]
    if isinstance(value, Mapping):
        pairs = (f"{key}={one}" for key, one in value.items())
        return [shlex.quote(one if one.isprintable() else repr(one)[1:-1]) for one in pairs]
    words = [_shown(one) for one in (value if isinstance(value, list) else [value])]
    return [re.sub(r"^'(\w[\w.-]*)'$", r"\1", word) if bare else word for word in words]


def _shown(value: Any) -> str:
    """Return a value as users can copy it."""
    return repr(value)


SentencePart = str | Parameter
Clause = SentencePart | tuple[SentencePart, ...]


class _AboutParameters(Exception):
    """A reason and a remedy in one sentence; both may name parameters.

    Parameters
    ----------
    reason : str, Parameter or tuple of them
        What is wrong. A tuple is joined without spaces.
    remedy : str, Parameter, tuple, or list of these
        What to do; a list holds alternatives. One that begins with a capital letter becomes a
        separate sentence.
    """

    def __init__(self, reason: Clause, remedy: Clause | list[Clause] = "") -> None:
        super().__init__(reason, remedy)
        self.reason = _parts(reason)
        self.remedies = [_parts(one) for one in (remedy if isinstance(remedy, list) else [remedy])]

    @property
    def parameter(self) -> Parameter | None:
        """The first parameter that the sentence names."""
        named = (part for clause in (self.reason, *self.remedies) for part in clause)
        return next((part for part in named if isinstance(part, Parameter)), None)

    def __str__(self) -> str:
        return self.sentence({})

    def sentence(self, options: Mapping[str, str]) -> str:
        """Return the sentence with options in place of the parameters that have one.

        Of several remedies, those that need a parameter without an option are left out. Plain
        words in a remedy have no quotes, since users type them.

        Examples
        --------
        >>> error = ParameterError((Parameter("y"), " has no label"), "add some")
        >>> print(error)
        y has no label; add some.
        >>> error.sentence({"y": "the label column"})
        'The label column has no label; add some.'
        """

        def text(clause: tuple[SentencePart, ...], bare: bool = False) -> str:
            return "".join(
                part.as_option(options[part.name], bare=bare)
                if isinstance(part, Parameter) and part.name in options
                else str(part)
                for part in clause
            )

        possible = [one for one in self.remedies if not options or _names(one) <= options.keys()]
        remedy = _either([text(one, bare=True) for one in possible or self.remedies])
        between = "" if not remedy else ". " if remedy[0].isupper() else "; "
        whole = f"{text(self.reason)}{between}{remedy}"
        if _names(self.reason[:1]) & options.keys():
            whole = whole[0].upper() + whole[1:]
        return whole if whole.endswith((".", "?")) else f"{whole}."


def _parts(clause: Clause) -> tuple[SentencePart, ...]:
    return clause if isinstance(clause, tuple) else (clause,)


def _names(clause: tuple[SentencePart, ...]) -> set[str]:
    return {part.name for part in clause if isinstance(part, Parameter)}


def _either(texts: list[str]) -> str:
    """Return alternatives as "a", "a or b", "a, b, or c"."""
    if len(texts) < 3:
        return " or ".join(texts)
    return f"{', '.join(texts[:-1])}, or {texts[-1]}"


class InputError(ValueError):
    """Input cannot be used; the message says where the problem is and what to do."""


class ParameterError(_AboutParameters, InputError):
    """A parameter has a value that cannot be used."""


class ParameterWarning(_AboutParameters, UserWarning):
    """A parameter has a value that may not do what the user wants."""
