"""Explanations: the part of each word in the topics and the prediction of a document.

*Parts.* At the best representation s of a document x, with p = As, each s_k > 0 is in balance:

    Σ_j pull_jk = push_k,   pull_jk = a_jk · (log·x_j/p_j + down·x_j + inverse·x_j/p_j²),

where pull is the numerator of the multiplicative rule, for any divergence. So s_k = Σ_j s_k ·
pull_jk / push_k, which gives each word its part. For Kullback–Leibler the part is x_j times topic
k's share in p_j, per unit of the topic. We divide by Σ_j pull_jk instead of push_k, so that the
parts add up to s exactly, even if s has not fully converged.

The pooled head scores words directly, with weights Ω. Their contribution through the topics is
exact, too: x·Ω = Σ_k s_k (a_k·Ω) + (x − p)·Ω, where the last term is the words' contribution beside
the topics.

*Vectors.* The vector of a static encoder is the mean of the tokens' vectors, so each word has its
part in what the vector adds to the scores. The vector of another encoder has one part, that of the
text as a whole.

*Contrasts.* Scores add up over words, topics and a base, so the difference between the scores of
two classes does, too. If a document may have several labels, each label is compared with its
threshold instead of another label, and the threshold is subtracted from the base.

*Words left out.* A word is left out by setting its cell in the document's row to 0. A row of length
one, as most vectorizers make them, is scaled to length one again. So the prediction is that of the
text without the word; pairs of words and character sequences count separately.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cofactor.divergences import Divergence
from cofactor.errors import Parameter, ParameterError
from cofactor.estimators.inference import topic_shares
from cofactor.estimators.validation import as_divergence
from cofactor.io.errors import suggestion
from cofactor.linear.views import Side
from cofactor.text.describe.predictions import (
    has_head,
    label_thresholds,
    predict_rows,
    predicted_kind,
    read_predictions,
    score_scale,
    scores_of,
)
from cofactor.text.describe.summaries import model_words
from cofactor.text.describe.table import Table
from cofactor.text.documents import DocumentRows, document_side
from cofactor.text.encoders import text_parts, text_without
from cofactor.text.vectorizer.occurrences import (
    Occurrence,
    coloured,
    cut_pieces,
    find_forms,
    find_occurrences,
    forms,
)

NOTHING_KNOWN = "none; the model knows no word of the text"
WHOLE_TEXT = "the text as a whole"  # stands for the vector of an encoder that is not static
MAX_NOTEBOOK_TEXT = 2000  # characters of a text that a notebook shows
LENGTH_TOLERANCE = 1e-5  # a row with a norm this close to 1 has length one


@dataclass(frozen=True, eq=False)
class Contrast:
    """Why one class is predicted rather than another: ``base``, ``words`` and ``topics`` add up to
    ``lead``.

    Parameters
    ----------
    target : object
        The explained class or label.
    rival : object
        The class to compare with; None for a label, which is compared with its threshold.
    lead : float
        Score of the target minus that of the rival, or minus the threshold.
    words : array (n_words,)
        Contribution of each word to the target minus that to the rival.
    topics : array (n_topics,)
        The same for the contributions of topics themselves.
    base : float
        The same for the part that belongs to no word.

    Examples
    --------
    With the model of `TopicModel`'s example:

    >>> found = model.explain("refund after the update").contrast
    >>> found.target, found.rival, found.lead > 0
    ('support', 'billing', True)
    """

    target: Any
    rival: Any
    lead: float
    words: np.ndarray
    topics: np.ndarray
    base: float


@dataclass(frozen=True)
class LeftOut:
    """The prediction for a document without one of its words."""

    word: str
    prediction: Any
    probability: float | None  # of the explained class or label; None for numbers
    change: float  # of that probability, or of the number, when the word is left out


def choose_pair(
    model: Any, scores: np.ndarray, target: Any = None, rival: Any = None
) -> tuple[int | None, int | None]:
    """Return the indices of the target to explain and of the class to compare it with.

    The default target is the predicted class, the label furthest above its threshold, or the
    largest number; the default rival is the class with the highest score among the others.
    """
    kind, names = predicted_kind(model.estimator_), list(model.target_names_)
    if rival is not None and kind != "classes":
        raise ParameterError(
            (Parameter("rival", rival), " is given, but the model does not choose between classes"),
            "leave it out",
        )
    if kind == "topics":
        if target is not None:
            raise ParameterError(
                (Parameter("target", target), " is given, but the model has no labels"),
                "leave it out",
            )
        return None, None
    leads = scores - label_thresholds(model.estimator_)
    first = int(np.argmax(leads)) if target is None else _place(names, target, "target")
    others = [int(c) for c in np.argsort(-scores, kind="stable") if c != first]
    if kind != "classes" or not others:
        return first, None
    second = others[0] if rival is None else _place(names, rival, "rival")
    if second == first:
        raise ParameterError(
            (Parameter("rival", rival), " is the class itself"), "name another class"
        )
    return first, second


def _place(names: list[Any], wanted: Any, parameter: str) -> int:
    """Return the index of a name; names that are not strings may be given as strings, too."""
    for place, name in enumerate(names):
        if name == wanted or str(name) == wanted:
            return place
    known = suggestion(str(wanted), [str(name) for name in names])
    raise ParameterError((Parameter(parameter, wanted), " is not known to the model"), known)


def contrast_with(told: Explanation, estimator: Any, rival: int | None) -> Contrast | None:
    """Return the contrast between the explained target and a rival, or between a label and its
    threshold; None if there is nothing to compare with."""
    kind, c = predicted_kind(estimator), told.explained
    if c is None or kind == "numbers" or (kind == "classes" and rival is None):
        return None
    words, topics = told.class_parts[:, c], told.topic_scores[:, c]
    lead, base = told.scores[c], told.base[c]
    if rival is None:
        threshold = label_thresholds(estimator)[c]
        lead, base = lead - threshold, base - threshold
    else:
        words, topics = words - told.class_parts[:, rival], topics - told.topic_scores[:, rival]
        lead, base = lead - told.scores[rival], base - told.base[rival]
    name = None if rival is None else told.classes[rival]
    return Contrast(told.classes[c], name, float(lead), words, topics, float(base))


def leave_out(
    model: Any,
    document: DocumentRows,
    texts: Sequence[str],
    places: Sequence[int | None],
    words: Sequence[str],
    c: int,
) -> Table[LeftOut]:
    """Predict a document without some of its words, one at a time.

    Parameters
    ----------
    model : TopicModel
        A fitted model.
    document : DocumentRows
        The document.
    texts : sequence of str
        Its text without each of the words, for an encoder and further words.
    places : sequence of int or None
        Columns of the words to leave out; None for a word that is not among them.
    words : sequence of str
        These words.
    c : int
        Index of the explained target.
    """
    if not len(places):
        return Table([], LeftOut)
    estimator, x = model.estimator_, np.asarray(document.X.toarray()[0])
    rows = csr_array(np.vstack([x, *(x if j is None else row_without(x, j) for j in places)]))
    side = document.side
    if side is not None and (others := document_side(model, list(texts))) is not None:
        side = side.above(others)
    scores = scores_of(estimator, rows, np.asarray(estimator.transform(rows)), side)
    P, numbers = predict_rows(estimator, scores)
    values = (numbers.reshape(len(scores), -1) if P is None else P)[:, c].tolist()
    predicted = read_predictions(estimator, scores, model.target_names_)[0]
    found = [
        LeftOut(word, predicted[i], None if P is None else values[i], values[i] - values[0])
        for i, word in enumerate(words, 1)
    ]
    return Table(found, LeftOut)


def row_without(x: np.ndarray, j: int) -> np.ndarray:
    """Return a row with cell j set to 0; a row of length one stays of length one.

    Examples
    --------
    >>> row_without(np.array([0.6, 0.8]), 0), row_without(np.array([2.0, 3.0]), 0)
    (array([0., 1.]), array([0., 3.]))
    """
    rest = x.copy()
    rest[j] = 0
    for order in (1, 2):
        length = np.linalg.norm(rest, order)
        if length > 0 and abs(np.linalg.norm(x, order) - 1) < LENGTH_TOLERANCE:
            return np.asarray(rest / length)
    return rest


@dataclass(frozen=True)
class WordPart:
    """The part of one word of a document."""

    word: str
    weight: float  # tf-idf in the document
    topic: str  # the topic that it indicates most
    topic_part: float  # its part in the strength of that topic
    speaks_for: Any  # the class that it indicates most
    contribution: float  # to the score of the explained class
    difference: float | None = None  # its contribution minus that to the runner-up


@dataclass(frozen=True, eq=False)
class Explanation:
    """The parts of words in a prediction.

    Over the words, ``topic_parts`` add up to ``topics``. The sums of ``class_parts`` and
    ``topic_scores``, and ``base``, add up to ``scores``. With the pooled head the scores of classes
    are those of ``decision_function``, which softmax turns into probabilities; with the other heads
    they are the probabilities. Scores of numbers are the predictions. Scores of several labels are
    uncalibrated log-odds with the pooled head, else fitted values, which ``predict_proba`` clips to
    0 … 1.

    ``contrast`` compares the class with the next one; ``left_out`` shows what single words change.

    Parameters
    ----------
    words : list of str
        The document's known words, in the form in which they stand in it. With an encoder, further
        words that only the encoder knows, or one line for the text as a whole.
    weights : array (n_words,)
        Their weights in the document, 0 for further words.
    topic_names : list of str
        Names of the topics.
    topics : array (n_topics,)
        The document's representation.
    topic_parts : array (n_words, n_topics)
        Each word's part in it.
    classes : list
        Classes, or names of numeric targets; empty without a target.
    scores : array (n_classes,)
        The scores that the prediction is derived from.
    class_parts : array (n_words, n_classes)
        Each word's contribution to the scores.
    topic_scores : array (n_topics, n_classes)
        Contribution of each topic itself to the scores; 0 if the words' contributions go through
        the topics.
    through_topics : array (n_topics, n_classes)
        Contributions by topic: that of the topic itself and of its words, as far as the topics
        expect them. The rest of the scores, without ``base``, is in ``beside_topics``.
    base : array (n_classes,)
        The part that belongs to no word: the offset of numeric targets, or equal shares for an
        empty document.
    prediction : object
        As from ``predict``; None without a target.
    confidence : float or None
        Probability of the prediction; None for numbers and without a target.
    unknown : list of str
        Words of the text that the model does not know.
    explained : int or None
        Index of the explained class, label or number; None without a target.
    contrast : Contrast or None
        The parts for the explained class minus those for the runner-up, or for a label minus its
        threshold. None for numbers, without a target, and with a single class.
    left_out : Table
        The predictions without a word, for the words with the largest parts in ``contrast`` (or in
        the number).
    names : list of str
        The names of ``words`` in the model's vocabulary: "moons" may count as "moon".
    text : str
        The text; "" if only its row is known.
    occurrences : list of Occurrence
        Where the words stand in the text.

    Examples
    --------
    >>> from cofactor import TopicModel
    >>> texts = ["wrong invoice", "refund the invoice", "login fails", "the app crashes at login"]
    >>> model = TopicModel(2, random_state=0).fit(texts, ["billing", "", "support", ""])
    >>> told = model.explain("login to the invoice app")
    >>> told.prediction, told.contrast.rival, [row.word for row in told.table]
    ('support', 'billing', ['login', 'app', 'invoice'])
    >>> parts = told.contrast
    >>> bool(abs(parts.words.sum() + parts.topics.sum() + parts.base - parts.lead) < 1e-9)
    True
    """

    words: list[str]
    weights: np.ndarray
    topic_names: list[str]
    topics: np.ndarray
    topic_parts: np.ndarray
    classes: list
    scores: np.ndarray
    class_parts: np.ndarray
    topic_scores: np.ndarray
    through_topics: np.ndarray
    base: np.ndarray
    prediction: Any = None
    confidence: float | None = None
    unknown: list[str] = field(default_factory=list)
    explained: int | None = None
    contrast: Contrast | None = None
    left_out: Table[LeftOut] = field(default_factory=lambda: Table([], LeftOut))
    names: list[str] = field(default_factory=list)
    text: str = ""
    occurrences: list[Occurrence] = field(default_factory=list)

    @property
    def is_known(self) -> bool:
        """Whether the model knows something of the document; otherwise it predicts nothing."""
        return bool(self.topics.any() or self.class_parts.any())

    @property
    def predicted(self) -> int | None:
        """Index of the class with the highest score; None without a target."""
        return int(np.argmax(self.scores)) if len(self.classes) else None

    @property
    def beside_topics(self) -> np.ndarray:
        """Contributions of words beside the topics (n_classes,)."""
        return np.asarray(self.scores - self.base - self.through_topics.sum(axis=0))

    @property
    def table(self) -> Table[WordPart]:
        """The words, by their contribution to the explained target (or the main topic)."""
        parts = self.main_parts
        return Table([self._row(j, parts) for j in np.argsort(-parts, kind="stable")], WordPart)

    @property
    def main_parts(self) -> np.ndarray:
        """Contributions of the words to the explained target, or to the main topic."""
        if self.explained is not None:
            return np.asarray(self.class_parts[:, self.explained])
        return np.asarray(self.topic_parts[:, int(np.argmax(self.topics))])

    @property
    def shown_parts(self) -> np.ndarray:
        """Contributions of the words to the lead, or `main_parts` if there is no contrast."""
        return self.main_parts if self.contrast is None else self.contrast.words

    @property
    def ranked(self) -> np.ndarray:
        """Indices of the words, those that change the lead most, up or down, first."""
        return np.argsort(-np.abs(self.shown_parts), kind="stable")

    @property
    def coloured_text(self) -> list[tuple[str, int]]:
        """The text in pieces, each with its colour by what its words contribute to the lead:
        1 to 3 for, −1 to −3 against, 0 neither."""
        parts = dict(zip(self.names, self.shown_parts.tolist(), strict=True))
        return coloured(self.text, self.occurrences, parts)

    def _row(self, j: int, parts: np.ndarray) -> WordPart:
        topic = int(np.argmax(self.topic_parts[j]))
        best = self.classes[int(np.argmax(self.class_parts[j]))] if self.classes else None
        return WordPart(
            self.words[j],
            float(self.weights[j]),
            self.topic_names[topic] if self.weights[j] else "",
            float(self.topic_parts[j, topic]),
            best,
            float(parts[j]),
            None if self.contrast is None else float(self.contrast.words[j]),
        )

    def __repr__(self) -> str:
        lines = [self._said(), repr(self.table) if self.is_known else "", self._not_known()]
        return "\n".join(line for line in lines if line)

    def _repr_html_(self) -> str:
        """Show the text, its words darker if they matter more, and the table."""
        text = "".join(starmap(_tinted, cut_pieces(self.coloured_text, MAX_NOTEBOOK_TEXT)))
        lines = [html.escape(self._said()), f'<span dir="auto">{text}</span>' if text else ""]
        lines.append(html.escape(self._not_known()))
        shown = "".join(f"<p>{line}</p>" for line in lines if line)
        return f"{shown}{self.table._repr_html_() if self.is_known else ''}"

    def _said(self) -> str:
        if not self.is_known:
            return f"{'prediction' if self.classes else 'topic'}: {NOTHING_KNOWN}"
        if self.predicted is None:
            return ""
        sure = "" if self.confidence is None else f" ({self.confidence:.1%})"
        return f"{self.prediction}{sure}{self._versus()}"

    def _not_known(self) -> str:
        return f"not known: {' '.join(self.unknown)}" if self.unknown else ""

    def _versus(self) -> str:
        if self.contrast is None:
            return ""
        one, other = self.contrast.target, self.contrast.rival
        rival = "its threshold" if other is None else other
        return f"; {one} leads {rival} by {self.contrast.lead:.3g}"


def _tinted(text: str, level: int) -> str:
    """Return a piece of text on a background: blue for, orange against the class.

    The background is transparent, so that words are readable in light and dark notebooks.
    """
    if not level:
        return html.escape(text)
    colour = "31, 119, 220" if level > 0 else "230, 110, 20"
    style = f"background: rgba({colour}, {0.15 * abs(level):.2f}); border-radius: 0.2em"
    return f'<span style="{style}">{html.escape(text)}</span>'


def explain_row(
    model: Any,
    document: DocumentRows,
    unknown: Sequence[str] = (),
    *,
    text: str = "",
    target: Any = None,
    rival: Any = None,
    n_left_out: int = 0,
) -> Explanation:
    """Explain the prediction of a topic model for one document.

    Parameters
    ----------
    model : TopicModel
        A fitted model.
    document : DocumentRows
        The document.
    unknown : sequence of str
        Words of the document that the model does not know.
    text : str
        Its text, for an encoder and to show words as they stand in it.
    target, rival : object, optional
        Class, label or number to explain, and class to compare it with; see `choose_pair`.
    n_left_out : int, default=0
        Number of words to leave out, one at a time.
    """
    told = _in_text(model, text, _parts(model, document, unknown))
    told = _with_side(model, document, text, told)
    c, other = choose_pair(model, told.scores, target, rival)
    told = replace(told, explained=c)
    told = replace(told, contrast=contrast_with(told, model.estimator_, other))
    if c is None:
        return told
    known = np.flatnonzero(document.X.toarray()[0])
    some = [j for j in told.ranked if told.words[j] != WHOLE_TEXT][:n_left_out]
    places = [int(known[j]) if j < len(known) else None for j in some]
    texts, words = [_text_without(told, j) for j in some], [told.words[j] for j in some]
    return replace(told, left_out=leave_out(model, document, texts, places, words, c))


def _in_text(model: Any, text: str, told: Explanation) -> Explanation:
    """Give words the form in which they stand in the text."""
    known = set(told.names)
    found = [one for one in find_occurrences(text, model.vectorizer_) if one.word in known]
    form = forms(text, found)
    words = [form.get(name, name) for name in told.names]
    return replace(told, words=words, text=text, occurrences=found)


def _text_without(told: Explanation, j: int) -> str:
    """Return the text without any form of a word."""
    text, found = told.text, (one for one in told.occurrences if one.word == told.names[j])
    for form in {told.words[j], *(one.form(told.text) for one in found)}:
        text = text_without(text, form)
    return text


def _with_side(model: Any, document: DocumentRows, text: str, told: Explanation) -> Explanation:
    """Give words their parts in what the side of the text adds to the scores.

    The base holds these parts until then.
    """
    parts = _side_parts(model, document.side, text)
    if not parts:
        return told
    rows = {name: j for j, name in enumerate(told.names)}
    places = {one.form(text).casefold(): rows[one.word] for one in told.occurrences}
    further = [word for word in parts if word not in places]
    places |= {word: len(told.words) + j for j, word in enumerate(further)}
    class_parts = np.vstack([told.class_parts, np.zeros((len(further), len(told.classes)))])
    for word, part in parts.items():
        class_parts[places[word]] += part
    return replace(
        told,
        words=[*told.words, *further],
        names=[*told.names, *further],
        weights=np.r_[told.weights, np.zeros(len(further))],
        topic_parts=np.vstack([told.topic_parts, np.zeros((len(further), len(told.topics)))]),
        class_parts=class_parts,
        base=told.base - sum(parts.values(), np.zeros(len(told.classes))),
        occurrences=[*told.occurrences, *find_forms(text, further)],
    )


def _side_parts(model: Any, side: Side | None, text: str) -> dict[str, np.ndarray]:
    """Return the parts of words in what the side of a text adds to the scores."""
    head = getattr(model.estimator_, "pooled_head", None)
    found: dict[str, np.ndarray] = {}
    if head is None or side is None:
        return found
    each: list[tuple[str, np.ndarray]] = []
    if head.further is not None:
        weights = head.further_weights / head.further.scale
        each += model.fitted.further.word_parts(text, model.vectorizer_, weights).items()
    if head.vectors is not None and side.vectors is not None and side.vectors.any():
        parts = text_parts(model.encoder, text, head.vector_weights / head.vectors.scale)
        if parts is None:
            parts = {WHOLE_TEXT: (head.vectors.of(side.vectors) @ head.vector_weights)[0]}
        each += parts.items()
    for word, part in each:
        key = word if word == WHOLE_TEXT else word.casefold()
        found[key] = found.get(key, 0.0) + part
    return found


def _parts(model: Any, document: DocumentRows, unknown: Sequence[str]) -> Explanation:
    """Return the explanation of the scores of all classes, without a contrast."""
    X = document.X
    estimator, x = model.estimator_, X.toarray()[0]
    s, here = np.asarray(estimator.transform(X))[0].astype(float), np.flatnonzero(x)
    loss = as_divergence("data_loss", model.data_loss)
    scores = scores_of(estimator, X, s[None], document.side)
    predicted = read_predictions(estimator, scores, model.target_names_)
    parts = topic_parts(x[here], estimator.components_.T[here].astype(float), s, loss)
    names = list(model_words(model)[here])
    return Explanation(
        names,
        x[here],
        list(model.topic_names_),
        s,
        parts,
        list(model.target_names_) if has_head(estimator) else [],
        *_class_parts(estimator, document, s, parts),
        prediction=predicted[0][0],
        confidence=predicted[1][0],
        unknown=list(unknown),
        names=names,
    )


def _class_parts(
    estimator: Any, document: DocumentRows, s: np.ndarray, parts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the scores, the parts of words, of topics themselves and of topics with their words,
    and the base."""
    if not has_head(estimator):
        none = np.zeros((len(s), 0))
        return np.zeros(0), np.zeros((len(parts), 0)), none, none, np.zeros(0)
    if estimator.pooled_head is not None:
        return _pooled_parts(estimator, document, s)
    B = estimator.target_components_.astype(float)
    scale, base = score_scale(estimator, s @ B)
    wordless = np.where(parts.any(axis=0), 0.0, s)
    rest = base + scale * (wordless @ B)
    through = scale * (s - wordless)[:, None] * B
    return scale * (s @ B) + base, scale * (parts @ B), np.zeros(B.shape), through, rest


