"""Encoders: vectors that say what texts mean, as a second view of documents beside their words.

An encoder is a function from a list of texts to an array with one row for each, an object with such
a method ``encode``, or a name: "wordllama", or a folder with a static model in the form of
model2vec (``tokenizer.json`` and one safetensors matrix). `read_vectors` checks whatever an encoder
returns.

A *static* encoder has a vector for each token; the vector of a text is their mean. So each word has
its part in every score (`StaticEncoder.word_parts`). Other encoders see a text as a whole.

Vectors that do not fit the texts, such as those of an English encoder for Korean texts, cost more
accuracy than they bring, and a handful of labels does not show it. So `speaks` compares languages,
if they are known, and `vectors_fit` compares the neighbours by vectors with those by words.
"""

from __future__ import annotations

import importlib.util
import json
import re
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.preprocessing import normalize

from cofactor._fields import array, instance
from cofactor._types import FloatArray
from cofactor._warnings import warn
from cofactor.errors import InputError, Parameter, ParameterError
from cofactor.linear.familiar import unit_rows

PROBES = (
    "The invoice shows a wrong amount.",
    "Die Sonne scheint über dem alten Hafen.",
    "2 + 2 = 4, isn't it?",
)
"""Sentences whose vectors tell whether an encoder is that of the fit."""
TEXTS_TOGETHER = 256
"""Number of texts that an encoder gets at once."""
MAX_PROBE_DIFFERENCE = 1e-2
"""Largest difference of the probes' vectors, relative to their length: processors round apart."""
MAX_COMPARED_TEXTS = 1000
"""Number of texts whose neighbours are compared."""
COMPARED_NEIGHBOURS = 10
"""Number of neighbours of each text that are compared."""
MIN_AGREEMENT = 0.24
"""Vectors below this agreement with the words are not used; see `agreement`."""
MAX_BYTES_BY_ENDING = {".json": 2**27, ".txt": 2**27, ".md": 2**27, ".safetensors": 2**31}
"""Sizes that the files of a static model may have."""
MAX_TOKENS = 2**24
"""A token's number must be below this: tokenizers asks for memory up to the largest number."""
WORDLLAMA = "wordllama"
INSTALL = "pip install 'cofactor[encoder]'"


@dataclass(frozen=True, eq=False)
class StaticEncoder:
    """An encoder with a vector for each token; a text has the mean of its tokens' vectors.

    Parameters
    ----------
    tokenizer : tokenizers.Tokenizer
    vectors : array (n_vectors, d)
    weights : array (n_tokens,) or None
        Weight of each token.
    places : array (n_tokens,) or None
        The row of ``vectors`` of each token; None: its own.
    unknown : int or None
        The token of unknown words, which does not count.
    languages : tuple of str
        The languages that it was made for; empty if not known.
    """

    tokenizer: Any
    vectors: Any
    weights: FloatArray | None = None
    places: Any = None
    unknown: int | None = None
    languages: tuple[str, ...] = ()

    def encode(self, texts: Iterable[str]) -> FloatArray:
        """Return the vectors of texts; a text without tokens has a zero vector."""
        found = [self._tokens(one) for one in self._encodings(list(texts))]
        lengths = np.array([len(tokens) for tokens in found])
        tokens, columns = np.unique(np.concatenate(found).astype(np.int64), return_inverse=True)
        starts = np.r_[0, np.cumsum(lengths)]
        counts = sp.csr_array(
            (np.ones(len(columns)), columns, starts), shape=(len(found), len(tokens))
        )
        counts.sum_duplicates()
        sums = counts @ self._vectors(tokens)
        return np.asarray(sums / np.maximum(lengths, 1)[:, None], dtype=np.float32)

    def word_parts(self, text: str, weights: FloatArray) -> dict[str, FloatArray]:
        """Return the part of each word in ``vector @ weights``; the parts add up to it.

        Tokens inside a run of letters and digits are one word, in lower case; a word that occurs
        twice has one part.
        """
        (encoding,) = self._encodings([text])
        kept = [i for i, token in enumerate(encoding.ids) if token != self.unknown]
        tokens = self._tokens(encoding)
        if not len(tokens):
            return {}
        of_tokens = self._vectors(tokens) @ weights / len(tokens)
        spans = _word_spans(text)
        found: dict[str, FloatArray] = {}
        for place, part in zip(kept, of_tokens, strict=True):
            word = _word_at(text, spans, *encoding.offsets[place]).casefold()
            found[word] = found.get(word, 0.0) + part
        return found

    def _encodings(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts, add_special_tokens=False)

    def _tokens(self, encoding: Any) -> Any:
        tokens = np.array(encoding.ids, dtype=np.int64)
        return tokens if self.unknown is None else tokens[tokens != self.unknown]

    def _vectors(self, tokens: Any) -> FloatArray:
        """Return the weighted vectors of tokens."""
        places = tokens if self.places is None else self.places[tokens]
        found = np.asarray(self.vectors[places], dtype=np.float64)
        return found if self.weights is None else found * self.weights[tokens][:, None]


