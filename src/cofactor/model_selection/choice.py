"""`choose`, which compares numbers of topics by what they predict, and `Choice`, its result."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from cofactor._types import FloatArray, IntArray
from cofactor._warnings import warn
from cofactor.errors import Parameter, ParameterError
from cofactor.estimators.base import FitInterruptedWarning
from cofactor.model_selection.candidates import (
    Candidate,
    Parameters,
    Progress,
    better_fits,
    draw_folds,
    held_out_in,
    run_candidates,
    usual_costs,
)
from cofactor.model_selection.decision import Criterion, advise, decide
from cofactor.model_selection.partly_labelled import check_folds, refuse_one_class
from cofactor.model_selection.problem import Problem, settle_problem

USUAL_SIZES = (2, 3, 4, 6, 8, 11, 16, 22, 32, 45)
"""Numbers of topics to try if none are given."""

TABLE_COLUMNS: dict[str, tuple[str, Callable[[FloatArray], FloatArray]]] = {
    "labels": ("label_log_likelihood", lambda costs: -costs),
    "cells": ("cell_divergence", lambda costs: costs),
    "stability": ("stability", lambda costs: 1.0 - costs),
}
"""Name and transformation of the mean costs of each criterion in the table."""


@dataclass(frozen=True, eq=False)
class Choice:
    """The result of `choose`.

    Parameters
    ----------
    n_components : int
        Recommended number of topics.
    supervision : float, "auto" or None
        Recommended weight of the labels; None if only one was tried.
    advice : str
        One sentence: the recommendation and its reason.
    table : list of dict
        One row for each candidate; see `choose`.
    interrupted : bool
        Whether Ctrl-C stopped the search before all candidates were fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from cofactor import NMF
    >>> from cofactor.model_selection import choose
    >>> X = np.random.default_rng(0).poisson(np.kron(np.eye(2), np.ones((20, 5))))
    >>> choice = choose(NMF(random_state=0), X, n_components=[1, 2, 3], runs=2)
    >>> choice.n_components, choice.parameters
    (2, {'n_components': 2})
    """

    n_components: int
    supervision: float | str | None
    advice: str
    table: list[dict[str, Any]]
    interrupted: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters for ``set_params`` of the estimator."""
        found: dict[str, Any] = {"n_components": self.n_components}
        return found if self.supervision is None else {**found, "supervision": self.supervision}

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame; pandas must be installed.

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import NMF
        >>> from cofactor.model_selection import choose
        >>> X = np.random.default_rng(0).poisson(np.kron(np.eye(2), np.ones((20, 5))))
        >>> choice = choose(NMF(random_state=0), X, n_components=[1, 2, 3], runs=2)
        >>> choice.to_pandas()["n_components"].tolist()
        [1, 2, 3]
        """
        from pandas import DataFrame

        return DataFrame(self.table)

    def figure(self) -> Any:
        """Draw the table as a matplotlib figure; requires ``cofactor[plot]``.

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import NMF
        >>> from cofactor.model_selection import choose
        >>> X = np.random.default_rng(0).poisson(np.kron(np.eye(2), np.ones((20, 5))))
        >>> choice = choose(NMF(random_state=0), X, n_components=[1, 2, 3], runs=2)
        >>> figure = choice.figure()  # figure.savefig("choice.png") keeps it
        >>> figure.axes[-1].get_xlabel()
        'Number of topics (line: 2, chosen)'
        """
        from cofactor.model_selection.figure import draw, new_figure, prepare

        figure = new_figure()
        draw(prepare(self.table), self.advice, figure)
        return figure

    def __str__(self) -> str:
        return self.advice


def choose(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    n_components: Iterable[int] | int | None = None,
    supervision: Iterable[Any] | float | str | None = None,
    runs: int = 5,
    progress: Progress | None = None,
) -> Choice:
    """Choose the number of topics by what the topics predict.

    The rows are split into ``runs`` folds. For each candidate and each fold, the estimator is
    fitted to the other folds and predicts the labels and cells of the fold's rows: a row is
    represented from one half of the columns, which then predicts its cells in the other half. The
    topics of different fits are matched one to one; stability is their mean similarity.

    The one-standard-error rule is applied to labels, then cells, then stability: each step keeps
    the candidates within one standard error of the best. Of those left, the one with the fewest
    topics is chosen. Without labels, cells and stability decide. For labels the error is that of
    the best candidate's mean; for cells and stability that of the difference, which is smaller.
    Because a fit may get stuck, cells are judged by the better half of a candidate's fits, those
    with the smallest divergence of the rows that they saw. With ``init="auto"`` and no labels,
    every other fit starts at random, so that not all get stuck.

    Fits run in parallel on the estimator's ``n_jobs`` threads. Documents are turned into a matrix
    once. Ctrl-C returns the choice among the candidates finished so far.

    Parameters
    ----------
    estimator : NMF, SSNMFClassifier, SSNMFRegressor or TopicModel
        The estimator to use; it is not changed. Its ``random_state`` also draws the folds.
    X : array-like or sparse matrix of shape (n_samples, n_features), or documents
        Data as for ``estimator.fit``.
    y : array-like, optional
        Labels; some or all may be unknown.
    n_components : iterable of int, optional
        Numbers of topics to try. By default 2 to 45, as far as the data allow.
    supervision : iterable, optional
        Weights of the labels to try, numbers or "auto". By default the estimator's.
    runs : int, default=5
        Number of folds, and of fits per candidate; at least 2.
    progress : callable, optional
        Called with the number of finished fits and the number of all fits.

    Returns
    -------
    Choice
        Its ``table`` has for each candidate: n_components; supervision, if several were given;
        with labels, label_log_likelihood (mean over held-out labels) and score (accuracy or R²);
        cell_divergence (of held-out cells, relative to the divergence from column means);
        stability; for documents, coherence of the ten heaviest words; their diversity; seconds of
        the fits; chosen. Columns ending in _error hold the standard error of the difference from
        the best candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from cofactor import NMF
    >>> from cofactor.model_selection import choose
    >>> random = np.random.default_rng(0)
    >>> S, A = random.dirichlet([0.2] * 3, 200), random.dirichlet([0.1] * 60, 3)
    >>> X = random.poisson(50 * S @ A)
    >>> choose(NMF(random_state=0), X, n_components=[2, 3, 4, 5], runs=3).n_components
    3
    """
    problem = settle_problem(estimator, X, y)
    grid = _grid(problem, runs, n_components, supervision)
    random = check_random_state(problem.random_state)
    found: list[Candidate] = []
    interrupted = False
    with _gathered_warnings():
        folds = draw_folds(problem, runs, random)
        held_out, usual = held_out_in(folds), usual_costs(problem, folds)
        try:
            for candidate in run_candidates(problem, folds, grid, progress or _silent):
                found.append(candidate)
        except KeyboardInterrupt:
            if not found:
                raise
            interrupted = True
    found.sort(key=lambda candidate: grid.index(candidate.parameters))
    return _choice(found, held_out, usual, interrupted)


def _silent(done: int, total: int) -> None:
    """Show no progress."""


def _grid(problem: Problem, runs: Any, n_components: Any, supervision: Any) -> list[Parameters]:
    """Return the parameters of the candidates, the fewest topics first."""
    labelled = bool(problem.known.any())
    check_folds("runs", runs, problem.known if labelled else np.ones(len(problem.known), bool))
    if labelled and problem.y is not None and not problem.numbers:
        refuse_one_class(problem.y, problem.known)
    if supervision is not None and not labelled:
        raise ValueError(
            "supervision is the weight of labels, and there are none; leave it out, or pass y to a "
            "model that learns from labels."
        )
    sizes: list[Parameters] = [{"n_components": k} for k in _sizes(problem, runs, n_components)]
    if supervision is None:
        return sizes
    weights = _listed("supervision", supervision)
    return [{**size, "supervision": weight} for size, weight in product(sizes, weights)]


def _sizes(problem: Problem, runs: int, given: Any) -> list[int]:
    """Return the numbers of topics to try; reject those beyond the rows or columns of a fit."""
    rows, columns = problem.X.shape
    limit, what = min((rows - -(-rows // runs), "rows"), (columns, "columns"))
    if given is None:
        return [k for k in USUAL_SIZES if problem.min_topics <= k <= limit] or [problem.min_topics]
    sizes = _listed("n_components", given)
    for k in sizes:
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"n_components holds {k!r}; pass whole numbers of at least 1.")
        if k > limit:
            raise ParameterError(
                (
                    Parameter("n_components"),
                    f" holds {k}, more than the {limit} {what} that each fit sees",
                ),
                "pass smaller numbers",
            )
    return sorted({int(k) for k in sizes})


def _listed(name: str, given: Any) -> list[Any]:
    values = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if not values:
        raise ValueError(f"{name} is empty; pass at least one value to try.")
    return values


@contextmanager
def _gathered_warnings() -> Iterator[None]:
    """Repeat each warning of the fits once, and count the fits that did not converge."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    said = [each for each in caught if not issubclass(each.category, FitInterruptedWarning)]
    slow = [each for each in said if issubclass(each.category, ConvergenceWarning)]
    for message in {str(e.message): e.message for e in said if e not in slow}.values():
        warn(message)
    if slow:
        warn(
            f"{len(slow)} fits ended before they converged, at max_iter of the estimator; raise it "
            "if the choice depends on them.",
            ConvergenceWarning,
        )


