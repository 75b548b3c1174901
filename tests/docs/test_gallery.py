"""Every script of the gallery runs as it is, in a separate folder, and draws a picture."""

import ast
import re
import runpy
import warnings
from pathlib import Path

import pytest
from docs.public_names import MODULES

pyplot = pytest.importorskip("matplotlib.pyplot", reason="needs the extra cofactor[plot]")
EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
NEEDS = {  # libraries that need not be installed, and who installs them
    "single_cells": ("anndata", "the extra cofactor[sc]"),
    "blood_cells": ("scanpy", "`make docs`"),
}


@pytest.fixture(autouse=True)
def agg():
    """Draw without a window, and close what was drawn."""
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_draws_a_picture(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        if script.stem in NEEDS:
            warnings.simplefilter("ignore")  # of those libraries
            library, installer = NEEDS[script.stem]
            pytest.importorskip(library, reason=f"{library} is missing: {installer} installs it")
        runpy.run_path(str(script), run_name="__main__")
    numbers = pyplot.get_fignums()
    assert numbers
    for number in numbers:
        figure = pyplot.figure(number)
        figure.canvas.draw()
        assert overlaps(figure) == []
    assert list(tmp_path.iterdir()) == []


def overlaps(figure):
    """Return the pairs of level texts of a drawn figure that lie over each other."""
    beyond = set(labels_beyond(figure))
    texts = [
        text
        for text in figure.findobj(pyplot.Text)
        if text.get_visible()
        and text.get_text().strip()
        and text not in beyond
        and not text.get_rotation() % 90
    ]
    boxes = [(text.get_text(), text.get_window_extent().padded(-1.5)) for text in texts]
    return [
        (one, other)
        for i, (one, box) in enumerate(boxes)
        for other, another in boxes[:i]
        if one != other and box.overlaps(another)
    ]


def labels_beyond(figure):
    """Yield the labels of ticks beyond the limits of their axis, which are not drawn."""
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if not low <= tick.get_loc() <= high:
                yield tick.label1


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_has_the_form_of_the_gallery(script):
    """A title, underlined, and at least two cells."""
    lines = script.read_text(encoding="utf-8").splitlines()
    assert lines[0] == '"""'
    assert set(lines[2]) == {"="}
    assert len(lines[2]) == len(lines[1])
    assert re.match(r"[A-Z].*\w[?]?$", lines[1])
    assert sum(line == "# %%" for line in lines) >= 2


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_no_cell_ends_with_an_object_that_the_page_would_print(script):
    for cell in script.read_text(encoding="utf-8").split("# %%\n"):
        last = ast.parse(cell).body[-1:]
        if last and isinstance(last[0], ast.Expr) and isinstance(last[0].value, ast.Call):
            assert ast.unparse(last[0]).startswith("print(") or "set_visible(" in ast.unparse(
                last[0]
            )


def test_titles_differ():
    titles = [script.read_text(encoding="utf-8").splitlines()[1] for script in SCRIPTS]
    assert len(set(titles)) == len(titles) >= 12


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_imports_public_names_only(script):
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "cofactor":
            assert node.module in MODULES
            assert not [alias.name for alias in node.names if alias.name.startswith("_")]
