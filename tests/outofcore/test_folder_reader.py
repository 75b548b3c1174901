"""Damaged and crafted folders of row blocks: one clear error before a kernel sees them."""

import io
import json
import os
import pickle
import shutil

import numpy as np
import pytest
from scipy import sparse as sp

from cofactor import NMF, RowBlocks
from cofactor.io import untrusted
from cofactor.outofcore import RowBlocksError
from cofactor.outofcore.sampling import joined_sample
from cofactor.targets.reading import NamedMatrix

ARRAYS = ["values", "indices", "start", "across-values", "across-indices", "across-start", "y"]


@pytest.fixture
def folder(tmp_path):
    X = sp.csr_array(sp.random(30, 7, 0.4, random_state=0))
    y = np.array([None, "cat", "dog"] * 10, dtype=object)
    RowBlocks.write(tmp_path / "b", [(X, y)], rows=12, notes=lambda: {"words": ["a", "b"]})
    return tmp_path / "b"


def resign(folder, change=lambda manifest: None):
    """Change the manifest, and make it agree with the files and with itself."""
    path = folder / "blocks.json"
    manifest = json.loads(path.read_text())
    for i, block in enumerate(manifest["blocks"]):
        for name in block["files"]:
            data = (folder / f"{i:05d}" / f"{name}.npy").read_bytes()
            block["files"][name] = untrusted.file_facts(data)
    change(manifest)
    path.write_text(json.dumps(untrusted.with_digest(manifest)))


def as_schema_1(folder):
    """Turn a folder into one of the first schema, as it was written before digests."""
    manifest = json.loads((folder / "blocks.json").read_text())
    for block in manifest["blocks"]:
        files = block.pop("files")
        block["sizes"] = [[name, facts["bytes"]] for name, facts in files.items()]
        block |= {"labelled": 8, "firsts": [1, 2]}
    del manifest["digest"], manifest["notes"]
    (folder / "blocks.json").write_text(json.dumps({**manifest, "schema": 1}))


def rewrite(folder, name, change, i=1):
    """Change an array in place, and the digests with it."""
    path = folder / f"{i:05d}" / f"{name}.npy"
    array = np.load(path)
    changed = change(array)
    np.save(path, array if changed is None else changed)
    resign(folder)


def use(folder):
    blocks = RowBlocks.open(folder)
    for i in range(blocks.n_blocks):
        blocks.block(i)
    return blocks.notes


def refuse(folder, match):
    with pytest.raises(RowBlocksError, match=match) as caught:
        use(folder)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- bytes


@pytest.mark.parametrize("name", ARRAYS)
def test_a_flipped_bit_is_found_when_the_block_is_read(folder, name):
    path = folder / "00001" / f"{name}.npy"
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    blocks = RowBlocks.open(folder)  # does not read what it need not
    blocks.block(0)
    with pytest.raises(RowBlocksError, match=rf"00001/{name}.npy was changed after"):
        blocks.block(1)


def test_a_block_that_changes_after_it_was_read_is_checked_again(folder):
    blocks = RowBlocks.open(folder)
    blocks.block(1)
    path = folder / "00001" / "indices.npy"
    data = bytearray(path.read_bytes())
    data[-1] = 0x7F
    path.write_bytes(data)
    with pytest.raises(RowBlocksError, match="changed after it was written"):
        blocks.block(1)


def test_another_process_checks_for_itself(folder):
    blocks = RowBlocks.open(folder)
    blocks.block(0)
    assert blocks.folder._checked
    assert not pickle.loads(pickle.dumps(blocks)).folder._checked


@pytest.mark.parametrize("name", ["blocks.json", "notes.json"])
def test_a_changed_manifest_or_note_is_found(folder, name):
    text = (folder / name).read_text()
    (folder / name).write_text(text.replace("cat", "cow").replace("words", "wards"))
    refuse(folder, rf"{name} was changed")


@pytest.mark.parametrize("name", ["blocks.json", "notes.json", "00001/start.npy"])
@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "device", "empty", "huge"])
def test_only_plain_files_are_read(folder, tmp_path, name, kind):
    path = folder / name
    path.rename(tmp_path / "elsewhere")
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "empty":
        path.write_bytes(b"")
    else:
        with open(path, "wb") as file:
            file.truncate(2**40)
    refuse(folder, path.name)


def test_a_block_that_is_a_link_is_refused(folder, tmp_path):
    (folder / "00001").rename(tmp_path / "elsewhere")
    (folder / "00001").symlink_to(tmp_path / "elsewhere")
    refuse(folder, "00001 is not a folder")


# ---------------------------------------------------------------- structure, digests being right


