"""The script that draws charts: Vega, Vega-Lite and Vega-Embed, bundled by vl-convert.

Bundling takes seconds, so the script is cached in the user's cache folder. Every report contains
it, so a cached script is used only if no other user can have written it: file and folder must
belong to this user and must not be writable by others. Otherwise the script is bundled again. The
digest in the file detects damage; it does not protect against an attacker.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from functools import cache
from importlib.metadata import version
from pathlib import Path

from cofactor.io import platform
from cofactor.io.atomic import write_whole

SNIPPET = "window.vegaEmbed = vegaEmbed;"


@cache
def library() -> str:
    """Return the script, escaped for use in a page."""
    path = _cache_path()
    if (cached := _read(path)) is not None:
        return cached
    import vl_convert

    bundle = vl_convert.javascript_bundle(SNIPPET).replace("\r", "\n")
    bundle = bundle.replace("</script", "<\\/script").replace("<!--", "\\x3c!--")
    with contextlib.suppress(OSError):
        _write(path, bundle)
    return bundle


def _cache_path() -> Path:
    return platform.HERE.cache_folder() / "cofactor" / f"vega-{version('vl-convert-python')}.js"


def _read(path: Path) -> str | None:
    """Return the cached script; None if it is missing, damaged or not to be trusted."""
    try:
        if not platform.HERE.is_private(path.parent.lstat()):
            return None
        with open(path, "rb", opener=_open_without_links) as file:
            if not platform.HERE.is_private(os.fstat(file.fileno())):
                return None
            digest, _, text = file.read().partition(b"\n")
    except OSError:
        return None
    return text.decode() if digest == _digest(text) else None


def _open_without_links(path: str, flags: int) -> int:
    return os.open(path, flags | platform.UNLINKED)


def _write(path: Path, text: str) -> None:
    """Write the script to a folder that only this user can write to."""
    folder = path.parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not platform.HERE.is_own(folder.lstat()):
        return
    folder.chmod(0o700)
    data = text.encode()
    write_whole(path, _digest(data) + b"\n" + data)
    os.chmod(path, 0o600)


def _digest(data: bytes) -> bytes:
    return b"// sha256 " + hashlib.sha256(data).hexdigest().encode()
