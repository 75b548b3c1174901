"""How good topics are to read: words that belong together, topics that differ."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse as sp

from cofactor.typing import FloatArray


def top_words(components: ArrayLike, n_words: int = 10) -> list[NDArray[np.intp]]:
    """Return the columns of each topic's heaviest words, the heaviest first.

    Parameters
    ----------
    components : array-like of shape (n_topics, n_words_in_all)
        Nonnegative weights of the words in each topic.
    n_words : int, default=10
        Words per topic; a topic with fewer words of positive weight gives those.

    Returns
    -------
    list of ndarray
        One array of columns per topic. Words of equal weight come in the order of columns.
    """
    if n_words < 1:
        raise ValueError(f"n_words={n_words!r} must be at least 1.")
    topics = np.asarray(components, dtype=np.float64)
    if topics.ndim != 2:
        raise ValueError(f"components has shape {topics.shape}; pass a matrix of topics × words.")
    order = np.argsort(-topics, axis=1, kind="stable")[:, :n_words]
    return [row[topic[row] > 0] for row, topic in zip(order, topics, strict=True)]


def npmi_coherence(components: ArrayLike, X: Any, n_words: int = 10) -> FloatArray:
    """Return each topic's coherence: do its top words occur in the same documents?

    The coherence is the mean over pairs of top words of their normalised pointwise mutual
    information, log(p_ij / (p_i p_j)) / −log p_ij, where p counts documents (Bouma 2009; Lau et al.
    2014). It is 1 if the words always come together, 0 if they come independently and −1 if they
    never meet.

    Parameters
    ----------
    components : array-like of shape (n_topics, n_words_in_all)
        Nonnegative weights of the words in each topic.
    X : array-like or sparse matrix of shape (n_documents, n_words_in_all)
        Documents to count in; a word occurs where X is not zero.
    n_words : int, default=10
        Words per topic.

    Returns
    -------
    ndarray of shape (n_topics,)
        NaN for a topic with fewer than two words that occur.

    Examples
    --------
    >>> from cofactor.metrics import npmi_coherence
    >>> documents = [[1, 1, 0], [2, 1, 0], [0, 0, 3], [0, 0, 1]]
    >>> npmi_coherence([[5, 4, 0], [0, 1, 2]], documents, n_words=2)
    array([ 1., -1.])
    """
    words = top_words(components, n_words)
    occurs = sp.csc_array(sp.csc_array(X) != 0, dtype=np.float64)
    if occurs.shape[1] != np.shape(components)[1]:
        raise ValueError(
            f"X has {occurs.shape[1]} columns, but components has {np.shape(components)[1]}; pass "
            "documents counted in the same words."
        )
    return np.array([_coherence(occurs[:, topic]) for topic in words])


def _coherence(occurs: sp.csc_array) -> float:
    """Return the mean over pairs of columns of their normalised pointwise mutual information."""
    together = (occurs.T @ occurs).toarray() / occurs.shape[0]
    together = together[np.ix_(together.diagonal() > 0, together.diagonal() > 0)]
    if len(together) < 2:
        return float("nan")
    i, j = np.triu_indices(len(together), 1)
    return float(np.mean(_npmi(together[i, j], together.diagonal()[i] * together.diagonal()[j])))


def _npmi(joint: FloatArray, independent: FloatArray) -> FloatArray:
    never, always = joint == 0, joint == 1
    inside = np.where(never | always, 0.5, joint)
    npmi = np.log(inside / independent) / -np.log(inside)
    return np.where(never, -1.0, np.where(always, 1.0, npmi))


def topic_diversity(components: ArrayLike, n_words: int = 10) -> float:
    """Return the share of the topics' top words that are different words (Dieng et al. 2020).

    Parameters
    ----------
    components : array-like of shape (n_topics, n_words_in_all)
        Nonnegative weights of the words in each topic.
    n_words : int, default=10
        Words per topic.

    Returns
    -------
    float
        1 if no word is a top word of two topics, 1 / n_topics if all topics have the same.

    Examples
    --------
    >>> from cofactor.metrics import topic_diversity
    >>> topic_diversity([[3, 2, 0, 0], [0, 2, 1, 0]], n_words=2)
    0.75
    """
    words = np.concatenate(top_words(components, n_words))
    return len(np.unique(words)) / len(words) if len(words) else 0.0