def _pooled_parts(
    estimator: Any, document: DocumentRows, s: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the same for the pooled head, which adds the scores of words and topics.

    The parts of an encoder's vector and of further words are in the base.
    """
    X = document.X
    head, x = estimator.pooled_head, X.toarray()[0]
    here, seen = np.flatnonzero(x), _seen(estimator, x)
    of_words = seen[here, None] * head.weights[here]
    of_topics = topic_shares(s[None], estimator.components_)[0][:, None] * head.topics
    offset = getattr(estimator.coding, "offset", 0.0)
    scores = scores_of(estimator, X, s[None], document.side)[0] + offset
    through = of_topics + _through_topics(estimator, x, seen, s)
    base = scores - of_words.sum(axis=0) - of_topics.sum(axis=0)
    return scores, of_words, of_topics, through, base


def _through_topics(estimator: Any, x: np.ndarray, seen: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return the contribution of each topic's words, as far as the topics expect them."""
    head, A = estimator.pooled_head, estimator.components_.astype(float)
    p = s @ A
    expected = _seen(estimator, p) - _seen(estimator, np.zeros_like(p))
    if head.view.mean is None and p.any() and x.any():  # rows have length one: use that of x
        power = 0.5 if head.view.kind == "roots" else 1.0
        unit = [cells.max() / data.max() ** power for cells, data in ((seen, x), (expected, p))]
        expected = expected * (unit[0] / unit[1])
    share = np.divide(A, p, out=np.zeros_like(A), where=p > 0) * s[:, None]
    return np.asarray((share * expected) @ head.weights)


def _seen(estimator: Any, x: np.ndarray) -> np.ndarray:
    """Return a document as the features of the pooled head."""
    view = estimator.view(x[None])
    return np.asarray((view.toarray() if hasattr(view, "toarray") else view)[0])


def unknown_words(model: Any, text: str) -> list[str]:
    """Return the words of a text that the model does not know."""
    if not hasattr(model.vectorizer_, "build_analyzer"):
        return []
    found, known = model.vectorizer_.build_analyzer()(text), set(model_words(model))
    unknown = list(dict.fromkeys(word for word in found if word not in known))
    if not getattr(model.vectorizer_, "keeps_grammar", False):
        return unknown
    hidden = model.vectorizer_.is_grammatical(unknown)
    return [word for word, hide in zip(unknown, hidden, strict=True) if not hide]


def topic_parts(x: np.ndarray, A: np.ndarray, s: np.ndarray, loss: Divergence) -> np.ndarray:
    """Divide a representation among the words of its document.

    Parameters
    ----------
    x : array (n_words,)
        Weights of the words in the document.
    A : array (n_words, n_topics)
        The topics, at these words.
    s : array (n_topics,)
        The representation.
    loss : Divergence
        Loss of the data.

    Returns
    -------
    ndarray of shape (n_words, n_topics)
        Columns sum to s. The column of a topic without a word of the document is 0.
    """
    p = A @ s
    with np.errstate(divide="ignore", invalid="ignore"):
        pull = loss.log * x / p + loss.down * x + loss.inverse * x / p**2
    pull = np.where(p > 0, pull, 0.0)[:, None] * A * (s > 0)
    largest = pull.max(axis=0, initial=0.0)
    pull = pull / np.where(largest > 0, largest, 1.0)
    return pull * np.divide(s, pull.sum(axis=0), out=np.zeros_like(s), where=largest > 0)
