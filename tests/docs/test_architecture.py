"""The maps for developers are complete, and the files that they name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "cofactor"
PACKAGES = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
MODULES = sorted(path.stem for path in SOURCE.glob("[a-z]*.py"))
GUIDES = {
    name: (ROOT / name).read_text("utf-8") for name in ("CONTRIBUTING.md", "docs/architecture.md")
}
PLACES = (ROOT, ROOT / "tests", ROOT / "docs", SOURCE, SOURCE / "engine")


def test_the_map_of_the_sources_lists_every_package_and_module():
    mapped = re.findall(r"[\w.]+/?", GUIDES["CONTRIBUTING.md"].partition("src/cofactor/\n")[2])
    assert [name for name in PACKAGES if f"{name}/" not in mapped] == []
    assert [name for name in MODULES if f"{name}.py" not in mapped] == []


def test_the_table_of_layers_lists_every_package_and_module():
    table = re.findall(r"^\| (`.+?) \|", GUIDES["docs/architecture.md"], re.MULTILINE)
    listed = set(re.findall(r"`(\w+)", " ".join(table)))
    assert [name for name in (*PACKAGES, *MODULES) if name not in listed] == []


@pytest.mark.parametrize("guide", GUIDES)
def test_files_that_a_guide_names_exist(guide):
    named = re.findall(r"`((?:\w+/)*(?:\w+/|\w+\.(?:py|md|toml|yml|c|h|js)))`", GUIDES[guide])
    named += re.findall(r"^    (tests/\S+)", GUIDES[guide], re.MULTILINE)
    assert len(named) > 10
    assert [name for name in named if not any((place / name).exists() for place in PLACES)] == []
