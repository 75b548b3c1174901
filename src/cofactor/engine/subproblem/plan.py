"""What is given of a factor's row problem: all that no iteration changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from cofactor._types import IntArray
from cofactor.divergences import Divergence
from cofactor.engine.subproblem.entries import Curved, Stacked, no_entries, stack_entries
from cofactor.engine.subproblem.terms import TermSide
from cofactor.engine.threads import even_slices
from cofactor.priors import Penalty


class Plan:
    """The terms that touch one factor, each seen from it, their weights, and the factor's prior.

    Parameters
    ----------
    sides : sequence of TermSide
    weights : sequence of float
        Of the terms.
    penalty : Penalty or None
    passing : bool
        Whether it serves for an iteration only, see ``Objective``.
    """

    def __init__(
        self,
        sides: Sequence[TermSide],
        weights: Sequence[float],
        penalty: Penalty | None,
        passing: bool = False,
    ) -> None:
        self.sides, self.weights, self.penalty, self._passing = sides, weights, penalty, passing
        self.barred = penalty is not None and penalty.barred

    @cached_property
    def curving(self) -> list[int]:
        """The terms with curved entries."""
        return [t for t, side in enumerate(self.sides) if side.curved is not None]

    @cached_property
    def losses(self) -> list[tuple[Divergence, float]]:
        """The terms' divergences and weights."""
        return [(s.divergence, w) for s, w in zip(self.sides, self.weights, strict=True)]

    @cached_property
    def quadratic(self) -> bool:
        return not self.curving and not self.barred

    @cached_property
    def logarithmic(self) -> bool:
        return self.barred or any(d.log and weight > 0 for d, weight in self.losses)

    @cached_property
    def scattered(self) -> bool:
        """Whether the entries would have to be put side by side for a single update."""
        curved = [side.curved for side in self.sides if side.curved is not None]
        lasting = not self._passing and all(c.at_once for c in curved)
        return len(curved) > 1 and not lasting

    @cached_property
    def curved(self) -> Curved:
        """The entries of all terms, side by side."""
        parts = [(self.sides[t], self.weights[t]) for t in self.curving]
        each = [side.curved if w == 1.0 else side.weighted_curved(w) for side, w in parts]
        curved = [c for c in each if c is not None]
        if not curved:
            seen = self.sides[0].observations
            return no_entries(seen.shape[0], seen.dtype)
        if len(curved) == 1:
            return curved[0]
        widths = [side.observations.shape[1] for side, _ in parts[:-1]]
        offsets = np.cumsum([0, *widths]).tolist()
        if all(type(part) is Curved for part in curved):
            return Curved(stack_entries([part.entries for part in curved], offsets))
        return Stacked(curved, offsets)

    @cached_property
    def bounds(self) -> IntArray:
        """Blocks of rows of about the same work."""
        n = self.sides[0].observations.shape[0]
        return even_slices(n) if self.quadratic else self.curved.bounds
