"""Links to files of the repository lead to the page of the site that shows them.

A link like ``../benchmarks/results/cells.md`` is right for a reader of the repository. The site
shows that file on a page of its own, with a title and the command that prints it.
"""

import re

PAGES = (
    (r"benchmarks/results/(\w+)\.md", r"/benchmarks/\1.md"),
    (r"benchmarks/results/?", "/benchmarks/index.md"),
    (r"(?:docs/)?reproduction/(?:newsgroups|synthetic)/(\w+)\.md", r"/reproduction_tables.md#\1"),
    (r"(?:docs/)?reproduction/?", "/reproduction_tables.md"),
    (r"CONTRIBUTING\.md(#[\w-]+)?", r"/contributing.md\1"),
    (r"CHANGELOG\.md", "/changelog.md"),
)


def to_pages(text):
    """Rewrite the targets of Markdown links."""
    for file, page in PAGES:
        text = re.sub(rf"\]\((?:\.\./)*{file}\)", rf"]({page})", text)
    return text


def rewrite_page(app, docname, source):
    source[0] = to_pages(source[0])


def rewrite_included(app, path, parent, source):
    source[0] = to_pages(source[0])


def setup(app):
    app.connect("source-read", rewrite_page)
    app.connect("include-read", rewrite_included)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
