"""The commit: from the build, from git, or unknown; looking for it never fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cofactor._versions import commit

ROOT = Path(__file__).parents[1]
PUBLISHED = ("README.md", "pyproject.toml", ".ci/addresses.py")


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "src" / "cofactor"
    folder.mkdir(parents=True)
    return folder


def test_a_package_without_git_has_no_commit(package):
    assert commit(package) is None


def test_a_repository_around_the_package_is_not_its_own(package, tmp_path):
    """An archive may be unpacked inside somebody's repository."""
    (package / "deeper" / "cofactor").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    assert commit(package / "deeper" / "cofactor") is None


def test_the_build_notes_the_commit(package):
    (package / "_commit.txt").write_text("0123456789ab\n")
    assert commit(package) == "0123456789ab"


def test_a_build_without_git_notes_nothing(package):
    (package / "_commit.txt").write_text("")
    assert commit(package) is None


def test_a_checkout_without_the_program_has_no_commit(package, monkeypatch):
    (package.parents[1] / ".git").mkdir()
    monkeypatch.setenv("PATH", "")
    assert commit(package) is None


def commit_all(root):
    """Make a repository with one commit."""
    who = {
        f"GIT_{role}_{part}": "x" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")
    }
    clean = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    environment = os.environ | who | clean
    for words in ["init", "-q"], ["add", "."], ["commit", "-qm", "x"], ["tag", "v9"]:
        done = subprocess.run(["git", *words], cwd=root, env=environment, capture_output=True)
        if done.returncode:
            pytest.skip("git does not work here")


def test_a_checkout_asks_git(package):
    (package / "a.py").write_text("one")
    commit_all(package.parents[1])
    found = commit(package)
    assert len(found) == 12
    commit.cache_clear()
    (package / "a.py").write_text("two")
    assert commit(package) == f"{found}-dirty"


def test_addresses_of_a_release_do_not_change_its_commit(package):
    root = package.parents[1]
    for path in [*(ROOT / "src" / "cofactor").glob("*.py"), *map(ROOT.joinpath, PUBLISHED)]:
        (root / path.relative_to(ROOT)).parent.mkdir(exist_ok=True)
        shutil.copy(path, root / path.relative_to(ROOT))
    commit_all(root)
    found = commit(package)
    command = [sys.executable, ".ci/addresses.py", "https://example.org/o/n"]
    subprocess.run(command, cwd=root, check=True)
    assert "https://example.org/o/n/issues" in (root / "pyproject.toml").read_text()
    commit.cache_clear()
    assert commit(package) == found