def _word_spans(text: str) -> list[tuple[int, int]]:
    """Return where each run of letters and digits, or other sign, begins and ends."""
    return [found.span() for found in re.finditer(r"\w+|[^\w\s]", text)]


def _word_at(text: str, spans: list[tuple[int, int]], start: int, end: int) -> str:
    """Return the word that a token belongs to."""
    starts = [span[0] for span in spans]
    for place in range(int(np.searchsorted(starts, end, side="left")) - 1, -1, -1):
        low, high = spans[place]
        return text[low:high] if high > start else text[start:end].strip()
    return text[start:end].strip()


# ---- encoders by name


def is_here(name: str) -> bool:
    """Return whether an encoder of a name is on this machine: a folder, or one that is built in."""
    return name == WORDLLAMA or Path(name).is_dir()


def find_encoder(encoder: Any) -> Any:
    """Return the encoder that a name stands for, and other encoders unchanged."""
    if not isinstance(encoder, str):
        return encoder
    folder = Path(encoder)
    stamp = folder.stat().st_mtime_ns if folder.is_dir() else 0
    return _named_encoder(encoder, stamp)


@lru_cache(maxsize=4)
def _named_encoder(name: str, stamp: int) -> StaticEncoder:
    """Load a static encoder; ``stamp`` tells whether its folder has changed."""
    try:
        found = _wordllama() if name == WORDLLAMA else _model2vec(name)
    except (ImportError, MemoryError, ParameterError):
        raise
    except Exception as error:
        raise ParameterError(
            (Parameter("encoder", name), f" cannot be loaded ({_first_line(error)})"),
            "name a folder with a static model of model2vec",
        ) from error
    return _checked(found, name)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".")[:200] if lines else type(error).__name__


