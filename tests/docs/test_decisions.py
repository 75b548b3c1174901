"""Notes on decisions are few and short, all in the index, and what refers to one finds it."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DECISIONS = ROOT / "docs" / "decisions"
NOTES = sorted(DECISIONS.glob("[0-9]*.md"))
INDEX = (DECISIONS / "README.md").read_text(encoding="utf-8")
TEXT = (".py", ".md", ".rst", ".toml", ".c", ".h", ".js", ".yml", ".txt")


def test_the_index_lists_every_note_with_its_title():
    listed = re.findall(r"^- \[(.+)\]\((.+)\)$", INDEX, re.MULTILINE)
    titles = [path.read_text(encoding="utf-8").splitlines()[0] for path in NOTES]
    assert [(f"# {title}", name) for title, name in listed] == [
        (title, path.name) for title, path in zip(titles, NOTES, strict=True)
    ]


def test_notes_are_numbered_without_a_gap():
    assert [int(path.name.partition("-")[0]) for path in NOTES] == list(range(1, len(NOTES) + 1))
    assert all(f"# {int(path.name[:2])}. " in path.read_text(encoding="utf-8") for path in NOTES)
    assert len(NOTES) <= 25


@pytest.mark.parametrize("note", NOTES, ids=lambda path: path.stem)
def test_a_note_fits_on_a_page(note):
    assert len(note.read_text(encoding="utf-8").split()) <= 450


def references():
    """Yield the file and the name of every note that a file of the repository refers to."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in TEXT and path.is_file() and path.name != "CHANGELOG.md":
            text = path.read_text(encoding="utf-8")
            yield from ((name, found) for found in re.findall(r"decisions/(\d[\w-]*\.md)", text))


def test_references_to_notes_resolve():
    names = {path.name for path in NOTES}
    assert [(file, note) for file, note in references() if note not in names] == []


def test_pages_for_users_do_not_link_to_notes():
    for_developers = {"architecture.md", "development.md"}
    for page in (ROOT / "docs").rglob("*.md"):
        if (
            page.parent != DECISIONS
            and page.name not in for_developers
            and "_build" not in page.parts
        ):
            assert "decisions/" not in page.read_text(encoding="utf-8"), page
