"""The files around the package agree with it: versions, lower bounds, the table of mutations."""

import ast
import re
import shlex
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

import mutations
from cofactor import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
USED_AT_RUN_TIME = ("report", "plot", "dask", "app", "sc")
TABLE = tomllib.loads(mutations.TABLE.read_text(encoding="utf-8"))["mutation"]


def test_the_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [__version__]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"^## (\S+)", changelog, re.MULTILINE)
    assert releases[:2] == ["Unreleased", __version__]


@pytest.mark.parametrize("extra", [None, *USED_AT_RUN_TIME])
def test_every_dependency_has_a_lower_bound(extra):
    extras = PROJECT["optional-dependencies"]
    for requirement in PROJECT["dependencies"] if extra is None else extras[extra]:
        assert re.fullmatch(r"[\w-]+>=\d+(\.\d+)+", requirement), requirement


@pytest.mark.parametrize("row", TABLE, ids=[row["name"] for row in TABLE])
def test_mutations_quote_the_sources(row):
    text = (ROOT / "src" / "cofactor" / row["file"]).read_text(encoding="utf-8")
    assert text.count(row["old"]) == 1
    for word in shlex.split(row["tests"]):
        assert not word.startswith("tests/") or (ROOT / word.split("::")[0]).exists()


LIBRARY = [
    path
    for path in sorted((ROOT / "src" / "cofactor").rglob("*.py"))
    if "cli" not in path.relative_to(ROOT).parts
]


@pytest.mark.parametrize("path", LIBRARY, ids=[str(path.relative_to(ROOT)) for path in LIBRARY])
def test_the_library_names_no_option_of_the_command_line(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    prose = [re.sub(r"Examples\n *-+\n.*", "", one, flags=re.S) for one in map(str, texts)]
    assert not [text for text in prose if re.search(r"(?<![\w-])--[a-z]", text)]


def test_no_two_classes_share_a_name():
    places = defaultdict(list)
    for path in sorted((ROOT / "src" / "cofactor").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(path.relative_to(ROOT).as_posix())
    assert not {name: paths for name, paths in places.items() if len(paths) > 1}
