"""Give README and metadata the address of the repository that publishes them.

python .ci/addresses.py https://github.com/owner/name

The README of a checkout has links relative to it, which a package index cannot follow. The workflow
that builds the files to publish runs this first, so the repository itself names no address. These
changes do not count as changes since the commit, which is noted before them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)([^)#]+)(#[^)]*)?\)")
URLS = "[project.urls]\n"


def absolute(text: str, address: str) -> str:
    """Return a text in Markdown whose links to files of the repository have whole addresses."""

    def whole(found: re.Match[str]) -> str:
        picture, label, path, place = found.groups(default="")
        kind = "raw" if picture else "tree" if (ROOT / path).is_dir() else "blob"
        return f"{picture}[{label}]({address}/{kind}/main/{path}{place})"

    return LINK.sub(whole, text)


def with_urls(project: str, address: str) -> str:
    """Return the text of pyproject.toml with the addresses of source, changes and issues."""
    urls = {"Source": "", "Changelog": "/blob/main/CHANGELOG.md", "Issues": "/issues"}
    lines = "".join(f'{name} = "{address}{rest}"\n' for name, rest in urls.items())
    return project.replace(URLS, URLS + lines, 1)


def note_commit() -> None:
    """Write the commit to where builds look for it."""
    sys.path.insert(0, str(ROOT / "src"))
    from cofactor._versions import PACKAGE, commit

    (PACKAGE / "_commit.txt").write_text(f"{commit() or ''}\n", encoding="utf-8")


if __name__ == "__main__":
    note_commit()
    for name, change in {"README.md": absolute, "pyproject.toml": with_urls}.items():
        path = ROOT / name
        changed = change(path.read_text(encoding="utf-8"), sys.argv[1].rstrip("/"))
        path.write_text(changed, encoding="utf-8", newline="\n")
