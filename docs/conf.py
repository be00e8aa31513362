"""Sphinx configuration."""

import leafwise


project = "leafwise"
copyright = "2026, the leafwise authors"
version = release = leafwise.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "leafwise"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": False}
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
autodoc_class_signature = "mixed"
nitpick_ignore_regex = [("py:.*", r"(functools|leafwise\.core)\..*")]
