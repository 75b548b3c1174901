"""The script that draws charts: Vega, Vega-Lite and Vega-Embed, bundled by vl-convert.

Bundling takes seconds, so the result is kept in the user's cache folder, with its digest.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

from cofactor.io.atomic import write_whole

SNIPPET = "window.vegaEmbed = vegaEmbed;"


@cache
def library() -> str:
    """Return the script, safe to stand in a page."""
    kept = _kept()
    if (found := _read(kept)) is not None:
        return found
    import vl_convert

    bundle = vl_convert.javascript_bundle(SNIPPET).replace("\r", "\n")
    bundle = bundle.replace("</script", "<\\/script").replace("<!--", "\\x3c!--")
    with contextlib.suppress(OSError):
        _keep(kept, bundle)
    return bundle


def _kept() -> Path:
    if sys.platform == "win32":
        folder = os.environ.get("LOCALAPPDATA", "")
    else:
        folder = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(folder) if os.path.isabs(folder) else Path(os.path.expanduser("~/.cache"))
    return home / "cofactor" / f"vega-{version('vl-convert-python')}.js"


def _read(path: Path) -> str | None:
    """Return a script that was kept whole; None otherwise."""
    try:
        digest, _, text = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    whole = digest == _digest(text)
    return text.decode() if whole else None


def _keep(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    write_whole(path, _digest(data) + b"\n" + data)


def _digest(data: bytes) -> bytes:
    return b"// sha256 " + hashlib.sha256(data).hexdigest().encode()
