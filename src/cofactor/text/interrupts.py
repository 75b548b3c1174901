"""Ctrl-C around a fit.

During the iterations of a fit, Ctrl-C makes the estimator stop, keep its factors and warn. This
module changes that where an unfinished fit has no use, and protects the steps after a fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from cofactor._warnings import warn
from cofactor.estimators.base import FitInterruptedWarning

Result = TypeVar("Result")


@contextmanager
def ending_at_interrupts() -> Iterator[None]:
    """Make Ctrl-C raise KeyboardInterrupt during fits too: an unfinished fit has no use here."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitInterruptedWarning)
        try:
            yield
        except FitInterruptedWarning:
            raise KeyboardInterrupt from None


def finish(step: Callable[[], Result]) -> Result:
    """Run the last, short step of a long fit; if Ctrl-C interrupts it, warn and run it again.

    Parameters
    ----------
    step : callable
        A function without side effects, since it may be interrupted anywhere.

    Returns
    -------
    object
        The result of ``step``.
    """
    try:
        return step()
    except KeyboardInterrupt:
        warn("Interrupted after the last iteration: the model is complete.", FitInterruptedWarning)
        return step()
