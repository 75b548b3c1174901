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
from cofactor._fields import Sizes, check_fields, checked, instance, saved_fields, saved_name
from cofactor.divergences import Divergence
from cofactor.engine.factors import Factors
from cofactor.estimators import NMF, SSNMFClassifier, SSNMFRegressor
from cofactor.estimators.fitted import Fitted
from cofactor.estimators.heads import PooledHead
from cofactor.estimators.missing_cells import MissingCells
from cofactor.estimators.reservoir import Reservoir
from cofactor.estimators.units import Units
from cofactor.io.models.codec import Codec, Form, Parts
from cofactor.io.models.folders import ModelFormatError, NoModelError
from cofactor.io.models.reservoirs import NAMES, make_reservoir, take_reservoir
from cofactor.io.untrusted import require
from cofactor.linear.pool import ExpectedScore
from cofactor.linear.views import View
from cofactor.targets import ClassCoding, ValueCoding
from cofactor.text import TopicModel, WordVectorizer
from cofactor.text.describe.support import SUPPORT
from cofactor.text.describe.words import RANKED
from cofactor.text.editing import Settled
from cofactor.text.vectorizer.words import LATER, OLDER, READING

RANKING = ("topic_words_", "probable_coherence_")
"""Attributes that models of cofactor 0.1 lack; their words are shown by probability."""
OPTIONAL = frozenset(
    {"document_scores_", "settled_", "learned_", "stability_", *LATER, *RANKING, *READING, *SUPPORT}
)
TEXT = (
    "estimator_",
    "vectorizer_",
    "document_topics_",
    "topic_names_",
    "target_names_",
    "coherence_",
    "seed_",
    "timings_",
    "fingerprint_",
    "document_scores_",
    "settled_",
    "learned_",
    *RANKING,
    *SUPPORT,
    "stability_",
)
FITTED: dict[type, tuple[str, ...]] = {
    TopicModel: TEXT,
    WordVectorizer: ("words_", "idf_", *LATER, *READING),
    CountVectorizer: ("vocabulary_", "fixed_vocabulary_"),
    TfidfVectorizer: ("vocabulary_", "fixed_vocabulary_", "idf_"),
}
CODINGS: dict[type, type] = {
    NMF: type(None),
    SSNMFClassifier: ClassCoding,
    SSNMFRegressor: ValueCoding,
}
"""The estimators, and how each codes y."""
MODELS = (*CODINGS, TopicModel)


# ---- vectorizers of the user's own
#
# A folder cannot hold code, and loading one must not run any. So it keeps the name of the class and
# the words of the columns; `load_model` is given the vectorizer itself.


def _words_fault(value: Any, sizes: Sizes) -> str | None:
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
            f"it was fitted with a vectorizer of your own, {own.name}; pass that vectorizer, "
            "fitted: cofactor.load_model(path, vectorizer=...)"
        )
    words = [str(word) for word in vectorizer.get_feature_names_out()]
    if words != own.words_.tolist():
        raise NoModelError(
            f"vectorizer has {len(words)} columns that are not the {len(own.words_)} of the model; "
            f"pass the fitted {own.name} that made them"
        )
    model.vectorizer_, model.vectorizer = vectorizer, clone(vectorizer, safe=False)


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
    held = {name: getattr(fitted, field) for name, field in saved_fields(Fitted).items()}
    own = {name: getattr(model, name) for name in OF_SCIKIT_LEARN if hasattr(model, name)}
    head = {"n_iter_": fitted.n_iter, "_has_head": fitted.target_components is not None}
    return {**parts, **own, **head, **{n: value for n, value in held.items() if value is not None}}


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
    known = saved_fields(Fitted)
    for field in fields(Fitted):
        name, needed = saved_name(field), field.default is MISSING
        require(not needed or name in parts, f"it has no {name}")
    fitted = Fitted(**{known[name]: value for name, value in parts.items()})
    check_fields(fitted, {"r": model.n_components, "m": n_features})
    wanted = CODINGS[kind]
    require(type(fitted.coding) is wanted, f"_coding is not a {wanted.__name__}")
    require(n_iter == fitted.n_iter, "n_iter_ is not the length of history_")
    head = fitted.target_components is not None
    require(head is has_head, "_has_head and target_components_ disagree")
    for name, value in own.items():
        setattr(model, name, value)
    return model.with_fitted(fitted)


# ---- topic models and vectorizers: parameters, and attributes if they are fitted


def _take_attributes(model: Any) -> dict[str, Any]:
    parameters, fitted = _parameters(model), _take_fitted(model)
    if "vectorizer_" in fitted and not _can_hold(fitted["vectorizer_"]):
        fitted["vectorizer_"] = OwnVectorizer.of(fitted["vectorizer_"])
        parameters["vectorizer"] = None
    return {"parameters": parameters, **fitted}


