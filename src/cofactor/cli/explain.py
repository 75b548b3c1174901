"""`cofactor explain`: the words behind a prediction."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.command import COUNT, MODEL, BadInput, Command, json_option
from cofactor.cli._shared.models import answered, open_model
from cofactor.cli._shared.terminal import emit, make_table, note, percent, show, shown


@click.command(cls=Command)
@click.argument("model", type=MODEL)
@click.argument("text")
@click.option("--words", type=COUNT, default=15, help="Words to show.")
@json_option
def explain(model: Path, text: str, words: int, as_json: bool) -> None:
    """Show which words of a text speak for which topic and class.

    TEXT is the text itself; - reads it from stdin. The contributions of words and topics and the
    base add up to the score of the prediction. The last lines divide those of words and topics
    among the topics, as far as the topics expect the words, and the rest.
    """
    text = sys.stdin.read() if text == "-" else text
    if not text.strip():
        raise BadInput("TEXT is empty; pass some words, in quotes.")
    opened = open_model(model)
    text = text.encode("utf-8", "replace").decode()
    found, document = opened.model.explain(text), opened.model.documents([text])[0]
    if as_json:
        emit({"model": opened.origin(), **_facts(found, document)})
    else:
        _show(found, document, words)


def _facts(found: Any, document: Any) -> dict[str, Any]:
    """Return the explanation as JSON values."""
    topics = zip(found.topic_names, found.topics.tolist(), strict=True)
    prediction, confidence = answered(document)
    return {
        "prediction": prediction,
        "confidence": confidence,
        "topic": document.name,
        "scores": _by_name(found.classes, found.scores),
        "base": _by_name(found.classes, found.base),
        "beside_topics": _by_name(found.classes, found.beside_topics),
        "topics": [
            {
                "topic": k,
                "name": n,
                "strength": s,
                "classes": found.topic_scores[k].tolist(),
                "through": found.through_topics[k].tolist(),
            }
            for k, (n, s) in enumerate(topics)
        ],
        "words": [_word(found, j) for j in range(len(found.words))],
        "unknown": found.unknown,
    }


def _by_name(names: list[Any], values: Any) -> list[dict[str, Any]]:
    return [{"class": n, "value": v} for n, v in zip(names, values.tolist(), strict=True)]


def _word(found: Any, j: int) -> dict[str, Any]:
    return {
        "word": found.words[j],
        "weight": float(found.weights[j]),
        "topics": found.topic_parts[j].tolist(),
        "classes": found.class_parts[j].tolist(),
    }


def _show(found: Any, document: Any, words: int) -> None:
    show(*(f"{name}: {value}" for name, value in _headline(found, document)))
    if found.words:
        _show_words(found, words)
    if found.unknown:
        note(f"Words that the model does not know: {shown(' '.join(found.unknown), 400)}")


def _show_words(found: Any, words: int) -> None:
    aim = "topic" if found.predicted is None else shown(found.classes[found.predicted], 16)
    table = make_table(f"For {aim}", "Word", "Topic", *(["Class"] if found.classes else []),
                       numbers=(f"For {aim}",))  # fmt: skip
    for row in found.table[:words]:
        best = [shown(row.speaks_for, 16)] if found.classes else []
        table.add_row(f"{row.contribution:.4f}", shown(row.word), shown(row.topic, 30), *best)
    show("", table)
    if found.predicted is not None:
        c = found.predicted
        sums = [
            ("words", found.class_parts[:, c].sum()),
            ("topics", found.topic_scores[:, c].sum()),
        ]
        parts = ", ".join(f"{name} {value:.4f}" for name, value in [*sums, ("base", found.base[c])])
        show("", f"Score {found.scores[c]:.4f}: {parts}")
        show("The words and topics by topic:", *_through_topics(found, c))
    rest = len(found.words) - words
    if rest > 0:
        note(f"{rest:,} more words; --words {len(found.words)} shows all.")


def _through_topics(found: Any, c: int, most: int = 3) -> list[str]:
    """Return a line for each topic that adds much to the score of a class, and for the rest."""
    parts = list(enumerate(found.through_topics[:, c].tolist()))
    ranked = sorted(parts, key=lambda part: -abs(part[1]))
    lines = [(shown(found.topic_names[k], 40), part) for k, part in ranked[:most] if part]
    if len(ranked) > most:
        lines.append(("other topics", sum(part for _, part in ranked[most:])))
    lines.append(("words that the topics do not expect", float(found.beside_topics[c])))
    return [f"  {part:8.4f}  {name}" for name, part in lines]


def _headline(found: Any, document: Any) -> list[tuple[str, str]]:
    if document.topic < 0:
        return [
            (
                "Prediction" if found.classes else "Topic",
                "none; the model knows no word of the text",
            )
        ]
    lines = [("Topic", f"{shown(document.name, 60)} ({percent(document.share)})")]
    if found.classes:
        sure = document.confidence
        confidence = "" if sure is None else f" ({percent(sure)})"
        lines.insert(0, ("Prediction", f"{_format(found, document.prediction)}{confidence}"))
    return lines


def _format(found: Any, prediction: Any) -> str:
    """Return a prediction as text."""
    if not isinstance(prediction, tuple):
        return shown(f"{prediction:.4g}" if isinstance(prediction, float) else prediction, 60)
    if not prediction:
        return "no label reaches its threshold"
    if isinstance(prediction[0], float):
        pairs = zip(found.classes, prediction, strict=True)
        return ", ".join(f"{shown(name, 20)} {value:.4g}" for name, value in pairs)
    return shown(", ".join(map(str, prediction)), 60)
