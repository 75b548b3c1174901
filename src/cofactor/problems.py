"""Row problems: all terms and priors that touch one factor, put together for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from cofactor import kernels
from cofactor.curved import Curved
from cofactor.kernels import Entries, Forms
from cofactor.priors import Penalty
from cofactor.sides import Against
from cofactor.threads import Threads, even_blocks
from cofactor.typing import FloatArray, IntArray
from cofactor.vectors import aligned_zeros, padded


class RowProblem:
    """Everything that touches one factor, ready for the kernels."""

    def __init__(
        self,
        parts: Sequence[Against],
        weights: Sequence[float],
        penalty: Penalty | None,
        curved: Curved | None,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
    ) -> None:
        self.parts, self.weights, self.shape = parts, weights, shape
        self.forms = _merge(parts, weights, penalty, shape)
        barred = bool(self.forms.barrier.any())
        self.quadratic = curved is None and not barred
        self.logarithmic = barred or any(
            part.side.divergence.log and weight > 0
            for part, weight in zip(parts, weights, strict=True)
        )
        self.curved = curved if curved is not None else _no_entries(shape[0], dtype)
        curving = [part.F for part in parts if part.side.curved is not None]
        self.F = _joined(curving, padded(shape[1]))
        self.costs: dict[int, float] = {}
        """Curved costs of the parts after a descent, where they are known."""

    @cached_property
    def bounds(self) -> IntArray:
        return even_blocks(self.shape[0]) if self.quadratic else self.curved.bounds

    def _forms(self, low: int, high: int) -> Forms:
        return Forms(*(a[low:high] if i not in (2, 3) and len(a) > 1 else a
                       for i, a in enumerate(self.forms)))  # fmt: skip

    def descend(
        self, V: FloatArray, threads: Threads, *, rounds: int, sweeps: int, tolerance: float,
        costs: bool = False,
    ) -> int:  # fmt: skip
        """Run coordinate descent in place; return the number of rows that did not reach the
        tolerance.

        With ``costs``, note those of the curved entries, whose fitted values are at hand.
        """
        if self.quadratic:
            return sum(threads.across(self.bounds, lambda low, high: int(
                kernels.descend_quadratic(
                    V[low:high], self._forms(low, high), rounds * sweeps, tolerance
                ))))  # fmt: skip
        settings = rounds, sweeps, tolerance
        return self._run(kernels.descend_blocks, V, settings, threads, costs)

    def multiply(
        self, V: FloatArray, threads: Threads, *, rounds: int, tolerance: float, epsilon: float,
        ridge: float, costs: bool = False,
    ) -> int:  # fmt: skip
        """Run multiplicative updates in place; return the number of rows that did not reach the
        tolerance."""
        settings = rounds, tolerance, epsilon, ridge
        costs = costs and not any(part.side.divergence.inverse for part in self.parts)
        return self._run(kernels.multiply_blocks, V, settings, threads, costs)

    def _run(
        self, kernel: Any, V: FloatArray, settings: tuple[float, ...], threads: Threads, costs: bool
    ) -> int:
        counts = self.parts[0].side.counts
        weights = np.empty(0) if counts is None else counts
        split = next((len(part.F) for part in self.parts if part.side.curved is not None), 0)
        noted = np.zeros((len(self.bounds) - 1, 2 * costs))

        def block(start: int, stop: int) -> int:
            low, high = self.bounds[start], self.bounds[stop]
            return int(
                kernel(
                    V[low:high], self.curved.block(low, high), self.F, self._forms(low, high),
                    *settings, weights[low:high], split, self.bounds[start : stop + 1],
                    noted[start:stop],
                )
            )  # fmt: skip

        over = threads.across if self.curved.at_once else threads.over
        unfinished = sum(over(np.arange(len(self.bounds)), block))
        if costs and V.dtype == np.float64:  # others are rounded afterwards
            self._note(noted.sum(axis=0))
        return unfinished

    def _note(self, costs: FloatArray) -> None:
        """Remember the curved costs of the terms, without their weights."""
        curving = [t for t, part in enumerate(self.parts) if part.side.curved is not None]
        for t, cost in zip(curving, costs.tolist(), strict=False):
            if self.weights[t] > 0:
                self.costs[t] = cost / self.weights[t]


def _joined(parts: Sequence[FloatArray], width: int) -> FloatArray:
    """Return padded factors one below the other, aligned as they are."""
    if len(parts) == 1:
        return parts[0]
    out = aligned_zeros(max(1, sum(map(len, parts))), width)
    return np.concatenate(parts, out=out) if parts else out


def _no_entries(n: int, dtype: np.dtype[Any]) -> Curved:
    none = np.empty(0, dtype=dtype)
    starts = np.zeros(n + 1, dtype=np.int64)
    return Curved(Entries(none, none, none, none, np.empty(0, np.int32), starts, starts[:-1]))


def _merge(
    parts: Sequence[Against],
    weights: Sequence[float],
    penalty: Penalty | None,
    shape: tuple[int, int],
) -> Forms:
    n, r = shape
    ups = [part.ups for part in parts]
    grams = [part.gram for part in parts]
    scales: list[float | FloatArray] = [
        weight if part.side.row_scale is None else weight * part.side.row_scale
        for part, weight in zip(parts, weights, strict=True)
    ]
    up = _sum_rows([part.up for part in parts], weights)
    down = _sum_rows([part.down for part in parts], weights)
    barrier = np.zeros((1, r))
    if penalty is not None:
        matrix = np.ndim(penalty.up) > 0
        if matrix:
            up = _sum_rows([up, np.asarray(penalty.up)], [1.0, 1.0])
        ups.append(np.full(r, 0.0 if matrix else penalty.up))
        grams.append(np.eye(r) * penalty.square)
        scales.append(1.0)
        rows = n if np.ndim(penalty.barrier) else 1
        barrier = np.array(np.broadcast_to(penalty.barrier, (rows, r)), dtype=np.float64)
    none = np.empty((0, r))
    shared = _collapse(ups, grams, scales, n, r)
    return Forms(none if down is None else down, none if up is None else up, *shared, barrier)


def _sum_rows(parts: Sequence[FloatArray | None], weights: Sequence[float]) -> FloatArray | None:
    total: FloatArray | None = None
    for part, weight in zip(parts, weights, strict=True):
        if part is not None:
            scaled = part if weight == 1.0 else part * weight
            total = scaled if total is None else total + scaled
    return total


def _collapse(
    ups: list[FloatArray],
    grams: list[FloatArray],
    scales: list[float | FloatArray],
    n: int,
    r: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sum the forms that all rows share; keep apart those whose weight changes from row to row."""
    shared = [t for t, scale in enumerate(scales) if np.ndim(scale) == 0]
    apart = [t for t, scale in enumerate(scales) if np.ndim(scale) == 1]
    up = [np.asarray(sum((scales[t] * ups[t] for t in shared), np.zeros(r)))]
    square = [np.asarray(sum((scales[t] * grams[t] for t in shared), np.zeros((r, r))))]
    up += [ups[t] for t in apart]
    square += [grams[t] for t in apart]
    scale = np.ones((n if apart else 1, 1 + len(apart)))
    for column, t in enumerate(apart, 1):
        scale[:, column] = scales[t]
    return np.array(up), np.array(square), scale
