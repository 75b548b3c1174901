"""Every page of the documentation is run from top to bottom, in an empty folder.

So a page starts from data that readers have: ``cofactor demo --table``, or what packages carry.

Blocks of a page and what is done with them:

- ``python``: examples with ``>>>`` must print what the page says; others must run. The blocks of a
  page share one namespace.
- ``shell``: commands of cofactor, one a line (a backslash goes on); each must end well.
- ``console``: shown only, for what installs or does not end (``$ cofactor app``).
- ``text``: output, shown only.
"""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from commands import cofactor

DOCS = Path(__file__).parents[2] / "docs"
NOT_RUN = ("decisions", "architecture.md", "_build", "gallery")
PAGES = sorted(
    page.relative_to(DOCS).as_posix()
    for page in DOCS.rglob("*.md")
    if page.relative_to(DOCS).parts[0] not in NOT_RUN
)
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN = {"console", "text"}


def run_shell(text):
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            assert words[0] == "cofactor", f"only commands of cofactor are run: {line}"
            cofactor(*words[1:])


def run_python(text, names, page, line):
    examples = doctest.DocTestParser().get_doctest(text, names, page, page, line)
    if not examples.examples:
        exec(compile(text, f"{page}, line {line}", "exec"), names)
        return
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner, said = doctest.DocTestRunner(optionflags=flags), []
    runner.run(examples, out=said.append, clear_globs=False)
    names.update(examples.globs)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Port .* is already in use")  # of Dask's page, by other tests
@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole, names = (DOCS / page).read_text(encoding="utf-8"), {"__name__": "__main__"}
    for block in BLOCK.finditer(whole):
        kind, text = block.groups()
        line = whole[: block.start()].count("\n") + 1
        if kind == "python":
            run_python(text, names, page, line)
        elif kind == "shell":
            run_shell(text)
        else:
            assert kind in SHOWN, f"{page}, line {line}: a block of the kind {kind!r}"
