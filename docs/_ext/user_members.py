"""The reference shows the members that are for users, by the list in ``docs/public_names.py``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from public_names import is_for_users


def is_skipped(app, what, name, member, skip, options):
    """Skip methods and properties that are not for users."""
    return skip or not is_for_users(name, member)


def setup(app):
    app.connect("autodoc-skip-member", is_skipped)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
