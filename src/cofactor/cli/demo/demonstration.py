"""What `cofactor demo` does before it shows anything: read, hide labels, fit, compare.

The command imports this module at the top, so numerical libraries are imported in the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor._versions import versions

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix

    from cofactor import TopicModel
    from cofactor.cli.demo.corpus import Corpus

Announce = Callable[[str], AbstractContextManager[object]]

WORDS_PER_TOPIC = 8

# Words of the notation, not of the subject. Those in more than a fifth of the documents ("array",
# "parameters", "returns") go by frequency; these are the less frequent rest.
NOTATION = """
    arg args arrays bool boolean casting class details dict dtype dtypes example examples float
    floats func guide instance int integer ints keyword kwargs list method methods ndarrays note
    notes object param params self signature str subok tuple tuples user valueerror wikipedia
"""


@dataclass(frozen=True)
class Topic:
    """One row of the table: a topic, the class it speaks for, and how much it matters."""

    words: list[str]
    label: str
    label_share: float
    corpus_share: float


@dataclass(frozen=True)
class Demonstration:
    """Everything the demo reports, in plain Python values."""

    documents: int
    classes: list[str]
    labelled: int
    unlabelled: int
    words: int
    topics: list[Topic]
    accuracy: dict[str, float]
    seed: int
    iterations: int
    stop_reason: str | None
    versions: dict[str, str]
    report: str | None = None


def demonstrate(
    n_topics: int, share: float, seed: int, announce: Announce, report: Path | None = None
) -> Demonstration:
    """Fit topics to a corpus with few labels and test them on the documents without.

    Parameters
    ----------
    n_topics : int
        Number of topics.
    share : float
        Share of the documents whose label is known, above 0 and at most 1.
    seed : int
        Chooses the labelled documents and starts the fit.
    announce : callable
        Returns a context manager that shows the given sentence while its block runs.
    report : path, optional
        Where to write a report.

    Returns
    -------
    Demonstration
        Topics, accuracies and the circumstances of the fit.
    """
    with announce("Reading the docstrings of numpy, scipy and scikit-learn"):
        corpus, labels = _read()
    known = choose_labelled(labels, share, seed)
    with announce("Fitting the topics (the first run also compiles)"):
        topic_model = _fit(corpus, labels, known, n_topics, seed)
    model, vectorizer = topic_model.estimator_, topic_model.vectorizer_
    vocabulary = vectorizer.get_feature_names_out()
    with announce("Comparing with classifiers trained on the same labels"):
        accuracy = _accuracies(model, vectorizer.transform(corpus.texts), labels, known)
    if report is not None:
        with announce("Writing the report"):
            _write_report(topic_model, report, corpus, labels, known)
    return Demonstration(
        documents=len(corpus),
        classes=sorted(set(corpus.labels)),
        labelled=int(known.sum()),
        unlabelled=int((~known).sum()),
        words=len(vocabulary),
        topics=describe_topics(model, vocabulary),
        accuracy=accuracy,
        seed=seed,
        iterations=int(model.n_iter_),
        stop_reason=getattr(model, "stop_reason_", None),
        versions=versions(),
        report=None if report is None else str(report),
    )


def _read() -> tuple[Corpus, NDArray[Any]]:
    import numpy as np

    from cofactor.cli.demo.corpus import docstring_corpus

    corpus = docstring_corpus()
    return corpus, np.array(corpus.labels, dtype=object)


def choose_labelled(labels: NDArray[Any], share: float, seed: int) -> NDArray[Any]:
    """Mark the given share of every class as labelled, but at least two documents of each."""
    import numpy as np

    random = np.random.default_rng(seed)
    known = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        count = max(2, round(share * len(members)))
        known[random.permutation(members)[:count]] = True
    return known


def _hidden(labels: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
    """Return the labels that the model may see; None stands for the others."""
    import numpy as np

    shown = np.full(len(labels), None)
    shown[known] = labels[known]
    return shown


def _fit(
    corpus: Corpus, labels: NDArray[Any], known: NDArray[Any], n_topics: int, seed: int
) -> TopicModel:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

    from cofactor import TopicModel

    vectorizer = TfidfVectorizer(
        sublinear_tf=True,
        stop_words=sorted(ENGLISH_STOP_WORDS.union(NOTATION.split())),
        min_df=2,
        max_df=0.2,
        token_pattern=r"\b[a-zA-Z]{3,}\b",  # words, no numbers and no identifiers like n_samples
    )
    model = TopicModel(n_topics, vectorizer=vectorizer, random_state=seed)
    return model.fit(corpus.texts, _hidden(labels, known))


def _write_report(
    model: TopicModel, path: Path, corpus: Corpus, labels: NDArray[Any], known: NDArray[Any]
) -> None:
    from cofactor.report import write_report

    write_report(
        model, path, corpus.texts, _hidden(labels, known), truth=labels,
        title="Topics of numpy, scipy and scikit-learn", source="docstrings as installed",
    )  # fmt: skip


def describe_topics(model: Any, vocabulary: NDArray[Any]) -> list[Topic]:
    """Name each topic's words and class, and sort the topics by their share of the corpus."""
    import numpy as np

    best = np.argsort(-model.components_, axis=1, kind="stable")[:, :WORDS_PER_TOPIC]
    links = _shares(model.target_components_)
    mass = _shares(model.representation_ * model.components_.sum(axis=1)).mean(axis=0)
    return [
        Topic(
            words=vocabulary[best[topic]].tolist(),
            label=str(model.classes_[links[topic].argmax()]),
            label_share=float(links[topic].max()),
            corpus_share=float(mass[topic]),
        )
        for topic in np.argsort(-mass, kind="stable")
    ]


def _shares(rows: NDArray[Any]) -> NDArray[Any]:
    """Scale every row to sum to one; a row of zeros stays."""
    import numpy as np

    totals = rows.sum(axis=1, keepdims=True)
    return np.divide(rows, totals, out=np.zeros_like(rows, dtype=float), where=totals > 0)


def _accuracies(
    model: Any, X: csr_matrix, labels: NDArray[Any], known: NDArray[Any]
) -> dict[str, float]:
    """Measure each classifier on the unlabelled documents; nothing if there are none.

    The baselines run with the settings that were best for them on these very documents: left at
    the defaults they reach 36 % and 54 % with one label in ten, which would flatter us.
    """
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB

    if known.all():
        return {}
    baselines = {
        "naive Bayes": MultinomialNB(alpha=0.03, fit_prior=False),
        "logistic regression": LogisticRegression(C=100, fit_intercept=False, solver="newton-cg"),
    }
    fitted = {name: each.fit(X[known], labels[known]) for name, each in baselines.items()}
    hidden = labels[~known]
    accuracy = {
        name: float((each.predict(X[~known]) == hidden).mean())
        for name, each in {"cofactor": model, **fitted}.items()
    }
    _, sizes = np.unique(hidden, return_counts=True)
    return {**accuracy, "largest class": float(sizes.max() / len(hidden))}
