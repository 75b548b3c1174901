"""`cofactor explain`: the words behind a prediction."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from cofactor.cli import _options as opt
from cofactor.cli._command import BadInput, Command
from cofactor.cli._models import open_model
from cofactor.cli._terminal import emit, make_table, note, percent, show, shown


@click.command(cls=Command)
@opt.model_argument
@click.argument("text")
@opt.words_option("Words to show.", default=15)
@opt.option("--class target NAME", "Class or label to explain.  [default: the predicted one]")
@opt.option(
    "--against rival NAME", "Class to compare it with.  [default: the most probable other one]"
)
@opt.add(opt.MODEL_ENCODER, "as_json")
def explain(
    model: Path,
    text: str,
    words: int,
    target: str | None,
    rival: str | None,
    vectors: opt.EncoderOptions,
    as_json: bool,
) -> None:
    """Show which words of a text support which topic and class.

    TEXT is the text itself; - reads it from stdin. The output shows why the prediction is this
    class and not the next one. The contributions of words and topics and the base add up to the
    score of the class, and their differences to its lead over the next class. Where a text may have
    several labels, each is compared with its threshold. Then the text is predicted again without
    the words that matter most, one at a time. The last lines divide the contributions among the
    topics, as far as the topics expect the words, and the rest.
    """
    text = sys.stdin.read() if text == "-" else text
    if not text.strip():
        raise BadInput("TEXT is empty; pass some words, in quotes.")
    from cofactor.text.describe.predictions import learns_logarithms

    opened = open_model(model, vectors)
    text = text.encode("utf-8", "replace").decode()
    document = opened.model.documents([text])[0]
    found = opened.model.explain(text, target=target, rival=rival)
    if as_json:
        emit({"model": opened.origin(), **_facts(found, document)})
    else:
        _show(found, document, words)
        explained = found.explained if found.is_known else None
        if explained is not None and learns_logarithms(opened.model.estimator_, explained):
            note(
                "Scores are logarithms, as the fit learned those of the labels: 0.1 more makes a "
                "number about 10% larger."
            )


def _facts(found: Any, document: Any) -> dict[str, Any]:
    """Return the explanation as JSON values."""
    return {
        "prediction": document.prediction,
        "confidence": document.confidence,
        "topic": document.name,
        "scores": _by_name(found.classes, found.scores),
        "base": _by_name(found.classes, found.base),
        "beside_topics": _by_name(found.classes, found.beside_topics),
        "contrast": _contrast(found.contrast) if found.is_known and found.contrast else None,
        "left_out": found.left_out.to_records(),
        "topics": [_topic(found, k) for k in range(len(found.topic_names))],
        "words": [_word(found, j) for j in range(len(found.words))],
        "unknown": found.unknown,
    }


def _by_name(names: list[Any], values: Any) -> list[dict[str, Any]]:
    return [{"class": n, "value": v} for n, v in zip(names, values.tolist(), strict=True)]


def _contrast(contrast: Any) -> dict[str, Any]:
    """Return the lead of a class; against is None for the threshold of a label."""
    return {
        "class": contrast.target,
        "against": contrast.rival,
        "lead": contrast.lead,
        "base": contrast.base,
    }


def _topic(found: Any, k: int) -> dict[str, Any]:
    return {
        "topic": k,
        "name": found.topic_names[k],
        "strength": float(found.topics[k]),
        "classes": found.topic_scores[k].tolist(),
        "through": found.through_topics[k].tolist(),
        "difference": None if found.contrast is None else float(found.contrast.topics[k]),
    }


def _word(found: Any, j: int) -> dict[str, Any]:
    return {
        "word": found.words[j],
        "weight": float(found.weights[j]),
        "topics": found.topic_parts[j].tolist(),
        "classes": found.class_parts[j].tolist(),
        "difference": None if found.contrast is None else float(found.contrast.words[j]),
    }


def _show(found: Any, document: Any, words: int) -> None:
    show(*(f"{name}: {value}" for name, value in _headline(found, document)))
    if found.is_known:
        _show_words(found, words)
    if found.unknown:
        note(f"Words that the model does not know: {shown(' '.join(found.unknown), 400)}")


def _show_words(found: Any, words: int) -> None:
    show("", _word_table(found, words))
    if found.explained is not None:
        c = found.explained
        parts = (found.class_parts[:, c], found.topic_scores[:, c], found.base[c])
        lines = [_sum(f"Score of {shown(found.classes[c])}", found.scores[c], *parts)]
        if (lead := found.contrast) is not None:
            over = "its threshold" if lead.rival is None else shown(lead.rival)
            lines.append(_sum(f"Lead over {over}", lead.lead, lead.words, lead.topics, lead.base))
        show("", *lines, *_without(found))
        show("The words and topics by topic:", *_through_topics(found, c))
    rest = len(found.words) - words
    if rest > 0:
        note(f"{rest:,} more words; --words {len(found.words)} shows all.")


def _word_table(found: Any, words: int) -> Any:
    """Return the words that matter most; the one that speaks most for the class comes first."""
    several = found.contrast is not None and len(found.classes) > 1
    numbers = ["Topic part" if found.explained is None else "Score"]
    if several and found.contrast.rival is not None:
        numbers = ["Lead", *numbers]
    classes = ["Favours"] if several else []
    table = make_table(*numbers, "Word", "Topic", *classes, numbers=tuple(numbers))
    for column in (table.columns[len(numbers)], *table.columns[len(numbers) + 2 :]):
        column.no_wrap, column.overflow = True, "ellipsis"  # only names of topics are wrapped
    most = {found.words[j] for j in found.ranked[:words]}
    rows = [row for row in found.table if row.word in most]
    if len(numbers) > 1:
        rows.sort(key=lambda row: -row.difference)
    for row in rows:
        values = [row.difference, row.contribution][-len(numbers) :]
        best = [shown(row.speaks_for, 24)] if several else []
        cells = shown(row.word, 24), shown(row.topic, 30), *best
        table.add_row(*(f"{v:z.4f}" for v in values), *cells)
    return table


def _sum(name: str, total: float, words: Any, topics: Any, base: float) -> str:
    parts = {"words": words.sum(), "topics": topics.sum(), "base": base}
    return f"{name} {total:z.4f}: " + ", ".join(f"{n} {value:z.4f}" for n, value in parts.items())


def _without(found: Any) -> list[str]:
    """Return a line for each word that was left out."""
    if not found.left_out:
        return []
    aim = shown(found.classes[found.explained], 16)
    alone = len(found.words) == 1
    return [
        "Without one word:",
        *(
            f"  {shown(row.word, 24)}: "
            + ("no known word is left" if alone else _changed(found, row, aim))
            for row in found.left_out
        ),
    ]


def _changed(found: Any, row: Any, aim: str) -> str:
    """Return what is predicted without a word, and how much that changes."""
    said = _format(found, row.prediction)
    if row.probability is None:
        return f"{said} ({aim} {row.change:+z.4g})"
    return f"{said} ({aim} {percent(row.probability)}, {100 * row.change:+z.1f} points)"


def _through_topics(found: Any, c: int, most: int = 3) -> list[str]:
    """Return a line for each topic that adds much to the score of a class, and for the rest."""
    parts = list(enumerate(found.through_topics[:, c].tolist()))
    ranked = sorted(parts, key=lambda part: -abs(part[1]))
    lines = [(shown(found.topic_names[k], 40), part) for k, part in ranked[:most] if part]
    if len(ranked) > most:
        lines.append(("other topics", sum(part for _, part in ranked[most:])))
    lines.append(("words that the topics do not expect", float(found.beside_topics[c])))
    return [f"  {part:z8.4f}  {name}" for name, part in lines]


def _headline(found: Any, document: Any) -> list[tuple[str, str]]:
    if not found.is_known:
        from cofactor.text.describe.explain import NOTHING_KNOWN

        return [("Prediction" if found.classes else "Topic", NOTHING_KNOWN)]
    topic = f"{shown(document.name, 60)} ({percent(document.share)})"
    lines = [("Topic", topic if document.topic >= 0 else "none; no word of the text has one")]
    if found.classes:
        sure = document.confidence
        least = "least certain label: " if isinstance(document.prediction, tuple) else ""
        confidence = "" if sure is None else f" ({least}{percent(sure)})"
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
