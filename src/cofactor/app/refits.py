"""The thread that fits in the background."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

QUIET = 0.2
"""Seconds without a further request before a fit begins."""


class Refitter:
    """Runs a fit soon after it was asked for; requests during a fit lead to one more.

    Parameters
    ----------
    fit : callable
        The fit. What it raises becomes `trouble`, and the next fit that ends well removes it.
    quiet : float
        Seconds without a further request before the fit begins.
    """

    def __init__(self, fit: Callable[[], None], quiet: float = QUIET) -> None:
        self._fit, self._quiet = fit, quiet
        self._changed = threading.Condition()
        self._wanted = self._asked_again = self._fitting = self._closed = False
        self.trouble: str | None = None
        self._thread = threading.Thread(target=self._run, name="refits", daemon=True)
        self._thread.start()

    def request(self) -> None:
        """Ask for a fit."""
        with self._changed:
            self._wanted = self._asked_again = True
            self._changed.notify_all()

    @property
    def busy(self) -> bool:
        """Whether a fit runs or waits."""
        return self._wanted or self._fitting

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until no fit runs or waits; tell whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closed or not self.busy, timeout)

    def close(self, timeout: float = 10.0) -> None:
        """End the thread after the fit that runs."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(timeout)

    def _run(self) -> None:
        while self._await_request():
            try:
                self._fit()
                self.trouble = None
            except Exception as error:
                logging.getLogger(__name__).debug("A fit failed.", exc_info=True)
                self.trouble = f"{error}" or type(error).__name__
            with self._changed:
                self._fitting = False
                self._changed.notify_all()

    def _await_request(self) -> bool:
        """Wait for a request and for silence after it; return False if the thread is to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._wanted or self._closed)
            while self._asked_again and not self._closed:
                self._asked_again = False
                self._changed.wait_for(lambda: self._asked_again or self._closed, self._quiet)
            self._wanted, self._fitting = False, not self._closed
            return not self._closed
