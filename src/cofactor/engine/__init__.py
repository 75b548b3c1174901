"""The engine: it factors matrices together, and knows numpy, scipy and its own kernels only.

The data flow of a fit::

    observe(X), observe(Y) ──► Observations              observations.py cells, values, weights
                                   │
    Term(s), priors, weights ──► Objective               objective.py
                                   │
    start (Factors) ──► minimise(objective, factors, solver)             fitting.py
                          │   until a rule (stopping.py), a hook or Ctrl-C ends the loop
                          ▼
                        solver.step                      solvers/        one iteration
                          │
                        Objective.sweep                  each free factor in turn, then the value
                          │  problem(name, factors) ──► RowProblem       subproblem/
                          │  solver.improve, which is a Descent or a Multiplication
                          ▼
                        RowProblem.descend or .multiply  coefficients of all rows, put together
                          │  threads.over(slices)        threads.py
                          ▼
                        kernels                          kernels/        arrays in, arrays out

Solvers by statistics use ``Objective.advance`` instead of ``sweep``: it improves the samples and
returns statistics, from which the next iteration updates the other factors.  Statistics add over
blocks of samples, so ``blockwise.Blocks`` and a cluster are objectives too.

Every update of every factor is the same operation.  For each row v of the factor V, with the other
factors fixed, it lowers the *row problem*

    min_{v ≥ 0}  (up − down)·v + Σ_t s_t (ups_t·v + ½ v'G_t v)
                 + Σ_e [ −log_e·log p_e + ½ square_e·p_e² + inverse_e/p_e + concave_e·log p_e ]
                 − barrier·log v                          with p_e = EPSILON + F[index_e]·v.

Zeros of sparse data cost no extra time: for Kullback–Leibler they are part of F's column
sums (``ups``), for Frobenius part of its Gram matrix (``G``).  Rows are independent, so results do
not depend on the number of threads.

Glossary
--------
barrier         Part −barrier·log v of a prior; it keeps the entries of a factor away from zero.
block           Rows stored together, on disk or on a worker (``RowBlocks``).
bound term      A term side together with the other factor, for one update (``BoundTerm``).
cell            One element of an observed matrix.  *Listed* cells are stored; the others are
                observed zeros or missing, see ``Observations.zeros``.
column problem  The row problem of the features or the targets, known by statistics alone.
counts          Sample weights: how often each row counts in a value.
divergence      The cost d(x, p) of a cell, given by six coefficients (``cofactor.divergences``).
entry           A cell that a kernel visits, because its cost is neither linear nor part of a
                quadratic form that all rows share (``Entries``).
factor          A matrix with one row per sample, feature or target and one column per topic.
fitted value    p, the approximation of a cell: a row of one factor times a row of another.
form            The linear and quadratic part of a row problem (``Forms``; of one term:
                ``TermForm``).
free            A factor that the solver may change.
padded factor   A factor in float64 with rows of whole vectors, as the kernels read it, with its
                column sums and Gram matrices (``PaddedFactor``).
plan            The parts of a factor's row problem that stay constant during a fit (``Plan``).
representation  A row of the factor ``samples``: the topics of one sample.
round, sweep    Coordinate descent finds a row's active topics once a round, and updates each of
                them once a sweep.
slice           Consecutive rows that one thread takes.  Slices are fixed, so sums over them are
                bit-identical for any number of threads.
slope           A linear coefficient: ``up`` raises the cost, ``down`` lowers it.
statistics      A term as a function of the features or the targets, summed over samples.
surrogate       A function of one factor's entries that lies above the objective and touches it at
                the present factor; multiplicative updates go to its minimum.
term            One matrix with its divergence and weight: the data, or the targets.
term side       A term as a function of one of its two factors (``TermSide``).
topic           A column of every factor.
unfinished      A row that has not reached the solver's tolerance.
"""
