"""Warnings that point at the user's line, however deep in the package they arise."""

from __future__ import annotations

import sys
import warnings

BETWEEN = {"cofactor", "sklearn", "joblib", "contextlib"}
"""Top-level modules between a user's call and a warning; scikit-learn wraps methods of ours."""


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn, and give the first line outside the package as the place."""
    # Python 3.12 has `skip_file_prefixes` for this.
    frame = sys._getframe(1)
    while frame.f_back is not None and _top_module(frame.f_globals) in BETWEEN:
        frame = frame.f_back
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        frame.f_globals.get("__name__"),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _top_module(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
