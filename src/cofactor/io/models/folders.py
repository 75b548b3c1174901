"""The folder of a model: where it may be written, where it is found, and what its manifest says.

Importing this module imports no estimator.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cofactor.io import atomic
from cofactor.io.models.codec import ModelFormatError, NoModelError
from cofactor.io.models.manifest import MAX_MANIFEST_BYTES, MODEL_MANIFEST, read_manifest
from cofactor.io.untrusted import DamagedFileError, read_file

REMEDY = "; fit the model again, or restore the folder from a copy"


def read_facts(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the facts that a folder holds about its model, without loading the model.

    Parameters
    ----------
    path : str or path
        The folder.

    Returns
    -------
    dict
        The manifest: model, settings, seed, data, fit, timings, versions, notes and more.

    Examples
    --------
    >>> import tempfile
    >>> from cofactor import NMF, read_facts, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(NMF(1, random_state=0).fit([[1.0, 2.0]]), f"{folder}/model", notes={"by": "Ada"})
    ...     facts = read_facts(f"{folder}/model")
    >>> facts["model"], facts["seed"], facts["notes"]
    ('NMF', 0, {'by': 'Ada'})
    """
    return dict(reading(Path(path), manifest_in))


def reading(given: Path, read: Callable[[Path], Any]) -> Any:
    """Read a folder; whatever goes wrong, except a lack of memory, becomes a ModelFormatError."""
    for _ in range(10):
        before = _identity(given)
        try:
            return read(find_folder(given))
        except MemoryError:
            raise
        except Exception as error:
            if _identity(given) != before:
                continue  # another process replaced it while it was read
            remedy = "" if isinstance(error, NoModelError) else REMEDY
            raise ModelFormatError(f"{given}: {reason_of(error)}{remedy}.") from error
    raise ModelFormatError(f"{given}: it is replaced faster than it can be read; try again.")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_mtime_ns


def manifest_in(folder: Path) -> Any:
    """Return the manifest in a folder, checked."""
    return read_manifest(read_file(folder / MODEL_MANIFEST, MAX_MANIFEST_BYTES))


def reason_of(error: Exception) -> str:
    """Return what is wrong with a model, as the rest of a sentence."""
    known = isinstance(error, ModelFormatError | DamagedFileError)
    return str(error) if known else f"it is broken: {error!r}"


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write files to a folder in one step; other files in an old folder stay."""
    path = Path(os.path.abspath(path))
    _check_place(path)
    with (
        atomic.telling_of_full_disks(path, sum(map(len, files.values()))),
        atomic.replacing_folder(path, keep_others=True) as new,
    ):
        for name, data in files.items():
            atomic.write_flushed(new / name, data)


def _check_place(path: Path) -> None:
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise FileExistsError(f"path={str(path)!r} is not a folder; choose another.")
    if atomic.has_only_other_files(path, MODEL_MANIFEST):
        raise FileExistsError(
            f"path={str(path)!r} is a folder with other files in it and not a model; choose "
            "another, or empty it."
        )


def find_folder(path: Path) -> Path:
    """Return the folder to read: ``path``, or the old one if a save was killed half-way."""
    found = atomic.find_folder(path)
    if not found.is_dir():
        what = "it is a file" if path.exists() else "it does not exist"
        raise NoModelError(f"{what}; name the folder of a model, which has {MODEL_MANIFEST} in it")
    if not (found / MODEL_MANIFEST).exists():
        raise NoModelError(
            f"it has no {MODEL_MANIFEST}, so it is not a model; name the folder of a model"
        )
    return found
