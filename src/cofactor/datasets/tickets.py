"""A made-up table of letters to a magazine, for examples; the command `demo` can write it.

The magazine has three desks: space, sport and food, and each desk has two themes. A letter has
words of one theme, and one of any other, in sentences that all desks share. Nobody wrote these
letters, so no accuracy on them means anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from random import Random
from typing import TypeVar

Item = TypeVar("Item")

_THEMES = {
    "space": (
        "rocket launch shuttle astronaut orbit engine capsule",
        "moon planet telescope crater satellite comet star",
    ),
    "sport": (
        "puck goal hockey penalty striker keeper shot",
        "league coach stadium season referee trophy fan",
    ),
    "food": (
        "oven butter sugar flour recipe dough cake",
        "garlic onion pasta sauce cheese pan pepper",
    ),
}
DESKS = {desk: [words.split() for words in themes] for desk, themes in _THEMES.items()}
"""The words of each desk, by theme."""
HOURS = {"space": 8.0, "sport": 3.0, "food": 5.0}
"""Usual number of hours until a desk answers."""

OPENINGS = (
    "Thank you for your pages about the {} and the {}.",
    "I would like to know what the {} has to do with the {}.",
    "Your picture of the {} is nice, but where is the {}?",
    "Is it true that the {} was there before the {}?",
    "The {} has nothing to do with the {}, or has it?",
    "We had an argument about the {}, and then about the {}.",
    "Why is there so little about the {} and so much about the {}?",
    "You have the {} in the wrong column, and the {} as well.",
)
MIDDLES = (
    "As far as I can tell, the {} came after the {}, and that was with another {}.",
    "Could you print the {} again, with the {} and the {}?",
    "I looked for the {} myself and there was only a {} and a {}.",
    "It was the same with the {}, with the {} and with every other {}.",
    "It is the {} that we want, not the {} or the {}.",
    "Ask somebody who has a {}, a {} or at least a {} of their own.",
)
CLOSINGS = (
    "More about the {}, the {} and the {}, please.",
    "I would rather have the {}, the {} and the {} together.",
    "With the {}, the {} and the {} it would have been perfect.",
    "I hope for the {} and the {}, and then for the {}.",
)
ASIDE = " And what about the {}?"


def make_tickets(n: int = 240, *, seed: int = 0, every: int = 2) -> list[dict[str, str]]:
    """Make up letters to a magazine that has three desks.

    Parameters
    ----------
    n : int, default=240
        Number of letters.
    seed : int, default=0
        Random seed. The letters are the same on every machine.
    every : int, default=2
        One letter in this many names its team; so do the first six.

    Returns
    -------
    list of dict
        Rows with the columns id, body, team ("" if it is unknown), created (a date), hours (until
        the answer) and tags (one or two, separated by a semicolon).

    Examples
    --------
    >>> from cofactor.datasets import make_tickets
    >>> tickets = make_tickets(12)
    >>> [ticket["team"] for ticket in tickets[:4]]
    ['space', 'sport', 'food', 'space']
    >>> tickets[0]["created"], tickets[0]["tags"]
    ('2026-01-01', 'space;urgent')
    """
    random = Random(seed)
    return [_ticket(random, i, every) for i in range(n)]


def new_tickets(n: int = 30, *, seed: int = 1) -> list[dict[str, str]]:
    """Make up later letters whose team, hours and tags are not known yet."""
    later = (
        {**row, "created": f"2026-07-{i % 30 + 1:02}"}
        for i, row in enumerate(make_tickets(n, seed=seed))
    )
    return [{name: row[name] for name in ("id", "body", "created")} for row in later]


def _ticket(random: Random, i: int, every: int) -> dict[str, str]:
    teams = list(DESKS)
    team = teams[i % len(teams)]
    # Only `random()` gives the same numbers in every Python.
    hours = HOURS[team] + sum(random.random() for _ in range(6)) - 3
    return {
        "id": str(i),
        "body": _letter(random, team, teams[i % 2]),
        "team": team if i % every == 0 or i < 6 else "",
        "created": str(date(2026, 1, 1) + timedelta(days=i % 180)),
        "hours": f"{hours:.1f}",
        "tags": team if i % 3 else f"{team};urgent",
    }


def _letter(random: Random, team: str, other: str) -> str:
    words = _endless(random, _pick(random, DESKS[team]))
    parts = [_pick(random, kind) for kind in (OPENINGS, MIDDLES, CLOSINGS)]
    text = " ".join(part.format(*(next(words) for _ in range(part.count("{}")))) for part in parts)
    return text + ASIDE.format(_pick(random, _pick(random, DESKS[other])))


def _endless(random: Random, words: list[str]) -> Iterator[str]:
    """Yield the words in random order, each once before one comes again."""
    while True:
        yield from sorted(words, key=lambda _: random.random())


def _pick(random: Random, items: Sequence[Item]) -> Item:
    return items[int(random.random() * len(items))]
