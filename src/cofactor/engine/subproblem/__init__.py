"""One factor's row problem while the other factors stay fixed.

problem.py     Plan (constant during a fit) and RowProblem: everything a factor is updated from
terms.py       one term as a function of one factor: TermSide (constant), BoundTerm (one iteration)
entries.py     cells of a term as kernel entries, in memory or listed slice by slice
surrogate.py   coefficients of the surrogate, and the multiplicative update from them
statistics.py  terms summed over samples, and ColumnProblem, which is updated from them
"""
