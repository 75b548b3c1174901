"""Folders of checkpoints: what is written is read, or refused in one sentence."""

import json
import os
import shutil

import numpy as np
import pytest

from cofactor import Factors
from cofactor.engine.fitting import History
from cofactor.io import untrusted

distributed = pytest.importorskip("cofactor.distributed", reason="needs cofactor[dask]")
ROWS = (5, 3)


@pytest.fixture
def state():
    draw = np.random.default_rng(0)
    samples = [draw.random((rows, 2)) for rows in ROWS]
    factors = Factors(np.empty((0, 2)), draw.random((7, 2)), draw.random((3, 2)))
    return samples, factors, History([3.0, 2.0, 1.0], {"data": [1.0, 0.5, 0.25]})


@pytest.fixture
def folder(state, tmp_path):
    """A folder with one checkpoint after three iterations."""
    from cofactor.distributed.checkpoints import CheckpointFolder

    samples, factors, history = state
    folder = CheckpointFolder(tmp_path / "c", "abc", factors, ROWS)
    place = folder.place(3)
    folder.commit(factors, history, {i: place.write(i, S) for i, S in enumerate(samples)})
    return folder


def load(folder):
    saved = folder.newest()
    return saved, [saved.origin.only([i]).samples(None, i) for i in range(len(ROWS))]


def refuse(folder, match):
    with pytest.raises(distributed.CheckpointError, match=match):
        load(folder)


def resign(folder, change=lambda manifest: None):
    """Change the manifest, and make it agree with the files and with itself."""
    home = folder.place(3).path
    manifest = json.loads((home / "manifest.json").read_text())
    for name in manifest["files"]:
        manifest["files"][name] = untrusted.file_facts((home / name).read_bytes())
    change(manifest)
    (home / "manifest.json").write_text(json.dumps(untrusted.with_digest(manifest)))


def test_what_is_written_is_read(folder, state):
    samples, factors, history = state
    saved, found = load(folder)
    assert saved.version == 3
    assert (saved.history.objective, saved.history.terms) == (history.objective, history.terms)
    np.testing.assert_array_equal(saved.features, factors.features)
    np.testing.assert_array_equal(saved.targets, factors.targets)
    for one, other in zip(found, samples, strict=True):
        np.testing.assert_array_equal(one, other)


def test_both_callbacks_and_clusters_raise_one_error():
    from cofactor import callbacks

    assert distributed.CheckpointError is callbacks.CheckpointError
    assert issubclass(callbacks.CheckpointError, ValueError)


@pytest.mark.parametrize("name", ["features.npy", "targets.npy", "block-00001.npy"])
@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda array: array[:-1], "shape"),
        (lambda array: array[:, :1], "shape"),
        (lambda array: array.ravel(), "shape"),
        (lambda array: array.astype(np.float32), "shape"),
        (lambda array: array * np.nan, "not finite or negative"),
        (lambda array: -array, "not finite or negative"),
    ],
)
def test_crafted_arrays(folder, name, change, match):
    path = folder.place(3).path / name
    np.save(path, change(np.load(path)))
    resign(folder)
    refuse(folder, f"{name}.*{match}")


@pytest.mark.parametrize(
    "name", ["features.npy", "targets.npy", "block-00001.npy", "manifest.json"]
)
def test_a_flipped_bit(folder, name):
    path = folder.place(3).path / name
    data = bytearray(path.read_bytes())
    data[-9] ^= 1
    path.write_bytes(data)
    refuse(folder, name)


@pytest.mark.parametrize("name", ["features.npy", "manifest.json"])
@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_only_plain_files_are_read(folder, tmp_path, name, kind):
    path = folder.place(3).path / name
    path.rename(tmp_path / "elsewhere")
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    if name == "manifest.json":
        refuse(folder, "not a plain file")
    else:
        assert folder.newest() is None  # it has another size, so the checkpoint is not whole


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(objective=[1.0]),
        lambda m: m.update(objective=[1.0, 2.0, "x"]),
        lambda m: m.update(objective=None),
        lambda m: m.update(terms=[]),
        lambda m: m.update(terms={"data": 1}),
        lambda m: m.update(files={}),
        lambda m: m.update(files=None),
        lambda m: m["files"].pop("targets.npy"),
        lambda m: m["files"].update({"../../x": {"bytes": 1, "sha256": ""}}),
        lambda m: m["files"].update({"features.npy": 7}),
    ],
)
def test_crafted_manifests(folder, change):
    resign(folder, change)
    refuse(folder, r"manifest\.json.*damaged")


@pytest.mark.parametrize("data", [b"[" * 10**5, b"{", b"7", b'{"a": 1, "a": 1}', b"\xff", b""])
def test_hostile_json(folder, data):
    (folder.place(3).path / "manifest.json").write_bytes(data)
    refuse(folder, r"manifest\.json.*damaged")


def test_other_fits_and_versions_are_refused(folder):
    resign(folder, lambda manifest: manifest.update(schema=1))
    refuse(folder, "another model, start or data, or to another version")
    resign(folder, lambda manifest: manifest.update(schema=2, fingerprint="other"))
    refuse(folder, "another model, start or data")


def test_a_file_that_is_cut_off_is_passed_over(folder):
    with open(folder.place(3).path / "block-00000.npy", "r+b") as file:
        file.truncate(50)
    assert folder.newest() is None


@pytest.mark.parametrize("name", ["0000004", "000000000000000004"])
def test_folders_of_other_names_are_no_checkpoints(folder, name):
    shutil.copytree(folder.place(3).path, folder.path / name)
    assert folder.newest().version == 3
