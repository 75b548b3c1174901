"""Penalties: the regularisation strengths that held-out labels choose from.

A regression minimises its loss plus a multiple of the sum of its squared weights. Views have a
common scale (`cofactor.linear.views`), so one list of penalties serves all data.
"""

from __future__ import annotations

import numpy as np

SOFTMAX_PENALTIES = (1.0, 0.1, 0.01, 0.001)
"""Of softmax regression on classes (`cofactor.linear.pool`)."""
LOGISTIC_PENALTIES = (0.3, 0.1, 0.03, 0.01)
"""Of logistic regressions on several labels (`cofactor.linear.multilabel`), in this order until
the held-out loss rises."""
WORD_PENALTIES, TOPIC_PENALTIES = np.logspace(-1.5, 3, 10), np.logspace(1, 3, 5)
"""Of ridge regressions on numbers (`cofactor.linear.numbers`)."""
USUAL_PENALTY = 0.1
"""The penalty where no label is held out, of spread labels and of corrections."""