def criteria_of(found: Sequence[Candidate], folds: IntArray, usual: FloatArray) -> list[Criterion]:
    """Return the criteria that the candidates are judged by, the most important first.

    ``folds`` is the fold in which each row was held out, ``usual`` the cost of its cells if the
    mean row predicts them.
    """
    criteria = []
    labels = np.array([candidate.labels for candidate in found])
    known = np.isfinite(labels).all(axis=0)
    if known.any():
        criteria.append(Criterion("labels", labels[:, known], paired=False))
    cells = np.array([candidate.cells for candidate in found])
    known = np.isfinite(cells).all(axis=0)
    used = better_fits(found)[:, folds[known]]
    criteria.append(Criterion("cells", cells[:, known] / usual[known].mean(), used))
    criteria.append(Criterion("stability", 1.0 - np.array([each.stability for each in found])))
    return criteria


def _choice(
    found: Sequence[Candidate], folds: IntArray, usual: FloatArray, interrupted: bool
) -> Choice:
    criteria = criteria_of(found, folds, usual)
    grid = [candidate.parameters for candidate in found]
    decision = decide(criteria, [parameters["n_components"] for parameters in grid])
    columns = _columns(found, criteria)
    table = [
        {
            **parameters,
            **{name: column[c] for name, column in columns.items()},
            "chosen": c == decision.chosen,
        }
        for c, parameters in enumerate(grid)
    ]
    chosen = grid[decision.chosen]
    return Choice(
        chosen["n_components"],
        chosen.get("supervision"),
        advise(grid, decision),
        table,
        interrupted,
    )


def _columns(found: Sequence[Candidate], criteria: Sequence[Criterion]) -> dict[str, list[Any]]:
    """Return the columns of the table, except for parameters and choice."""
    columns: dict[str, Any] = {}
    for criterion in criteria:
        name, shown = TABLE_COLUMNS[criterion.name]
        columns[name] = shown(criterion.means).tolist()
        error = criterion.errors(int(np.argmin(criterion.means)))
        columns[f"{name}_error"] = error.tolist()
        if criterion.name == "labels":
            columns["score"] = [float(np.nanmean(each.right)) for each in found]
    if np.isfinite([each.coherence for each in found]).any():
        columns["coherence"] = [each.coherence for each in found]
    columns["diversity"] = [each.diversity for each in found]
    columns["seconds"] = [each.seconds for each in found]
    return columns
