"""Opens a page in the user's browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from cofactor.cli._shared.terminal import note


def open_page(path: Path) -> None:
    """Open a file in the browser; say so if there is none."""
    if not webbrowser.open(path.resolve().as_uri()):
        note(f"No browser was found on this machine; open {path} yourself.")
