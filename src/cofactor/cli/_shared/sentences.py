"""Sentences of the library in the words of the command line."""

from __future__ import annotations

import re

_OPTIONS = (
    (
        r"lower min_df, raise max_df, or pass stop_words=None",
        "give more texts, or keep grammatical words with --stop-words none",
    ),
    (r"stop_words=None", "--stop-words none"),
    (r"raise n_components", "raise -k"),
    (r"only n_components=([\d,]+) topics", r"only \1 topics"),
    (r"n_components=(?=[\d,]+)", "-k "),
    (r"seeds\[('.*?'|\".*?\")\]", r"--seed-words \1"),
    (r"\bseeds has\b", "--seed-words has"),
    (r"class_weight=(?=')", "--class-weight "),
    (r"a single column of y", "one column of 0 and 1"),
    (r"\by (?=holds\b|has\b)", "the label column "),
)
"""Parameters as functions have them, and what stands for them here."""


def in_options(sentence: str) -> str:
    """Name options where a sentence of the library names parameters of its functions.

    Examples
    --------
    >>> in_options("y has no label; pass n_components=3 or stop_words=None.")
    'The label column has no label; pass -k 3 or --stop-words none.'
    """
    for parameter, option in _OPTIONS:
        sentence = re.sub(parameter, option, sentence)
    return sentence[:1].upper() + sentence[1:] if sentence.startswith("the label") else sentence
