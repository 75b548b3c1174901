"""Every public name has a docstring with an example, and a place in the reference."""

import inspect
import re
from pathlib import Path

from docs.public_names import PLUMBING, public_methods, public_objects

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
OBJECTS = dict(public_objects())


def members():
    """Full name and object of every public method and property."""
    for full, found in OBJECTS.items():
        if inspect.isclass(found):
            for name, member in public_methods(found):
                yield f"{full}.{name}", member


def is_property(member):
    return not inspect.isroutine(member)


def shown():
    """Names that the pages of the reference ask autodoc for."""
    module = ""
    for page in sorted(REFERENCE.glob("*.rst")):
        text = page.read_text(encoding="utf-8")
        for kind, name in re.findall(r"^\.\. (\w+):: ([\w.]+)$", text, re.MULTILINE):
            if kind in ("module", "currentmodule"):
                module = name
            elif kind in ("autoclass", "autofunction", "autodata"):
                yield f"{module}.{name}"


def test_every_public_class_function_and_method_has_an_example():
    routines = {name: m for name, m in members() if not is_property(m)}
    assert len(OBJECTS) > 40
    assert len(routines) > 70
    bare = [
        n for n, m in {**OBJECTS, **routines}.items() if ">>> " not in (inspect.getdoc(m) or "")
    ]
    assert bare == []


def test_every_property_says_what_it_is():
    assert [name for name, m in members() if is_property(m) and not inspect.getdoc(m)] == []


def test_the_reference_shows_every_public_name_once():
    listed = list(shown())
    assert len(listed) == len(set(listed))
    homes = {id(found): name for name, found in OBJECTS.items()}  # the last home of each
    there = {id(OBJECTS[name]) for name in listed if name in OBJECTS}
    assert [name for key, name in homes.items() if key not in there] == []


def test_the_first_page_of_the_reference_lists_every_name():
    index = (REFERENCE / "index.rst").read_text(encoding="utf-8").split()
    there = {id(OBJECTS[name]) for name in index if name in OBJECTS}
    assert [name for name, found in OBJECTS.items() if id(found) not in there] == []


def test_plumbing_is_what_classes_have():
    names = {name for found in OBJECTS.values() for name in dir(found)}
    assert PLUMBING - names == set()


def test_every_result_of_a_benchmark_has_a_page_and_every_page_its_result():
    root = REFERENCE.parents[1]
    results = {path.name for path in (root / "benchmarks" / "results").glob("*.md")}
    pages = (root / "docs" / "benchmarks").glob("*.md")
    shown = {page.name for page in pages if f"results/{page.name}" in page.read_text("utf-8")}
    assert results == shown


def test_the_page_about_the_paper_names_files_that_exist():
    root = REFERENCE.parents[1]
    text = (REFERENCE.parent / "paper.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z]+/)*[a-z_]+\.py|experiments/\w+)`", text))
    assert len(named) > 10
    places = (root, root / "tests", root / "src" / "cofactor")
    assert [name for name in named if not any((place / name).exists() for place in places)] == []
