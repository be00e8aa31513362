"""The modules of the package as files, with the syntax tree of each."""

import ast
import inspect
from pathlib import Path

import leafwise as lw


SOURCE = Path(inspect.getfile(lw)).parent
MODULES = sorted(SOURCE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}
"""Parsed on import, so that they exist before `conftest.py` freezes the collector."""
