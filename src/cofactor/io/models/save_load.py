"""Save and load models."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from cofactor._fields import check_fields
from cofactor._warnings import warn
from cofactor.errors import Parameter, ParameterWarning
from cofactor.io import npy
from cofactor.io.errors import shortened
from cofactor.io.json_text import check_json, from_json_file, to_json_file
from cofactor.io.models.card import card
from cofactor.io.models.codec import ModelFormatError, Parts
from cofactor.io.models.description import Description
from cofactor.io.models.folders import REMEDY, manifest_in, reading, reason_of, write_folder
from cofactor.io.models.manifest import (
    FILES,
    MODEL_MANIFEST,
    check_shapes,
    has_samples,
    make_manifest,
    portable,
    read_manifest,
    unpack,
)
from cofactor.io.models.samples import SAMPLES, SampleFile, compact
from cofactor.io.models.types import CODEC, MODEL_TYPES, OwnVectorizer, put_back, restore_encoder
from cofactor.io.untrusted import check_contents, failing_as, read_file, require
from cofactor.text import TopicModel
from cofactor.text.describe.predictions import on_confidences


def save(model: Any, path: str | os.PathLike[str], *, notes: dict[str, Any] | None = None) -> None:
    """Write a fitted model to a folder, in one step.

    Parameters
    ----------
    model : NMF, SSNMFClassifier, SSNMFRegressor or TopicModel
        A fitted model.
    path : str or path
        The folder; an older model in it is replaced.
    notes : dict, optional
        Values in JSON to keep with the model, such as the source of its data; `read_facts` returns
        them.

    Raises
    ------
    TypeError, ValueError
        If `load_model` could not read what was saved. Nothing is written then.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> import cofactor
    >>> X = np.array([[3.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    >>> model = cofactor.NMF(2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cofactor.save(model, folder)
    ...     again = cofactor.load_model(folder)
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    if type(model) not in MODEL_TYPES:
        names = ", ".join(kind.__name__ for kind in MODEL_TYPES)
        raise TypeError(f"model is a {type(model).__name__}; what can be saved is {names}.")
    check_is_fitted(model, "estimator_" if isinstance(model, TopicModel) else "components_")
    if not isinstance(notes, dict | None):
        raise TypeError(f"notes is a {type(notes).__name__}; pass a dict.")
    check_json(notes, "notes")
    parts = Parts(documents={"vocabulary": None, "classes": None})
    documents = {"config": CODEC.encode(model, parts, "model"), **parts.documents}
    arrays = {name: portable(array) for name, array in parts.arrays.items()}
    samples = {name: arrays.pop(name) for name in [*arrays] if has_samples(name)}
    files = {f"{name}.json": to_json_file(document) for name, document in documents.items()}
    files["factors.npz"] = npy.pack(arrays)
    files[SAMPLES] = npy.pack(
        {key: one for name, array in samples.items() for key, one in compact(name, array).items()}
    )
    with _refusing():
        facts = {**_facts(model), "notes": notes or {}}
        files[MODEL_MANIFEST] = to_json_file(make_manifest(facts, files, arrays, samples))
        _assemble(read_manifest(files[MODEL_MANIFEST]), documents, {**arrays, **samples})
    files["README.md"] = card(facts, on_confidences(model)).encode()
    write_folder(Path(path), files)


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn whatever goes wrong into a ValueError that says that the model cannot be saved."""
    try:
        yield
    except Exception as error:
        raise ValueError(f"The model cannot be saved: {reason_of(error)}.") from error


def _facts(model: Any) -> dict[str, Any]:
    """Return how a model was made, as JSON."""
    text = isinstance(model, TopicModel)
    estimator = model.estimator_ if text else model
    seed = model.seed_ if text else model.random_state
    targets = model.target_names_ if text else getattr(model, "classes_", [])
    return {
        "model": type(model).__name__,
        "settings": {
            name: shortened(repr(v), 200) for name, v in model.get_params(deep=False).items()
        },
        "seed": int(seed) if isinstance(seed, Integral) else None,
        "data": {
            "samples": model.fitted.corpus.n_documents if text else len(model.representation_),
            "features": estimator.components_.shape[1],
            "targets": [str(target) for target in targets],
            "fingerprint": model.fingerprint_ if text else None,
        },
        "fit": {
            "iterations": estimator.n_iter_,
            "stop_reason": estimator.stop_reason_,
            "expected": _expected(estimator),
            "objective": [repr(value) for value in estimator.history_["objective"][-1:]],
        },
        "timings": dict(model.timings_) if text else {},
        "description": _description(model) if text else None,
    }


def _description(model: TopicModel) -> dict[str, Any] | None:
    check_fields(model.fitted)  # the error of a broken model says what is wrong with it
    return Description.of(model).to_json()


def load_model(path: str | os.PathLike[str], *, vectorizer: Any = None, encoder: Any = None) -> Any:
    """Read a model from the folder that `save` wrote.

    Parameters
    ----------
    path : str or path
        The folder.
    vectorizer : object, optional
        The fitted vectorizer of a TopicModel, if it is one that a folder cannot hold: of a class
        that you wrote, or with functions as parameters. Other models contain their vectorizer.
    encoder : str, callable or object with a method ``encode``, optional
        The encoder of a TopicModel, if it was fitted with a function, an object or a name of the
        hub. A folder on this machine is found by its name; nothing is downloaded. Another encoder
        than that of the fit is refused.

    Returns
    -------
    NMF, SSNMFClassifier, SSNMFRegressor or TopicModel
        Its predictions are bit-identical to those of the saved model.

    Raises
    ------
    ModelFormatError
        If the folder is not a whole model that this version can read.

    Examples
    --------
    >>> import tempfile
    >>> from cofactor import NMF, load_model, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(NMF(1, random_state=0).fit([[1.0, 2.0]]), f"{folder}/model")
    ...     load_model(f"{folder}/model")
    NMF(n_components=1, random_state=0)
    """
    model = reading(Path(path), partial(_load, vectorizer=vectorizer, encoder=encoder))
    if vectorizer is not None and getattr(model, "vectorizer_", None) is not vectorizer:
        raise ValueError(
            "vectorizer is not needed: the model's folder holds its own; leave it out."
        )
    if encoder is not None and getattr(model, "encoder", None) != encoder:
        warn(
            ParameterWarning(
                (Parameter("encoder"), " is not used: the model predicts without one"),
                "leave it out",
            )
        )
    return model


def _load(folder: Path, vectorizer: Any, encoder: Any) -> Any:
    manifest = manifest_in(folder)
    files, documents = manifest["files"], {}
    for name in FILES[:3]:
        data = read_file(folder / name, files[name]["bytes"])
        check_contents(name, data, files[name])
        documents[name.removesuffix(".json")] = from_json_file(data, name)
    packed = read_file(folder / "factors.npz", files["factors.npz"]["bytes"])
    check_contents("factors.npz", packed, files["factors.npz"])
    arrays: dict[str, Any] = unpack(packed, manifest["arrays"])
    if SAMPLES in files:
        file = SampleFile(folder / SAMPLES, files[SAMPLES])
        arrays |= file.deferred(
            manifest["samples"], partial(failing_as, ModelFormatError, f"{folder}: ", REMEDY)
        )
    model = _assemble(manifest, documents, arrays)
    if isinstance(model, TopicModel) and isinstance(model.vectorizer_, OwnVectorizer):
        put_back(model, vectorizer)
    if isinstance(model, TopicModel) and model.fitted.encoder is not None:
        restore_encoder(model, encoder)
    return model


def _assemble(manifest: dict[str, Any], documents: dict[str, Any], packed: dict[str, Any]) -> Any:
    """Return the model of a folder's contents; `save` calls it, too, to check what it writes."""
    words, classes = documents["vocabulary"], documents["classes"]
    check_shapes(manifest, _length(words), _length(_classes(classes)))
    parts = Parts(dict(packed), {"vocabulary": words, "classes": classes})
    model = CODEC.decode(documents["config"], parts, "model")
    require(type(model) in MODEL_TYPES, "config.json does not hold a model")
    left = [*parts.arrays, *(name for name, part in parts.documents.items() if part is not None)]
    require(not left, f"config.json does not use {left[:1]}")
    check_is_fitted(model)
    return model


def _classes(document: Any) -> Any:
    return document.get("classes") if isinstance(document, dict) else None


def _length(document: Any) -> int | None:
    """Return the number of labels that a document lists; None if it lists none."""
    items = document.get("items") if isinstance(document, dict) else None
    return len(items) if isinstance(items, list) else None


def _expected(estimator: Any) -> str | None:
    """Return the score to expect on new data, as text."""
    expected = getattr(estimator, "expected_score_", None)
    return None if expected is None else str(expected)
