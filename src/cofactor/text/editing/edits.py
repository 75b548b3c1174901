"""Edits of a fitted topic model. Each returns a new model and leaves the old one unchanged."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor._types import FloatArray
from cofactor.estimators import NMF
from cofactor.estimators.cell_prediction import products
from cofactor.estimators.edits import add_masses, join_topics, with_topics
from cofactor.estimators.inference import masses, topic_shares
from cofactor.targets.classes import listed, read_targets
from cofactor.text.describe.predictions import document_scores, has_head
from cofactor.text.describe.summaries import COHERENCE_WORDS, model_words, topic_names
from cofactor.text.describe.topic_words import Words, shown_words
from cofactor.text.documents import DocumentRows, document_rows, fingerprint, read_documents
from cofactor.text.editing.settled import Settled, joined_rankings, reranked, with_settled
from cofactor.text.fitting import described_fit
from cofactor.text.seeds import places_of

PINNED_RANK = 10  # a pinned word gets at least the weight of the topic's word of this rank
MIN_PRESENT_SHARE = 1e-6  # a topic with a smaller share of a document is absent from it


# ---- topics and words by name


def topic_number(model: Any, topic: Any) -> int:
    """Return the number of a topic given by number or name."""
    names, n = model.topic_names_, len(model.topic_names_)
    if isinstance(topic, str):
        found = [k for k, name in enumerate(names) if name == topic]
        if len(found) > 1:
            raise ValueError(f"topics {found} are all named {topic!r}; give the number.")
        if found:
            return found[0]
        raise ValueError(f"topic {topic!r} does not exist; the topics are {_listed(names)}.")
    if isinstance(topic, bool) or not isinstance(topic, int | np.integer):
        raise TypeError(f"topic={topic!r} must be a number or a name.")
    if not 0 <= topic < n:
        raise ValueError(f"topic {topic} does not exist; the topics are 0 to {n - 1}.")
    return int(topic)


def topic_numbers(model: Any, topics: Any) -> list[int]:
    """Return the numbers of topics; a single topic need not be in a list."""
    given = [topics] if isinstance(topics, str | int | np.integer) else list(topics)
    return list(dict.fromkeys(topic_number(model, topic) for topic in given))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:5]))
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def known_words(model: Any, words: Any) -> dict[str, int]:
    """Return the columns of words by the model's words, which other forms are converted to."""
    given = [words] if isinstance(words, str) else list(words)
    if not given or not all(isinstance(word, str) for word in given):
        raise ValueError(f"words={words!r} must be one word or a list of words.")
    names = model_words(model)
    places = {str(word): j for j, word in enumerate(names)}
    analyze = getattr(model.vectorizer_, "build_analyzer", lambda: None)()
    found: dict[str, int] = {}
    for word in given:
        columns = places_of(word, places, analyze)
        if not columns:
            raise ValueError(
                f"The word {word!r} is not among the {len(names)} words of the model, which leave "
                "out stop words and rare words; use others."
            )
        found |= {str(names[j]): j for j in columns}
    return found


# ---- edits that keep the topics' numbers


def rename(model: Any, topic: Any, name: str) -> Any:
    """Return the model with a new name for a topic."""
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"name={name!r} must be a text that is not empty.")
    k = topic_number(model, topic)
    names, settled, seeds = [*model.topic_names_], Settled.of(model).named(k, name), model.seeds
    if seeds and model.task != "classes":  # a seed follows its topic
        seeds = {name if str(key) == names[k] else key: words for key, words in seeds.items()}
    names[k] = name
    return edited(model, {"seeds": seeds}, topic_names=names, settled=settled)


def freeze(model: Any, topics: Any, frozen: bool) -> Any:
    """Return the model with some topics frozen or thawed."""
    numbers = topic_numbers(model, topics)
    return edited(model, settled=Settled.of(model).freezing(numbers, frozen))


def pin(model: Any, topic: Any, words: Any) -> Any:
    """Return the model with some words pinned to a topic, also in later fits."""
    k, found = topic_number(model, topic), known_words(model, words)
    A = model.estimator_.components_.copy()
    columns = list(found.values())
    if not A[k].any():
        raise ValueError(f"Topic {k} has no words, so nothing can be pinned; drop it instead.")
    least = np.sort(A[k])[-min(PINNED_RANK, A.shape[1])]
    A[k, columns] = np.maximum(A[k, columns], least if least > 0 else A[k].max())
    settled = Settled.of(model).pinning(k, list(found))
    return _with_words(model, A, settled, k, first=columns)


def ban(model: Any, topic: Any, words: Any) -> Any:
    """Return the model with some words banned from a topic, also in later fits."""
    k, found = topic_number(model, topic), known_words(model, words)
    A = model.estimator_.components_.copy()
    A[k, list(found.values())] = 0.0
    if not A[k].any():
        raise ValueError(f"Without {_listed(list(found))} topic {k} has no word; drop it instead.")
    settled = Settled.of(model).banning(k, list(found))
    return _with_words(model, A, settled, k, gone=[*found.values()])


