"""Notices the languages of texts, and knows the grammatical words of each.

The words come from the package stopwordsiso; `stopwords` has the English ones and some more. A
language is noticed by its grammatical words: a third to a half of the words of any text are such
words. A word that few languages have says more than one that many have. Some scripts belong to one
language.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from cofactor.text.vectorizer.analyzer import UNSPACED, WORD, is_unspaced, tidy
from cofactor.text.vectorizer.cleaning import clean, normalise

_ENGLISH = """
a an the
this that these those such same other another each every either neither both all any some no none
few many more most much several own
i me my mine myself we us our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves
who whom whose which what where when why how
am is are was were be been being do does did doing done have has had having
can could may might must shall should will would ought
you're he's she's it's we're they're you've we've they've you'd he'd she'd we'd they'd
ve ll you'll he'll she'll it'll we'll they'll that's there's here's what's who's let's
isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't cannot couldn't
mustn't shouldn't won't wouldn't ain't
about above across after against along among around as at before behind below beneath beside
between beyond by despite down during except for from in inside into near of off on onto out
outside over past per since through throughout till to toward towards under until up upon via with
within without
and but or nor so yet if then else than because while although though unless whether
not only too very just also even still again ever never here there now once
"""

ENGLISH = frozenset(_ENGLISH.split())
"""Articles, pronouns, auxiliaries, prepositions, conjunctions and a few adverbs, but no word that
could be the subject of a text. "ve" and "ll" are the rest of "I've" and "I'll", because words have
at least two letters."""

_HINDI = """
अगर यदि कभी बिना पास अक्सर ज़्यादा हालाँकि हालांकि क्योंकि इसलिए ताकि लेकिन मगर बल्कि तब जब जहाँ वहाँ
यहाँ कहाँ कब क्यों कैसे कैसा ऐसा ऐसी वैसे जैसा जैसी आपके आपको आपका आपकी हम हमारे हमारा हमारी हमें मुझे
मेरा मेरी मेरे तुम तुम्हें तुम्हारा उन्होंने इन्होंने जिसमें जिसका जिसके जिसकी जिससे जिन्हें जिनमें जिनका
जिनके गई गए जाता जाती जाते जाना जाने जाए वाला वाली वाले सकता सकती सकते चुका चुकी चुके रहा रही रहे हुआ
हुई हुए होता होती होते होने होगा होगी होंगे दिया देता लिया लेता करना करता करती करते आया आई आए चाहिए चाहता
चाहती चाहते बाद पहले साथ तक द्वारा बीच ओर लगभग भी ही तो अन्य
"""

MISSING = {"hindi": frozenset(_HINDI.split())}
"""Grammatical words that the list of a language lacks: in Hindi conjunctions, auxiliary verbs, and
pronouns with postpositions."""


CODES = {
    "arabic": "ar",
    "armenian": "hy",
    "basque": "eu",
    "bengali": "bn",
    "bulgarian": "bg",
    "catalan": "ca",
    "chinese": "zh",
    "croatian": "hr",
    "czech": "cs",
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "esperanto": "eo",
    "finnish": "fi",
    "french": "fr",
    "galician": "gl",
    "german": "de",
    "greek": "el",
    "gujarati": "gu",
    "hebrew": "he",
    "hindi": "hi",
    "hungarian": "hu",
    "indonesian": "id",
    "irish": "ga",
    "italian": "it",
    "japanese": "ja",
    "korean": "ko",
    "latvian": "lv",
    "lithuanian": "lt",
    "malay": "ms",
    "marathi": "mr",
    "norwegian": "no",
    "persian": "fa",
    "polish": "pl",
    "portuguese": "pt",
    "romanian": "ro",
    "russian": "ru",
    "slovak": "sk",
    "slovenian": "sl",
    "spanish": "es",
    "swahili": "sw",
    "swedish": "sv",
    "tagalog": "tl",
    "thai": "th",
    "turkish": "tr",
    "ukrainian": "uk",
    "urdu": "ur",
    "vietnamese": "vi",
}
"""The languages whose grammatical words are known, with their codes (ISO 639-1)."""

ALPHABETS = {
    "chinese": UNSPACED["Han"],
    "japanese": UNSPACED["Hiragana"] + UNSPACED["Katakana"],
    "korean": UNSPACED["Hangul"],
    "thai": UNSPACED["Thai"],
    "armenian": "\u0531-\u058f",
    "bengali": "\u0980-\u09ff",
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "gujarati": "\u0a80-\u0aff",
    "hebrew": "\u0590-\u05ff",
}
"""Scripts that tell the language. Japanese texts have Chinese characters, too."""

WITHOUT_SPACES = frozenset({"chinese", "japanese", "korean", "thai"})
"""Languages that are read as pairs of letters."""
FEW_ENDINGS = WITHOUT_SPACES | {"english", "vietnamese"}
"""Languages in which no stems are needed."""

FOREIGN = {"russian": "іїєґ", "bulgarian": "іїєґыэ", "ukrainian": "ыэъё"}
"""Letters that a language does not have although its neighbours do."""

SAMPLE, LOOKED_AT = 500, 1000
"""Number of texts, and of characters of each, in which languages are looked for."""
LEAST, EXPLAINED, SHARE, ENOUGH = 0.1, 0.6, 0.05, 5
"""Least share of grammatical words that tells a text's language; share of the grammatical words of
a text's best language that another language needs to explain it, too; least share of texts, and
least number of different grammatical words, that a language needs."""

_WORD = re.compile(WORD)
_LETTERS = re.compile(r"[^\W\d_]")


class Noticed(NamedTuple):
    """A language, and the share of the texts that are written in it."""

    language: str
    share: float


@cache
def grammatical_words(language: str) -> frozenset[str]:
    """Return the grammatical words of a language of `CODES`, in lower case.

    Examples
    --------
    >>> "und" in grammatical_words("german")
    True
    """
    if language == "english":
        return ENGLISH
    from stopwordsiso import stopwords

    listed = stopwords(CODES[language]) | MISSING.get(language, frozenset())
    words = {tidy(normalise("NFKC", word)) for word in listed}
    if language == "japanese":
        words.update(
            map(chr, range(0x3041, 0x3097))
        )  # Hiragana, which writes endings and particles
    words = {word for word in words if " " not in word}
    return frozenset(word for word in words if _WORD.fullmatch(word) or is_unspaced(word))


def notice_languages(texts: Iterable[str]) -> list[Noticed]:
    """Return the languages of texts, the most frequent first; none if they have no grammar.

    Parameters
    ----------
    texts : iterable of str
        Texts; `SAMPLE` of them are looked at, see `sample`.

    Examples
    --------
    >>> notice_languages(
    ...     ["Das ist nicht der Weg, den wir gehen.", "Wo ist das Haus und wer ist da?"]
    ... )
    [Noticed(language='german', share=1.0)]
    """
    texts_read = [read for text in sample(texts) if (read := _read(text)) is not None]
    found, rest = [], [text for text in texts_read if text.scores]
    while rest:
        totals: Counter[str] = Counter()
        for text in rest:
            totals.update(text.scores)
        best = max(totals, key=lambda name: (totals[name], name))
        own = [text for text in rest if text.speaks(best)]
        words = frozenset[str]().union(*(text.words for text in own))
        telling = words if best in ALPHABETS else words & grammatical_words(best)
        if len(own) < SHARE * len(texts_read) or len(telling) < ENOUGH:
            break
        found.append(Noticed(best, len(own) / len(texts_read)))
        rest = [text for text in rest if not text.speaks(best)]
    return sorted(found, key=lambda one: -one.share)


class _TextRead(NamedTuple):
    """The words of a text, and how many of them are grammatical in each language."""

    words: frozenset[str]
    scores: Mapping[str, float]

    def speaks(self, language: str) -> bool:
        return self.scores.get(language, 0.0) >= EXPLAINED * max(self.scores.values())


def _read(text: str) -> _TextRead | None:
    """Count the grammatical words of a text; return None if it has no letters.

    Words count less if many languages have them; letters of a script that tells the language count
    like words. Languages below a share of `LEAST` are left out.
    """
    text = tidy(clean(text[:LOOKED_AT]))
    letters = _LETTERS.findall(text)
    if not letters:
        return None
    if not text.isascii() and (name := _language_of_script(text, len(letters))):
        return _TextRead(frozenset(letters), {name: float(len(letters))})
    words, hits = Counter[str](_WORD.findall(text)), dict[str, float]()
    weights = _weights()
    for word, number in words.items():
        for name, weight in weights.get(word, ()):
            hits[name] = hits.get(name, 0.0) + number * weight
    for name in FOREIGN.keys() & hits.keys():
        if any(letter in text for letter in FOREIGN[name]):
            del hits[name]
    scores = {name: hit for name, hit in hits.items() if hit >= LEAST * words.total()}
    return _TextRead(frozenset(words), scores)


def _language_of_script(text: str, letters: int) -> str | None:
    """Return the language that most letters of a text belong to."""
    counts = {name: len(letter.findall(text)) for name, letter in _alphabets().items()}
    if counts["japanese"] * 10 > counts["chinese"]:
        counts["japanese"] += counts["chinese"]
    best = max(counts, key=counts.__getitem__)
    return best if 2 * counts[best] > letters else None


@cache
def _alphabets() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(f"[{letters}]") for name, letters in ALPHABETS.items()}


@cache
def _weights() -> dict[str, list[tuple[str, float]]]:
    """Return for each grammatical word the languages that have it, and what it says."""
    owners: dict[str, list[str]] = {}
    for name in CODES:
        for word in grammatical_words(name):
            owners.setdefault(word, []).append(name)
    most = math.log(len(CODES))
    return {
        word: [(name, 1.0 - math.log(len(names)) / most) for name in names]
        for word, names in owners.items()
    }


def sample(texts: Iterable[str]) -> list[str]:
    """Return at most `SAMPLE` texts: evenly spaced ones of a list, the first ones of a stream."""
    if isinstance(texts, Sequence):
        return list(texts[:: max(1, math.ceil(len(texts) / SAMPLE))])
    return list(islice(texts, SAMPLE))
