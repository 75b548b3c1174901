"""Refuse to publish unless tag, version, changelog, addresses and files agree.

python .ci/check_release.py v0.2.0 https://github.com/owner/name dist
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = 6  # five wheels and the source archive


def problems(tag: str, address: str, files: list[str]) -> list[str]:
    """Return what is wrong with a release; an empty list lets it pass."""
    version = _found("src/cofactor/_version.py", r'__version__ = "(.+)"')
    released = _found("CHANGELOG.md", r"(?m)^## (\d\S+) \(\d{4}-\d\d-\d\d\)")
    cited = _found("CITATION.cff", r"(?m)^version: (.+)$")
    urls = tomllib.loads(_text("pyproject.toml"))["project"]["urls"]
    others = [name for name in files if not name.startswith(f"cofactor-{version}")]
    checks = {
        f"The tag {tag} is not v{version}.": tag == f"v{version}",
        f"{version} is a development version.": "dev" not in version,
        f"The changelog's last release is {released}, not {version}.": released == version,
        f"CITATION.cff names {cited}, not {version}.": cited == version,
        f"The metadata name {urls['Source']}, but this is {address}.": urls["Source"] == address,
        f"There are {len(files)} files, not {FILES}.": len(files) == FILES,
        f"These files have another version: {others}.": not others,
    }
    return [problem for problem, good in checks.items() if not good]


def _found(name: str, pattern: str) -> str:
    found = re.search(pattern, _text(name))
    return found[1] if found else ""


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


if __name__ == "__main__":
    names = sorted(path.name for path in Path(sys.argv[3]).iterdir())
    sys.exit("\n".join(problems(sys.argv[1], sys.argv[2], names)) or 0)
