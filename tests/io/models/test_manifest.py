"""Model folders whose files do not fit their manifest are refused."""

import os

import pytest

from cofactor import ModelFormatError, load_model
from cofactor.io.models import manifest
from cofactor.io.models.samples import SAMPLES
from model_folders import refuse, resign


def test_places_without_a_model(tmp_path):
    refuse(tmp_path / "nothing", "does not exist")
    refuse(tmp_path, "has no manifest.json")
    (tmp_path / "file").write_text("x")
    refuse(tmp_path / "file", "is a file")
    with pytest.raises(ModelFormatError):
        load_model("a\x00b")


@pytest.mark.parametrize("name", [*manifest.FILES, SAMPLES, "manifest.json"])
def test_missing_empty_cut_and_longer_files(folder, name):
    content = (folder / name).read_bytes()
    for data in (b"", content[:-2], content[: len(content) // 2], content + b" x"):
        (folder / name).write_bytes(data)
        refuse(folder, name)
    (folder / name).unlink()
    refuse(folder, name)


@pytest.mark.parametrize("name", [*manifest.FILES, SAMPLES, "manifest.json"])
def test_links_and_pipes_are_not_followed(folder, name, tmp_path):
    moved = tmp_path / "elsewhere"
    (folder / name).rename(moved)
    (folder / name).symlink_to(moved)
    refuse(folder, "not a plain file")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    refuse(folder, "not a plain file")
    (folder / name).unlink()
    (folder / name).mkdir()
    refuse(folder, "not a plain file")


def test_a_sparse_file_of_a_terabyte(folder):
    with open(folder / "factors.npz", "r+b") as file:
        file.truncate(2**40)
    refuse(folder, "factors.npz has 1099511627776 bytes, more than")
    with open(folder / "manifest.json", "r+b") as file:
        file.truncate(2**40)
    refuse(folder, "manifest.json has 1099511627776 bytes, more than")


def test_a_newer_schema_asks_for_an_upgrade(folder):
    resign(folder, lambda content: content.update(schema=3))
    refuse(folder, "schema 3, written by a newer cofactor.*upgrade")
