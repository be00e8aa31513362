"""Modules of the repository outside of the package, loaded by their paths."""

import importlib.util
import sys
from pathlib import Path


ROOT = Path(__file__).parents[1]


def module_at(path):
    """Return the module of a file; the path is relative to the repository."""
    name = "loaded_" + "".join(c if c.isalnum() else "_" for c in path)
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look there
        spec.loader.exec_module(module)
    return sys.modules[name]
