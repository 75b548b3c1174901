"""What a manifest says about the topics of a model, so that they can be shown without loading it.

The model card and `cofactor topics` show these facts. Importing this module imports no estimator.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from cofactor.io.errors import printable

WORDS_IN_MANIFEST = 20
"""Number of words of each topic that a manifest holds, in each order."""
MAX_TOPICS_IN_MANIFEST = 1000
"""A manifest does not describe the topics of a model that has more."""
MAX_LABEL_CHARACTERS = 200
TOPIC_FACTS: dict[str, Any] = {
    "topic": int,
    "name": str,
    "given_name": str | None,
    "share": float,
    "label": str | None,
    "link": str,
    "labels": int | None,
    "stability": str,
    "settled": str,
    "repeated": bool,
    "words": dict,
    "coherence": dict,
}
"""The facts about a topic and their types; words and coherence are listed by order of the words."""


@dataclass(frozen=True)
class Description:
    """What is shown of a TopicModel without loading it, in values that JSON holds.

    Parameters
    ----------
    predicts : str
        "topics" (nothing), "classes", "sets" or "numbers".
    expectation : str
        A sentence about the score to expect on new documents; "" if nothing is known.
    topics : list of dict
        `TOPIC_FACTS` of each topic, in the order of their numbers.
    """

    predicts: str
    expectation: str
    topics: list[dict[str, Any]]

    @classmethod
    def of(cls, model: Any, n_words: int = WORDS_IN_MANIFEST) -> Description:
        """Describe a fitted TopicModel, with ``n_words`` words of each topic."""
        from cofactor.text.describe.predictions import predicted_kind

        kind = predicted_kind(model.estimator_)
        return cls(kind, expectation(model), _describe_topics(model, n_words))

    @classmethod
    def read(cls, facts: dict[str, Any], n_words: int) -> Description | None:
        """Return the description in a manifest.

        None if there is none, as in older models, if it has fewer words, or if it is damaged.
        """
        found = facts.get("description")
        if n_words > WORDS_IN_MANIFEST or not isinstance(found, dict):
            return None
        predicts, said, topics = (found.get(n) for n in ("predicts", "expectation", "topics"))
        if not (isinstance(predicts, str) and isinstance(said, str) and isinstance(topics, list)):
            return None
        if not all(map(_is_good, topics)):
            return None
        return cls(predicts, said, topics)

    def to_json(self) -> dict[str, Any] | None:
        """Return what a manifest holds; None for a model with too many topics."""
        return None if len(self.topics) > MAX_TOPICS_IN_MANIFEST else asdict(self)


def _describe_topics(model: Any, n_words: int) -> list[dict[str, Any]]:
    from cofactor.text.describe import summaries
    from cofactor.text.editing import Settled

    settled, repeated = Settled.of(model), summaries.repeated_topics(model)
    tables = {by: model.topics(n_words, by=by) for by in summaries.ORDERS}
    return [
        {
            "topic": one.topic,
            "name": one.name,
            "given_name": settled.names[one.topic],
            "share": one.share,
            "label": None if one.label is None else str(one.label)[:MAX_LABEL_CHARACTERS],
            "link": summaries.shown_link(model, one),
            "labels": one.labels,
            "stability": summaries.shown_stability(one),
            "settled": settled.said(one.topic),
            "repeated": one.topic in repeated,
            "words": {by: [*table[one.topic].words] for by, table in tables.items()},
            "coherence": {by: _finite(table[one.topic].coherence) for by, table in tables.items()},
        }
        for one in tables["coherence"]
    ]


def _finite(value: float) -> float | None:
    return value if value - value == 0 else None


def _is_good(topic: Any) -> bool:
    """Return whether a topic in a manifest has the facts that we write."""
    if not isinstance(topic, dict) or topic.keys() != TOPIC_FACTS.keys():
        return False
    if not all(isinstance(topic[name], kind) for name, kind in TOPIC_FACTS.items()):
        return False
    words, coherence = topic["words"], topic["coherence"]
    orders = {"coherence", "probability"}
    return (
        words.keys() == coherence.keys() == orders
        and all(isinstance(some, list) for some in words.values())
        and all(isinstance(word, str) for some in words.values() for word in some)
        and all(isinstance(value, float | None) for value in coherence.values())
    )


def expectation(model: Any) -> str:
    """Return a sentence about the score to expect on new documents; "" if nothing is known."""
    expected = model.expected_score_
    if expected is None or (expected.measure == "accuracy" and len(model.target_names_) < 2):
        return ""  # of a single class, every label is right
    names = [printable(str(name)) for name in model.target_names_]
    said = expected.said(names)
    return f"Expected on new texts like these: {said}.{_beside_chance(model, expected)}"


def _beside_chance(model: Any, expected: Any) -> str:
    """Say whether a prediction that reads no text may be as good; "" if it is worse."""
    labels = model.estimator_.pooled_head.labels if model.estimator_.pooled_head else None
    always, level = "the mean", 0.0
    if expected.measure == "accuracy" and labels is not None and labels.any():
        always = repr(printable(str(model.target_names_[int(labels.argmax())])))
        level = float(labels.max() / labels.sum())
        always += f" (right for {level:.0%})"
    elif expected.measure != "R²":
        return ""
    if expected.low > level:
        return ""
    return (
        f" Always predicting {always} may be as good: either the texts do not predict these "
        "labels, or there are too few of them."
    )
