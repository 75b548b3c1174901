"""The content of the page: all tables, as JSON values, made from a model and documents."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cofactor._versions import versions
from cofactor.engine.threads import one_blas_thread
from cofactor.io.errors import shortened
from cofactor.report import document_tables, topic_tables
from cofactor.report.evaluation import evaluate
from cofactor.report.material import Material, is_known, read_material
from cofactor.report.notices import notices
from cofactor.report.nouns import Nouns
from cofactor.report.period_tables import over_time
from cofactor.report.score_tables import MODEL, PLAIN, Evaluation, evaluation_tables, format_score
from cofactor.text import TopicModel
from cofactor.text.describe import summaries
from cofactor.text.editing import Settled
from cofactor.text.editing.changes import topics_digest

Sheet = dict[str, list[Any]]  # columns and rows of a table


@dataclass(frozen=True)
class Prepared:
    """The content of the page; lists of dicts are tables."""

    title: str
    source: str
    kind: str  # "topics", "classes", "numbers" or "sets"
    text: bool
    number: str  # the word before the number of a document: "row", "id" or "document"
    nouns: Nouns
    vectors: bool  # whether predictions rest on vectors of an encoder, too
    explained: bool  # whether words are told that decide predictions
    editable: bool  # whether `cofactor edit` can name the topics
    classes: list[str]
    summary: list[dict[str, Any]]
    notices: list[dict[str, str]]
    topics: list[dict[str, Any]]  # by number
    topics_digest: str  # identifies the topics to which downloaded names belong
    order: list[int]  # of the topics on the page, the largest first
    heatmap: list[dict[str, Any]]
    markers: list[dict[str, Any]]  # what marks each class, if that is known
    class_sizes: list[int]  # documents of each class
    largest_classes: list[str]  # the ones that all charts show
    charted_topics: list[int]  # the ones beside them
    points: list[dict[str, Any]]  # documents, each with its position on the map
    anchors: list[dict[str, Any]]  # positions of the topics on the map
    map_note: str
    evaluation: dict[str, Any] | None
    uncertain: list[dict[str, Any]]
    mistaken: list[dict[str, Any]]
    doubtful: list[dict[str, Any]]
    far_off: list[dict[str, Any]]  # tested documents with the largest errors, for numbers
    curves: list[dict[str, Any]]
    changes: dict[str, Any] | None
    reproduction: dict[str, Any]
    cut: bool  # whether the table of documents has cut long texts
    over_time: dict[str, Any] | None = None  # shares and words per period; None without dates
    pooled: bool = True  # whether a word multiplies the ratio of probabilities or adds points
    plain: str = PLAIN  # name of the method that finds its topics without labels


def prepare(
    model: Any,
    documents: Any = None,
    labels: Any = None,
    truth: Any = None,
    *,
    text: bool = True,
    title: str | None = None,
    source: str | None = None,
    rows: Any = None,
    dates: Any = None,
    every: str | None = None,
) -> Prepared:
    """Return the content of a report; the parameters are those of `write_report`."""
    if not isinstance(model, TopicModel):
        raise TypeError(f"model is a {type(model).__name__}; a report needs a TopicModel.")
    check_is_fitted(model, "estimator_")
    material = read_material(model, documents, labels, truth, rows, text)
    timed = over_time(material, dates, every)  # first, to reject bad dates before any fit
    return prepare_page(material, title=title, source=source, timed=timed)


@one_blas_thread()
def prepare_page(
    material: Material,
    *,
    title: str | None = None,
    source: str | None = None,
    timed: dict[str, Any] | None = None,
) -> Prepared:
    """Return the content of a page about material; ``timed`` is the section on time."""
    model, found = material.model, evaluate(material)
    topics = topic_tables.topic_cards(material)
    order = sorted(range(len(topics)), key=lambda k: -topics[k]["share"])
    points, cut = document_tables.document_rows(material)
    return Prepared(
        title=str(title or "Topic report"),
        source=str(source or ""),
        kind=material.kind,
        text=bool(material.shown_texts),
        number=material.number_name,
        nouns=material.nouns,
        vectors=material.side is not None and material.side.vectors is not None,
        explained=material.explains,
        editable=not material.call,
        classes=material.classes,
        summary=summary(material, found),
        notices=notices(material, found),
        topics=topics,
        topics_digest=topics_digest(model),
        order=order,
        heatmap=[] if material.is_single_class else topic_tables.heatmap(material),
        markers=material.markers,
        class_sizes=material.class_sizes.tolist(),
        largest_classes=[material.classes[c] for c in material.chart_classes],
        charted_topics=topic_tables.chart_topics(material),
        points=points,
        anchors=document_tables.map_anchors(material),
        map_note=document_tables.documents_note(material),
        evaluation=evaluation_tables(found, material.classes, material.chart_classes),
        uncertain=document_tables.uncertain(material),
        mistaken=document_tables.mistaken(material, found),
        doubtful=document_tables.doubtful(material, found),
        far_off=document_tables.far_off(material, found),
        curves=curves(model.estimator_),
        changes=changes(material, found, order),
        reproduction=reproduction(material),
        cut=cut,
        over_time=timed,
        pooled=getattr(model.estimator_, "pooled_head", None) is not None,
    )


def curves(estimator: Any) -> list[dict[str, Any]]:
    """Return the terms of the objective after each iteration."""
    return [
        {"iteration": i, "term": name, "value": float(value)}
        for name in ("data", "target")
        for i, value in enumerate(estimator.history_.get(name, ()), 1)
        if np.isfinite(value)
    ]


def changes(
    material: Material, found: Evaluation | None, order: list[int]
) -> dict[str, Any] | None:
    """Compare the topics, in this order, with those of the same seed at λ = 0."""
    if found is None or found.plain is None:
        return None
    scores, rows = found.scores, topic_tables.match(material, found.plain)
    return {
        "metric": found.metrics[0],
        "with_labels": scores[MODEL],
        "without": scores[PLAIN],
        "shown": [format_score(found.kind, scores[name]) for name in (PLAIN, MODEL)],
        "iterations": found.plain.n_iter_,
        "topics": sorted(rows, key=lambda row: order.index(row["topic"])),
    }


# ---- facts about the model


def summary(material: Material, found: Evaluation | None) -> list[dict[str, Any]]:
    """Return the figures at the top of the page, each with a name and a remark."""
    n_topics, n_words = material.model.estimator_.components_.shape
    nouns = material.nouns
    rows = [
        _figure(nouns.samples, f"{len(material.S):,}", _documents_remark(material)),
        _figure("topics", str(n_topics), f"over {n_words:,} {nouns.features}"),
    ]
    if material.kind in ("classes", "sets"):
        name = "classes" if material.kind == "classes" else "labels"
        rows.append(_figure(name, str(len(material.classes)), _label_remark(material)))
    if material.kind == "numbers":
        rows += [_number_figure(material, c) for c in range(len(material.classes))][:MAX_FIGURES]
    expected = material.model.expected_score_
    if expected is not None and found is None and not material.is_single_class:
        where = f"on new {nouns.samples} like those of the fit"
        rows.append(_figure("expected", str(expected), where))
    if found is not None:
        score = format_score(found.kind, found.scores[MODEL])
        rows.append(_figure(found.metrics[0], score, _rival(found)))
    return rows


def _figure(name: str, value: str, remark: str) -> dict[str, Any]:
    return {"name": name, "value": value, "remark": remark}


MAX_FIGURES = 3  # numbers whose mean is shown


def _number_figure(material: Material, c: int) -> dict[str, Any]:
    """Return the median of a number's labels, and how far predictions may be off."""
    known = material.known[:, c][~np.isnan(material.known[:, c])]
    median = (
        summaries.shown_number(material.model, c, float(np.median(known))) if len(known) else ""
    )
    span = number_span(material.model, c)
    return _figure(material.classes[c], median, f"median of {len(known):,} labels{span}")


