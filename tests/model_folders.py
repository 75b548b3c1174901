"""Model folders that tests spoil, and checks of what comes back."""

import json

import numpy as np
import pytest

from cofactor import ModelFormatError, load_model
from cofactor.io import untrusted
from cofactor.io.json_text import to_json_file

TEXTS = [
    "the goalie saved the puck",
    "a late goal won the hockey game",
    "puck and goal",
    "the orbit of the moon",
    "a rocket to the moon",
    "rocket fuel and orbit",
]
LABELS = ["sport", "", "", "space", "", ""]


def same(one, other):
    """Whether two topic models are equal in all that they know and say."""
    texts = [*TEXTS, "", "puck moon"]
    return (
        one.topics() == other.topics()
        and one.documents() == other.documents()
        and one.class_summaries() == other.class_summaries()
        and np.array_equal(one.predict_proba(texts), other.predict_proba(texts))
        and np.array_equal(one.estimator_.representation_, other.estimator_.representation_)
        and repr(one) == repr(other)
    )


def resign(folder, change):
    """Change the manifest and make it look untouched."""
    path = folder / "manifest.json"
    content = json.loads(path.read_bytes())
    change(content)
    path.write_bytes(to_json_file(untrusted.with_digest(content)))


def rewrite(folder, name, change):
    """Change a JSON file and make the manifest agree."""
    content = json.loads((folder / name).read_bytes())
    change(content)
    replace(folder, name, to_json_file(content))


def replace(folder, name, data):
    (folder / name).write_bytes(data)

    def declare(content):
        content["files"][name] = untrusted.file_facts(data)

    resign(folder, declare)


def read_all(model):
    """Ask for everything that a model folder reads only when it is needed."""
    for part in (model, getattr(model, "estimator_", None)):
        state = getattr(part, "_fitted", None)
        for name in vars(state) if state is not None else ():
            getattr(state, name)
    return model


def refuse(folder, match):
    with pytest.raises(ModelFormatError, match=match) as caught:
        read_all(load_model(folder))
    message = str(caught.value)
    assert message.endswith(".")
    assert str(folder) in message
    assert message.count(str(folder)) == 1
    if not any(word in message for word in ("name the folder of a model", "upgrade cofactor")):
        assert message.endswith("; fit the model again, or restore the folder from a copy.")