def _can_hold(vectorizer: Any) -> bool:
    """Return whether a model folder can hold a vectorizer: its type and its parameters."""
    try:
        CODEC.encode(vectorizer, Parts(), "vectorizer")
    except TypeError:
        return False
    return True


def _take_fitted(model: Any) -> dict[str, Any]:
    getattr(model, "document_scores_", None)  # streams compute them at their first use
    names = FITTED[type(model)]
    found = {name: getattr(model, name) for name in names if name in _attributes(model)}
    if isinstance(found.get("vocabulary_"), dict):
        words = sorted(found["vocabulary_"], key=found["vocabulary_"].__getitem__)
        found["vocabulary_"] = np.array(words, dtype=object)
    return found


def _attributes(model: Any) -> set[str]:
    fitted = isinstance(model, TfidfVectorizer) and model.use_idf and hasattr(model, "_tfidf")
    return {*vars(model), "idf_"} if fitted and hasattr(model._tfidf, "idf_") else {*vars(model)}


def _make_from_attributes(kind: type, parts: dict[str, Any]) -> Any:
    parts = dict(parts)
    parameters = parts.pop("parameters", None)
    old = kind is WordVectorizer and isinstance(parameters, dict) and "clean" not in parameters
    model = _unfitted(kind, parameters, OLDER if old else {})
    if parts:
        (_check_text if kind is TopicModel else _check_words)(model, parts)
        _restore(model, parts)
    return model


def _check_names(model: Any, parts: dict[str, Any]) -> None:
    for name in FITTED[type(model)]:
        optional = name in OPTIONAL or (name == "idf_" and not getattr(model, "use_idf", True))
        require(name in parts or optional, f"it has no {name}")


def _restore(model: Any, parts: dict[str, Any]) -> None:
    if isinstance(model, CountVectorizer):
        parts = {**parts, "vocabulary_": {w: j for j, w in enumerate(parts["vocabulary_"])}}
    idf = parts.pop("idf_", None) if isinstance(model, TfidfVectorizer) else None
    vars(model).update(parts)
    if isinstance(model, TfidfVectorizer):
        model._tfidf = _tfidf(model, len(parts["vocabulary_"]))
        if idf is not None:
            model._tfidf.idf_ = idf


def _tfidf(model: TfidfVectorizer, n_words: int) -> TfidfTransformer:
    names = ("norm", "use_idf", "smooth_idf", "sublinear_tf")
    transformer = TfidfTransformer(**{name: getattr(model, name) for name in names})
    return transformer.fit(csr_array((1, n_words)))


# ---- checks of fitted attributes


def _check_signed(array: Any, name: str, shape: tuple[int, ...]) -> None:
    good = isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.shape == shape
    require(good and bool(np.isfinite(array).all()), f"{name} is not a finite array of {shape}")


def _check_array(parts: dict[str, Any], name: str, shape: tuple[int, ...]) -> None:
    array = parts[name]
    require(
        isinstance(array, np.ndarray) and array.dtype.kind == "f", f"{name} is not a float array"
    )
    require(array.shape == shape, f"{name} has shape {array.shape} in place of {shape}")
    good = np.isfinite(array) & (array >= 0)
    require(bool(good.all()), f"{name} has an entry that is not finite or negative")


def _check_words(model: Any, parts: dict[str, Any]) -> None:
    _check_names(model, parts)
    words = parts["vocabulary_"] if "vocabulary_" in parts else parts["words_"]
    require(isinstance(words, np.ndarray) and words.ndim == 1, "the words are not a list")
    require(all(isinstance(w, str) for w in words.tolist()), "a word is not a string")
    require(len(set(words.tolist())) == len(words), "a word occurs twice")
    if "idf_" in parts:
        _check_array(parts, "idf_", (len(words),))
    share = parts.get("known_share_")
    require(share is None or (type(share) is float and 0 <= share <= 1), "known_share_ is no share")
    kept = parts.get("grammatical_")
    require(kept is None or _are_strings(kept), "grammatical_ is not a list of words")
    if any(name in parts for name in READING):
        _check_reading(*(parts.get(name, ...) for name in READING))
    try:
        model.build_analyzer()
    except ValueError as error:
        raise ModelFormatError(f"its parameters do not fit together: {error}") from None