def _with_words(
    model: Any,
    A: FloatArray,
    settled: Settled,
    topic: int,
    first: Sequence[int] = (),
    gone: Sequence[int] = (),
) -> Any:
    """Return the model with other weights in one topic; documents keep their masses."""
    estimator = model.estimator_
    groups = [[k] for k in range(len(A))]
    S = keep_masses(estimator.representation_, estimator.components_, A)
    new = estimator.with_fitted(with_topics(estimator.completed(), A, S, np.eye(len(A))))
    ranking = reranked(model.fitted.topic_words, topic, first, gone)
    represented = keep_masses(model.document_topics_, estimator.components_, A)
    return _published(model, new, settled, ranking, represented, groups, changed={topic})


def keep_masses(S: FloatArray, A: FloatArray, changed: FloatArray) -> FloatArray:
    """Return representations that keep each topic's mass after its features changed."""
    scale = masses(A) / masses(changed)
    same = (changed == A).all(axis=1)
    return np.ascontiguousarray(S * np.where(same, 1.0, scale), dtype=S.dtype)


# ---- edits that renumber the topics


def merge(model: Any, topics: Any, name: str | None = None) -> Any:
    """Return the model with some topics merged into one, at the place of the first."""
    numbers = sorted(topic_numbers(model, topics))
    if len(numbers) < 2:
        raise ValueError(f"topics={topics!r} must name at least two different topics to merge.")
    merged = regroup(model, merged_groups(len(model.topic_names_), [numbers]))
    return merged if name is None else rename(merged, numbers[0], name)


def merged_groups(n: int, merges: Sequence[Sequence[int]], dropped: Iterable[int] = ()) -> list:
    """Return the groups of n topics after merges and drops; a merge replaces its first topic."""
    place = {min(group): sorted(group) for group in merges}
    inside = {k for group in merges for k in group}
    left = [k for k in range(n) if (k in place or k not in inside) and k not in set(dropped)]
    return [place.get(k, [k]) for k in left]


def drop(model: Any, topics: Any) -> Any:
    """Return the model without some topics."""
    numbers = topic_numbers(model, topics)
    n = len(model.topic_names_)
    if len(numbers) == n:
        raise ValueError("A model needs a topic: the last one cannot be dropped.")
    return regroup(model, merged_groups(n, [], numbers))


def regroup(model: Any, groups: Sequence[Sequence[int]]) -> Any:
    """Return the model with groups of topics merged; topics in no group are dropped."""
    estimator = model.estimator_
    new = estimator.with_fitted(join_topics(estimator.completed(), groups))
    ranking = model.fitted.topic_words
    if ranking is not None:
        shares = model.document_topics_.sum(axis=0) * masses(estimator.components_)
        ranking = joined_rankings(ranking, groups, shares)
    represented = add_masses(model.document_topics_, estimator.components_, new.components_, groups)
    changed = {place for place, group in enumerate(groups) if len(group) > 1}
    settled = Settled.of(model).grouped(groups)
    found = _published(model, new, settled, ranking, represented, groups, changed)
    if model.seeds and model.task != "classes":  # drop seeds without a topic
        named = set(map(str, found.topic_names_))
        found.seeds = {
            key: words for key, words in model.seeds.items() if str(key) in named
        } or None
    return found


def split(model: Any, topic: Any, documents: Any, into: int = 2, y: Any = None) -> Any:
    """Return the model with one topic split by the documents; the model describes these documents.

    The parts are new topics: of the decisions about the old one, only banned words stay. If the
    documents and labels y are those of the fit, the labels behind topics are counted again.
    """
    k = topic_number(model, topic)
    if isinstance(into, bool) or not isinstance(into, int | np.integer) or into < 2:
        raise ValueError(f"into={into!r} must be a whole number, at least 2.")
    texts = read_documents(documents)
    rows, estimator = document_rows(model, texts), model.estimator_
    parts = _parts_of(estimator, rows.X, k, into, model.topic_names_[k], model.seed_)
    A = np.concatenate([estimator.components_[:k], parts, estimator.components_[k + 1 :]])
    sources = [*range(k), *[k] * into, *range(k + 1, len(estimator.components_))]
    mixing = np.eye(len(estimator.components_))[sources]
    S = np.zeros((0, len(A)))
    new = estimator.with_fitted(with_topics(estimator.completed(), A, S, mixing))
    settled = Settled.of(model).grouped([[source] for source in sources])
    for place in range(k, k + into):
        settled.names[place], settled.frozen[place], settled.pinned[place] = None, False, []
    y = listed(y)
    digest = fingerprint(texts, y)
    known = read_targets(y) if digest == model.fingerprint_ else None
    found = described(model, new, settled, rows, digest, known)
    new.amend(representation=found.document_topics_)
    return found


