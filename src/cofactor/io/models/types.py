"""The types that a model folder may hold, and what each may have."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer

from cofactor import noise, priors
from cofactor._fields import FieldSizes, check_fields, checked, instance, saved_fields, saved_name
from cofactor.divergences import Divergence
from cofactor.engine.factors import Factors
from cofactor.estimators import NMF, SSNMFClassifier, SSNMFRegressor
from cofactor.estimators.cell_prediction import MissingCells
from cofactor.estimators.fitted import Fitted
from cofactor.estimators.heads import PooledHead
from cofactor.estimators.reservoir import Reservoir
from cofactor.estimators.units import Units
from cofactor.io.models.codec import (
    Codec,
    Form,
    ModelFormatError,
    NoEncoderError,
    NoModelError,
    Parts,
)
from cofactor.io.models.reservoirs import RESERVOIR_FIELDS, make_reservoir, take_reservoir
from cofactor.io.untrusted import require
from cofactor.linear.familiar import FamiliarSamples
from cofactor.linear.pool import ExpectedScore
from cofactor.linear.views import Axes, VectorView, View
from cofactor.targets.classes import ClassCoding
from cofactor.targets.values import ValueCoding
from cofactor.text import TopicModel, WordVectorizer
from cofactor.text.documents import Corpus
from cofactor.text.editing import Settled
from cofactor.text.encoders import EncoderRecord, is_here, uncached
from cofactor.text.fitted_topics import FittedTopics
from cofactor.text.further_words import FurtherWords
from cofactor.text.vectorizer.languages import CODES
from cofactor.text.vectorizer.stems import BY_LANGUAGE
from cofactor.text.vectorizer.word_vectorizer import (
    ADDED_ATTRIBUTES,
    DEFAULTS_OF_OLDER_MODELS,
    LATER_ATTRIBUTES,
)

VECTORIZERS: dict[type, tuple[str, ...]] = {
    WordVectorizer: ("words_", "idf_", *LATER_ATTRIBUTES, *ADDED_ATTRIBUTES),
    CountVectorizer: ("vocabulary_", "fixed_vocabulary_"),
    TfidfVectorizer: ("vocabulary_", "fixed_vocabulary_", "idf_"),
}
"""The vectorizers that a folder can hold, and their attributes; older ones lack LATER, READING."""
CODINGS: dict[type, type] = {
    NMF: type(None),
    SSNMFClassifier: ClassCoding,
    SSNMFRegressor: ValueCoding,
}
"""The estimators, and how each codes y."""
MODEL_TYPES = (*CODINGS, TopicModel)
OLDER_SETTINGS = {"log": "no", "further_words": "no"}
"""Parameters of a TopicModel that older folders lack, with the values that reproduce them."""


# ---- vectorizers of the user's own
#
# A folder cannot hold code, and loading one must not run any. So it keeps the name of the class and
# the words of the columns; `load_model` is given the vectorizer itself.


def _words_fault(value: Any, sizes: FieldSizes) -> str | None:
    good = isinstance(value, np.ndarray) and value.ndim == 1
    good = good and all(isinstance(word, str) for word in value)
    return None if good else "is not a list of strings"


@dataclass(frozen=True, eq=False)
class OwnVectorizer:
    """Stands for a vectorizer that a model folder cannot hold."""

    name: str = instance(str)  # of its class
    words_: np.ndarray = checked(_words_fault)

    @classmethod
    def of(cls, vectorizer: Any) -> OwnVectorizer:
        """Return what stands for a fitted vectorizer."""
        kind = type(vectorizer)
        words = np.array([str(word) for word in vectorizer.get_feature_names_out()], dtype=object)
        return cls(f"{kind.__module__}.{kind.__qualname__}", words)

    def get_feature_names_out(self) -> np.ndarray:
        """Return the names of the columns."""
        return self.words_


def put_back(model: Any, vectorizer: Any) -> None:
    """Give a loaded model the vectorizer that it was fitted with."""
    own = model.vectorizer_
    if vectorizer is None:
        raise NoModelError(
            f"it was fitted with your own vectorizer, {own.name}; pass that vectorizer, "
            "fitted: cofactor.load_model(path, vectorizer=...)"
        )
    words = [str(word) for word in vectorizer.get_feature_names_out()]
    if words != own.words_.tolist():
        raise NoModelError(
            f"vectorizer has {len(words)} columns that are not the {len(own.words_)} of the model; "
            f"pass the fitted {own.name} that made them"
        )
    model.amend(vectorizer=vectorizer)
    model.vectorizer = clone(vectorizer, safe=False)


# ---- encoders
#
# A folder keeps the name of an encoder and its vectors of three sentences, never its code.


def restore_encoder(model: Any, encoder: Any) -> None:
    """Give a loaded model the encoder that it was fitted with; one on this machine is found.

    A folder may come from anybody, so nothing that it names is downloaded.
    """
    record = model.fitted.encoder
    if encoder is None and not record.named:
        raise NoModelError(
            f"it was fitted with an encoder of your own, {record.name}; pass that encoder: "
            "cofactor.load_model(path, encoder=...)"
        )
    if encoder is None and not is_here(record.name):
        raise NoEncoderError(
            f"its encoder {record.name!r} is not a folder on this machine, and loading downloads "
            f"nothing; pass it: load_model(path, encoder={record.name!r})"
        )
    encoder = record.name if encoder is None else encoder
    try:
        apart = record.differs(encoder)
    except ValueError as error:
        raise NoModelError(
            f"its encoder, {record.name}, fails: {str(error).rstrip('.')}"
        ) from error
    if apart is not None:
        raise NoEncoderError(
            f"the encoder is not that of the fit, {record.name}, because {apart}; pass that one: "
            "load_model(path, encoder=...)"
        )
    model.encoder = encoder


# ---- estimators: parameters, and the state if they are fitted


def _parameters(model: Any) -> dict[str, Any]:
    given = model.get_params(deep=False)
    return {n: clone(v) if isinstance(v, BaseEstimator) else v for n, v in given.items()}


def _unfitted(kind: type, parameters: Any, older: dict[str, Any]) -> Any:
    """Return an estimator with parameters; ``older`` are those that an older folder lacks."""
    require(isinstance(parameters, dict), "it has no parameters")
    unknown = sorted(parameters.keys() - set(kind._get_param_names()))  # type: ignore[attr-defined]
    require(not unknown, f"it has no parameter {unknown[:1]}")
    model = kind(**{**older, **parameters})
    model._validate_params()
    return model


def _take_estimator(model: Any) -> dict[str, Any]:
    parts = {"parameters": _parameters(model)}
    if not hasattr(model, "components_"):
        return parts
    fitted = model.completed()
    own = {name: getattr(model, name) for name in OF_SCIKIT_LEARN if hasattr(model, name)}
    head = {"n_iter_": fitted.n_iter, "_has_head": fitted.target_components is not None}
    return {**parts, **own, **head, **_held(fitted)}


def _held(fitted: Any) -> dict[str, Any]:
    """Return the fields of a state that have a value, by their names in a folder."""
    held = {name: getattr(fitted, field) for name, field in saved_fields(type(fitted)).items()}
    return {name: value for name, value in held.items() if value is not None}


OF_SCIKIT_LEARN = ("n_features_in_", "feature_names_in_")
"""Attributes that scikit-learn sets on an estimator."""


def _make_estimator(kind: type, parts: dict[str, Any]) -> Any:
    parts = dict(parts)
    model = _unfitted(kind, parts.pop("parameters", None), {})
    if not parts:
        return model
    own = {name: parts.pop(name) for name in OF_SCIKIT_LEARN if name in parts}
    n_features, names = own.get("n_features_in_", -1), own.get("feature_names_in_")
    require(type(n_features) is int and n_features >= 0, "n_features_in_ is not a number")
    good = names is None or len(names) == n_features
    require(good, "feature_names_in_ has another length")
    n_iter, has_head = parts.pop("n_iter_", None), parts.pop("_has_head", None)
    fitted = _state(Fitted, parts, {"r": model.n_components, "m": n_features})
    wanted = CODINGS[kind]
    require(type(fitted.coding) is wanted, f"_coding is not a {wanted.__name__}")
    require(kind is NMF or fitted.cells is None, f"{kind.__name__} has no 'cells_'")
    require(n_iter == fitted.n_iter, "n_iter_ is not the length of history_")
    head = fitted.target_components is not None
    require(head is has_head, "_has_head and target_components_ disagree")
    for name, value in own.items():
        setattr(model, name, value)
    return model.with_fitted(fitted)


def _state(kind: Any, parts: dict[str, Any], sizes: FieldSizes) -> Any:
    """Return the state that a folder holds, after checking its fields."""
    for field in fields(kind):
        name, needed = saved_name(field), field.default is MISSING
        require(not needed or name in parts, f"it has no {name}")
    known = saved_fields(kind)
    fitted = kind(**{known[name]: value for name, value in parts.items()})
    check_fields(fitted, sizes)
    return fitted


# ---- topic models: parameters, and the state if they are fitted


def _take_topics(model: TopicModel) -> dict[str, Any]:
    parameters = _parameters(model)
    # A folder cannot hold an encoder without a name, see `restore_encoder`.
    named = uncached(model.encoder)
    parameters["encoder"] = named if isinstance(named, str) else None
    if not hasattr(model, "estimator_"):
        return {"parameters": parameters}
    if model.fitted.batch is not None:
        model.document_scores_  # noqa: B018  (streams compute them at their first use)
    held = _held(model.fitted)
    if not _can_hold(held["vectorizer_"]):
        held["vectorizer_"] = OwnVectorizer.of(held["vectorizer_"])
        parameters["vectorizer"] = None
    return {"parameters": parameters, **held}


def _make_topics(parts: dict[str, Any]) -> TopicModel:
    parts = dict(parts)
    model: TopicModel = _unfitted(TopicModel, parts.pop("parameters", None), OLDER_SETTINGS)
    if not parts:
        return model
    fitted = _state(FittedTopics, parts, {})
    require(type(fitted.estimator) in CODINGS, "estimator_ is not an estimator")
    known = type(fitted.vectorizer) in (OwnVectorizer, *VECTORIZERS)
    require(known, "vectorizer_ is not a vectorizer")
    return model.set_fitted(fitted)


def _can_hold(vectorizer: Any) -> bool:
    """Return whether a model folder can hold a vectorizer: its type and its parameters."""
    try:
        CODEC.encode(vectorizer, Parts(), "vectorizer")
    except TypeError:
        return False
    return True


# ---- vectorizers: parameters, and attributes if they are fitted


def _take_vectorizer(vectorizer: Any) -> dict[str, Any]:
    parts: dict[str, Any] = {"parameters": _parameters(vectorizer)}
    names = VECTORIZERS[type(vectorizer)]
    parts |= {name: getattr(vectorizer, name) for name in names if _has(vectorizer, name)}
    if isinstance(parts.get("vocabulary_"), dict):
        words = sorted(parts["vocabulary_"], key=parts["vocabulary_"].__getitem__)
        parts["vocabulary_"] = np.array(words, dtype=object)
    return parts


def _has(vectorizer: Any, name: str) -> bool:
    """Return whether a vectorizer has learned something."""
    weights = isinstance(vectorizer, TfidfVectorizer) and name == "idf_"
    transformer = getattr(vectorizer, "_tfidf", None)
    if weights and (transformer is None or not vectorizer.use_idf):
        return False
    return hasattr(transformer if weights else vectorizer, name)


def _make_vectorizer(kind: type, parts: dict[str, Any]) -> Any:
    parts = dict(parts)
    parameters = parts.pop("parameters", None)
    old = kind is WordVectorizer and isinstance(parameters, dict) and "clean" not in parameters
    vectorizer = _unfitted(kind, parameters, DEFAULTS_OF_OLDER_MODELS if old else {})
    if parts:
        _check_words(vectorizer, parts)
        _restore(vectorizer, parts)
    return vectorizer


def _restore(vectorizer: Any, parts: dict[str, Any]) -> None:
    if isinstance(vectorizer, CountVectorizer):
        parts = {**parts, "vocabulary_": {w: j for j, w in enumerate(parts["vocabulary_"])}}
    idf = parts.pop("idf_", None) if isinstance(vectorizer, TfidfVectorizer) else None
    for name, value in parts.items():
        setattr(vectorizer, name, value)
    if isinstance(vectorizer, TfidfVectorizer):
        vectorizer._tfidf = _tfidf(vectorizer, len(parts["vocabulary_"]))
        if idf is not None:
            vectorizer._tfidf.idf_ = idf


def _tfidf(model: TfidfVectorizer, n_words: int) -> TfidfTransformer:
    names = ("norm", "use_idf", "smooth_idf", "sublinear_tf")
    transformer = TfidfTransformer(**{name: getattr(model, name) for name in names})
    return transformer.fit(csr_array((1, n_words)))


def _check_words(vectorizer: Any, parts: dict[str, Any]) -> None:
    optional = {*LATER_ATTRIBUTES, *ADDED_ATTRIBUTES} | (
        set() if getattr(vectorizer, "use_idf", True) else {"idf_"}
    )
    for name in VECTORIZERS[type(vectorizer)]:
        require(name in parts or name in optional, f"it has no {name}")
    words = parts["vocabulary_"] if "vocabulary_" in parts else parts["words_"]
    require(isinstance(words, np.ndarray) and words.ndim == 1, "the words are not a list")
    require(all(isinstance(w, str) for w in words.tolist()), "a word is not a string")
    require(len(set(words.tolist())) == len(words), "a word occurs twice")
    if (idf := parts.get("idf_")) is not None:
        good = isinstance(idf, np.ndarray) and idf.dtype.kind == "f" and idf.shape == words.shape
        good = good and bool((np.isfinite(idf) & (idf >= 0)).all())
        require(good, "idf_ is not a list of weights of the words")
    share = parts.get("known_share_")
    require(
        share is None or (type(share) is float and 0 <= share <= 1), "known_share_ is not a share"
    )
    kept = parts.get("grammatical_")
    require(kept is None or _are_strings(kept), "grammatical_ is not a list of words")
    for name in ("repeated_", "repeated_words_"):
        found = parts.get(name)
        require(found is None or _are_strings(found), f"{name} is not a list of texts")
    stems = parts.get("stems_")
    good = stems is None or (_are_strings(stems) and len(stems) == len(words) == len(set(stems)))
    require(good, "stems_ are not the stems of the words")
    if any(name in parts for name in ADDED_ATTRIBUTES):
        _check_reading(*(parts.get(name, ...) for name in ADDED_ATTRIBUTES))
    try:
        vectorizer.build_analyzer()
    except ValueError as error:
        raise ModelFormatError(f"its parameters do not fit together: {error}") from None


def _check_reading(languages: Any, lists: Any, stem: Any) -> None:
    require(_are_strings(languages), "languages_ is not a list of names")
    good = isinstance(lists, dict) and all(map(_are_strings, lists.values()))
    require(good, "stop_words_ are not lists of words")
    good = stem is None or stem == BY_LANGUAGE or (type(stem) is int and stem > 0)
    require(good, "stem_ is not a number of letters")
    require(stem != BY_LANGUAGE or CODES.keys() >= set(languages), "a language is not known")


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


# ---- dataclasses: their fields


def _take_fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, field) for name, field in saved_fields(type(value)).items()}


def _make_fields(kind: type, parts: dict[str, Any]) -> Any:
    known = saved_fields(kind)
    value = kind(**{known[name]: part for name, part in parts.items()})
    check_fields(value)
    return value


_DATACLASSES: dict[str, type] = {
    "Divergence": Divergence,
    "Factors": Factors,
    "Units": Units,
    "CellModel": MissingCells,
    "PooledHead": PooledHead,
    "View": View,
    "SideView": VectorView,  # its name in model folders
    "Axes": Axes,
    "FamiliarSamples": FamiliarSamples,
    "ExpectedScore": ExpectedScore,
    "ClassCoding": ClassCoding,
    "ValueCoding": ValueCoding,
    "L1": priors.L1,
    "L2": priors.L2,
    "GammaPrior": priors.GammaPrior,
    "GaussianNoise": noise.Gaussian,
    "PoissonNoise": noise.Poisson,
    "GammaNoise": noise.Gamma,
    "OwnVectorizer": OwnVectorizer,
    "EncoderRecord": EncoderRecord,
    "FurtherWords": FurtherWords,
    "Corpus": Corpus,
    "Settled": Settled,
}


def _forms() -> dict[str, Form]:
    """Return how the objects of each type are taken apart and put together again."""
    state = frozenset({"parameters", "n_iter_", "_has_head", *OF_SCIKIT_LEARN})
    state |= saved_fields(Fitted).keys()
    forms = {
        kind.__name__: Form(kind, _take_estimator, partial(_make_estimator, kind), state)
        for kind in CODINGS
    }
    topics = frozenset({"parameters", *saved_fields(FittedTopics)})
    forms["TopicModel"] = Form(TopicModel, _take_topics, _make_topics, topics)
    for kind, names in VECTORIZERS.items():
        held = frozenset({"parameters", *names})
        make = partial(_make_vectorizer, kind)
        forms[kind.__name__] = Form(kind, _take_vectorizer, make, held)
    for name, kind in _DATACLASSES.items():
        held = frozenset(saved_fields(kind))
        forms[name] = Form(kind, _take_fields, partial(_make_fields, kind), held)
    forms["Reservoir"] = Form(Reservoir, take_reservoir, make_reservoir, RESERVOIR_FIELDS)
    return forms


CODEC = Codec(
    _forms(),
    elsewhere={
        "words_": "vocabulary",
        "vocabulary_": "vocabulary",
        "feature_names_in_": "vocabulary",
        "_coding": "classes",
    },
)
