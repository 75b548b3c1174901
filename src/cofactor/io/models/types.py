"""The types that a model folder may hold, and the attributes each may have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer

from cofactor import noise, priors
from cofactor.divergences import Divergence
from cofactor.engine.factors import Factors
from cofactor.estimators import NMF, SSNMFClassifier, SSNMFRegressor
from cofactor.estimators.cells import CellModel
from cofactor.estimators.heads import PooledHead
from cofactor.estimators.reservoir import Reservoir
from cofactor.estimators.units import Units
from cofactor.io.models.codec import Codec, Form, Parts
from cofactor.io.models.errors import ModelFormatError
from cofactor.io.models.own import OwnVectorizer, check_own
from cofactor.io.models.reservoirs import NAMES, make_reservoir, take_reservoir
from cofactor.io.untrusted import require
from cofactor.linear.pool import ExpectedScore
from cofactor.linear.views import KINDS, View
from cofactor.targets import ClassCoding, ValueCoding
from cofactor.text import TopicModel, WordVectorizer
from cofactor.text.describe.support import SUPPORT
from cofactor.text.describe.words import RANKED
from cofactor.text.editing import Settled
from cofactor.text.vectorizer.words import LATER, OLDER, READING

PLAIN = (
    "components_",
    "representation_",
    "history_",
    "n_iter_",
    "stop_reason_",
    "n_features_in_",
    "feature_names_in_",
    "_units",
    "_has_head",
    "_constant",
)
SUPERVISED = (
    *PLAIN,
    "target_components_",
    "supervision_",
    "_coding",
    "_head",
    "expected_score_",
    "_reservoir",
)
RANKING = ("topic_words_", "probable_coherence_")
"""Attributes that models of cofactor 0.1 lack; their words are shown by probability."""
OPTIONAL = frozenset(
    {
        "feature_names_in_",
        "target_components_",
        "supervision_",
        "_head",
        "expected_score_",
        "_reservoir",
        "document_scores_",
        "cells_",
        "settled_",
        "learned_",
        "stability_",
        *LATER,
        *RANKING,
        *READING,
        *SUPPORT,
    }
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
    NMF: (*PLAIN, "cells_"),
    SSNMFClassifier: SUPERVISED,
    SSNMFRegressor: SUPERVISED,
    TopicModel: TEXT,
    WordVectorizer: ("words_", "idf_", *LATER, *READING),
    CountVectorizer: ("vocabulary_", "fixed_vocabulary_"),
    TfidfVectorizer: ("vocabulary_", "fixed_vocabulary_", "idf_"),
}
MODELS = (NMF, SSNMFClassifier, SSNMFRegressor, TopicModel)


# ---- estimators: parameters, and attributes if they are fitted


def _take_estimator(model: Any) -> dict[str, Any]:
    given, fitted = model.get_params(deep=False), _take_fitted(model)
    parameters = {n: clone(v) if isinstance(v, BaseEstimator) else v for n, v in given.items()}
    if "vectorizer_" in fitted and not _can_hold(fitted["vectorizer_"]):
        fitted["vectorizer_"] = OwnVectorizer.of(fitted["vectorizer_"])
        parameters["vectorizer"] = None
    return {"parameters": parameters, **fitted}


def _can_hold(vectorizer: Any) -> bool:
    """Tell whether a model folder can hold a vectorizer: its type and its parameters."""
    try:
        CODEC.encode(vectorizer, Parts(), "vectorizer")
    except TypeError:
        return False
    return True


def _take_fitted(model: Any) -> dict[str, Any]:
    names = FITTED[type(model)]
    for name in ("pooled_head", "document_scores_"):  # streams compute them at their first use
        getattr(model, name, None)
    found = {name: getattr(model, name) for name in names if name in _attributes(model)}
    if isinstance(found.get("vocabulary_"), dict):
        words = sorted(found["vocabulary_"], key=found["vocabulary_"].__getitem__)
        found["vocabulary_"] = np.array(words, dtype=object)
    return found


def _attributes(model: Any) -> set[str]:
    fitted = isinstance(model, TfidfVectorizer) and model.use_idf and hasattr(model, "_tfidf")
    return {*vars(model), "idf_"} if fitted and hasattr(model._tfidf, "idf_") else {*vars(model)}


def _make_estimator(kind: type, parts: dict[str, Any]) -> Any:
    parts = dict(parts)
    parameters = parts.pop("parameters", None)
    require(isinstance(parameters, dict), "it has no parameters")
    known = kind._get_param_names()  # type: ignore[attr-defined]
    unknown = sorted(parameters.keys() - set(known))
    require(not unknown, f"it has no parameter {unknown[:1]}")
    older = OLDER if kind is WordVectorizer and "clean" not in parameters else {}
    model = kind(**{**older, **parameters})
    model._validate_params()
    if parts:
        _CHECKS.get(kind, _check_names)(model, parts)
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
    if isinstance(model, SSNMFClassifier):
        model.classes_ = model._coding.classes


def _tfidf(model: TfidfVectorizer, n_words: int) -> TfidfTransformer:
    names = ("norm", "use_idf", "smooth_idf", "sublinear_tf")
    transformer = TfidfTransformer(**{name: getattr(model, name) for name in names})
    return transformer.fit(csr_array((1, n_words)))


# ---- checks of fitted attributes


def _check_factors(model: Any, parts: dict[str, Any]) -> None:
    _check_names(model, parts)
    r, m, n = model.n_components, parts["n_features_in_"], len(parts["representation_"])
    _check_array(parts, "components_", (r, m))
    _check_array(parts, "representation_", (n, r))
    require(type(parts["_units"]) is Units, "_units is not a Units")
    for name, kind in (("n_iter_", int), ("stop_reason_", str), ("_has_head", bool)):
        require(type(parts[name]) is kind, f"{name} is not of type {kind.__name__}")
    require(isinstance(parts["_constant"], int | float), "_constant is not a number")
    require(isinstance(parts["history_"], dict), "history_ is not a dict")
    head = "target_components_" in parts
    require(head == parts["_has_head"], "_has_head and target_components_ disagree")
    names = parts.get("feature_names_in_")
    require(names is None or len(names) == m, "feature_names_in_ has another length")
    if "cells_" in parts:
        require(type(parts["cells_"]) is CellModel, "cells_ is not a CellModel")
        _check_cells(parts["cells_"], n, m)
    if not isinstance(model, NMF):
        width = _coded_width(model, parts["_coding"])
        if head:
            _check_array(parts, "target_components_", (r, width))
        if "_head" in parts:
            require(type(parts["_head"]) is PooledHead, "_head is not a PooledHead")
            _check_head(parts["_head"], r, m, width)
        if "_reservoir" in parts:
            _check_reservoir(
                parts["_reservoir"], m, width, signed=isinstance(model, SSNMFRegressor)
            )
            bare = "_head" not in parts and parts["_reservoir"].labels.any()
            require(not bare, "_reservoir has labels, but there is no _head")
        expected = parts.get("expected_score_")
        require(expected is None or type(expected) is ExpectedScore, "expected_score_ is wrong")


def _check_reservoir(reservoir: Any, m: int, width: int, *, signed: bool) -> None:
    require(type(reservoir) is Reservoir, "_reservoir is not a Reservoir")
    data, targets = reservoir.parts[0].data, reservoir.parts[0].targets
    require(data.shape[1] == m, f"_reservoir has {data.shape[1]} features in place of {m}")
    good = len(reservoir.labels) == targets.n_targets == width
    require(good, f"_reservoir does not have {width} targets")
    least = targets.values.min() if min(targets.values.shape) else 0.0
    require(signed or least >= 0, "_reservoir has a negative entry in targets")


def _check_cells(cells: CellModel, n: int, m: int) -> None:
    _check_signed(cells.row_offsets, "row_offsets", (n,))
    _check_signed(cells.column_offsets, "column_offsets", (m,))
    good = isinstance(cells.samples, np.ndarray) and cells.samples.ndim == 2
    require(good, "samples is not a matrix")
    rank = cells.samples.shape[1]
    for name, rows in (("samples", n), ("features", m)):
        _check_array(vars(cells), name, (rows, rank))
    numbers = (cells.mean, cells.low, cells.high)
    require(all(isinstance(x, float) and np.isfinite(x) for x in numbers), "mean, low, high")
    require(0 <= cells.low <= cells.high, "low and high are not a range of nonnegative numbers")
    for number in (cells.strength, cells.expected_rmse):
        require(isinstance(number, float) and not number < 0, "strength, expected_rmse")


def _check_head(head: PooledHead, r: int, m: int, width: int) -> None:
    shapes = {"weights": (m, width), "base": (width,), "topics": (r, width)}
    for name, shape in shapes.items():
        _check_signed(getattr(head, name), name, shape)
    lengths = {"size": width, "thresholds": width, "curve": 3, "labels": width}
    for name, length in lengths.items():
        if (array := getattr(head, name)) is not None:
            _check_signed(array, name, (length,))
    if head.half_width is not None:
        good = isinstance(head.half_width, np.ndarray) and head.half_width.shape == (width,)
        require(good and bool((head.half_width >= 0).all()), "half_width is wrong")
    if head.held_out is not None:
        n = np.shape(head.held_out)[-1] if np.ndim(head.held_out) == 2 else 0
        _check_signed(head.held_out, "held_out", (3, n))
        require(bool((head.held_out >= 0).all()), "held_out has a negative entry")
    numbers = (head.size_mean, head.size_sd)
    require(all(isinstance(x, float) and np.isfinite(x) for x in numbers), "size_mean, size_sd")
    require(type(head.reach) is float and 0.0 <= head.reach <= 1.0, "reach is not a share")
    hard = head.hard_length
    require(hard is None or (type(hard) is float and 0.0 < hard <= 1.0), "hard_length")
    view = head.view
    require(type(view) is View and view.kind in KINDS, "its view is not known")
    require(isinstance(view.scale, float) and 0 < view.scale < np.inf, "its scale is wrong")
    require((view.mean is None) == (view.spread is None) == (view.kind != "columns"), "its view")
    if view.mean is not None and view.spread is not None:
        _check_signed(view.mean, "mean", (m,))
        _check_signed(view.spread, "spread", (m,))
        require(bool((view.spread > 0).all()), "spread has an entry that is not positive")


def _check_signed(array: Any, name: str, shape: tuple[int, ...]) -> None:
    good = isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.shape == shape
    require(good and bool(np.isfinite(array).all()), f"{name} is not a finite array of {shape}")


def _coded_width(model: Any, coding: Any) -> int:
    wanted = ClassCoding if isinstance(model, SSNMFClassifier) else ValueCoding
    require(type(coding) is wanted, f"_coding is not a {wanted.__name__}")
    return len(coding.classes) if isinstance(coding, ClassCoding) else len(coding.offset)


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
    require(type(estimator) in MODELS[:3], "estimator_ is not an estimator")
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


_CHECKS: dict[type, Callable[[Any, dict[str, Any]], None]] = {
    **dict.fromkeys(MODELS[:3], _check_factors),
    **dict.fromkeys((WordVectorizer, CountVectorizer, TfidfVectorizer), _check_words),
    TopicModel: _check_text,
}


# ---- dataclasses: their fields


def _take_fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value) if field.init}


def _make_fields(kind: type, parts: dict[str, Any]) -> Any:
    value = kind(**parts)
    _FIELD_CHECKS.get(kind, lambda value: None)(value)
    return value


def _check_units(units: Units) -> None:
    exponents = [getattr(units, field.name) for field in fields(units)]
    good = all(type(e) is int and abs(e) < 5000 for e in exponents)
    require(good, "an exponent is not an integer, or too large")


def _check_expected(score: ExpectedScore) -> None:
    numbers = (score.value, score.low, score.high, score.n_samples)
    require(all(isinstance(x, float) and np.isfinite(x) for x in numbers), "a part is not a number")
    require(isinstance(score.measure, str), "its measure is not a name")


def _check_classes(coding: ClassCoding) -> None:
    require(coding.kind in ("multiclass", "multilabel", "soft"), f"its kind is {coding.kind!r}")
    good = isinstance(coding.classes, np.ndarray) and coding.classes.ndim == 1
    require(good, "its classes are not a list")


def _check_values(coding: ValueCoding) -> None:
    offset = coding.offset
    good = isinstance(offset, np.ndarray) and offset.ndim == 1 and offset.dtype.kind == "f"
    require(good and type(coding.one_dimensional) is bool, "its offset is not an array")
    require(bool(np.isfinite(offset).all()), "its offset is not finite")


def _check_divergence(loss: Divergence) -> None:
    require(isinstance(loss.name, str) and type(loss.degree) is int, "its name or degree is wrong")
    numbers = (loss.log, loss.up, loss.down, loss.square, loss.inverse, loss.concave)
    require(all(isinstance(x, int | float) for x in numbers), "a coefficient is not a number")


def _check_settled(settled: Settled) -> None:
    lists = (settled.names, settled.frozen, settled.pinned, settled.banned)
    good = all(isinstance(some, list) and len(some) == len(settled.names) for some in lists)
    require(good, "its parts are not lists with an item for each topic")
    good = all(name is None or isinstance(name, str) for name in settled.names)
    good = good and all(type(frozen) is bool for frozen in settled.frozen)
    words = [*settled.pinned, *settled.banned]
    require(good and all(map(_are_strings, words)), "an item has the wrong type")


_FIELD_CHECKS: dict[type, Callable[[Any], None]] = {
    Units: _check_units,
    ExpectedScore: _check_expected,
    ClassCoding: _check_classes,
    ValueCoding: _check_values,
    Divergence: _check_divergence,
    OwnVectorizer: check_own,
    Settled: _check_settled,
}
_DATACLASSES: dict[str, type] = {
    "Divergence": Divergence,
    "Factors": Factors,
    "Units": Units,
    "CellModel": CellModel,
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


def _estimator_form(kind: type) -> Form:
    names = frozenset({"parameters", *FITTED[kind]})
    return Form(kind, _take_estimator, partial(_make_estimator, kind), names)


def _dataclass_form(kind: type) -> Form:
    names = frozenset(field.name for field in fields(kind) if field.init)
    return Form(kind, _take_fields, partial(_make_fields, kind), names)


CODEC = Codec(
    {
        **{kind.__name__: _estimator_form(kind) for kind in FITTED},
        **{name: _dataclass_form(kind) for name, kind in _DATACLASSES.items()},
        "Reservoir": Form(Reservoir, take_reservoir, make_reservoir, NAMES),
    },
    elsewhere={
        "words_": "vocabulary",
        "vocabulary_": "vocabulary",
        "feature_names_in_": "vocabulary",
        "_coding": "classes",
    },
)