def _wordllama() -> StaticEncoder:
    """Return the vectors inside the wheel of wordllama; its own loader needs a network."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise ParameterError(
            (Parameter("encoder", WORDLLAMA), " is not installed"), "run pip install wordllama"
        )
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = Path(spec.origin).parent
    vectors = load_file(str(folder / "weights" / "l2_supercat_256.safetensors"))
    tokenizer = Tokenizer.from_file(
        str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json")
    )
    return StaticEncoder(_plain(tokenizer), next(iter(vectors.values())), languages=("english",))


def _model2vec(name: str) -> StaticEncoder:
    """Return a static model from a folder, or from the hub if this machine has a network."""
    if not is_here(name) and not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name):
        is_path = name.startswith((".", "~")) or "/" in name or "\\" in name
        what = (
            f": there is no folder {name}" if is_path else " is neither a folder nor a known name"
        )
        raise ParameterError(
            (Parameter("encoder", name), what),
            f"name a folder with a static model of model2vec, or '{WORDLLAMA}'",
        )
    if importlib.util.find_spec("model2vec") is None:
        raise ParameterError(
            (Parameter("encoder", name), " needs a package that is not installed"), f"run {INSTALL}"
        )
    from model2vec import StaticModel

    _check_files(Path(name))
    model = StaticModel.from_pretrained(name, force_download=False)
    return StaticEncoder(
        _plain(model.tokenizer),
        model.embedding,
        getattr(model, "weights", None),
        getattr(model, "token_mapping", None),
        getattr(model, "unk_token_id", None),
    )


def _check_files(folder: Path) -> None:
    """Refuse what a reader would wait for, or what would fill the memory; links are followed."""
    for path in (*folder.glob("*"), *folder.glob("*/*")):
        most = MAX_BYTES_BY_ENDING.get(path.suffix)
        if most is None:
            continue
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{path.name} is not a plain file")
        if found.st_size > most:
            raise ValueError(f"{path.name} has {found.st_size:,} bytes, more than {most:,}")
        if path.name == "tokenizer.json" and (number := _largest_token(path)) >= MAX_TOKENS:
            raise ValueError(f"{path.name} has a token with the number {number:,}")


def _largest_token(path: Path) -> int:
    """Return the largest number of a token in a file; −1 for what is not a tokenizer."""
    try:
        found = json.loads(path.read_bytes())
        vocabulary = found["model"]["vocab"]
        numbers = vocabulary.values() if isinstance(vocabulary, dict) else [len(vocabulary)]
        added = [token["id"] for token in found.get("added_tokens") or ()]
        return int(max([*numbers, *added], default=-1))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return -1  # the tokenizer itself says what is wrong


def _plain(tokenizer: Any) -> Any:
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _checked(found: StaticEncoder, name: str) -> StaticEncoder:
    """Refuse a static encoder whose parts do not fit together."""
    tokens = int(max(found.tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)) + 1
    vectors, places, weights = found.vectors, found.places, found.weights
    fault = None
    if getattr(vectors, "ndim", 0) != 2 or vectors.dtype.kind != "f" or not vectors.shape[1]:
        fault = "its vectors are not a matrix of numbers"
    elif not np.isfinite(vectors).all():
        fault = "its vectors are not finite"
    elif weights is not None and (weights.shape != (tokens,) or not np.isfinite(weights).all()):
        fault = "its weights do not fit its tokens"
    elif places is not None and (
        places.shape != (tokens,) or places.min() < 0 or places.max() >= len(vectors)
    ):
        fault = "its mapping does not fit its tokens and vectors"
    elif places is None and tokens > len(vectors):
        fault = f"it has {tokens} tokens, but {len(vectors)} vectors"
    if fault is not None:
        raise ParameterError(
            (Parameter("encoder", name), f" cannot be used: {fault}"), "name another folder"
        )
    return found


# ---- vectors


def encode_texts(
    encoder: Any,
    texts: list[str],
    width: int | None = None,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> FloatArray:
    """Return the vectors of texts (n, d), checked.

    ``width`` is the dimension that they must have; None: any. ``progress`` is called with the
    numbers of encoded texts and of all.
    """
    if encoder is None:
        raise ParameterError(
            (Parameter("encoder"), " is None, but the model was fitted with an encoder"),
            "pass that one with set_params(encoder=...)",
        )
    found = find_encoder(encoder)
    encode = getattr(found, "encode", found)
    parts: list[FloatArray] = []
    for start in range(0, len(texts), TEXTS_TOGETHER):
        some = texts[start : start + TEXTS_TOGETHER]
        try:
            raw = encode(some)
        except InputError:
            raise
        except Exception as error:
            raise ValueError(
                f"encoder failed at texts {start} to {start + len(some) - 1}: "
                f"{type(error).__name__}: {_first_line(error)}."
            ) from error
        parts.append(read_vectors(raw, len(some), width))
        width = parts[0].shape[1]
        progress(start + len(some), len(texts))
    return np.concatenate(parts)


def text_parts(encoder: Any, text: str, weights: FloatArray) -> dict[str, FloatArray] | None:
    """Return the part of each word of a text in ``vector @ weights``.

    None if the encoder is not static: it sees the text as a whole.
    """
    found = find_encoder(uncached(encoder))
    return found.word_parts(text, weights) if isinstance(found, StaticEncoder) else None


def text_without(text: str, word: str) -> str:
    """Return a text without the places where a word or a phrase stands, in any case.

    Examples
    --------
    >>> text_without("Refund the refund, refunded", "refund")
    ' the , refunded'
    """
    parts = r"\W+".join(re.escape(part) for part in word.split())
    return re.sub(rf"(?<!\w){parts}(?!\w)", "", text, flags=re.IGNORECASE) if parts else text


def read_vectors(raw: Any, n: int, width: int | None = None) -> FloatArray:
    """Return what an encoder returned for n texts as an array of float32 (n, d).

    Arrays, lists of lists and tensors are accepted.

    Examples
    --------
    >>> read_vectors([[1, 2], [3, 4]], 2).dtype
    dtype('float32')
    """
    if hasattr(raw, "detach"):  # a tensor of torch
        raw = raw.detach().cpu().float().numpy()
    elif hasattr(raw, "toarray"):
        raw = raw.toarray()
    try:
        found = np.asarray(raw)
        numeric = found.dtype.kind in "fiu"
    except ValueError:  # rows of different lengths
        numeric = False
    if not numeric or found.ndim != 2:
        what = f"an array of shape {found.shape}" if numeric else f"a {type(raw).__name__}"
        raise ValueError(
            f"encoder returned {what} for {n} texts; it must return one row of numbers for each."
        )
    if len(found) != n:
        raise ValueError(
            f"encoder returned {len(found)} rows for {n} texts; it must return one for each."
        )
    if width is not None and found.shape[1] != width:
        raise ValueError(
            f"encoder returned vectors of {found.shape[1]} dimensions, but earlier ones have "
            f"{width}; use the same encoder for all texts."
        )
    if not found.shape[1]:
        raise ValueError("encoder returned vectors of 0 dimensions; it must return numbers.")
    with np.errstate(over="ignore"):
        found = np.ascontiguousarray(found, dtype=np.float32)
    if not np.isfinite(found).all():
        bad = int(np.flatnonzero(~np.isfinite(found).all(axis=1))[0])
        raise ValueError(
            f"encoder returned numbers that are not finite for text {bad} of {n}; use another "
            "encoder, or leave that text out."
        )
    return found


# ---- what a model keeps of its encoder


def uncached(encoder: Any) -> Any:
    """Return the encoder behind a cache, and other encoders unchanged."""
    return getattr(encoder, "uncached", encoder)  # see `encoder_cache`


def encoder_name(encoder: Any) -> str:
    """Return the name by which an encoder was given, or that of its class or function."""
    encoder = uncached(encoder)
    if isinstance(encoder, str):
        return encoder
    kind = encoder if hasattr(encoder, "__qualname__") else type(encoder)
    return f"{kind.__module__}.{kind.__qualname__}"


@dataclass(frozen=True, eq=False)
class EncoderRecord:
    """What a model keeps of the encoder of its fit, to recognise it.

    Parameters
    ----------
    name : str
        The name by which it was given, or its class or function.
    named : bool
        Whether the name is enough to load it.
    probes : array (3, d)
        Its vectors of `PROBES`.
    """

    name: str = instance(str)
    named: bool = instance(bool)
    probes: FloatArray = array(len(PROBES), "d")

    @classmethod
    def of(cls, encoder: Any) -> EncoderRecord:
        """Return the record of an encoder."""
        named = isinstance(uncached(encoder), str)
        return cls(encoder_name(encoder), named, encode_texts(encoder, list(PROBES)))

    @property
    def width(self) -> int:
        """Number of dimensions."""
        return int(self.probes.shape[1])

    def differs(self, encoder: Any) -> str | None:
        """Return how an encoder differs from that of the fit; None if it does not."""
        found = encode_texts(encoder, list(PROBES))
        if found.shape != self.probes.shape:
            return f"its vectors have {found.shape[1]} dimensions in place of {self.width}"
        apart = np.linalg.norm(found - self.probes, axis=1)
        length = max(float(np.linalg.norm(self.probes, axis=1).max()), 1e-30)
        if float(apart.max()) > MAX_PROBE_DIFFERENCE * length:
            return "it gives other vectors to the same texts"
        return None


def refuse_encoder(model: Any, what: str) -> None:
    """Refuse what cannot be done with an encoder, see the parameter of TopicModel."""
    fitted = getattr(model, "_fitted", None)
    if model.encoder is not None or (fitted is not None and fitted.encoder is not None):
        raise ParameterError(
            (Parameter("encoder"), f" cannot be used with {what}, which does not keep vectors"),
            "fit all documents at once, or leave it out",
        )


# ---- whether vectors fit the texts


def speaks(encoder: Any, languages: Iterable[str]) -> bool:
    """Return whether an encoder may know the languages of texts; warn if it knows others only."""
    own = getattr(find_encoder(encoder), "languages", ())
    if not own or not languages or set(own) & set(languages):
        return True
    warn(
        f"The encoder's vectors are not used: it was made for {' and '.join(own).title()}, but the "
        f"language of the texts seems to be {' and '.join(languages).title()}."
    )
    return False


def vectors_fit(X: Any, vectors: FloatArray) -> bool:
    """Return whether vectors fit documents with the words X; warn if they do not."""
    if not vectors.any():
        raise ValueError("encoder returned zero vectors only; use another encoder.")
    found = agreement(X, vectors)
    if found is None or found >= MIN_AGREEMENT:
        return True
    warn(
        f"The encoder's vectors are not used: texts that they bring together share few words "
        f"({found:.0%} of what neighbours by words share); is the encoder made for the language of "
        "these texts?"
    )
    return False


def agreement(X: Any, vectors: FloatArray) -> float | None:
    """Return how much more alike in words neighbours by vectors are than any two texts.

    1: as much as neighbours by words; 0: not at all. None if there are too few texts to tell.
    """
    filled = np.flatnonzero((np.diff(X.indptr) > 0) & vectors.any(axis=1))
    # An even choice that depends on neither labels nor random numbers.
    step = max(1.0, len(filled) / MAX_COMPARED_TEXTS)
    rows = filled[np.unique(np.arange(0, len(filled), step).astype(int))]
    k = COMPARED_NEIGHBOURS
    if len(rows) < 5 * k:
        return None
    unit = normalize(X[rows])  # sparse: far fewer products than of arrays
    by_words = np.asarray((unit @ unit.T).toarray())
    some = np.asarray(vectors[rows], dtype=np.float64)
    by_vectors = _cosines(some - some.mean(axis=0))
    others = ~np.eye(len(rows), dtype=bool)
    usual = float(by_words[others].mean())
    best, found = (
        float(np.take_along_axis(by_words, _nearest(cosines, k), axis=1).mean())
        for cosines in (by_words, by_vectors)
    )
    return (found - usual) / (best - usual) if best > usual else None


def _cosines(rows: FloatArray) -> FloatArray:
    unit = unit_rows(rows)
    return np.asarray(unit @ unit.T)


def _nearest(cosines: FloatArray, k: int) -> Any:
    """Return the k nearest other rows of each row."""
    others = cosines - 4.0 * np.eye(len(cosines))
    return np.argpartition(-others, k - 1, axis=1)[:, :k]
