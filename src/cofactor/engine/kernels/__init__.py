"""The inner loops: they take arrays and return arrays, and decide nothing else.

Every kernel works on a slice of rows of one factor V and takes a step on the same row problem

    min_{v ≥ 0}  (up − down)·v + ½ Σ_t s_t v'G_t v + Σ_t s_t ups_t·v
                 + Σ_e [ −log_e·log p_e + ½ square_e·p_e² + inverse_e/p_e + concave_e·log p_e ]
                 − barrier·log v                              with p_e = EPSILON + F[index_e]·v,

whose coefficients are in ``Entries`` and ``Forms`` (``subproblem.problem`` puts them together).
Arithmetic is float64 throughout; V and the entries' coefficients may be float32.  Rows are
independent, so results do not depend on the slices.
"""

from cofactor.engine.kernels.descent import descend_slices
from cofactor.engine.kernels.multiplication import (
    Slopes,
    Surrogate,
    multiply_by_parts,
    multiply_slices,
    surrogate_slices,
)
from cofactor.engine.kernels.quadratic import descend_quadratic
from cofactor.engine.kernels.rows import EPSILON, Entries, Forms, place_indices, place_values
from cofactor.engine.kernels.sums import (
    cross_rows,
    curved_value,
    gram_rows,
    gram_slices,
    inner_slices,
    sum_rows,
    sum_slices,
    value_slices,
    widen,
)

__all__ = [
    "EPSILON",
    "Entries",
    "Forms",
    "Slopes",
    "Surrogate",
    "cross_rows",
    "curved_value",
    "descend_quadratic",
    "descend_slices",
    "gram_rows",
    "gram_slices",
    "inner_slices",
    "multiply_by_parts",
    "multiply_slices",
    "place_indices",
    "place_values",
    "sum_rows",
    "sum_slices",
    "surrogate_slices",
    "value_slices",
    "widen",
]
