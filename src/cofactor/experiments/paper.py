"""The numbers of the paper: its models, its results and the settings that it chose.

Haddock, Kassab, Li, Kryshchenko, Grotheer, Sizikova, Wang, Merkh, Madushani, Ahn, Needell and
Leonard: Semi-supervised NMF Models for Topic Modeling in Learning Tasks.
"""

from __future__ import annotations

F, KL = "frobenius", "kullback-leibler"

MODELS = {"(F, F)": (F, F), "(F, KL)": (F, KL), "(KL, F)": (KL, F), "(KL, KL)": (KL, KL)}
"""Losses of data and targets, in the order of the paper's tables."""

NMF_SVM = "F-NMF + SVM"
SVM = "SVM"
NAIVE_BAYES = "multinomial NB"

RELATIVE_ERROR = {
    "(F, F)": (0.2917, 0.0081, 0.0078, 0.0204),
    "(F, KL)": (0.2927, 0.0065, 0.0109, 0.0199),
    "(KL, F)": (0.2930, 0.0093, 0.0071, 0.0210),
    "(KL, KL)": (0.2922, 0.0076, 0.0075, 0.0172),
}
"""Synthetic data: one figure for each of the four experiments."""

ACCURACY = {
    "(F, F)": (79.37, 0.47),
    "(F, KL)": (79.51, 0.38),
    "(KL, F)": (81.88, 0.44),
    "(KL, KL)": (81.50, 0.47),
    NMF_SVM: (70.99, 2.71),
    SVM: (80.70, 0.27),
    NAIVE_BAYES: (82.28, None),
}
"""20 Newsgroups: mean and standard deviation of the test accuracy, per cent."""

CHOSEN = {
    "(F, F)": (1e-4, 1e2),
    "(F, KL)": (1e-4, 1e1),
    "(KL, F)": (1e-3, 1e2),
    "(KL, KL)": (1e-3, 1e3),
    NMF_SVM: (1e-4, None),
}
"""The tolerance and λ that were best on the paper's validation set."""

CLUSTERING = {
    "(F, F)": (0.3895, 0.3647),
    "(F, KL)": (0.3857, 0.3703),
    "(KL, F)": (0.3874, 0.3553),
    "(KL, KL)": (0.3874, 0.3732),
    NMF_SVM: (0.4348, 0.3080),
}
"""Hard and soft clustering score P, averaged over topics and trials."""

MEDIAN_ACCURACY = {
    "(F, F)": 79.44,
    "(F, KL)": 79.56,
    "(KL, F)": 81.78,
    "(KL, KL)": 81.39,
    NMF_SVM: 71.67,
}
"""Test accuracy of the decompositions that the paper shows."""

TOLERANCES, SUPERVISIONS = (1e-4, 1e-3, 1e-2), (1e1, 1e2, 1e3)
NMF_TOLERANCES = (1e-5, 1e-4, 1e-3, 1e-2)
TRIALS, SELECTION_TRIALS, SYNTHETIC_TRIALS = 11, 10, 5
ITERATIONS, NMF_ITERATIONS, RANK = 50, 400, 13
PAPER_EPSILON = 1e-10
"""The authors' code adds this to divisors to avoid division by zero."""
