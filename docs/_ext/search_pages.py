"""Search finds the guide first: notes on decisions, tables of runs and the changelog are left out.

They use the same words as the guide, and there are many of them. Pages link to them where they
matter.
"""

QUIET = ("decisions/", "reproduction_tables", "changelog", "gallery/sg_execution_times")


def leave_out(app, doctree):
    if app.env.docname.startswith(QUIET):
        app.env.metadata[app.env.docname]["nosearch"] = "true"


def setup(app):
    app.connect("doctree-read", leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
