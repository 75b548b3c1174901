"""The one error for folders that cannot be read as models."""

from __future__ import annotations


class ModelFormatError(ValueError):
    """A folder is not a model that this version can read; the message says what and where.

    Examples
    --------
    >>> from cofactor import ModelFormatError, load_model
    >>> try:
    ...     model = load_model("no such folder")
    ... except ModelFormatError as error:
    ...     print(error)
    no such folder: it does not exist; name the folder of a model, which has manifest.json in it.
    """


class NoModelError(ModelFormatError):
    """A folder has no model, or one of a newer version; it is not damaged."""
