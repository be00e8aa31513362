"""Sphinx configuration."""

import sys
from importlib import metadata
from pathlib import Path


try:
    release = metadata.version("leafwise")
except metadata.PackageNotFoundError:
    release = "0.1.0"

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from reference import linkcode_resolve as linkcode_resolve


project = "leafwise"
author = "The leafwise authors"
copyright = "2026, the leafwise authors"
version = release
extensions = [
    "myst_nb",
    "reference",
    "sphinx.ext.autodoc",
    "sphinx.ext.linkcode",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
default_role = "name"
toc_object_entries = False
html_theme = "furo"
html_title = f"leafwise {release}"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
autodoc_typehints = "none"
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
    ("py:.*", r"(enum|functools|leafwise\.(core|nn)|collections)\..*")
]
