"""Ctrl-C around a fit.

During its iterations an estimator keeps what they reached and warns. Around them two more things
can be wanted, and this module has both.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from cofactor.estimators.base import FitInterruptedWarning

Result = TypeVar("Result")


@contextmanager
def ending_at_interrupts() -> Iterator[None]:
    """Let Ctrl-C end a block in which fits are but steps, and half a fit is of no use."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitInterruptedWarning)
        try:
            yield
        except FitInterruptedWarning:
            raise KeyboardInterrupt from None


def finish(step: Callable[[], Result]) -> Result:
    """Do the short rest of a long fit: the first Ctrl-C warns, and the rest is done again.

    Parameters
    ----------
    step : callable
        It may be interrupted anywhere and must change nothing.

    Returns
    -------
    object
        What ``step`` returns.
    """
    try:
        return step()
    except KeyboardInterrupt:
        warnings.warn(
            "Interrupted after the last iteration: the model is complete.",
            FitInterruptedWarning,
            stacklevel=3,
        )
        return step()
