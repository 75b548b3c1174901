"""How texts are read: options of commands, the vectorizer that they ask for, sentences about it."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.command import BadInput
from cofactor.cli._shared.terminal import note
from cofactor.io.tables.sources import check_plain_file
from cofactor.text.vectorizer.analyzer import STEM_LETTERS
from cofactor.text.vectorizer.languages import (
    CODES,
    FEW_ENDINGS,
    WITHOUT_SPACES,
    detect_languages,
    grammatical_words,
)

WORDS = ("language", "stop_words", "bigrams", "characters", "stem", "raw")
"""The parameters of the options that say how texts are read."""

_OPTIONS = (
    click.option(
        "--language",
        default="auto",
        metavar="NAME",
        callback=lambda *given: _names(*given),
        help="Language of the texts, like german, or german,english; its grammatical "
        "words are left out. auto notices it; none keeps all words.",
    ),
    click.option(
        "--stop-words",
        default="auto",
        metavar="WHICH",
        help="Words to leave out: auto for those of the language, none, or a file.",
    ),
    click.option("--bigrams", is_flag=True, help="Count pairs of neighbouring words, too."),
    click.option(
        "--characters", is_flag=True, help="Count sequences of 2 to 4 characters in place of words."
    ),
    click.option(
        "--stem",
        default="auto",
        metavar="N",
        callback=lambda *given: _letters(*given),
        help="Words that agree in their first N letters count as one. auto is 6, and none "
        "for English and other languages with few endings; none keeps all words apart.",
    ),
    click.option("--raw", is_flag=True, help="Keep tags, entities, URLs and e-mail addresses."),
)


def word_options(function: Any) -> Any:
    """Add the options that say how texts are read; they arrive as one dict, ``words``."""

    @wraps(function)
    def gathered(**given: Any) -> Any:
        return function(words={name: given.pop(name) for name in WORDS}, **given)

    decorated: Any = gathered
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def _names(context: click.Context, parameter: click.Parameter, value: str) -> Any:
    names = [name.strip().lower() for name in value.split(",")]
    if names in (["auto"], ["none"]):
        return None if names == ["none"] else "auto"
    for name in names:
        if name not in CODES:
            raise click.BadParameter(
                f"{name!r} is not a language that is known here; there are {', '.join(CODES)}. "
                "With --language none --stop-words FILE you can leave out words of your own."
            )
    return names


def _letters(context: click.Context, parameter: click.Parameter, value: str) -> Any:
    if value in ("auto", "none"):
        return None if value == "none" else "auto"
    if value.isdecimal() and int(value) > 0:
        return int(value)
    raise click.BadParameter(f"{value!r} must be auto, none or a number of letters, such as 6.")


def vectorizer_of(
    *,
    language: Any,
    stop_words: str,
    bigrams: bool,
    characters: bool,
    stem: Any,
    raw: bool,
    keep_grammar: Any = "auto",
) -> Any:
    """Return the vectorizer that the options ask for."""
    if bigrams and characters:
        raise BadInput("--bigrams and --characters exclude each other; leave out one of them.")
    stop = stop_words_of(stop_words)
    from cofactor.text.vectorizer.word_vectorizer import WordVectorizer

    lengths = (2, 4) if characters else (1, 2) if bigrams else (1, 1)
    return WordVectorizer(
        clean=not raw,
        language=language,
        stop_words=stop,
        stem=stem,
        ngram_range=lengths,
        tokens="characters" if characters else "auto",
        keep_grammar=keep_grammar,
    )


def stop_words_of(which: str) -> Any:
    """Return the stop words that --stop-words names: "auto", a language, None, or a file's."""
    if which in ("auto", "none", *CODES):
        return None if which == "none" else which
    check_plain_file(Path(which))
    try:
        return Path(which).read_text(encoding="utf-8-sig").split()
    except (OSError, ValueError) as error:
        raise BadInput(
            f"--stop-words {which!r} is neither auto nor none nor a language nor a UTF-8 file that "
            f"can be read ({getattr(error, 'strerror', None) or error}); name a file of words."
        ) from error


def settle_language(vectorizer: Any, texts: list[str]) -> None:
    """Notice the language of texts for a vectorizer that is to notice it, and tell the user."""
    if vectorizer.language == "auto":
        names = [found.language for found in detect_languages(texts)]
        tell_language(vectorizer, names)
        vectorizer.set_params(language=names or "auto")


def tell_language(vectorizer: Any, names: list[str]) -> None:
    """Say what the languages that were noticed change; nothing if all is as in English texts."""
    if vectorizer.language == vectorizer.stop_words == "auto" and names != ["english"]:
        for sentence in on_languages(names):
            note(sentence)


def on_languages(names: list[str]) -> list[str]:
    """Return sentences about the languages of texts: what is done, and what will not work well."""
    if not names:
        return [
            "The language of the texts was not recognised, so only English grammatical words are "
            "left out; name it with --language of fit, or give words with --stop-words FILE."
        ]
    if len(names) > 1:
        listed = f"{', '.join(names[:-1])} and {names[-1]}".title().replace(" And ", " and ")
        return [
            f"{listed} texts: the grammatical words of each language are left out (--language none "
            "keeps them).",
            "Topics of several languages are often the languages; fit each language on its own if "
            "that is not what you look for.",
        ]
    many, more = len(grammatical_words(names[0])), []
    if names[0] not in FEW_ENDINGS:
        more = [
            f"Words that agree in their first {STEM_LETTERS} letters count as one (--stem none "
            "keeps them apart)."
        ]
    elif names[0] in WITHOUT_SPACES:
        more = ["Pairs of neighbouring letters count as words."]
    return [
        f"{names[0].title()} texts: {many:,} grammatical words are left out (--language none keeps "
        "them).",
        *more,
    ]
