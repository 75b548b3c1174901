"""The cached script is used only if no other user can have written it."""

import os

import pytest

from cofactor.report import vega_script
from cofactor.report.vega_script import library


@pytest.fixture
def cached_script(tmp_path, monkeypatch):
    """The file of the cached script; "bundle" stands for the bundle, and the cache is empty."""
    vl_convert = pytest.importorskip("vl_convert")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda snippet: "bundle")
    library.cache_clear()
    assert library() == "bundle"
    library.cache_clear()
    yield next((tmp_path / "cofactor").iterdir())
    library.cache_clear()


def plant(path, mode=0o600):
    """Write a script with its right digest, as another program could."""
    path.write_bytes(vega_script._digest(b"planted") + b"\nplanted")
    path.chmod(mode)


def test_a_cached_script_of_this_user_is_used(cached_script):
    assert (cached_script.stat().st_mode & 0o777, cached_script.parent.stat().st_mode & 0o777) == (
        0o600,
        0o700,
    )
    plant(cached_script)
    assert library() == "planted"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_cached_script_that_others_can_write_is_not_used(cached_script, mode):
    plant(cached_script, mode)
    assert library() == "bundle"
    assert cached_script.stat().st_mode & 0o777 == 0o600
    assert cached_script.read_bytes().endswith(b"\nbundle")


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o1777])
def test_a_cache_folder_that_others_can_write_is_not_used(cached_script, mode):
    plant(cached_script)
    cached_script.parent.chmod(mode)
    assert library() == "bundle"
    assert cached_script.parent.stat().st_mode & 0o777 == 0o700
    assert cached_script.read_bytes().endswith(b"\nbundle")


def test_a_cache_of_another_user_is_neither_used_nor_written(cached_script, monkeypatch):
    plant(cached_script)
    monkeypatch.setattr("os.getuid", lambda: os.stat(cached_script).st_uid + 1)
    assert library() == "bundle"
    assert cached_script.read_bytes().endswith(b"\nplanted")


def test_a_link_in_the_place_of_the_cache_is_not_followed(cached_script, tmp_path):
    plant(tmp_path / "elsewhere.js")
    cached_script.unlink()
    cached_script.symlink_to(tmp_path / "elsewhere.js")
    assert library() == "bundle"
    assert not cached_script.is_symlink()
    folder = cached_script.parent
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    plant(tmp_path / "moved" / cached_script.name)
    library.cache_clear()
    assert library() == "bundle"
    assert cached_script.read_bytes().endswith(b"\nplanted")
