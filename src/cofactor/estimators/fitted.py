"""`Fitted`: everything that a fit leaves, in the user's units.

Estimators show its fields as attributes. Loading, edits, updates and streams make a new `Fitted`;
nothing changes one in place. To add a fitted value, add a field: its declaration says what a model
folder calls it and what it may hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cofactor._fields import FieldSizes, State, array, checked, instance, number, unsaved
from cofactor._types import FloatArray
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import History
from cofactor.estimators.cell_prediction import CellProblem, MissingCells
from cofactor.estimators.classification_or_regression import Coding
from cofactor.estimators.heads import LinearModels, PooledHead
from cofactor.estimators.reservoir import Reservoir
from cofactor.estimators.units import Units
from cofactor.linear.pool import ExpectedScore
from cofactor.targets.classes import ClassCoding
from cofactor.targets.values import ValueCoding

if TYPE_CHECKING:
    from cofactor.estimators.streaming import Stream

NOT_FINITE = (
    "The fit gave numbers that are not finite, so there is no model; check X, y, priors, "
    "supervision, data_weights, target_weights and sample_weight for extreme values, and scale "
    "them."
)


def _history_fault(value: Any, sizes: FieldSizes) -> str | None:
    good = isinstance(value, dict) and isinstance(value.get("objective"), list)
    return None if good else "is not a dict with a list of objectives"


@dataclass(frozen=True, eq=False, kw_only=True)
class Fitted(State):
    """The state of a fitted estimator.

    Parameters
    ----------
    components : array (r, m)
        Topics.
    representation : array (n, r)
        Training samples, or those of a stream's last batch, in terms of the topics.
    history : dict of lists
        Objective and its terms after each iteration.
    stop_reason : str
        Why the fit ended, in one sentence.
    units : Units
        The powers of two by which the fit divided data and targets.
    constant : float
        Difference of the priors' logarithms between the units of the fit and the user's.
    coding : ClassCoding, ValueCoding or None
        How y became columns of targets; None without y.
    target_components : array (r, k) or None
        Targets of the topics; None if no sample was labelled.
    supervision : float or None
        λ in the user's units.
    head : PooledHead or None
        What predicts, if features and topics do so together. That of a stream is fitted when it is
        first needed.
    expected_score : ExpectedScore or None
        The score to expect on new samples, from held-out labels.
    reservoir : Reservoir or None
        Rows of a stream that its head is fitted on.
    cells : MissingCells or None
        A model of the missing cells, fitted when it is first needed.
    cell_problem : CellProblem or None
        What that model is fitted on, until it is.
    linear_models : LinearModels or None
        Kept for a further fit on the same samples and targets, if somebody asked for it.
    stream : Stream or None
        What the next batch of a stream goes on from.
    """

    components: FloatArray = array("r", "m", low=0, name="components_")
    representation: FloatArray = array("n", "r", low=0, name="representation_")
    history: dict[str, list[float]] = checked(_history_fault, name="history_")
    stop_reason: str = instance(str, name="stop_reason_", default="")
    units: Units = instance(Units, name="_units")
    constant: float = number(float, int, finite=False, name="_constant")
    coding: Coding | None = instance(ClassCoding, ValueCoding, name="_coding", default=None)
    target_components: FloatArray | None = array(
        "r", "k", low=0, name="target_components_", default=None
    )
    supervision: float | None = number(low=0, finite=False, name="supervision_", default=None)
    head: PooledHead | None = instance(PooledHead, name="_head", default=None)
    expected_score: ExpectedScore | None = instance(
        ExpectedScore, name="expected_score_", default=None
    )
    reservoir: Reservoir | None = instance(Reservoir, name="_reservoir", default=None)
    cells: MissingCells | None = instance(MissingCells, name="cells_", default=None)
    cell_problem: CellProblem | None = unsaved()
    linear_models: LinearModels | None = unsaved(pickled=False)
    stream: Stream | None = unsaved()

    @classmethod
    def of(
        cls,
        factors: Factors,
        history: History,
        units: Units,
        supervision: float | None,
        constant: float,
        coding: Coding | None,
        **others: Any,
    ) -> Fitted:
        """Return the state for factors in the units of a fit, λ in the user's.

        Raises
        ------
        ValueError
            If an entry of a factor is not finite.
        """
        outside = units.factors(factors)
        B = outside.targets
        if not all(np.isfinite(V).all() for V in outside.each() if V is not None):
            raise ValueError(NOT_FINITE)
        return cls(
            components=np.ascontiguousarray(outside.features.T),
            representation=np.asarray(outside.samples),
            history=units.history(history.objective, history.terms, constant),
            units=units,
            constant=constant,
            coding=coding,
            target_components=None if B is None else np.ascontiguousarray(B.T),
            supervision=supervision,
            **others,
        )

    @property
    def n_iter(self) -> int:
        """Number of iterations, or of batches of a stream."""
        return len(self.history["objective"])

    @property
    def n_samples_seen(self) -> float | None:
        """Number of samples of a stream, counted with their weights."""
        if self.stream is None:
            return None
        seen = self.stream.past.samples
        return int(seen) if float(seen).is_integer() else seen

    @property
    def classes(self) -> Any:
        """The classes, if there are some."""
        return self.coding.classes if isinstance(self.coding, ClassCoding) else None

    @property
    def awaits_head(self) -> bool:
        """Whether this is a stream whose pooled head has not been needed yet."""
        gathered = self.reservoir is not None and bool(self.reservoir.labels.any())
        return self.head is None and gathered

    def inside(self) -> Factors:
        """Return the factors in the units of the fit."""
        B = self.target_components
        outside = Factors(self.representation, self.components.T, None if B is None else B.T)
        return self.units.factors(outside, -1)

    def fault(self, sizes: FieldSizes) -> str | None:
        """Return what is wrong with the fields together, see `cofactor._fields`."""
        width = 0 if self.coding is None else self.coding.n_targets
        if self.coding is not None and width != sizes.setdefault("k", width):
            return f"_coding has {width} targets in place of {sizes['k']}"
        if self.coding is None:
            supervised = (self.target_components, self.supervision, self.head, self.reservoir)
            if any(part is not None for part in (*supervised, self.expected_score)):
                return "it has targets, but no _coding"
        if (self.supervision is None) != (self.target_components is None):
            return "supervision_ and target_components_ disagree"
        if self.awaits_head:
            return "_reservoir has labels, but there is no _head"
        if self.reservoir is not None and self.classes is not None and self.reservoir.least < 0:
            return "_reservoir has a negative entry in targets"
        return None


def shown(name: str, doc: str) -> Any:
    """Return a property of models that shows a field of their state, if it has a value."""

    def show(model: Any) -> Any:
        value = getattr(getattr(model, "_fitted", None), name, None)
        if value is None:
            raise AttributeError(f"This {type(model).__name__} has no {name}_: {_why(model)}.")
        return value

    return property(show, doc=doc)


def _why(model: Any) -> str:
    fitted = hasattr(model, "_fitted")
    return "its fit did not leave one" if fitted else "it is not fitted"
