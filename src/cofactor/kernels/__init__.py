"""The inner loops: bare arrays in, bare arrays out, no policy.

Every kernel works on a block of rows of one factor V and solves, or takes a step on, the same row
problem

    min_{v ≥ 0}  (up − down)·v + ½ Σ_t s_t v'G_t v + Σ_t s_t ups_t·v
                 + Σ_e [ −log_e·log p_e + ½ square_e·p_e² + inverse_e/p_e + concave_e·log p_e ]
                 − barrier·log v                              with p_e = EPSILON + F[index_e]·v,

whose coefficients ``Entries`` and ``Forms`` hold (`problems` puts them together).  Arithmetic is
float64 throughout; V and the entries' coefficients may be float32.  Rows are independent, so
results do not depend on the blocks.
"""

from cofactor.kernels.dense import dense_products, dense_surrogate
from cofactor.kernels.descent import descend_blocks
from cofactor.kernels.multiplication import (
    Parts,
    Slopes,
    multiply_blocks,
    multiply_by_parts,
    surrogate_blocks,
)
from cofactor.kernels.quadratic import descend_quadratic
from cofactor.kernels.rows import EPSILON, Entries, Forms, place_indices, place_values
from cofactor.kernels.sums import (
    cross_rows,
    curved_value,
    gram_blocks,
    gram_rows,
    inner_blocks,
    sum_blocks,
    sum_rows,
    value_blocks,
    widen,
)

__all__ = [
    "EPSILON",
    "Entries",
    "Forms",
    "Parts",
    "Slopes",
    "cross_rows",
    "curved_value",
    "dense_products",
    "dense_surrogate",
    "descend_blocks",
    "descend_quadratic",
    "gram_blocks",
    "gram_rows",
    "inner_blocks",
    "multiply_blocks",
    "multiply_by_parts",
    "place_indices",
    "place_values",
    "sum_blocks",
    "sum_rows",
    "surrogate_blocks",
    "value_blocks",
    "widen",
]
