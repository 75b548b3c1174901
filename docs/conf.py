"""Settings of the documentation; ``make docs`` builds it into ``docs/_build/html``."""

import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

from cofactor import __version__  # noqa: E402

project = "cofactor"
author = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]["authors"][0][
    "name"
]
copyright = author
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_click",
    "command_examples",
    "local_math",
    "markdown_sources",
    "user_members",
]
EXAMPLES = DOCS.parent / "examples"
if any(EXAMPLES.glob("*.py")):
    extensions.append("sphinx_gallery.gen_gallery")

exclude_patterns = ["_build", "reproduction/**", "gallery/**/*.ipynb", "gallery/**/*.py"]
nitpicky = True

# Python, by numpydoc: signatures without types, which the docstrings explain.
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": True, "member-order": "bysource"}
autosummary_generate = False
numpydoc_show_class_members = False
add_module_names = False
toc_object_entries_show_parents = "hide"

smartquotes = False  # which would change options such as --text

# Markdown.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_block", "attrs_inline"]
myst_heading_anchors = 4
myst_update_mathjax = False
myst_links_external_new_tab = False

# The gallery; `plot_gallery=0` shows the scripts without running them.
sphinx_gallery_conf = {
    "examples_dirs": str(EXAMPLES),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "remove_config_comments": True,
    "within_subsection_order": "gallery_order.Order",
    "thumbnail_size": (480, 336),
    "min_reported_time": 600,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "write_computation_times": False,  # its page loads scripts from elsewhere
    "abort_on_example_error": True,
}

# The pages: nothing on them comes from elsewhere.
html_theme = "pydata_sphinx_theme"
html_title = "cofactor"
html_static_path = ["_static"]
html_favicon = html_logo = "_static/logo.svg"
html_css_files = ["cofactor.css"]
html_math_renderer = "mathml"
html_search_scorer = str(DOCS / "_ext" / "search_scorer.js")
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "cofactor"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system
html_sidebars = {page: [] for page in ("index", "five_minutes", "defend", "faq")}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