def number_span(model: Any, c: int) -> str:
    """Say how wide the interval of a predicted number is; "" if that is unknown."""
    head = model.estimator_.pooled_head
    half = float("inf") if head is None else float(np.asarray(head.half_width)[c])
    if not np.isfinite(half):
        return ""
    if model.estimator_.coding.logs[c]:
        return f"; nine of ten within a factor of {np.exp(half):.3g} of the prediction"
    return f"; nine of ten within ±{half:.3g} of the prediction"


def _rival(found: Evaluation) -> str:
    """Return the best of the other methods."""
    others = [(score, name) for name, score in found.scores.items() if name != MODEL]
    score, name = max(others, key=lambda pair: pair[0])
    return f"{name}: {format_score(found.kind, score)}"


def _documents_remark(material: Material) -> str:
    if material.X is None:
        return "of the fit; texts not given"
    if material.is_sample:
        return f"of the fit’s {material.model.fitted.corpus.n_documents:,}"
    own = f"the {material.nouns.samples} of the fit"
    return own if material.from_fit else "given for this report"


def _label_remark(material: Material) -> str:
    known, truth = (int(is_known(one).sum()) for one in (material.labels, material.truth))
    labelled = f"{known:,} {material.nouns.samples} labelled" if known else "labels not given"
    if truth and not known:
        labelled = f"{truth:,} labels to test with"
    return labelled if material.kind == "classes" else f"any number at once; {labelled}"


def reproduction(material: Material) -> dict[str, Any]:
    """Return versions, seed, fingerprints and the like, and the call that fits the model."""
    model = material.model
    facts = {
        "seed": str(model.seed_),
        "λ": f"{model.estimator_.supervision_:.6g}" if material.kind != "topics" else "none",
        "iterations": str(model.estimator_.n_iter_),
        "end of the fit": str(model.estimator_.stop_reason_),
        "data of the fit": model.fingerprint_,
    }
    if edited := _edits(model):
        facts["edited after the fit"] = edited
    if material.digest is not None:
        same = material.digest == model.fingerprint_
        facts["data of this report"] = "the same" if same else material.digest
    facts |= {f"time to {step}": f"{s:.1f} s" for step, s in model.timings_.items()}
    return {"facts": facts, "versions": versions(), "call": material.call or call(model)}


