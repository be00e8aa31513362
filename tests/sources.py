"""The modules of the package as files: the text and the syntax tree of each."""

import ast
import inspect
from pathlib import Path

import leafwise as lw


SOURCE = Path(inspect.getfile(lw)).parent
MODULES = sorted(SOURCE.rglob("*.py"))
TEXTS = {path: path.read_text(encoding="utf-8") for path in MODULES}
TREES = {path: ast.parse(text) for path, text in TEXTS.items()}
"""Parsed once, and on import: the collector passes over what is there before tests."""
