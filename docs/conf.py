"""The site: ``make docs`` builds it in ``build/site/VERSION`` from the pages of ``docs/`` and the docstrings.

The source folder is that of the checkout, so that links among ``docs/``, ``README.md`` and the pages of backends and
examples lead to pages. The reference is written to ``docs/reference`` before each build (``_ext/reference.py``). No
page asks the network: there are no fonts, no formulas and no scripts but those of the theme.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / ".ci")]

import suricate  # noqa: E402

project = "suricate"
author = "The suricate authors"
release = version = suricate.__version__
project_copyright = author

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "reference",
    "sources",
    "pages",
    "tiles",
    "versions",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**", "README.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md", "core/README.md",
    "backends/*/README.md", "bench/README.md", "bench/data/README.md", "examples/*/README.md",
]  # fmt: skip
exclude_patterns = [".*", "build", "tests", "**/_*"]
suppress_warnings = [
    "myst.header",  # a page may begin with a heading of any level
    "ref.python",  # a word in backticks may be a member of several classes
]

# -- text --------------------------------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
default_role = "py:obj"
pygments_style, pygments_dark_style = "friendly", "monokai"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# -- docstrings --------------------------------------------------------------------------------------------------------

add_module_names = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_use_type_comments = False
autodoc_preserve_defaults = False
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
viewcode_follow_imported_members = False  # sources.py knows where names are defined

# -- notebooks ---------------------------------------------------------------------------------------------------------

nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE.parent / "build" / "notebooks")
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_output_stderr = "remove"  # progress, and notices that something is compiled

# -- pages -------------------------------------------------------------------------------------------------------------

html_theme = "furo"
html_title = f"suricate {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_context = {"version_folder": ".".join(release.split(".")[:2])}
SIDEBAR = ("brand", "search", "versions", "scroll-start", "navigation", "scroll-end")
html_sidebars = {"**": [f"sidebar/{part}.html" for part in SIDEBAR]}
html_copy_source = True
html_show_search_summary = False  # pages that are read from a disk may load none
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
html_math_renderer = "none"  # else pages load MathJax from elsewhere