def _parts_of(estimator: Any, X: Any, topic: int, into: int, name: str, seed: int) -> FloatArray:
    """Factorise the part of the documents that one topic explains into several topics."""
    S = np.asarray(estimator.transform(X))
    share = topic_shares(S, estimator.components_)[:, topic]
    rows = np.flatnonzero(share > MIN_PRESENT_SHARE)
    if len(rows) < into:
        raise ValueError(
            f"Topic {topic} ({name}) fits {len(rows)} of the documents; splitting it into {into} "
            f"needs at least {into} documents."
        )
    own = _explained(sp.csr_array(X[rows]), S[rows], estimator.components_, topic)
    parts = NMF(into, data_loss=estimator.data_loss, random_state=seed, n_jobs=estimator.n_jobs)
    found = parts.fit(own).components_
    size = masses(estimator.components_)[topic]
    return np.asarray(found * (size / masses(found))[:, None], dtype=estimator.components_.dtype)


def fitted_cells(S: FloatArray, A: FloatArray, X: Any) -> FloatArray:
    """Return the fitted values of the stored cells of X."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return products(S, A.T, rows, X.indices)


def _explained(X: Any, S: FloatArray, A: FloatArray, topic: int) -> Any:
    """Return the part of each stored cell that one topic explains."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    own, fitted = S[rows, topic] * A[topic, X.indices], fitted_cells(S, A, X)
    part = np.divide(own, fitted, out=np.zeros_like(own), where=fitted > 0)
    return sp.csr_array((X.data * part, X.indices, X.indptr), shape=X.shape)


# ---- the new model


def edited(model: Any, parameters: Mapping[str, Any] | None = None, **changes: Any) -> Any:
    """Return a copy of a model with other parameters and fields of its state."""
    new = copy.copy(model)
    for name, value in (parameters or {}).items():
        setattr(new, name, value)
    names = [*model.topic_names_]  # users may change the list
    return new.set_fitted(replace(model.fitted, **{"drift": None, "topic_names": names, **changes}))


def _published(
    model: Any,
    estimator: Any,
    settled: Settled,
    ranking: Any,
    represented: FloatArray,
    groups: Sequence[Sequence[int]],
    changed: set[int],
) -> Any:
    """Return the model with an edited estimator, described without documents.

    The coherence and the stability of topics that changed are not known without documents.
    """
    before, first = model.fitted, [group[0] for group in groups]
    fresh = np.isin(np.arange(len(groups)), list(changed))
    coherence, probable = (
        None if values is None else np.where(fresh, np.nan, values[first])
        for values in (before.coherence, before.probable_coherence)
    )
    support, labels = (
        None if counts is None else np.array([counts[list(g)].sum(axis=0) for g in groups])
        for counts in (before.topic_support, before.topic_labels)
    )
    lost = changed or before.stability is None
    return edited(
        model,
        {"n_components": len(groups)},
        estimator=estimator,
        settled=settled,
        document_topics=represented,
        topic_names=_names(model, estimator, settled, ranking, first, changed),
        topic_words=ranking,
        document_scores=_rescored(model, estimator, represented),
        coherence=coherence,
        probable_coherence=probable,
        topic_support=support,
        topic_labels=labels,
        stability=None if lost else before.stability[:, first],
        seeding=None,
        batch=None,
    )


def _names(
    model: Any,
    estimator: Any,
    settled: Settled,
    ranking: Any,
    first: Sequence[int],
    changed: set[int],
) -> list[str]:
    words = Words.of(model.vectorizer_)
    shown = shown_words(words.shown(estimator.components_), ranking, COHERENCE_WORDS)
    fresh = topic_names(shown, words.names, {})
    return [
        settled.names[k] or (fresh[k] if k in changed else model.topic_names_[old])
        for k, old in enumerate(first)
    ]


def _rescored(model: Any, estimator: Any, represented: FloatArray) -> FloatArray:
    """Return the documents' scores with new contributions of topics; those of words stay."""
    old, scores = model.estimator_, document_scores(model)
    if not has_head(old):
        return scores
    if old.pooled_head is None:
        return np.asarray(represented @ estimator.target_components_)
    before = topic_shares(model.document_topics_, old.components_) @ old.pooled_head.topics
    after = topic_shares(represented, estimator.components_) @ estimator.pooled_head.topics
    return np.asarray(scores - before + after)


def described(
    model: Any,
    estimator: Any,
    settled: Settled,
    rows: DocumentRows,
    digest: str,
    y: Any = None,
    **changes: Any,
) -> Any:
    """Return the model with another estimator, described by documents and their labels."""
    words = Words.of(changes.get("vectorizer", model.vectorizer_))
    found = described_fit(estimator, rows, words, {}, y)
    found = with_settled(found, settled, estimator.components_, words)
    unknown = {"stability": None, "seeding": None, "batch": None}
    if y is None:
        unknown |= {"topic_support": None, "topic_labels": None}
    if "vectorizer" in changes:
        unknown["documents"] = None
    return edited(
        model,
        {"n_components": len(found["topic_names"])},
        **{**found, **unknown, **changes},
        estimator=estimator,
        settled=settled,
        fingerprint=digest,
    )