def _edits(model: Any) -> str:
    """Return how a user edited the topics; "" if nobody did."""
    if model.fitted.settled is None:
        return ""
    settled = Settled.of(model)
    counts = {
        "names given": sum(name is not None for name in settled.names),
        "topics frozen": sum(settled.frozen),
        "words pinned": sum(map(len, settled.pinned)),
        "words banned": sum(map(len, settled.banned)),
    }
    told = ", ".join(f"{name}: {count}" for name, count in counts.items() if count)
    return told or "yes"


def call(model: Any) -> str:
    """Return the Python call that fits such a model."""
    default = {
        name: parameter.default
        for name, parameter in inspect.signature(type(model).__init__).parameters.items()
    }
    changed = [
        f"{name}={shortened(repr(value), 300)}"
        for name, value in model.get_params(deep=False).items()
        if name not in ("random_state", "n_components")
        and value is not default[name]
        and repr(value) != repr(default[name])
    ]
    settings = ", ".join([str(model.n_components), *changed, f"random_state={model.seed_}"])
    then = "  # then its topics were edited" if _edits(model) else ""
    if model.fitted.n_undescribed:
        return f"TopicModel({settings})  # its fit read parts; cofactor verify repeats it{then}"
    return f"TopicModel({settings}).fit(documents, labels){then}"


# ---- downloads


def downloads(prepared: Prepared) -> dict[str, Sheet]:
    """Return the tables that a reader can save as CSV; the page's script makes some more."""
    scores = prepared.evaluation or {}
    methods = scores.get("by_method", [])
    sheets = {
        "methods": sheet(_method_rows(scores)),
        "confusion": sheet(scores.get("confusion_pairs", [])),
        "classes_scores": sheet(map(_named, scores.get("per_class", []))),
        "calibration": sheet(scores.get("calibration", [])),
        "pairs": sheet(scores.get("pairs", [])),
        "labels_scores": sheet(_by_method(scores.get("per_label", []), methods)),
        "targets_scores": sheet(_by_method(scores.get("per_target", []), methods)),
        "changes": sheet(map(_joined, (prepared.changes or {}).get("topics", []))),
        "review": sheet([*_reviewed(prepared.mistaken), *_reviewed(prepared.uncertain)]),
        "doubtful": sheet(prepared.doubtful),
        "far_off": sheet(prepared.far_off),
        "markers": sheet(marker_rows(prepared.markers)),
        "training": sheet(prepared.curves),
    }
    heading = prepared.nouns.heading
    return {
        name: {**each, "columns": [*map(heading, each["columns"])]}
        for name, each in sheets.items()
        if each["rows"]
    }


def marker_rows(markers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what marks each class, one line each."""
    return [
        {"class": row["class"], "against": against, **word}
        for row in markers
        for against, words in (("all classes", row["words"]), (row["nearest"], row["against"]))
        for word in words
    ]


def sheet(rows: Iterable[dict[str, Any]]) -> Sheet:
    """Return rows as a list of columns and lists of values.

    Examples
    --------
    >>> sheet([{"a": 1}, {"a": 2, "b": 3}])
    {'columns': ['a', 'b'], 'rows': [[1, None], [2, 3]]}
    """
    rows = list(rows)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return {"columns": columns, "rows": [[row.get(name) for name in columns] for row in rows]}


def _method_rows(scores: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "method": row["method"],
            scores["metric"]: row["score"],
            **dict(zip(scores["more"], row["more"], strict=True)),
            "low": row["low"],
            "high": row["high"],
        }
        for row in scores.get("methods", [])
    ]


def _named(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the names of the page, without the scores of `_by_method`."""
    apart = ("by_method", "average_precision")
    return {"F1" if k == "f1" else k: value for k, value in row.items() if k not in apart}


def _by_method(rows: list[dict[str, Any]], methods: list[str]) -> list[dict[str, Any]]:
    """Return rows with separate columns for the scores of each method."""
    return [
        {
            **_named(row),
            **{
                f"{score}, {method}": value
                for method, found in zip(methods, row["by_method"], strict=True)
                for score, value in _method_scores(found).items()
            },
        }
        for row in rows
    ]


def _method_scores(found: Any) -> dict[str, Any]:
    if isinstance(found, dict):
        return {"R²": found["r2"], "mean error": found["mean_error"]}
    return {"AP": found}


def _joined(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: ", ".join(value) if isinstance(value, list) else value for name, value in row.items()
    }


def _reviewed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the documents to review, one line each."""
    return [
        {
            "document": row["document"],
            "true class": row.get("truth", ""),
            "text": row["text"],
            **{
                f"{name} {n}": value
                for n, side in enumerate(row["sides"], 1)
                for name, value in (
                    ("class", side["class"]),
                    ("probability", side["probability"]),
                    ("words", ", ".join(word["word"] for word in side["words"])),
                )
            },
            "without": "; ".join(
                f"{each['word']}: {each['prediction']}" for each in row["without"]
            ),
        }
        for row in rows
    ]
