"""Markdown that is written for readers of the repository is made ready for the site.

- A link like ``../benchmarks/results/cells.md`` leads to the page of the site that shows the file,
  with a title and the command that prints it.
- A page that uses ``tickets.csv`` says below its title where the table comes from.
- Examples end with an empty line, which doctest needs and a page does not.
"""

import re

TABLE = "*`cofactor demo --table tickets.csv` writes the tables of this page.*"
PAGES = (
    (r"benchmarks/results/(\w+)\.md", r"/benchmarks/\1.md"),
    (r"benchmarks/results/?", "/benchmarks/index.md"),
    (r"(?:docs/)?reproduction/(?:newsgroups|synthetic)/(\w+)\.md", r"/reproduction_tables.md#\1"),
    (r"(?:docs/)?reproduction/?", "/reproduction_tables.md"),
    (r"CONTRIBUTING\.md(#[\w-]+)?", r"/contributing.md\1"),
    (r"CHANGELOG\.md", "/changelog.md"),
    (r"SECURITY\.md", "/security.md"),
    (r"docs/(\w+)\.md", r"/\1.md"),
)


def made_ready(text):
    """Rewrite the targets of links, and drop empty lines at the end of blocks."""
    for file, page in PAGES:
        text = re.sub(rf"\]\((?:\.\./)*{file}\)", rf"]({page})", text)
    return re.sub(r"\n\n```\n", "\n```\n", text)


def with_its_table(text):
    """Say where the table of the examples comes from, unless the page writes it itself."""
    if "tickets.csv" not in text or "demo --table" in text:
        return text
    return re.sub(r"\A(# .*\n)", rf"\1\n{TABLE}\n", text)


def read_page(app, docname, source):
    source[0] = made_ready(with_its_table(source[0]))


def read_included(app, path, parent, source):
    source[0] = made_ready(source[0])


def setup(app):
    app.connect("source-read", read_page)
    app.connect("include-read", read_included)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
