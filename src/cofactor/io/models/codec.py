"""Values ↔ JSON. Objects carry the name of their type; arrays go to a separate file.

Only types that `CODEC` (see `types`) lists become objects again, so a folder cannot choose which
code runs when it is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np

from cofactor.io.untrusted import DamagedFileError, require


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


class NoEncoderError(NoModelError):
    """The encoder of a model is missing, or another one was given."""


@dataclass(frozen=True)
class Form:
    """How objects of one type are taken apart and put together again.

    Parameters
    ----------
    kind : type
        The type.
    take : callable
        From an object to a dict of its parts.
    make : callable
        From such a dict to an object; may raise any exception.
    names : frozenset of str
        The keys that the dict may have.
    """

    kind: type
    take: Callable[[Any], dict[str, Any]]
    make: Callable[[dict[str, Any]], Any]
    names: frozenset[str]


@dataclass
class Parts:
    """The parts of a saved model: documents in JSON, and arrays."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    documents: dict[str, Any] = field(default_factory=dict)  # vocabulary, classes


@dataclass
class Codec:
    """Encoder and decoder for a set of forms.

    ``elsewhere`` names the attributes that go to a separate document.
    """

    forms: Mapping[str, Form]
    elsewhere: Mapping[str, str]

    # ---- writing

    def encode(self, value: Any, parts: Parts, where: str) -> Any:
        """Return ``value`` as JSON; put its arrays and documents into ``parts``."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, Integral):
            return int(value)
        if isinstance(value, Real):
            return _encode_float(float(value))
        if isinstance(value, np.ndarray):
            return self._encode_array(value, parts, where)
        if isinstance(value, list | tuple | set | frozenset):
            return self._encode_items(value, parts, where)
        if isinstance(value, Mapping):
            return self._encode_mapping(value, parts, where)
        if isinstance(value, type | np.dtype) and np.dtype(value).kind in "biuf":
            return {"type": "dtype", "name": np.dtype(value).name}
        return self._encode_object(value, parts, where)

    def _encode_items(self, value: Any, parts: Parts, where: str) -> Any:
        ordered = sorted(value) if isinstance(value, set | frozenset) else value
        items = [self.encode(item, parts, f"{where}.{i}") for i, item in enumerate(ordered)]
        if isinstance(value, list):
            return items
        return {"type": "tuple" if isinstance(value, tuple) else "set", "items": items}

    def _encode_mapping(self, value: Mapping[Any, Any], parts: Parts, where: str) -> Any:
        if not all(isinstance(key, str) for key in value):
            return self._encode_pairs(value, parts, where)
        items = {key: self.encode(item, parts, f"{where}.{key}") for key, item in value.items()}
        return {"type": "dict", "items": items}

    def _encode_pairs(self, value: Mapping[Any, Any], parts: Parts, where: str) -> Any:
        """Encode a dict whose keys are numbers, such as the weights of classes."""
        for key in value:
            if not isinstance(key, str | Real | np.bool_):
                raise TypeError(f"{where} has the key {key!r}; use strings or numbers.")
        pairs = [
            self.encode([*pair], parts, f"{where}.{i}") for i, pair in enumerate(value.items())
        ]
        return {"type": "pairs", "items": pairs}

    def _encode_array(self, value: np.ndarray, parts: Parts, where: str) -> Any:
        kind, flat = value.dtype.kind, value.ndim == 1
        if kind == "f" or (kind in "biu" and not flat):
            parts.arrays[where] = value
            return {"type": "array", "name": where}
        name = {"O": "object", "U": "str"}.get(kind, value.dtype.name)
        items = value.tolist()
        if name not in _LABELS or not flat or not all(isinstance(i, _LABELS[name]) for i in items):
            raise TypeError(
                f"{where} is an array of dtype {value.dtype}, which a model folder cannot hold; "
                "use strings or numbers."
            )
        items = [self.encode(item, parts, where) for item in items]
        return {"type": "labels", "dtype": name, "items": items}

    def _encode_object(self, value: Any, parts: Parts, where: str) -> Any:
        if isinstance(value, np.random.RandomState):
            return None  # its state has changed; fitted models know the seed that they used
        name = next((n for n, form in self.forms.items() if type(value) is form.kind), None)
        if name is None:
            raise TypeError(
                f"{where} is {value!r}, which a model folder cannot hold: only plain values, arrays"
                f", {', '.join(self.forms)} are safe to load again."
            )
        encoded: dict[str, Any] = {"type": name}
        for key, part in self.forms[name].take(value).items():
            home = self.elsewhere.get(key)
            inside = self.encode(part, parts, f"{where}.{key}")
            if home is None:
                encoded[key] = inside
            else:
                encoded[key], parts.documents[home] = {"type": "file", "name": home}, inside
        return encoded

    # ---- reading

    def decode(self, value: Any, parts: Parts, where: str) -> Any:
        """Return the value that `encode` wrote."""
        if value is None or isinstance(value, bool | str | int | float):
            return value
        if isinstance(value, list):
            return [self.decode(item, parts, f"{where}.{i}") for i, item in enumerate(value)]
        require(isinstance(value, dict) and isinstance(value.get("type"), str), f"{where}: no type")
        name = value["type"]
        if name in self.forms:
            return self._decode_object(name, value, parts, where)
        require(name in _CONTAINERS, f"{where} has the unknown type {name!r}")
        names, decode = _CONTAINERS[name]
        require(value.keys() == names | {"type"}, f"{where}: a {name} needs {sorted(names)}")
        return decode(self, value, parts, where)

    def _decode_object(self, name: str, value: dict[str, Any], parts: Parts, where: str) -> Any:
        form = self.forms[name]
        given = {k: v for k, v in value.items() if k != "type"}
        if unknown := sorted(given.keys() - form.names):
            raise ModelFormatError(f"{where}: {name} has no {unknown[0]!r}")
        inside = {k: self.decode(v, parts, f"{where}.{k}") for k, v in given.items()}
        try:
            return form.make(inside)
        except (DamagedFileError, ModelFormatError) as error:
            raise ModelFormatError(f"{where}: {error}") from None
        except Exception as error:
            raise ModelFormatError(f"{where} is not a usable {name}: {error}") from error

    def _decode_sequence(self, value: Any, parts: Parts, where: str) -> Any:
        require(isinstance(value["items"], list), f"{where}: items is not a list")
        items = self.decode(value["items"], parts, where)
        return tuple(items) if value["type"] == "tuple" else set(items)

    def _decode_mapping(self, value: Any, parts: Parts, where: str) -> Any:
        require(isinstance(value["items"], dict), f"{where}: items is not an object")
        return {k: self.decode(v, parts, f"{where}.{k}") for k, v in value["items"].items()}

    def _decode_pairs(self, value: Any, parts: Parts, where: str) -> Any:
        pairs = value["items"]
        good = isinstance(pairs, list) and all(isinstance(p, list) and len(p) == 2 for p in pairs)
        require(good, f"{where}: items are not pairs")
        decoded = self.decode(pairs, parts, where)
        require(
            all(isinstance(k, str | Real) for k, _ in decoded), f"{where}: a key is not a label"
        )
        return dict(decoded)

    def _decode_float(self, value: Any, parts: Parts, where: str) -> float:
        require(value["value"] in ("nan", "inf", "-inf"), f"{where}: value is not a float")
        return float(value["value"])

    def _decode_dtype(self, value: Any, parts: Parts, where: str) -> type:
        require(value["name"] in _NUMBER_TYPES, f"{where}: {value['name']!r} is not a dtype")
        return _NUMBER_TYPES[value["name"]]

    def _decode_array(self, value: Any, parts: Parts, where: str) -> np.ndarray:
        require(value["name"] == where, f"{where} names another array, {value['name']!r}")
        require(where in parts.arrays, f"{where} is not among the arrays")
        return parts.arrays.pop(where)

    def _decode_labels(self, value: Any, parts: Parts, where: str) -> np.ndarray:
        items, name = value["items"], value["dtype"]
        require(name in _LABELS, f"{where}: labels have no dtype {name!r}")
        require(isinstance(items, list), f"{where}: items is not a list")
        items = self.decode(items, parts, where)
        good = all(isinstance(item, _LABELS[name]) for item in items)
        require(good, f"{where}: a label is not of dtype {name}")
        if name != "object":
            return np.array(items, dtype=name)
        labels = np.empty(len(items), dtype=object)
        labels[:] = items
        return labels

    def _decode_file(self, value: Any, parts: Parts, where: str) -> Any:
        home = self.elsewhere.get(where.rsplit(".", 1)[-1])
        require(value["name"] == home, f"{where} does not belong in {value['name']!r}")
        require(home in parts.documents, f"{where} is taken from {home}.json twice")
        return self.decode(parts.documents.pop(str(home)), parts, where)


_NUMBER_TYPES: dict[str, type] = {"float64": np.float64, "float32": np.float32, "int64": np.int64}
_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
_LABELS: dict[str, tuple[type, ...]] = {
    "object": (str, int, float),
    "str": (str,),
    "bool": (bool,),
    **dict.fromkeys(_INTEGERS, (int,)),
}
_CONTAINERS: dict[str, tuple[set[str], Callable[..., Any]]] = {
    "tuple": ({"items"}, Codec._decode_sequence),
    "set": ({"items"}, Codec._decode_sequence),
    "dict": ({"items"}, Codec._decode_mapping),
    "pairs": ({"items"}, Codec._decode_pairs),
    "float": ({"value"}, Codec._decode_float),
    "dtype": ({"name"}, Codec._decode_dtype),
    "array": ({"name"}, Codec._decode_array),
    "labels": ({"dtype", "items"}, Codec._decode_labels),
    "file": ({"name"}, Codec._decode_file),
}


def _encode_float(value: float) -> Any:
    return value if math.isfinite(value) else {"type": "float", "value": repr(value)}
