"""Grammatical (stop) words of many languages, and the detection of languages by them.

English words, and some Hindi and Korean ones, are listed here; the others come from the package
stopwordsiso. A third to a half of the words of any text are grammatical, so they reveal its
language: a word that few languages share counts more than one that many share. Some scripts belong
to one language.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from cofactor.text.vectorizer.analyzer import UNSPACED, WORD_PATTERN, is_unspaced, tidy
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

# Articles, pronouns, auxiliaries, prepositions, conjunctions and a few adverbs, but no word that
# could be the subject of a text. "ve" and "ll" remain of "I've" and "I'll", because words have at
# least two letters.
ENGLISH = frozenset(_ENGLISH.split())

_HINDI = """
अगर यदि कभी बिना पास अक्सर ज़्यादा हालाँकि हालांकि क्योंकि इसलिए ताकि लेकिन मगर बल्कि तब जब जहाँ वहाँ
यहाँ कहाँ कब क्यों कैसे कैसा ऐसा ऐसी वैसे जैसा जैसी आपके आपको आपका आपकी हम हमारे हमारा हमारी हमें मुझे
मेरा मेरी मेरे तुम तुम्हें तुम्हारा उन्होंने इन्होंने जिसमें जिसका जिसके जिसकी जिससे जिन्हें जिनमें जिनका
जिनके गई गए जाता जाती जाते जाना जाने जाए वाला वाली वाले सकता सकती सकते चुका चुकी चुके रहा रही रहे हुआ
हुई हुए होता होती होते होने होगा होगी होंगे दिया देता लिया लेता करना करता करती करते आया आई आए चाहिए चाहता
चाहती चाहते बाद पहले साथ तक द्वारा बीच ओर लगभग भी ही तो अन्य
"""

# Korean particles and endings of verbs, as pairs of letters, which is how Korean is read.
_KOREAN = """
습니 니다 합니 입니 됩니 줍니 니까 십시 시오 세요 어요 아요 해요 예요 에요 네요
지요 군요 하는 하고 하여 해서 했다 한다 하며 하면 하기 하지 했습 했던 되는 된다
되어 됐다 되고 있는 있다 있습 있으 있고 었다 았다 였다 었습 았습 겠습 이다 에서
에는 에도 에게 으로 로서 로써 까지 부터 처럼 보다 지만 면서 는데 은데 으며 으면
거나 들은 들이 들을 들의 닙니 십니 아닙 하십 려면 려고 하려 으려
"""

# Words missing from stopwordsiso: Hindi conjunctions, auxiliaries, pronouns with postpositions;
# Korean endings.
MISSING_WORDS = {"hindi": frozenset(_HINDI.split()), "korean": frozenset(_KOREAN.split())}

# The languages whose grammatical words are known, with their ISO 639-1 codes.
_CODES = """
arabic ar, armenian hy, basque eu, bengali bn, bulgarian bg, catalan ca, chinese zh, croatian hr,
czech cs, danish da, dutch nl, english en, esperanto eo, finnish fi, french fr, galician gl,
german de, greek el, gujarati gu, hebrew he, hindi hi, hungarian hu, indonesian id, irish ga,
italian it, japanese ja, korean ko, latvian lv, lithuanian lt, malay ms, marathi mr, norwegian no,
persian fa, polish pl, portuguese pt, romanian ro, russian ru, slovak sk, slovenian sl, spanish es,
swahili sw, swedish sv, tagalog tl, thai th, turkish tr, ukrainian uk, urdu ur, vietnamese vi
"""
CODES: dict[str, str] = dict(pair.split() for pair in _CODES.split(","))

# Scripts that reveal the language. Japanese texts contain Chinese characters, too.
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
WITHOUT_SPACES = frozenset({"chinese", "japanese", "korean", "thai"})  # read as pairs of letters
FEW_ENDINGS = WITHOUT_SPACES | {"english", "vietnamese"}  # languages that need no stems
# Letters that a language lacks although its neighbours have them.
FOREIGN = {"russian": "іїєґ", "bulgarian": "іїєґыэ", "ukrainian": "ыэъё"}

SAMPLE_TEXTS, SAMPLE_LENGTH = 500, 1000  # texts, and characters of each, that detection reads
# Minimum share of grammatical words in a text of a language; share of the grammatical words of the
# best language that another language needs to count for the text, too; minimum share of texts, and
# minimum number of different grammatical words, for a language to be reported.
MIN_GRAMMAR, MIN_RIVAL, MIN_TEXTS, MIN_TELLING_WORDS = 0.1, 0.6, 0.05, 5
# A language is sure if its texts hold a different grammatical word for each of them, or this many.
# Beside a sure one, others are not reported: a few words that look foreign, like "police" and
# "son", may repeat in many texts.
MANY_TELLING_WORDS = 12

_WORD = re.compile(WORD_PATTERN)
_LETTERS = re.compile(r"[^\W\d_]")


class DetectedLanguage(NamedTuple):
    """A language, and the share of texts written in it."""

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

    listed = stopwords(CODES[language]) | MISSING_WORDS.get(language, frozenset())
    words = {tidy(normalise("NFKC", word)) for word in listed}
    if language == "japanese":
        words.update(map(chr, range(0x3041, 0x3097)))  # Hiragana writes endings and particles
    words = {word for word in words if " " not in word}
    return frozenset(word for word in words if _WORD.fullmatch(word) or is_unspaced(word))


def detect_languages(texts: Iterable[str]) -> list[DetectedLanguage]:
    """Return the languages of texts, the most frequent first; none without grammatical words.

    Only a `sample` of the texts is read.

    Examples
    --------
    >>> detect_languages(["Das ist nicht der Weg, den wir gehen.", "Wo ist das Haus und wer da?"])
    [DetectedLanguage(language='german', share=1.0)]
    """
    texts_read = [read for text in sample(texts) if (read := _read(text)) is not None]
    found, sure, rest = [], [], [text for text in texts_read if text.scores]
    while rest:
        totals: Counter[str] = Counter()
        for text in rest:
            totals.update(text.scores)
        best = max(totals, key=lambda name: (totals[name], name))
        own = [text for text in rest if text.speaks(best)]
        words = frozenset[str]().union(*(text.words for text in own))
        telling = words if best in ALPHABETS else words & grammatical_words(best)
        if len(own) < MIN_TEXTS * len(texts_read) or len(telling) < MIN_TELLING_WORDS:
            break
        found.append(DetectedLanguage(best, len(own) / len(texts_read)))
        sure += found[-1:] if len(telling) >= min(len(own), MANY_TELLING_WORDS) else []
        rest = [text for text in rest if not text.speaks(best)]
    return sorted(sure or found, key=lambda one: -one.share)


class _TextRead(NamedTuple):
    """The words of a text, and a score for each language that it may be written in."""

    words: frozenset[str]
    scores: Mapping[str, float]

    def speaks(self, language: str) -> bool:
        return self.scores.get(language, 0.0) >= MIN_RIVAL * max(self.scores.values())


def _read(text: str) -> _TextRead | None:
    """Score the languages of a text by its grammatical words; return None if it has no letters.

    Words that many languages share count less. Letters of a script that reveals the language count
    like words. Languages with a score below `MIN_GRAMMAR` are dropped.
    """
    text = tidy(clean(text[:SAMPLE_LENGTH]))
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
    scores = {name: hit for name, hit in hits.items() if hit >= MIN_GRAMMAR * words.total()}
    return _TextRead(frozenset(words), scores)


def _language_of_script(text: str, letters: int) -> str | None:
    """Return the language whose script most letters of a text belong to, or None."""
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
    """Return the languages that share each grammatical word, and its weight."""
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
    """Return at most `SAMPLE_TEXTS` texts, evenly spaced in a list, or the first of an iterator."""
    if isinstance(texts, Sequence):
        return list(texts[:: max(1, math.ceil(len(texts) / SAMPLE_TEXTS))])
    return list(islice(texts, SAMPLE_TEXTS))
