"""Changes that a manifest notes: read as they were written, refused where they are damaged."""

import pytest

from cofactor.text.editing.changes import Changes


def test_changes_survive_a_manifest():
    changes = Changes(
        names={1: "x"},
        frozen={0: True},
        pinned={2: ["a"]},
        banned={2: ["b"]},
        merges=[[0, 3]],
        drops=[4],
        splits={5: 2},
    )
    assert Changes.read(changes.facts()) == changes


@pytest.mark.parametrize(
    "facts",
    [
        None,
        {"other": {}},
        {"merges": {}},
        {"merges": [1]},
        {"merges": [["a"]]},
        {"names": {"x": "a"}},
        {"names": {"1": 2}},
        {"frozen": {"0": "yes"}},
        {"drops": ["1"]},
        {"pinned": {"0": "word"}},
        {"banned": {"0": [1]}},
        {"splits": {"0": None}},
    ],
)
def test_damaged_notes_are_refused(facts):
    with pytest.raises(ValueError, match="The notes on the edits are damaged"):
        Changes.read(facts)