def _check_reading(languages: Any, lists: Any, stem: Any) -> None:
    require(_are_strings(languages), "languages_ is not a list of names")
    good = isinstance(lists, dict) and all(map(_are_strings, lists.values()))
    require(good, "stop_words_ are not lists of words")
    require(stem is None or (type(stem) is int and stem > 0), "stem_ is not a number of letters")


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _check_text(model: Any, parts: dict[str, Any]) -> None:
    _check_names(model, parts)
    estimator, vectorizer = parts["estimator_"], parts["vectorizer_"]
    require(type(estimator) in CODINGS, "estimator_ is not an estimator")
    known = type(vectorizer) is OwnVectorizer or type(vectorizer) in FITTED
    require(known and type(vectorizer) not in MODELS, "vectorizer_ is not a vectorizer")
    require(hasattr(estimator, "components_"), "estimator_ is not fitted")
    words = vectorizer.get_feature_names_out()
    r, m = estimator.components_.shape
    require(len(words) == m, f"there are {len(words)} words for {m} columns of components_")
    _check_array(parts, "document_topics_", (len(estimator.representation_), r))
    if (scores := parts.get("document_scores_")) is not None:
        width = len(parts["target_names_"]) if hasattr(estimator, "target_components_") else 0
        _check_signed(scores, "document_scores_", (len(estimator.representation_), width))
    _check_coherence(parts["coherence_"], "coherence_", r)
    if any(name in parts for name in RANKING):
        _check_coherence(parts.get("probable_coherence_"), "probable_coherence_", r)
        _check_ranking(parts.get("topic_words_"), r, m)
    names, head = parts["topic_names_"], getattr(estimator, "target_components_", None)
    if "stability_" in parts:
        _check_stability(parts["stability_"], r)
    if any(name in parts for name in SUPPORT):
        _check_support(parts, r, 0 if head is None else head.shape[1])
    good = isinstance(names, list) and all(isinstance(name, str) for name in names)
    require(good and len(names) == r, "topic_names_ are not the names of the topics")
    good = isinstance(parts["target_names_"], list)
    require(
        good and (head is None or len(parts["target_names_"]) == head.shape[1]), "target_names_"
    )
    require(type(parts["seed_"]) is int and isinstance(parts["timings_"], dict), "seed_, timings_")
    require(isinstance(parts["fingerprint_"], str), "fingerprint_ is not a string")
    require(_are_strings(parts.get("learned_", [])), "learned_ is not a list of digests")
    settled = parts.get("settled_", Settled.nothing(r))
    good = type(settled) is Settled and len(settled) == r
    require(good, "settled_ is not that of the topics")


def _check_coherence(values: Any, name: str, r: int) -> None:
    good = isinstance(values, np.ndarray) and values.shape == (r,)
    require(good, f"{name} does not have a number for each topic")


def _check_support(parts: dict[str, Any], r: int, width: int) -> None:
    for name, shape in zip(SUPPORT, ((r,), (r, width)), strict=True):
        counts: Any = parts.get(name)
        good = isinstance(counts, np.ndarray) and counts.dtype.kind == "i" and counts.shape == shape
        require(good and bool((counts >= 0).all()), f"{name} is not an array of counts of {shape}")


def _check_stability(stability: Any, r: int) -> None:
    good = isinstance(stability, np.ndarray) and stability.dtype.kind == "f" and stability.ndim == 2
    require(good and stability.shape[1] == r and len(stability) > 0, "stability_ has another shape")
    require(bool(((stability >= 0) & (stability <= 1)).all()), "stability_ is not between 0 and 1")


def _check_ranking(ranking: Any, r: int, m: int) -> None:
    good = isinstance(ranking, np.ndarray) and ranking.dtype.kind == "i" and ranking.ndim == 2
    require(good and len(ranking) == r, "topic_words_ is not a list of columns for each topic")
    require(ranking.shape[1] <= RANKED, f"topic_words_ has more than {RANKED} columns")
    inside = (ranking >= -1) & (ranking < m)
    require(bool(inside.all()), f"topic_words_ has an entry outside the {m} words")
    for row in ranking:
        found = row[row >= 0]
        require(len(np.unique(found)) == len(found), "topic_words_ names a word twice")


# ---- dataclasses: their fields


def _take_fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, field) for name, field in saved_fields(type(value)).items()}


def _make_fields(kind: type, parts: dict[str, Any]) -> Any:
    value = kind(**parts)
    check_fields(value)
    return value


_DATACLASSES: dict[str, type] = {
    "Divergence": Divergence,
    "Factors": Factors,
    "Units": Units,
    "CellModel": MissingCells,
    "PooledHead": PooledHead,
    "View": View,
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
    for kind, names in FITTED.items():
        make = partial(_make_from_attributes, kind)
        held = frozenset({"parameters", *names})
        forms[kind.__name__] = Form(kind, _take_attributes, make, held)
    for name, kind in _DATACLASSES.items():
        held = frozenset(saved_fields(kind))
        forms[name] = Form(kind, _take_fields, partial(_make_fields, kind), held)
    forms["Reservoir"] = Form(Reservoir, take_reservoir, make_reservoir, NAMES)
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
