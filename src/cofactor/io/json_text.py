"""JSON: one way to write it for other programs, one for our own files, and one to read these."""

from __future__ import annotations

import json
from typing import Any

from cofactor.io.untrusted import DamagedFileError, require


def to_json(value: Any, **options: Any) -> str:
    """Return JSON for other programs, in ASCII unless the options say otherwise.

    NaN and infinity become null; objects that JSON does not know become text.
    """
    text = json.dumps(_finite(value), default=str, allow_nan=False, **options)
    return text.replace("\x7f", "\\u007f")  # the one control character that json leaves


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {str(key): _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


def to_json_file(value: Any) -> bytes:
    """Return the contents of one of our own files: JSON in UTF-8 that people can read.

    NaN and infinity are errors, and so are objects that JSON does not know.
    """
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(value, indent=1, allow_nan=False).encode() + b"\n"


def check_json(value: Any, name: str) -> None:
    """Raise an error that names the first part of a value that JSON cannot hold.

    JSON holds tuples as lists.
    """
    if isinstance(value, dict):
        for key, one in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{name} has the key {key!r}; keys in JSON are strings.")
            check_json(one, f"{name}[{key!r}]")
    elif isinstance(value, list | tuple):
        for i, one in enumerate(value):
            check_json(one, f"{name}[{i}]")
    elif isinstance(value, float):
        if value - value != 0:
            raise ValueError(f"{name} is {value}, which JSON cannot hold; use None or a string.")
    elif not (value is None or isinstance(value, str | int)):
        kind = type(value).__name__
        raise TypeError(f"{name} is of type {kind}, which JSON cannot hold; use a string.")


def from_json_file(data: bytes, name: str) -> Any:
    """Return the value of a JSON file; repeated keys, NaN and infinity are errors."""
    try:
        return json.loads(
            data, object_pairs_hook=_distinct, parse_constant=_refuse, parse_float=_number
        )
    except DamagedFileError as error:
        raise DamagedFileError(f"{name} {error}") from None
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{name} is not JSON: {error}") from error


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    require(len(found) == len(pairs), "repeats a key")
    return found


def _refuse(constant: str) -> Any:
    raise DamagedFileError(f"holds {constant}, which is not JSON")


def _number(text: str) -> float:
    value = float(text)
    require(value - value == 0, f"holds the number {text[:20]}, which is too large")
    return value