def set_at(place, value):
    def change(array):
        array[place] = value

    return change


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("values", set_at(3, np.nan), "not finite and positive"),
        ("values", set_at(3, np.inf), "not finite and positive"),
        ("values", set_at(3, -1.0), "not finite and positive"),
        ("values", set_at(3, 0.0), "not finite and positive"),
        ("values", set_at(3, 1e300), "another largest value"),
        ("values", lambda array: array * 0.5, "another largest value"),
        ("values", lambda array: array[:-1], r"shape \(\d+,\), not"),
        ("values", lambda array: array.astype(np.float32), "dtype float32"),
        ("values", lambda array: array[:, None], "shape"),
        ("indices", set_at(0, 7), "out of range"),
        ("indices", set_at(0, -1), "out of range"),
        ("indices", set_at(0, 2**31 - 1), "out of range"),
        ("indices", lambda array: array[::-1].copy(), "does not rise within a row"),
        ("start", set_at(0, 1), "does not rise from 0"),
        ("start", set_at(-1, 2**40), "does not rise from 0"),
        ("start", set_at(4, 2**40), "does not rise from 0"),
        ("start", set_at(4, -5), "does not rise from 0"),
        ("across-values", set_at(3, 0.125), "not the transpose"),
        ("across-indices", set_at(3, 2**30), "not the transpose"),
        ("across-start", set_at(3, 2**40), "not the transpose"),
        ("y", set_at(0, 2), "code without a label"),
        ("y", set_at(0, -2), "code without a label"),
        ("y", lambda array: array[:-1], "shape"),
    ],
)
@pytest.mark.parametrize("schema", [1, 2])
def test_crafted_arrays(folder, name, change, match, schema):
    rewrite(folder, name, change)
    if schema == 1:
        as_schema_1(folder)
    refuse(folder, match)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2**60,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999999999,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<f3', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }",
        "(" * 100,
        "[" * 300 + "]" * 300,
        "'",
        "",
    ],
)
def test_crafted_headers(folder, header):
    path = folder / "00001" / "values.npy"
    data = path.read_bytes()
    text = header.encode()
    text += b" " * (-(10 + len(text) + 1) % 64) + b"\n"
    path.write_bytes(data[:8] + len(text).to_bytes(2, "little") + text + data[128:])
    resign(folder)
    refuse(folder, r"00001/values.npy")


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(width=-1),
        lambda m: m.update(width=2**40),
        lambda m: m.update(width=7.0),
        lambda m: m.update(labels={"a": 1}),
        lambda m: m.update(labels=["cat", "cat"]),
        lambda m: m.update(labels=[["cat"], ["dog"]]),
        lambda m: m.update(labels=["cat"]),
        lambda m: m.update(blocks=[]),
        lambda m: m.update(blocks=None),
        lambda m: m.update(notes=7),
        lambda m: m["blocks"][0].update(rows=10**30),
        lambda m: m["blocks"][0].update(rows=-1),
        lambda m: m["blocks"][0].update(rows="12"),
        lambda m: m["blocks"][0].update(rows=True),
        lambda m: m["blocks"][0].update(cells=10**6),
        lambda m: m["blocks"][0].update(dtype="object"),
        lambda m: m["blocks"][0].update(dtype="float32"),
        lambda m: m["blocks"][0].update(largest=10**400),
        lambda m: m["blocks"][0].update(largest=-1.0),
        lambda m: m["blocks"][0].update(targets="numbers"),
        lambda m: m["blocks"][0].update(targets=None),
        lambda m: m["blocks"][0].update(files={}),
        lambda m: m["blocks"][0].update(more=1),
        lambda m: m["blocks"][0]["files"].update({"../../other": {"bytes": 1, "sha256": ""}}),
        lambda m: m["blocks"][0]["files"]["values"].update(bytes=-1),
        lambda m: m["blocks"][0]["files"]["values"].update(sha256=None),
        lambda m: m["blocks"].append(m["blocks"][0]),
    ],
)
def test_crafted_manifests(folder, change):
    resign(folder, change)
    refuse(folder, r"cannot be read")


@pytest.mark.parametrize("schema", [0, 3, "2", None, 1.0, True])
def test_other_schemas(folder, schema):
    resign(folder, lambda manifest: manifest.update(schema=schema))
    refuse(folder, "schema .* this version reads 1 to 2")


@pytest.mark.parametrize(
    "data",
    [b"[" * 10**5, b"1" * 10**5, b'{"a": NaN}', b'{"a": 1, "a": 1}', b'{"a": 1e999}', b"\xff", b""],
)
@pytest.mark.parametrize("name", ["blocks.json", "notes.json"])
def test_hostile_json(folder, name, data):
    (folder / name).write_bytes(data)
    if name == "notes.json":
        resign(folder, lambda manifest: manifest.update(notes=untrusted.file_facts(data)))
    refuse(folder, name)


