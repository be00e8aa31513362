"""Sphinx configuration."""

import sys
from pathlib import Path

from leafwise import __version__


sys.path.insert(0, str(Path(__file__).parent / "_ext"))

# sphinx.ext.linkcode looks for this function here
from reference import linkcode_resolve as linkcode_resolve


project = "leafwise"
author = "The leafwise authors"
copyright = "2026, the leafwise authors"
version = __version__
release = __version__
extensions = [
    "llms",
    "myst_parser",
    "reference",
    "runnable",
    "sphinx.ext.autodoc",
    "sphinx.ext.linkcode",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
default_role = "literal"
toc_object_entries = False
html_theme = "furo"
pygments_dark_style = "github-dark"
html_theme_options = {
    "source_repository": "https://github.com/leafwise/leafwise/",
    "source_branch": "main",
    "source_directory": "docs/",
    "top_of_page_buttons": [],
    "light_logo": "logo.svg",
    "dark_logo": "logo.svg",
    "footer_icons": [
        {
            "name": "GitHub",
            "url": "https://github.com/leafwise/leafwise",
            "html": '<span class="footer-link">Source and issues</span>',
            "class": "",
        }
    ],
}
html_favicon = "_static/logo.svg"
html_title = f"leafwise {release}"
pyodide_url = "https://cdn.jsdelivr.net/pyodide/v314.0.7/full/"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
exclude_patterns = ["_build", "_ext", "architecture.md", "contributing.md"]
myst_heading_anchors = 3
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_default_options = {"members": True}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
nitpick_ignore_regex = [
    ("py:.*", r"(enum|functools|leafwise\.(core|nn)|collections)\..*"),
    ("py:class", r".*"),  # the types of parameters, among them type variables
]
python_use_unqualified_type_names = True
