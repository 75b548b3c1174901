"""A report inside a notebook: the whole page in a frame that reaches nothing outside itself."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cofactor.io.atomic import write_whole
from cofactor.report.write import render_report

ALLOWED = "allow-scripts allow-downloads"
"""What the frame may do; it has no origin, so it reads nothing of the notebook."""


@dataclass(frozen=True)
class ShownReport:
    """A report that a notebook shows in a frame.

    Parameters
    ----------
    page : str
        The page: a whole HTML file.
    height : int
        Height of the frame in pixels.
    """

    page: str = field(repr=False)
    height: int = 700

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox="{ALLOWED}" srcdoc="{html.escape(self.page)}" title="Topic report" '
            f'style="width: 100%; height: {self.height}px; border: 1px solid #8886"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page as a file, which any browser opens; return its path."""
        write_whole(Path(path), self.page.encode("utf-8", "replace"))
        return Path(path)

    def __repr__(self) -> str:
        return (
            f"A report of {len(self.page) / 1e6:.1f} MB: a notebook shows it here; elsewhere "
            "save('report.html') writes it, and any browser opens that file."
        )


def show_report(
    model: Any, documents: Any = None, labels: Any = None, *, height: int = 700, **options: Any
) -> ShownReport:
    """Return a report that a notebook shows; parameters are those of `write_report`."""
    if not (isinstance(height, int) and height > 0):
        raise ValueError(f"height={height!r} must be a positive whole number of pixels.")
    return ShownReport(render_report(model, documents, labels, **options), height)