# ---------------------------------------------------------------- the first schema


def test_folders_of_the_first_schema_can_be_used(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "old")
    as_schema_1(tmp_path / "old")
    assert use(tmp_path / "old") == {"words": ["a", "b"]}
    new, old = (
        NMF(2, solver="mu", max_iter=3, tol=0, random_state=0).fit(RowBlocks.open(path))
        for path in (folder, tmp_path / "old")
    )
    np.testing.assert_array_equal(new.components_, old.components_)


def test_targets_in_fortran_order_are_read_as_they_were_written(tmp_path):
    X, y = np.eye(4), np.asfortranarray(np.arange(8.0).reshape(4, 2))
    RowBlocks.write(tmp_path / "b", [(X, y)])
    np.testing.assert_array_equal(RowBlocks.open(tmp_path / "b").targets(0), y)
    buffer = io.BytesIO()
    np.save(buffer, y)
    assert b"True" in buffer.getvalue()[:128]
    (tmp_path / "b" / "00000" / "y.npy").write_bytes(buffer.getvalue())
    resign(tmp_path / "b")
    np.testing.assert_array_equal(RowBlocks.open(tmp_path / "b").targets(0), y)


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_targets_are_not_written(tmp_path, bad):
    with pytest.raises(ValueError, match="infinite value"):
        RowBlocks.write(tmp_path / "b", [(np.eye(2), np.array([1.0, bad]))])
    with pytest.raises(TypeError, match="finite numbers"):
        RowBlocks.write(tmp_path / "b", [(np.eye(2), np.array(["a", bad], dtype=object))])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "names", [["a"], ["a", "b", "c"], [], "ab", [None, "b"], {"a": 1, "b": 2}, [["a"], ["b"]]]
)
def test_crafted_names_of_targets(folder, tmp_path, names):
    pair = np.eye(4), NamedMatrix(np.eye(4)[:, :2], ["sun", "moon"])
    assert RowBlocks.write(tmp_path / "n", [pair]).target_names == ("sun", "moon")
    resign(tmp_path / "n", lambda manifest: manifest.update(target_names=names))
    refuse(tmp_path / "n", "target_names|names for")
    resign(folder, lambda manifest: manifest.update(target_names=["cat", "dog"]))
    refuse(folder, "target_names")


def test_folders_without_names_of_targets_can_be_opened(tmp_path):
    blocks = RowBlocks.write(tmp_path / "b", [(np.eye(4), np.eye(4)[:, :2])])
    assert "target_names" not in json.loads((tmp_path / "b" / "blocks.json").read_text())
    assert blocks.target_names is None
    assert blocks.named(["a", "b"]).target_names == ("a", "b")
    with pytest.raises(ValueError, match="names has 3 entries"):
        blocks.named(["a", "b", "c"])


# ---------------------------------------------------------------- remedies


@pytest.mark.parametrize("name", ["00001/values.npy", "blocks.json", "notes.json", "00002/y.npy"])
def test_a_damaged_folder_can_be_written_anew(folder, name):
    (folder / name).write_bytes((folder / name).read_bytes()[:-8])
    with pytest.raises(RowBlocksError):
        use(folder)
    RowBlocks.write(folder, [np.eye(3)], overwrite=True)
    assert use(folder) is None
    assert RowBlocks.open(folder).shape == (3, 3)


@pytest.mark.parametrize("name", ["mine.txt", "0000", "00001/mine.txt", "00001x"])
def test_files_of_others_are_kept(folder, name):
    (folder / name).write_text("precious")
    with pytest.raises(RowBlocksError, match=name):
        RowBlocks.write(folder, [np.eye(3)], overwrite=True)
    assert (folder / name).read_text() == "precious"


def test_a_lack_of_memory_is_not_damage(folder, monkeypatch):
    def fail(*given):
        raise MemoryError("Unable to allocate 3 GiB")

    monkeypatch.setattr("cofactor.outofcore.folder_reader._check_block", fail)
    with pytest.raises(MemoryError, match="3 GiB"):
        use(folder)


def test_targets_that_differ_in_their_columns_are_refused():
    """A header that was damaged may make a column of a matrix, or a matrix of a column."""
    parts = [(sp.csr_array(np.eye(2)), y, np.ones(2)) for y in (np.ones((2, 1)), np.ones(2))]
    with pytest.raises(RowBlocksError, match=r"differ in their columns: \(\) and \(1,\)"):
        joined_sample(parts, 1.0)
