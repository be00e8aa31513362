"""Modules of the repository outside of the package, and what they know of names."""

import importlib.util
import sys
from importlib import import_module
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


def listed():
    """Return the names of the reference, but for modules that cannot be loaded here.

    The engine may be deleted, and numpy may be missing.
    """
    here = []
    for entry in module_at("docs/_ext/listing.py").entries():
        try:
            import_module(entry.module)
        except ModuleNotFoundError as error:
            if error.name not in {"leafwise.engine", "numpy"}:
                raise
        else:
            here.append(entry)
    return here
