"""The data of an experiment, with facts for the manifest and notes for the user."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cofactor.experiments.options import Options
from cofactor.experiments.words import StopWords, find_stop_words


@dataclass(frozen=True)
class Prepared:
    """The data of an experiment, facts for its manifest, and notes for the user."""

    value: Any = None
    facts: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def stop_words(options: Options) -> tuple[StopWords, tuple[str, ...]]:
    """Return the stop words that the options ask for, and notes on them."""
    stop = find_stop_words(options.stopwords, options.data_home)
    return stop, (stop.note,) if stop.note else ()
