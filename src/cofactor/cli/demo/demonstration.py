"""The work behind `cofactor demo`: read the corpus, hide labels, fit, evaluate, write the report.

The functions import numerical libraries, so that `cofactor --help` does not.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cofactor import TopicModel
    from cofactor.cli.demo.corpus import Corpus
    from cofactor.report.page_content import Prepared

Announce = Callable[[str], AbstractContextManager[object]]

WORDS_PER_TOPIC = 8

# Words of the notation, not of the subject. Notation in more than a fifth of the documents
# ("array", "parameters", "returns") is excluded by its frequency; these words are less frequent.
NOTATION = """
    arg args arrays bool boolean casting class details dict dtype dtypes example examples float
    floats func guide instance int integer ints keyword kwargs list method methods ndarrays note
    notes object param params self signature str subok tuple tuples user valueerror wikipedia
"""


@dataclass(frozen=True)
class Topic:
    """One row of the table: a topic, the class it speaks for most, and its size."""

    words: list[str]
    label: str
    label_share: float
    corpus_share: float


@dataclass(frozen=True)
class Demonstration:
    """The results of the demo, as plain Python values."""

    documents: int
    classes: list[str]
    labelled: int
    unlabelled: int
    words: int
    topics: list[Topic]
    accuracy: dict[str, float]
    how: str  # how the accuracy was tested
    seed: int
    iterations: int
    stop_reason: str | None
    versions: dict[str, str]
    report: str | None = None


def demonstrate(
    n_topics: int, share: float, seed: int, announce: Announce, report: Path | None = None
) -> Demonstration:
    """Fit topics to a corpus with few labels, and test predictions on the other documents.

    Parameters
    ----------
    n_topics : int
        Number of topics.
    share : float
        Share of the documents whose label is known, above 0 and at most 1.
    seed : int
        Random seed for the labelled documents and the start of the fit.
    announce : callable
        Returns a context manager that shows the given sentence while its block runs.
    report : path, optional
        Where to write a report.

    Returns
    -------
    Demonstration
        Topics, accuracies and facts about the fit.
    """
    with announce("Reading the docstrings of numpy, scipy and scikit-learn"):
        from cofactor.report.html import check_extra, write_page

        if report is not None:
            check_extra()
        corpus, labels = _read()
    known = choose_labelled(labels, share, seed)
    with announce("Fitting the topics"):
        model = _fit(corpus, labels, known, n_topics, seed)
    with announce("Comparing with methods that learn from the same labels"):
        prepared = _prepare(model, corpus, labels, known)
    if report is not None:
        with announce("Writing the report"):
            write_page(prepared, report)
    return Demonstration(
        documents=len(corpus),
        classes=sorted(set(corpus.labels)),
        labelled=int(known.sum()),
        unlabelled=int((~known).sum()),
        words=len(model.vectorizer_.get_feature_names_out()),
        topics=describe_topics(model),
        accuracy=accuracies(prepared),
        how=prepared.evaluation["how"] if prepared.evaluation else "",
        seed=seed,
        iterations=int(model.n_iter_),
        stop_reason=model.estimator_.stop_reason_,
        versions=prepared.reproduction["versions"],
        report=None if report is None else str(report),
    )


def _read() -> tuple[Corpus, NDArray[Any]]:
    import numpy as np

    from cofactor.cli.demo.corpus import docstring_corpus

    corpus = docstring_corpus()
    return corpus, np.array(corpus.labels, dtype=object)


def choose_labelled(labels: NDArray[Any], share: float, seed: int) -> NDArray[Any]:
    """Mark a share of every class as labelled, at least two documents of each."""
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


def describe_topics(model: TopicModel) -> list[Topic]:
    """Return the topics of the model, the largest first."""
    rows = sorted(model.topics(WORDS_PER_TOPIC), key=lambda row: -row.share)
    return [
        Topic(list(row.words), str(row.label), row.label_weight or 0.0, row.share) for row in rows
    ]


def _prepare(
    model: TopicModel, corpus: Corpus, labels: NDArray[Any], known: NDArray[Any]
) -> Prepared:
    """Return the content of the report: the demo prints scores from it, with or without a file."""
    from cofactor.report import prepare

    return prepare(
        model,
        corpus.texts,
        _hidden(labels, known),
        labels,
        title="Topics of numpy, scipy and scikit-learn",
        source="docstrings as installed",
    )


def accuracies(prepared: Prepared) -> dict[str, float]:
    """Return the accuracy of each method in the report, under the names that the demo prints."""
    from cofactor.report.score_tables import MODEL, PLAIN

    methods = prepared.evaluation["methods"] if prepared.evaluation else []
    names = {
        MODEL: "cofactor",
        PLAIN: "cofactor, topics without labels",
        "majority": "largest class",
    }
    return {names.get(row["method"], row["method"]): row["score"] for row in methods}
