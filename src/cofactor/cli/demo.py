"""`cofactor demo`: topics and predictions from texts that every installation has."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from cofactor.cli import _options as opt
from cofactor.cli._command import BadInput, Command, needing_extra
from cofactor.cli._terminal import (
    announce,
    as_typed,
    emit,
    note,
    note_next,
    open_console,
    open_page,
)
from cofactor.io.atomic import replacing
from cofactor.io.errors import at
from cofactor.io.tables.writers import make_writer, output_kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cofactor import TopicModel
    from cofactor.datasets.docstrings import Docstrings
    from cofactor.report.page_content import Prepared

WORDS_PER_TOPIC = 8

# Words of the notation, not of the subject. Notation in more than a fifth of the documents
# ("array", "parameters", "returns") is excluded by its frequency; these words are less frequent.
NOTATION = """
    arg args arrays bool boolean casting class details dict dtype dtypes example examples float
    floats func guide instance int integer ints keyword kwargs list method methods ndarrays note
    notes object param params self signature str subok tuple tuples user valueerror wikipedia
"""
LEGEND = """\
Corpus: the topic's share of all texts. Class: the most probable class in the texts of the
topic. Link: its mean probability there."""


def _check_share(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if 0 < value <= 1:
        return value
    raise click.BadParameter(
        f"{value:g} is not a share of the documents; give a number above 0 and up to 1, like 0.1."
    )


@click.command(cls=Command)
@opt.option("--topics -k", "Number of topics.", type=opt.COUNT, default=24)
@opt.option(
    "--labels SHARE",
    "Share of the documents whose label is known, above 0 and up to 1.",
    type=float,
    default=0.1,
    callback=_check_share,
)
@opt.add("seed")
@opt.option("--report FILE", "Also write a report.", type=opt.OUTPUT_FILE)
@opt.option("--open open_it", "Write a report and open it in the browser.", is_flag=True)
@opt.option(
    "--table FILE",
    "Only write a table to try other commands on, and new.csv beside it.",
    type=opt.OUTPUT_FILE,
)
@opt.add("as_json")
def demo(
    topics: int,
    labels: float,
    seed: int,
    report: Path | None,
    open_it: bool,
    table: Path | None,
    as_json: bool,
) -> None:
    """Find topics in docstrings and predict the subpackage of each.

    The texts are the docstrings of the installed numpy, scipy and scikit-learn, so nothing is
    downloaded. Only some show their label, the subpackage; the others test the predictions.

    With --table, nothing is fitted: FILE gets made-up letters to a magazine, half of them labelled
    with the desk (team) that answers, and new.csv gets letters without labels.
    """
    if table is not None:
        write_tickets(table, seed)
        return
    if sys.flags.optimize > 1:
        raise click.ClickException(
            "Python runs with -OO, which drops docstrings; run it without -OO."
        )
    report = report or (Path("demo", "report.html") if open_it else None)
    with needing_extra("The demo", "report"):
        result = demonstrate(topics, labels, seed, report)
    if as_json:
        emit(asdict(result))
    else:
        _show(result, open_console())
    if open_it and report is not None:
        open_page(report)


def write_tickets(path: Path, seed: int = 0) -> None:
    """Write the table of letters, and new ones to a file beside it; replace no other file."""
    from cofactor.datasets.tickets import make_tickets, new_tickets

    tables = {path: make_tickets(seed=seed), path.with_name("new.csv"): new_tickets()}
    contents = {file: _encoded(rows, output_kind(file)) for file, rows in tables.items()}
    for file, content in contents.items():
        if file.exists() and file.read_bytes() != content:
            raise BadInput(f"{at(file)} is another table; name a file in another folder.")
    for file, content in contents.items():
        with replacing(file) as output:
            output.write(content)
    note(f"{path} has {len(tables[path])} letters, new.csv beside it has 30 without a team.")
    note_next("fit", path, "--text", "body", "--label", "team", "-k", 6, "-o", "model")


def _encoded(rows: list[dict[str, str]], kind: str) -> bytes:
    """Return the bytes of a table."""
    output = BytesIO()
    with make_writer(output, kind, list(rows[0])) as writer:
        for row in rows:
            writer.write(list(row.values()))
    return output.getvalue()


def _show(result: Demonstration, console: Console) -> None:
    console.print(_introduction(result))
    console.print("\nTopics, the largest first", style="bold")
    console.print(_topic_table(result.topics, console.width))
    console.print(LEGEND, style="dim")
    if result.accuracy:
        console.print("\nAccuracy on labels that the methods have not seen", style="bold")
        console.print(_accuracy_table(result.accuracy))
        console.print(result.how, style="dim")
    else:
        console.print("\nThere are too few labels to test the predictions.")
    console.print(_closing(result))


def _introduction(result: Demonstration) -> str:
    return (
        f"\n{result.documents:,} docstrings from {len(result.classes)} subpackages of numpy, scipy "
        f"and scikit-learn.\nThe subpackage is the label; {result.labelled:,} documents "
        f"({result.labelled / result.documents:.0%}) show it to the model."
    )


def _topic_table(topics: list[DemoTopic], width: int) -> Table:
    """Lay out the topics with as many of their words as fit on a line."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("Corpus", justify="right", no_wrap=True)
    table.add_column("Class", style="cyan", no_wrap=True)
    table.add_column("Link", justify="right", no_wrap=True)
    table.add_column("Words", overflow="fold")
    longest = max(len(topic.label) for topic in topics)
    space = max(20, width - longest - len("CorpusLink") - 3 * 2)
    for topic in topics:
        table.add_row(
            f"{topic.corpus_share:.1%}",
            topic.label,
            f"{topic.label_share:.0%}",
            textwrap.shorten(" ".join(topic.words), space, placeholder=""),
        )
    return table


def _accuracy_table(accuracy: dict[str, float]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column()
    best = max(accuracy.values())
    for name, value in accuracy.items():
        table.add_row(f"{value:.1%}", name, style="bold" if value == best else "")
    return table


def _closing(result: Demonstration) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    report = f"The report is in {result.report}.\n" if result.report else ""
    return (
        f"\n{report}Made by {versions} from tf-idf weights of {result.words:,} words, with seed "
        f"{result.seed}. {result.stop_reason or f'The fit took {result.iterations} iterations.'}\n"
        f"Next, try fewer labels: {as_typed('demo', '--labels', 0.02)}"
    )


# ---- the work: read, hide labels, fit, evaluate, write the report


@dataclass(frozen=True)
class DemoTopic:
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
    topics: list[DemoTopic]
    accuracy: dict[str, float]
    how: str  # how the accuracy was tested
    seed: int
    iterations: int
    stop_reason: str | None
    versions: dict[str, str]
    report: str | None = None


def demonstrate(
    n_topics: int, share: float, seed: int, report: Path | None = None
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


def _read() -> tuple[Docstrings, NDArray[Any]]:
    import numpy as np

    from cofactor.datasets.docstrings import docstring_corpus

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
    corpus: Docstrings, labels: NDArray[Any], known: NDArray[Any], n_topics: int, seed: int
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


def describe_topics(model: TopicModel) -> list[DemoTopic]:
    """Return the topics of the model, the largest first."""
    rows = sorted(model.topics(WORDS_PER_TOPIC), key=lambda row: -row.share)
    return [
        DemoTopic(list(row.words), str(row.label), row.label_weight or 0.0, row.share)
        for row in rows
    ]


def _prepare(
    model: TopicModel, corpus: Docstrings, labels: NDArray[Any], known: NDArray[Any]
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
